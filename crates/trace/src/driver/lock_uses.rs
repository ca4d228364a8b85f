//! The exact account of locks: attaches its probes, and reads the sums.

use std::collections::BTreeMap;
use std::path::Path;

use libbpf_rs::{Link, MapCore, MapFlags, ProgramMut, UprobeMultiOpts, UprobeOpts};
use morecores_study::Nanos;
use morecores_study::trace::{LockMode, LockUse, Tid};

use crate::TraceError;
use crate::lock_probes::LockProbe;

/// `struct lock_use_key` and `struct lock_use`.
const KEY_SIZE: usize = 24;
const SUMS_SIZE: usize = 32;

/// Attaches the program to all probes for the lifetime of the result, in all processes: those that
/// are not traced pay for each call too. With `at_once`, the probes of a file have one link, which
/// is removed in the time of one probe.
pub(super) fn attach(
    program: &ProgramMut<'_>,
    probes: &[LockProbe],
    at_once: bool,
) -> Result<Vec<Link>, TraceError> {
    let mut by_file: BTreeMap<&Path, Vec<&LockProbe>> = BTreeMap::new();
    for probe in probes {
        by_file.entry(probe.file()).or_default().push(probe);
    }
    let mut links = Vec::new();
    for (file, probes) in by_file {
        let refused = |error: libbpf_rs::Error| TraceError::Attach {
            tracepoint: file.display().to_string(),
            reason: error.to_string(),
        };
        if at_once {
            let options = UprobeMultiOpts {
                offsets: probes.iter().map(|probe| probe.offset as usize).collect(),
                cookies: probes.iter().map(|probe| probe.cookie()).collect(),
                ..UprobeMultiOpts::default()
            };
            links.push(program.attach_uprobe_multi_with_opts(-1, file, "", options).map_err(refused)?);
            continue;
        }
        for probe in probes {
            let options = UprobeOpts { cookie: probe.cookie(), ..UprobeOpts::default() };
            let link = program.attach_uprobe_with_opts(-1, file, probe.offset as usize, options);
            links.push(link.map_err(refused)?);
        }
    }
    Ok(links)
}

/// The sums of all holds.
pub(super) fn read(uses: &impl MapCore) -> Vec<LockUse> {
    let mut found: Vec<LockUse> = uses
        .keys()
        .filter_map(|key| {
            let sums = uses.lookup(&key, MapFlags::ANY).ok().flatten()?;
            decode(key.as_slice().try_into().ok()?, sums.as_slice().try_into().ok()?)
        })
        .collect();
    found.sort_unstable_by_key(|one| (one.process, one.address, one.mode, one.caller));
    found
}

/// Removes all elements of a table.
pub(super) fn clear(table: &impl MapCore) {
    for key in table.keys().collect::<Vec<_>>() {
        // An element that another thread has removed is gone too.
        let _ = table.delete(&key);
    }
}

fn decode(key: [u8; KEY_SIZE], sums: [u8; SUMS_SIZE]) -> Option<LockUse> {
    let half = |at: usize| Some(u32::from_ne_bytes(key[at..at + 4].try_into().ok()?));
    let word = |bytes: &[u8], at: usize| Some(u64::from_ne_bytes(bytes[at..at + 8].try_into().ok()?));
    Some(LockUse {
        process: Tid(half(0)?),
        mode: match half(4)? {
            0 => LockMode::Mutex,
            1 => LockMode::Read,
            2 => LockMode::Write,
            _ => return None,
        },
        address: word(&key, 8)?,
        caller: word(&key, 16)?,
        code: None,
        count: word(&sums, 0)?,
        held_ns: Nanos(word(&sums, 8)?),
        longest_ns: Nanos(word(&sums, 16)?),
        last_ns: Nanos(word(&sums, 24)?),
    })
}
