//! Options of `morecores launch`.

use std::ffi::OsString;

use clap::Args;

/// Start a program on as many CPUs as its mark allows
///
/// `morecores mark` marks a program. `launch` restricts its CPU affinity before it starts, to the
/// CPU on which the kernel runs this process and its neighbours. Child processes inherit the
/// affinity. A program that sets its own affinity can leave these CPUs. The exit status is that of
/// the program.
#[derive(Debug, Args)]
pub(crate) struct LaunchArgs {
    /// Program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, required = true)]
    pub(crate) command: Vec<OsString>,
}
