//! Studies that several tests show.
#![allow(dead_code)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::World;
use super::browser::root;

/// Path of a committed study of a part of a kernel build, traced on 1 and 2 CPUs.
pub(crate) fn build() -> PathBuf {
    root().join("studies/2026-11-21-build/kernel-affinity.study")
}

/// Text with markup and script.
pub(crate) const EVIL: &str =
    r#"</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"'`<b>{n}"#;

/// Copies the study of the build, with markup and script in every text of its header: the command,
/// the machine, hooks.
pub(crate) fn hostile(world: &World) -> PathBuf {
    let study = world.path("evil.study");
    let copied = Command::new("cp").arg("-r").arg(build()).arg(&study).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let head = fs::read_to_string(study.join("study.json")).expect("a head");
    let mut head: serde_json::Value = serde_json::from_str(&head).expect("JSON");
    head["command"] = serde_json::json!({"kind": "program", "argv": [EVIL, EVIL]});
    for key in ["hostname", "cpu_model", "os", "kernel", "hypervisor"] {
        head["host"][key] = EVIL.into();
    }
    head["plan"]["hooks"]["prepare"] = EVIL.into();
    head["tool"] = EVIL.into();
    fs::write(study.join("study.json"), head.to_string()).expect("a head");
    study
}

/// Copies the study of the build without its traces, and changes each of its runs.
pub(crate) fn with_runs(world: &World, change: impl Fn(&mut serde_json::Value)) -> PathBuf {
    let study = world.path("changed.study");
    fs::create_dir(&study).expect("mkdir");
    fs::copy(build().join("study.json"), study.join("study.json")).expect("a head");
    let runs = fs::read_to_string(build().join("runs.jsonl")).expect("runs");
    let changed = runs.lines().map(|line| {
        let mut run: serde_json::Value = serde_json::from_str(line).expect("JSON");
        change(&mut run);
        run.to_string() + "\n"
    });
    fs::write(study.join("runs.jsonl"), changed.collect::<String>()).expect("runs");
    study
}
