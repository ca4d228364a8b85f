//! Options of `morecores serve`.

use std::path::PathBuf;

use clap::Args;

/// Show the studies of a directory in a browser on this machine
///
/// Lists them, opens each as `morecores report` writes it, compares two, and follows one that is being measured. Listens on the loopback
/// interface alone, answers nobody who calls it by another name, and gives out nothing that is not a study in the directory.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where the studies are
    #[arg(default_value = ".")]
    pub(crate) directory: PathBuf,
    /// The port to listen on; 0: any that is free
    #[arg(long, default_value_t = 7373)]
    pub(crate) port: u16,
}
