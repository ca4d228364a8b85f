//! `morecores show`: prints an existing study, for people or for programs.

use anyhow::Result;
use morecores_report::Style;

use super::shown_study::ShownStudy;
use crate::args::ShowArgs;
use crate::{exit, terminal};

pub(crate) fn show(args: &ShowArgs) -> Result<u8> {
    ShownStudy::read(&args.study)?.print(&args.format, &Style { wide: args.wide, ..terminal::style() })?;
    Ok(exit::SUCCESS)
}
