//! A machine's CPUs as text: the CPUs that exist, the usable ones, and the reasons why there are no
//! more.
//!
//! The text is plain ASCII in two columns, labels and facts. Equal parts share one line with their
//! number, so that 256 CPUs take no more lines than 16. The order of CPUs in a sweep is not shown:
//! it depends on the policy.

mod caches;

use std::collections::BTreeSet;

use morecores_study::CpuSet;
use morecores_study::topology::{Core, CoreClass, Topology};
use morecores_study::usable::Restriction;
use textwrap::core::Word;

/// Narrowest layout: a label, and a range of CPU numbers beside it.
const MIN_WIDTH: usize = 40;

/// Columns of the longest label, `Why fewer`, and of two spaces.
const LABEL_WIDTH: usize = 11;

/// Describes the machine in lines of at most `width` columns; a width below 40 counts as 40. Only
/// the path of a file may make a line longer, so that it can be copied.
pub fn topology_report(topology: &Topology, width: usize) -> String {
    let mut list = FactList { text: String::new(), width: width.max(MIN_WIDTH) };
    list.add("Usable", &usable_text(topology));
    list.add_all("Why fewer", topology.usable.binding_restrictions().map(ToString::to_string));
    list.add_all("Note", restriction_notes(topology));
    list.add("Online", &cpus_text(&topology.online));
    if !topology.offline.is_empty() {
        list.add("Offline", &cpus_text(&topology.offline));
    }
    list.add_all("Packages", package_lines(topology));
    list.add_all("Cores", core_lines(topology));
    list.add_all("Clusters", cluster_text(topology));
    list.add_all("Caches", caches::cache_lines(topology));
    let unread = topology.unread.iter().map(|unread| format!("{}: {}", unread.path, unread.why));
    list.add_all("Unknown", unread);
    list.text
}

/// Text in two columns.
struct FactList {
    text: String,
    width: usize,
}

impl FactList {
    fn add(&mut self, label: &str, fact: &str) {
        let first = format!("{label:LABEL_WIDTH$}");
        let rest = " ".repeat(LABEL_WIDTH + 2);
        let options = textwrap::Options::new(self.width)
            .initial_indent(&first)
            .subsequent_indent(&rest)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .word_separator(textwrap::WordSeparator::Custom(split_words));
        for line in textwrap::wrap(&escape_control(fact), options) {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// Adds one fact after the other, the label before the first; nothing if there are none.
    fn add_all(&mut self, label: &str, facts: impl IntoIterator<Item = String>) {
        for (index, fact) in facts.into_iter().enumerate() {
            self.add(if index == 0 { label } else { "" }, &fact);
        }
    }
}

/// Length in characters above which a list of CPUs may be broken after a comma.
const MIN_BREAKABLE_LIST: usize = 24;

/// Splits a line into words. Lines may break at spaces and within a long list of numbers, but not
/// within `cpu,cpuacct`, which is a path.
fn split_words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    Box::new(line.split_inclusive(' ').flat_map(|word| {
        let breaks = word.len() > MIN_BREAKABLE_LIST && word.starts_with(|c: char| c.is_ascii_digit());
        word.split_inclusive(move |c| breaks && c == ',').map(Word::from)
    }))
}

/// Escapes control characters in a text: a cgroup's name must not control the terminal.
fn escape_control(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { plain.extend(c.escape_default()) } else { plain.push(c) }
    }
    plain
}

fn usable_text(topology: &Topology) -> String {
    let usable = &topology.usable;
    let head = format!("{} of {}", usable.count, count_text(topology.present.len(), "CPU"));
    if usable.count == usable.cpus.len() {
        return format!("{head}: {}", usable.cpus);
    }
    let quota = usable.quota_cpus.map(round_quota).unwrap_or_default();
    format!("{head}: a quota of {} on {}", quota_text(&quota), cpus_text(&usable.cpus))
}

fn restriction_notes(topology: &Topology) -> impl Iterator<Item = String> + '_ {
    let usable = &topology.usable;
    usable.restrictions.iter().filter_map(|restriction| match restriction {
        Restriction::Isolated { .. } | Restriction::NotBalanced { .. } | Restriction::NohzFull { .. } => {
            Some(restriction.to_string())
        }
        // The restrictions that limit the CPUs are under "why fewer".
        Restriction::Quota { .. } if !usable.binding_restrictions().any(|why| why == restriction) => {
            Some(format!("{restriction}, enough for the CPUs usable"))
        }
        _ => None,
    })
}

/// Describes each package with its nodes.
fn package_lines(topology: &Topology) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, package) in topology.packages.iter().enumerate() {
        let nodes: Vec<_> =
            topology.nodes.iter().filter(|node| !node.cpus.intersection(&package.cpus).is_empty()).collect();
        let id = package.id.map_or_else(|| format!("[{index}]"), |id| id.to_string());
        let node = match nodes[..] {
            [node] => format!(", node {}", node.id),
            [] => String::new(),
            _ => format!(", {}", count_text(nodes.len(), "node")),
        };
        let cores = count_text(topology.cores_in(&package.cpus), "core");
        lines.push(format!("{id}{node}: {cores}, {}", cpus_text(&package.cpus)));
        if nodes.len() > 1 {
            lines.extend(nodes.iter().map(|node| format!("- node {}: {}", node.id, cpus_text(&node.cpus))));
        }
    }
    let memory = topology.nodes.iter().filter(|node| node.cpus.is_empty());
    lines.extend(memory.map(|node| format!("node {}: memory without CPUs", node.id)));
    lines
}

/// Describes each type of core: number, threads, speed and CPUs.
fn core_lines(topology: &Topology) -> Vec<String> {
    let several = topology.core_types.len() > 1;
    let line = |(index, core_type): (usize, &morecores_study::topology::CoreType)| {
        let cores: Vec<&Core> = topology.cores.iter().filter(|core| core.core_type == index).collect();
        let kind = match core_type.class {
            CoreClass::Performance => "performance core",
            CoreClass::Efficiency => "efficiency core",
            CoreClass::LowPower => "low-power core",
            CoreClass::Uniform
            | CoreClass::Capacity(_)
            | CoreClass::HighestPerformance(_)
            | CoreClass::MaxClock(_) => "core",
        };
        let capacity = match core_type.class {
            CoreClass::Capacity(capacity) => format!(" of capacity {capacity}"),
            CoreClass::HighestPerformance(rating) => format!(" rated {rating}"),
            _ => String::new(),
        };
        let rate = cores.iter().filter_map(|core| core.max_frequency).max();
        let rate = rate.map(|rate| format!(", up to {rate}")).unwrap_or_default();
        let cpus = if several { format!(": {}", cpus_text(&core_type.cpus)) } else { String::new() };
        format!("{}{capacity}, {}{rate}{cpus}", count_text(cores.len(), kind), threads_text(&cores))
    };
    topology.core_types.iter().enumerate().map(line).collect()
}

/// Number of online hardware threads of these cores.
fn threads_text(cores: &[&Core]) -> String {
    let counts: BTreeSet<usize> = cores.iter().map(|core| core.cpus.len()).collect();
    match (counts.first(), counts.last()) {
        (Some(1), Some(1)) => "one thread each".to_owned(),
        (Some(least), Some(most)) if least == most => format!("{most} threads each (SMT)"),
        (Some(least), Some(most)) => format!("{least} to {most} threads each (SMT)"),
        _ => "no threads".to_owned(),
    }
}

/// Clusters of more than one core, unless a cache covers the same CPUs.
fn cluster_text(topology: &Topology) -> Option<String> {
    let cached = |set: &&CpuSet| topology.caches.iter().any(|cache| cache.cpus == **set);
    let (_, uncached): (Vec<&CpuSet>, Vec<&CpuSet>) = topology.clusters.iter().partition(cached);
    (!uncached.is_empty()).then(|| join_sets(&uncached))
}

/// Sets of CPUs in words: `0-3; 4-5`.
fn join_sets(sets: &[&CpuSet]) -> String {
    sets.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Number with its noun: `1 core`, `2 cores`.
fn count_text(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Names CPUs: `CPU 3` or `CPUs 0-3`.
fn cpus_text(cpus: &CpuSet) -> String {
    format!("CPU{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}

fn quota_text(cpus: &str) -> String {
    format!("{cpus} {}", if cpus == "1" { "CPU" } else { "CPUs" })
}

/// Number of CPUs with up to three decimals: quotas are set in hundredths of a CPU, seldom finer.
fn round_quota(cpus: f64) -> String {
    ((cpus * 1e3).round() / 1e3).to_string()
}
