//! Tests of the report page: made from real studies, and viewed in a browser. The browser's actions
//! are in `viewer/tests`.

mod harness;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use harness::World;
use harness::browser::{play, root, viewer};
use harness::locks::{lock_page, lock_study, locks};
use harness::studies::{EVIL, build, hostile};
use morecores_report::page_html;
use morecores_view::page::{Page, Statement};

/// Writes the page of these studies and returns its path.
fn page(world: &World, studies: &[PathBuf]) -> PathBuf {
    let mut words = vec!["report".to_owned(), "-o".to_owned(), "page.html".to_owned()];
    words.extend(studies.iter().map(|path| path.to_string_lossy().into_owned()));
    world.morecores(&words).success().says(&["wrote page.html"]);
    world.path("page.html")
}

/// Defines one test for each scenario on the page of a kernel build.
macro_rules! on_the_build {
    ($($test:ident: $scenario:literal;)*) => {
        $(#[test]
        fn $test() {
            let world = World::new();
            play(stringify!($test), $scenario, &page(&world, &[build()]).to_string_lossy());
        })*
    };
}

on_the_build! {
    every_picture_is_drawn: "pictures";
    the_curve_shows_what_is_asked_for: "curve";
    a_component_filters_the_tables: "filter";
    tables_are_sorted_searched_and_copied: "tables";
    the_timeline_is_zoomed_and_panned: "timeline";
    everybody_can_use_it: "accessible";
    the_data_can_be_had: "json";
}

#[test]
fn several_studies_are_on_one_page() {
    let world = World::new();
    let studies =
        ["2026-11-21-suite/build.study", "2026-11-21-suite/matmul.study", "2026-11-21-suite/quicksort.study"];
    let studies = studies.map(|name| root().join("studies").join(name));
    play("several_studies_are_on_one_page", "several", &page(&world, &studies).to_string_lossy());
}

/// The page of a suite's directory shows the published results beside the measured ones, and the
/// studies.
#[test]
fn a_suite_has_published_and_measured_figures() {
    let world = World::new();
    let suite = world.path("suite");
    fs::create_dir(&suite).expect("a directory");
    for name in ["build.study", "matmul.study"] {
        let from = root().join("studies/2026-11-21-suite").join(name);
        let copied = Command::new("cp").arg("-r").arg(from).arg(&suite).status();
        assert!(copied.is_ok_and(|status| status.success()));
    }
    play("a_suite_has_published_and_measured_figures", "suite", &page(&world, &[suite]).to_string_lossy());
}

/// Every text of the study contains markup and script: the command, the machine, hooks, and names
/// in its trace.
#[test]
fn a_hostile_study_runs_no_script_on_the_page() {
    let world = World::new();
    let study = hostile(&world);
    let page = page(&world, &[study]);
    // Names in a trace have at most 15 bytes; the test replaces them by longer ones in the page.
    let html = fs::read_to_string(&page).expect("the page");
    let quoted = serde_json::to_string(EVIL).expect("a text").replace('<', "\\u003c");
    assert!(html.contains("\"cc1\""));
    fs::write(&page, html.replace("\"cc1\"", &quoted).replace("\"wait4\"", &quoted)).expect("the page");
    play("a_hostile_study_runs_no_script_on_the_page", "hostile", &page.to_string_lossy());
}

/// Defines one test for each scenario on the page of a study of locks.
macro_rules! on_the_locks {
    ($($test:ident: $scenario:literal;)*) => {
        $(#[test]
        fn $test() {
            let world = World::new();
            play(stringify!($test), $scenario, &lock_page(&world, vec![locks("desk.study")]).to_string_lossy());
        })*
    };
}

on_the_locks! {
    locks_are_drawn_and_advised: "locks";
    a_lock_is_switched_off_and_on: "lockLegend";
    locks_are_shown_by_what_is_asked_for: "lockQuantity";
    the_tables_of_locks_are_sorted_and_copied: "lockTables";
    everybody_can_read_of_locks: "accessible";
    the_data_of_locks_can_be_had: "lockJson";
}

/// The test covers the path from a study on disk to the reader's view.
#[test]
fn a_study_of_locks_has_a_page() {
    let world = World::new();
    let study = lock_study(&world);
    play("a_study_of_locks_has_a_page", "lockReport", &page(&world, &[study]).to_string_lossy());
}

/// Every text that is not a figure or the name of a lock contains markup and script.
#[test]
fn a_hostile_study_of_locks_runs_no_script_on_the_page() {
    let world = World::new();
    let mut study = locks(EVIL);
    study.command = EVIL.to_owned();
    study.advice.push(Statement { lead: EVIL.to_owned(), rest: EVIL.to_owned() });
    study.prices.push(EVIL.to_owned());
    study.notices[0].text = EVIL.to_owned();
    study.view.host.hostname = EVIL.to_owned();
    study.view.host.cpu_model = EVIL.to_owned();
    let table = &mut study.tables[0];
    table.title = EVIL.to_owned();
    table.columns[0].header = EVIL.to_owned();
    table.columns[0].cells[0].text = EVIL.to_owned();
    table.columns[1].cells[0].text = EVIL.to_owned();
    play(
        "a_hostile_study_of_locks_runs_no_script_on_the_page",
        "hostile",
        &lock_page(&world, vec![study]).to_string_lossy(),
    );
}

/// A page of a study of locks and an ordinary one shows both.
#[test]
fn studies_of_locks_and_commands_fit_on_one_page() {
    let world = World::new();
    let html = fs::read_to_string(page(&world, &[build()])).expect("the page");
    let (_, data) = html.split_once(r#"id="data">"#).expect("the page's data");
    let mut page: Page = serde_json::from_str(data.split("</script>").next().expect("data")).expect("a page");
    page.locks = vec![locks("desk.study"), locks("other.study")];
    let path = world.path("both.html");
    fs::write(&path, page_html(&page).expect("a page")).expect("written");
    play("studies_of_locks_and_commands_fit_on_one_page", "both", &path.to_string_lossy());
}

/// The viewer is one file of at most 600 KiB, without the data.
#[test]
fn the_viewer_stays_within_its_size_limit() {
    let bundle = fs::metadata(root().join("viewer/dist/page.html")).expect("the bundled viewer");
    assert!(bundle.len() <= 600 << 10, "{} bytes", bundle.len());
}

/// `viewer/tests/unit.mjs` checks the arithmetic of the viewer without a browser.
#[test]
fn the_viewer_computes_correct_values() {
    let Some(viewer) = viewer("the_viewer_computes_correct_values") else { return };
    let ran = Command::new("node").arg("--test").arg(viewer.join("tests/unit.mjs")).output();
    let ran = ran.expect("node, by which its packages were installed");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

/// The committed bundle equals the one built from its sources.
#[test]
fn the_committed_bundle_matches_its_sources() {
    let Some(viewer) = viewer("the_committed_bundle_matches_its_sources") else { return };
    let world = World::new();
    let made = Command::new("node").arg(viewer.join("build.mjs")).arg(world.path("dist")).status();
    assert!(made.is_ok_and(|status| status.success()));
    for name in ["page.html", "sheet.js"] {
        let made = fs::read(world.path("dist").join(name)).expect("a bundle");
        let committed = fs::read(viewer.join("dist").join(name)).expect("the committed bundle");
        assert!(made == committed, "viewer/dist/{name} differs: run `make generate`");
    }
}

#[test]
fn unreadable_and_unwritable_files_give_one_clear_line() {
    let world = World::new();
    let path = build().to_string_lossy().into_owned();
    world
        .morecores(&["report", path.as_str(), "-o", "none/page.html"])
        .refused(2, &["cannot write none/page.html"]);
    world.morecores(&["report", "none.study"]).refused(2, &["none.study"]);
    assert!(!world.path("report.html").exists());
}
