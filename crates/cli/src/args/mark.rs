//! Options of `morecores mark`.

use std::ffi::OsString;
use std::num::NonZeroU32;

use clap::Args;

use crate::commands::enforce::Part;

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
    /// Keep marked programs on few CPUs at every start in the system, until Ctrl-C (root)
    ///
    /// The kernel asks before it starts a marked program, and the program begins with its CPUs.
    /// Other programs are not asked about. The children of a marked program have the same CPUs. A
    /// program can change its own CPU affinity; `--cpuset` prevents that. Files that are replaced
    /// are marked again. The marks are those of root's list (`sudo morecores mark --cpus 1
    /// PROGRAM`). The service morecores-mark.service runs this command.
    #[arg(long, conflicts_with_all = ["programs", "cpus", "clear", "renew", "json"])]
    pub(crate) enforce: bool,
    /// Enforce by cpusets of cgroup version 1, which a program cannot leave, instead of the CPU
    /// affinity
    #[arg(long, requires = "enforce")]
    pub(crate) cpuset: bool,
    /// A process behind `--enforce`
    #[arg(long, hide = true, exclusive = true)]
    pub(crate) enforce_part: Option<Part>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  morecores mark --cpus 1 ./old-server   it works on one CPU only
  morecores mark                         all marked programs
  morecores launch ./old-server          start it on one CPU
  sudo morecores mark --enforce          every start, also by others
  morecores mark --clear ./old-server    it has been repaired";
