//! `morecores show`: prints an existing study, for people or for programs.

use anyhow::Result;

use super::shown_study::ShownStudy;
use crate::args::ShowArgs;
use crate::exit;

pub(crate) fn show(args: &ShowArgs) -> Result<u8> {
    ShownStudy::read(&args.study)?.print(&args.format, args.wide)?;
    Ok(exit::SUCCESS)
}
