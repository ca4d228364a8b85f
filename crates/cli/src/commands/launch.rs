//! `morecores launch`: restricts this process to the CPUs that a program's mark allows, and becomes
//! the program.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};
use morecores_machine::placement::CpuOrder;
use morecores_machine::{process, topology};
use morecores_mark::{self as mark, launch_cpus};
use morecores_measure::program::{ProgramError, resolve};
use morecores_study::{CpuId, Placement};

use super::marks::{self, Mark};
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
        let machine = topology::read();
        let order = CpuOrder::from_policy(&machine, &machine.usable.cpus, Placement::default());
        let order: Vec<CpuId> = order.steps().iter().map(|step| step.cpu).collect();
        let current = CpuId(rustix::thread::sched_getcpu() as u32);
        let cpus = launch_cpus(&order, current, found.cpus().get() as usize);
        process::set_affinity(0, &cpus).with_context(|| format!("cannot use CPUs {cpus} alone"))?;
    }
    let error = Command::new(&program).arg0(name).args(arguments).exec();
    Err(ProgramError::Refused { name: name.to_string_lossy().into_owned(), error }.into())
}
