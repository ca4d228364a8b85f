//! Opens the command's standard input before anything else is touched, and says what is kept of it.

use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::{Result, bail, ensure};
use morecores_experiment::input::{Input, Readers};
use morecores_record::{Bytes, Header, InputSource, KeptInput};

use crate::terminal;

/// Opens the input of a new study, and notes in its plan what was kept.
pub(super) fn open(source: &mut InputSource, limit: Bytes) -> Result<Input> {
    let Some(path) = &source.path else { return Ok(Input::none()) };
    let input = read(path, Readers::Several { limit })?;
    source.kept = input.kept();
    Ok(input)
}

/// What the user is told of input that was kept.
pub(super) fn note(source: &InputSource) -> Option<String> {
    let (path, kept) = (source.path.as_ref()?, source.kept?);
    Some(format!(
        "--input {} can be read only once: every run gets a copy of its {}",
        path.display(),
        kept.bytes
    ))
}

/// Opens the input of a single run.
pub(super) fn for_one_run(source: &InputSource) -> Result<Input> {
    source.path.as_deref().map_or_else(|| Ok(Input::none()), |path| read(path, Readers::One))
}

/// Opens the input of a study that goes on: what its plan names, or `again`, which must hold the same.
pub(super) fn open_again(header: &Header, again: Option<&Path>, limit: Bytes) -> Result<Input> {
    let source = &header.plan.input;
    match (source.kept, again, &source.path) {
        (Some(kept), Some(again), _) => {
            let mut input = read(again, Readers::Several { limit })?;
            check(kept, input.fingerprint()?, again)?;
            Ok(input)
        }
        (Some(kept), None, _) => bail!(
            "the study's input could be read only once and is gone: give its {} again with --input",
            kept.bytes
        ),
        (None, Some(again), Some(path)) if again != path => bail!(
            "the input of the study is {}, not {}: leave out --input, or make a new study",
            path.display(),
            again.display()
        ),
        (None, Some(again), None) => {
            bail!("the study has no input: leave out --input {}, or make a new study", again.display())
        }
        (None, _, Some(path)) => read(path, Readers::Several { limit }),
        (None, None, None) => Ok(Input::none()),
    }
}

fn read(path: &Path, readers: Readers) -> Result<Input> {
    if path == Path::new("-") && io::stdin().is_terminal() {
        terminal::note("reading the command's input from the terminal; Ctrl-D ends it");
    }
    Ok(Input::open(path, readers)?)
}

fn check(then: KeptInput, now: KeptInput, path: &Path) -> Result<()> {
    ensure!(
        then == now,
        "--input {} is not the input of the study: it has {} and the checksum {:08x}, the study's had {} and {:08x}",
        path.display(),
        now.bytes,
        now.crc32,
        then.bytes,
        then.crc32
    );
    Ok(())
}
