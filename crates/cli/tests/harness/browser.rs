//! The viewer in a browser, as the tests of pages and of the server use it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::skipped;

/// Where there is no browser: the status of `viewer/tests/run.mjs`, and of other tests that could not run (automake).
const NO_BROWSER: i32 = 77;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Plays a scenario of `viewer/tests/scenarios.mjs` on a page: a file, or an address.
pub(crate) fn play(test: &str, scenario: &str, page: &str) {
    let viewer = root().join("viewer");
    if !viewer.join("node_modules").exists() {
        return skipped(
            test,
            "the viewer's packages are not there; install them with: tools/viewer.sh install",
        );
    }
    let ran = Command::new("node").arg(viewer.join("tests/run.mjs")).arg(scenario).arg(page).output();
    let ran = ran.expect("node, by which its packages were installed");
    let said = String::from_utf8_lossy(&ran.stdout);
    if ran.status.code() == Some(NO_BROWSER) {
        return skipped(test, "no chromium; install it with: tools/install-deps.sh viewer");
    }
    assert!(ran.status.success(), "{scenario}: {said}{}", String::from_utf8_lossy(&ran.stderr));
}
