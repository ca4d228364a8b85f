//! Opens the command's standard input before any change to the machine, and checks or records its
//! content.

use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::{Result, bail, ensure};
use morecores_measure::input::{Input, Readers, names_descriptor};
use morecores_study::{Bytes, Header, InputContent, InputSource};

use crate::terminal;

/// Opens the input of a new study, and returns a note for the user if there is one. The plan
/// records the input's content if a later morecores cannot find the input by its path.
pub(super) fn open(source: &mut InputSource, limit: Bytes) -> Result<(Input, Option<String>)> {
    let Some(path) = &source.path else { return Ok((Input::none(), None)) };
    let mut input = read(path, Readers::Several { limit })?;
    if input.is_copied() || names_descriptor(path) {
        source.content = input.content()?;
    }
    let note = source.content.filter(|_| input.is_copied()).map(|content| {
        let (path, bytes) = (path.display(), content.bytes);
        format!("--input {path} can be read only once: every run gets a copy of its {bytes}")
    });
    Ok((input, note))
}

/// Opens the input of a single run.
pub(super) fn open_for_one_run(source: &InputSource) -> Result<Input> {
    source.path.as_deref().map_or_else(|| Ok(Input::none()), |path| read(path, Readers::One))
}

/// Opens the input of a resumed study: the one named in its plan, or `again`, which must have equal
/// content.
pub(super) fn reopen(header: &Header, again: Option<&Path>, limit: Bytes) -> Result<Input> {
    let InputSource { path, content } = &header.plan.input;
    let is_gone = content.is_some() || path.as_deref().is_some_and(names_descriptor);
    match (path, again) {
        (Some(_), Some(again)) if is_gone => {
            let mut input = read(again, Readers::Several { limit })?;
            check(*content, input.content()?, again)?;
            Ok(input)
        }
        (Some(path), None) if is_gone => {
            bail!("the study's input came through {}: give the same input again with --input", path.display())
        }
        (Some(path), Some(again)) if again != path => bail!(
            "the input of the study is {}, not {}: leave out --input, or make a new study",
            path.display(),
            again.display()
        ),
        (Some(path), _) => read(path, Readers::Several { limit }),
        (None, Some(again)) => {
            bail!("the study has no input: leave out --input {}, or make a new study", again.display())
        }
        (None, None) => Ok(Input::none()),
    }
}

fn read(path: &Path, readers: Readers) -> Result<Input> {
    if path == Path::new("-") && io::stdin().is_terminal() {
        terminal::note("reading the command's input from the terminal; Ctrl-D ends it");
    }
    Ok(Input::open(path, readers)?)
}

fn check(then: Option<InputContent>, now: Option<InputContent>, path: &Path) -> Result<()> {
    let words = |content: Option<InputContent>| {
        content.map_or_else(
            || "no end".to_owned(),
            |content| format!("{} bytes with the checksum {:08x}", content.bytes.0, content.crc32),
        )
    };
    ensure!(
        then == now,
        "--input {} is not the input of the study: it has {}, the study's had {}",
        path.display(),
        words(now),
        words(then)
    );
    Ok(())
}
