//! Description of this machine: the facts that a reader needs to judge or repeat a measurement.
//!
//! Reading takes a few milliseconds, so it can precede every study. This module measures and
//! changes nothing. It reads nothing that identifies a person or a single machine, such as serial
//! numbers or addresses.

mod cpu_model;
mod frequency;
mod hypervisor;

use morecores_study::{Bytes, Host};

use crate::kernel_files::Tree;
use crate::topology;

pub(crate) use frequency::BOOST_SWITCHES;
pub use hypervisor::Cpuid;

/// Strings of `uname(2)`, which no file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uname {
    /// Name of the host.
    pub nodename: String,
    /// Release of the kernel.
    pub release: String,
    /// Hardware architecture.
    pub machine: String,
}

impl Uname {
    /// Reads the strings of the running machine.
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

/// Describes the running machine. A value that cannot be read is empty or absent.
pub fn read() -> Host {
    read_from(&mut Tree::live(), &Uname::read(), &Cpuid::read())
}

/// Describes the machine of a tree of files, `uname` and CPUID.
pub fn read_from(tree: &mut Tree, uname: &Uname, cpuid: &Cpuid) -> Host {
    // The topology comes first, so that its list of unread files holds no files of other readers.
    let topology = topology::read_from(tree);
    let cpuinfo = tree.read("/proc/cpuinfo").unwrap_or_default();
    Host {
        hostname: uname.nodename.clone(),
        os: read_distribution(tree).unwrap_or_else(|| "Linux".to_owned()),
        kernel: uname.release.clone(),
        arch: uname.machine.clone(),
        cpu_model: cpu_model::read(&cpuinfo),
        hypervisor: hypervisor::read(tree, cpuid, &cpuinfo),
        memory_bytes: read_memory(tree),
        clocksource: read_line(tree, "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        frequency: frequency::read(tree, &topology.online),
        topology,
        memory_speed: None,
        unknown: serde_json::Map::new(),
    }
}

/// Reads a file of one line, trimmed; `None` if it is empty.
fn read_line(tree: &mut Tree, path: &str) -> Option<String> {
    let text = tree.read(path)?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// `PRETTY_NAME` of os-release(5), which is in one of two files. The value is quoted as in a shell.
fn read_distribution(tree: &mut Tree) -> Option<String> {
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
fn read_memory(tree: &mut Tree) -> Bytes {
    let text = tree.read_lines("/proc/meminfo", |line| line.starts_with("MemTotal:"));
    let kib = text.as_deref().and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok());
    Bytes::from_kib(kib.unwrap_or(0))
}
