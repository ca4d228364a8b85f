//! The text for every recorded machine at the width of a terminal, and its layout at any width.

use std::fs;
use std::path::Path;

use morecores_machine::topology::{Recording, read_from};
use morecores_report::topology_report;
use morecores_study::topology::Topology;

fn fixture(name: &str) -> Topology {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/topology")
        .join(name)
        .with_extension("txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let recording: Recording = text.parse().expect("a recording");
    read_from(&mut recording.tree())
}

const FIXTURES: [&str; 12] = [
    "vm-2-cpus",
    "laptop-two-core-types",
    "server-2x32-smt",
    "server-2x64-smt-16-l3",
    "board-big-little",
    "amd-two-kinds",
    "nested-quotas-v2",
    "container-namespace-v2",
    "quota-v1-joined",
    "hybrid-v1-v2",
    "offline-gaps-isolated",
    "smt-off",
];

#[test]
fn every_recorded_machine() {
    for name in FIXTURES {
        insta::assert_snapshot!(name, topology_report(&fixture(name), 100));
    }
}

#[test]
fn a_narrow_terminal() {
    insta::assert_snapshot!(topology_report(&fixture("server-2x64-smt-16-l3"), 50));
}

#[test]
fn no_fixture_is_left_out() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/topology");
    let mut found: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".txt").map(str::to_owned))
        .collect();
    let mut named = FIXTURES.map(str::to_owned);
    found.sort();
    named.sort();
    assert_eq!(found, named);
}

#[test]
fn lines_fit_except_for_paths_and_256_cpus_stay_short() {
    for name in FIXTURES {
        for width in [0, 40, 60, 80, 200] {
            let text = topology_report(&fixture(name), width);
            for line in text.lines() {
                assert!(line.len() <= width.max(40) || line.contains('/'), "{name} at {width}: {line}");
                assert!(line.is_ascii(), "{line}");
            }
        }
    }
    assert!(topology_report(&fixture("server-2x64-smt-16-l3"), 80).lines().count() <= 16);
}

#[test]
fn a_long_list_of_cpus_breaks_after_commas() {
    let mut machine = fixture("server-2x64-smt-16-l3");
    machine.usable.cpus = (0..256).step_by(2).map(morecores_study::CpuId).collect();
    machine.usable.count = 128;
    let text = topology_report(&machine, 60);
    let usable: Vec<&str> = text.lines().take_while(|line| !line.starts_with("Online")).collect();
    assert!(usable.len() > 5 && usable.iter().all(|line| line.len() <= 60), "{text}");
    assert!(usable[..usable.len() - 1].iter().all(|line| line.ends_with(',')), "{text}");
}

#[test]
fn names_cannot_control_the_terminal() {
    let mut machine = fixture("vm-2-cpus");
    machine
        .unread
        .push(morecores_study::topology::UnreadFile { path: "/a\x1b[2J".to_owned(), why: "x\ny".to_owned() });
    let text = topology_report(&machine, 80);
    assert!(text.contains("/a\\u{1b}[2J: x\\ny"), "{text}");
}
