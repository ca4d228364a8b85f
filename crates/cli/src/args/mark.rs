//! Options of `morecores mark`.

use std::ffi::OsString;
use std::num::NonZeroU32;

use clap::Args;

/// Mark a program that works only on one CPU, or on a few
///
/// Some programs work on one CPU and fail on two. A mark keeps such a program on few CPUs:
/// `morecores launch` starts it there, and `morecores run` and `trace` warn. The mark is an
/// extended attribute of the file (`user.morecores.cpus`). A script has a mark of its own; that of
/// its interpreter does not count.
///
/// Without options the marks of the programs are shown, and without programs all marks.
///
/// `cp` and `install` make a copy without the mark; `cp -a` and `strip` keep it. An upgrade
/// replaces the file and loses the mark. Marked programs are therefore also entered in a list, and
/// `--renew` marks them again. `launch` uses the list too.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MarkArgs {
    /// Programs, by paths or by names on PATH
    #[arg(value_name = "PROGRAM")]
    pub(crate) programs: Vec<OsString>,
    /// Mark the programs for at most N CPUs
    #[arg(long, value_name = "N", requires = "programs", conflicts_with_all = ["clear", "renew"])]
    pub(crate) cpus: Option<NonZeroU32>,
    /// Remove the marks of the programs
    #[arg(long, requires = "programs", conflicts_with = "renew")]
    pub(crate) clear: bool,
    /// Mark all programs of the list again whose files were replaced
    #[arg(long, conflicts_with = "programs")]
    pub(crate) renew: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  morecores mark --cpus 1 ./old-server   it works on one CPU only
  morecores mark                         all marked programs
  morecores launch ./old-server          start it on one CPU
  morecores mark --clear ./old-server    it has been repaired";
