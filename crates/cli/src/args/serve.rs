//! Options of `morecores serve`.

use std::path::PathBuf;

use clap::Args;

/// Show the studies of a directory in a browser on this machine
///
/// The server lists the studies and the searches of `morecores shake`, opens each as a page of
/// `morecores report`, compares two studies, and follows a study in progress. It listens only on
/// the loopback interface and refuses requests under another host name. It serves nothing but the
/// studies and searches of the directory.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Directory of the studies
    #[arg(default_value = ".")]
    pub(crate) directory: PathBuf,
    /// Port to listen on; 0 chooses a free port
    #[arg(long, default_value_t = 7373)]
    pub(crate) port: u16,
}
