//! Shared parts of the topology tests: the recordings under `fixtures/topology`.
#![allow(dead_code)] // Each test binary uses a different part.

use std::fs;
use std::path::{Path, PathBuf};

use morecores_machine::topology::{Recording, read_from};
use morecores_study::topology::Topology;

/// Directory of the recordings.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/topology")
}

/// The recording of the given name.
pub(crate) fn recording(name: &str) -> Recording {
    let path = fixtures().join(name).with_extension("txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The topology of a recording.
pub(crate) fn topology_of(recording: &Recording) -> Topology {
    read_from(&mut recording.tree())
}

/// The topology of the recording of the given name.
pub(crate) fn topology(name: &str) -> Topology {
    topology_of(&recording(name))
}
