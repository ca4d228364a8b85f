//! A search of `morecores shake` on disk, with every kind of finding.

use std::collections::BTreeMap;
use std::path::PathBuf;

use morecores_findings::{
    CodePlace, CoreFile, Description, DirectoryWriter, Evidence, Failure, Findings, FirstFailure, Header,
    HelgrindUse, RunLine, Schedule, SiteCounts, SiteEffect, SiteRecord, StackDescription, Tally, Verdict,
    WaitDescription,
};
use morecores_study::trace::SourceLine;

use super::World;

/// Writes the search of a program into a directory. `name` is that of the program, of its function
/// and of its source. Returns the path.
pub(crate) fn search(world: &World, directory: &str, name: &str) -> PathBuf {
    let path = world.path(directory);
    let mut writer = DirectoryWriter::create(&path).expect("a directory");
    let header = Header {
        schema: Header::schema(),
        command: vec![name.to_owned(), "--selftest".to_owned()],
        host: "machine".to_owned(),
        created_at_s: 1.5e9,
        cpus: vec![0, 1],
        check: Some("cmp out expected".to_owned()),
        seed: 7,
        elapsed_s: 0.5,
        timeout_s: 7.0,
        real_time: false,
    };
    writer.begin(&header, None).expect("a header");
    let run = RunLine {
        run: 1,
        schedule: Schedule::Cpus,
        seed: 9,
        sites: Vec::new(),
        hit: None,
        elapsed_s: 0.5,
        holds: 0,
        failure: None,
    };
    writer.append(&run).expect("a run");
    writer.finish(&findings(name)).expect("findings");
    path
}

fn findings(name: &str) -> Findings {
    let description = Description {
        function: Some(name.to_owned()),
        source: Some(SourceLine { file: format!("/src/{name}.c"), line: 12 }),
        instruction: Some("inc dword ptr [counter]".to_owned()),
    };
    let tally = |failed, runs| {
        let failures =
            if failed > 0 { BTreeMap::from([(Failure::Deadlock, failed)]) } else { BTreeMap::new() };
        Tally { runs, failures }
    };
    Findings {
        verdict: Verdict::NotThreadSafe,
        cpus: 2,
        seed: 7,
        elapsed_s: 0.5,
        slowdown: Some(1.03),
        runs: 120,
        seconds: 61.0,
        helgrind: HelgrindUse::CutShort,
        sites: SiteCounts { candidates: 300, executed: 40, updates: 2, held: 30 },
        site_list: vec![SiteRecord {
            place: CodePlace { file: "/bin/server".into(), offset: 0x1234 },
            description: description.clone(),
            evidence: Evidence::Race,
            holds: 90,
            runs: 45,
            failures: 11,
        }],
        first_failure: Some(FirstFailure {
            failure: Failure::Deadlock,
            run: 17,
            seconds: 8.5,
            crash: Some(description.clone()),
            waits: vec![WaitDescription { thread: 2, lock: Some("table".to_owned()), holder: Some(1) }],
            stacks: vec![StackDescription { thread: 2, frames: vec![description.clone()] }],
            core: Some(CoreFile::Written("server.shake/core".into())),
        }),
        tallies: BTreeMap::from([
            (Schedule::OneCpu, tally(0, 30)),
            (Schedule::OneCpuHolds, tally(3, 30)),
            (Schedule::CpusHolds, tally(11, 45)),
        ]),
        effects: vec![SiteEffect {
            schedule: Schedule::CpusHolds,
            sites: vec![description],
            hit: Some(3),
            tally: tally(10, 20),
        }],
    }
}
