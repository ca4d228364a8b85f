//! Writes the types of the report page as TypeScript into a directory, for the viewer.
//!
//!     cargo run -p morecores-view --features typescript --example typescript -- viewer/src/record

use std::env;
use std::process::ExitCode;

use morecores_view::page::{Page, PictureOrder};
use ts_rs::{Config, TS};

fn main() -> ExitCode {
    let Some(directory) = env::args_os().nth(1) else { return ExitCode::from(2) };
    // Every number of these types is below 2^53.
    let config =
        Config::new().with_out_dir(directory).with_large_int("number").with_import_extension(Some("ts"));
    match Page::export_all(&config).and_then(|()| PictureOrder::export_all(&config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
