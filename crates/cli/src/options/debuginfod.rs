//! Client for the debug files of servers, if `--debuginfod` asks for them. This module starts
//! nothing.

use std::env;
use std::ffi::OsStr;

use anyhow::{Result, anyhow, ensure};
use morecores_measure::program::resolve;
use morecores_symbols::DebuginfodClient;

/// Variable with the addresses of the servers, as for all users of debuginfod
/// (`debuginfod_find_debuginfo(3)`).
const SERVERS: &str = "DEBUGINFOD_URLS";

/// Client of `--debuginfod`; none without the option.
pub(crate) fn debuginfod_client(requested: bool) -> Result<Option<DebuginfodClient>> {
    if !requested {
        return Ok(None);
    }
    let has_servers = env::var_os(SERVERS).is_some_and(|urls| !urls.to_string_lossy().trim().is_empty());
    ensure!(
        has_servers,
        "--debuginfod needs servers, but {SERVERS} is not set: set it, for example to \
         https://debuginfod.elfutils.org; sudo keeps it with --preserve-env={SERVERS}"
    );
    let client = resolve(OsStr::new("debuginfod-find"), env::var_os("PATH").as_deref());
    let client = client.map_err(|_| {
        anyhow!(
            "--debuginfod needs debuginfod-find, which is not on PATH: install the package debuginfod (Debian, \
             Ubuntu) or elfutils-debuginfod-client (Fedora)"
        )
    });
    Ok(Some(DebuginfodClient::new(client?)))
}
