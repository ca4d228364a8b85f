//! `morecores launch`: restricts this process to the CPUs that a program's mark allows, and becomes
//! the program.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Result;
use morecores_machine::topology;
use morecores_mark as mark;
use morecores_measure::program::{ProgramError, resolve};

use super::marks::{self, Hold, Mark};
use crate::args::LaunchArgs;
use crate::terminal;

/// Returns only with an error.
pub(crate) fn launch(args: &LaunchArgs) -> Result<u8> {
    let [name, arguments @ ..] = &args.command[..] else { anyhow::bail!("name a program") };
    let program = resolve(name, env::var_os("PATH").as_deref())?;
    let found = marks::find(&program, &marks::load()?)?;
    match found {
        None => terminal::note(&format!(
            "{} has no mark and may use all CPUs; `morecores mark --cpus 1 {0}` marks it",
            program.display()
        )),
        Some(Mark::OfFile(_)) => {}
        Some(Mark::OfList(cpus)) => {
            let renewed = mark::write(&program, cpus);
            terminal::note(&match renewed {
                Ok(()) => {
                    format!("{} was replaced since it was marked; it is marked again", program.display())
                }
                Err(error) => format!("{} was replaced since it was marked; {error}", program.display()),
            });
        }
    }
    if let Some(found) = found {
        marks::restrict(0, &topology::read(), found.cpus(), &Hold::Affinity)?;
    }
    let error = Command::new(&program).arg0(name).args(arguments).exec();
    Err(ProgramError::Refused { name: name.to_string_lossy().into_owned(), error }.into())
}
