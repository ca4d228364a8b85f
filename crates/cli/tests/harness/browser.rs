//! Viewer in a browser, for the tests of pages and of the server.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use morecores_testkit::{TestGroup, skips_group};

use super::report_skip;

/// Exit status of `viewer/tests/run.mjs` without a browser. automake uses it for tests that could
/// not run.
const NO_BROWSER: i32 = 77;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Directory of the viewer with its test packages. None if they are missing, with a note under
/// `test`.
pub(crate) fn viewer(test: &str) -> Option<PathBuf> {
    if skips_group(test, TestGroup::Browser) {
        return None;
    }
    let viewer = root().join("viewer");
    if !viewer.join("node_modules").exists() {
        report_skip(test, "the viewer's packages are not there; install them with: tools/viewer.sh install");
        return None;
    }
    Some(viewer)
}

/// Plays a scenario of `viewer/tests/scenarios.mjs` on a page: a file, or an address.
pub(crate) fn play(test: &str, scenario: &str, page: &str) {
    let Some(viewer) = viewer(test) else { return };
    let ran = Command::new("node").arg(viewer.join("tests/run.mjs")).arg(scenario).arg(page).output();
    let ran = ran.expect("node, by which its packages were installed");
    let output = String::from_utf8_lossy(&ran.stdout);
    if ran.status.code() == Some(NO_BROWSER) {
        return report_skip(test, &TestGroup::Browser.missing_program("chromium"));
    }
    assert!(ran.status.success(), "{scenario}: {output}{}", String::from_utf8_lossy(&ran.stderr));
}
