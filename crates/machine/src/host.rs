//! Reads what machine this is: what a reader needs to judge or repeat a measurement made on it.
//!
//! Takes a few milliseconds, so that it can be done before every study. Nothing is measured or changed here,
//! and nothing that identifies a person or a single machine (serial numbers, addresses) is read.

mod cpu_model;
mod frequency;
mod hypervisor;

use morecores_study::{Bytes, Host};

use crate::topology;
use crate::tree::Tree;

pub(crate) use frequency::BOOST_SWITCHES;
pub use hypervisor::Cpuid;

/// The words of `uname(2)`, which are in no file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uname {
    /// The host's name.
    pub nodename: String,
    /// The kernel's release.
    pub release: String,
    /// The kind of machine.
    pub machine: String,
}

impl Uname {
    /// Those of the running machine.
    pub fn read() -> Self {
        let uname = rustix::system::uname();
        let text = |words: &std::ffi::CStr| words.to_string_lossy().into_owned();
        Self {
            nodename: text(uname.nodename()),
            release: text(uname.release()),
            machine: text(uname.machine()),
        }
    }
}

/// The running machine. What cannot be read is empty or absent.
pub fn read() -> Host {
    read_from(&mut Tree::live(), &Uname::read(), &Cpuid::read())
}

/// The machine that a tree of files, `uname` and the CPU describe.
pub fn read_from(tree: &mut Tree, uname: &Uname, cpuid: &Cpuid) -> Host {
    // First, so that what it could not read is all that its list of that holds.
    let topology = topology::read_from(tree);
    let cpuinfo = tree.read("/proc/cpuinfo").unwrap_or_default();
    Host {
        hostname: uname.nodename.clone(),
        os: distribution(tree).unwrap_or_else(|| "Linux".to_owned()),
        kernel: uname.release.clone(),
        arch: uname.machine.clone(),
        cpu_model: cpu_model::read(&cpuinfo),
        hypervisor: hypervisor::read(tree, cpuid, &cpuinfo),
        memory_bytes: memory(tree),
        clocksource: line(tree, "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        frequency: frequency::read(tree, &topology.online),
        topology,
        unknown: serde_json::Map::new(),
    }
}

/// A file of one line, trimmed; absent where it is empty.
fn line(tree: &mut Tree, path: &str) -> Option<String> {
    let text = tree.read(path)?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// `PRETTY_NAME` of os-release(5), which is there in one of two places. The quoting is that of a shell.
fn distribution(tree: &mut Tree) -> Option<String> {
    let text = ["/etc/os-release", "/usr/lib/os-release"].iter().find_map(|path| tree.read(path))?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    Some(match (quoted('"'), quoted('\'')) {
        (Some(inner), _) => inner.replace("\\\"", "\"").replace("\\$", "$").replace("\\\\", "\\"),
        (None, Some(inner)) => inner.to_owned(),
        (None, None) => value.to_owned(),
    })
}

/// `MemTotal` of proc_meminfo(5), whose "kB" are kibibytes.
fn memory(tree: &mut Tree) -> Bytes {
    let text = tree.read_lines("/proc/meminfo", |line| line.starts_with("MemTotal:"));
    let kib = text.as_deref().and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok());
    Bytes::from_kib(kib.unwrap_or(0))
}
