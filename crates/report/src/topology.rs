//! A machine's CPUs as text: the CPUs that exist, the usable ones, and the reasons why there are no
//! more.
//!
//! The text is plain ASCII in two columns, labels and facts. Equal parts share one line with their
//! number, so that 256 CPUs take no more lines than 16. The order of CPUs in a sweep is not shown:
//! it depends on the policy.

mod caches;

use std::collections::BTreeSet;

use morecores_study::{Core, CoreClass, CpuSet, Restriction, Topology};
use textwrap::core::Word;

/// Narrowest layout: a label, and a range of CPU numbers beside it.
const MIN_WIDTH: usize = 40;

/// Columns of the longest label, `Why fewer`, and of two spaces.
const LABEL_WIDTH: usize = 11;

/// Describes the machine in lines of at most `width` columns; a width below 40 counts as 40. Only
/// the path of a file may make a line longer, so that it can be copied.
pub fn topology(topology: &Topology, width: usize) -> String {
    let mut page = Page { text: String::new(), width: width.max(MIN_WIDTH) };
    page.line("Usable", &usable(topology));
    page.lines("Why fewer", topology.usable.why_fewer().map(ToString::to_string));
    page.lines("Note", notes(topology));
    page.line("Online", &named(&topology.online));
    if !topology.offline.is_empty() {
        page.line("Offline", &named(&topology.offline));
    }
    page.lines("Packages", places(topology));
    page.lines("Cores", cores(topology));
    page.lines("Clusters", clusters(topology));
    page.lines("Caches", caches::lines(topology));
    let unread = topology.unread.iter().map(|unread| format!("{}: {}", unread.path, unread.why));
    page.lines("Unknown", unread);
    page.text
}

/// Text in two columns.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn line(&mut self, label: &str, fact: &str) {
        let first = format!("{label:LABEL_WIDTH$}");
        let rest = " ".repeat(LABEL_WIDTH + 2);
        let options = textwrap::Options::new(self.width)
            .initial_indent(&first)
            .subsequent_indent(&rest)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .word_separator(textwrap::WordSeparator::Custom(words));
        for line in textwrap::wrap(&shown(fact), options) {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// Adds one fact after the other, the label before the first; nothing if there are none.
    fn lines(&mut self, label: &str, facts: impl IntoIterator<Item = String>) {
        for (index, fact) in facts.into_iter().enumerate() {
            self.line(if index == 0 { label } else { "" }, &fact);
        }
    }
}

/// Length in characters above which a list of CPUs may be broken after a comma.
const LONG_LIST: usize = 24;

/// Splits a line into words. Lines may break at spaces and within a long list of numbers, but not
/// within `cpu,cpuacct`, which is a path.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    Box::new(line.split_inclusive(' ').flat_map(|word| {
        let breaks = word.len() > LONG_LIST && word.starts_with(|c: char| c.is_ascii_digit());
        word.split_inclusive(move |c| breaks && c == ',').map(Word::from)
    }))
}

/// Escapes control characters in a text: a cgroup's name must not control the terminal.
fn shown(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { plain.extend(c.escape_default()) } else { plain.push(c) }
    }
    plain
}

fn usable(topology: &Topology) -> String {
    let usable = &topology.usable;
    let head = format!("{} of {}", usable.count, count(topology.present.len(), "CPU"));
    if usable.count == usable.cpus.len() {
        return format!("{head}: {}", usable.cpus);
    }
    let quota = usable.quota_cpus.map(rounded).unwrap_or_default();
    format!("{head}: a quota of {} on {}", cpus_of_time(&quota), named(&usable.cpus))
}

fn notes(topology: &Topology) -> impl Iterator<Item = String> + '_ {
    let usable = &topology.usable;
    usable.restrictions.iter().filter_map(|restriction| match restriction {
        Restriction::Isolated { .. } | Restriction::NotBalanced { .. } | Restriction::NohzFull { .. } => {
            Some(restriction.to_string())
        }
        // The restrictions that limit the CPUs are under "why fewer".
        Restriction::Quota { .. } if !usable.why_fewer().any(|why| why == restriction) => {
            Some(format!("{restriction}, enough for the CPUs usable"))
        }
        _ => None,
    })
}

/// Describes each package with its nodes.
fn places(topology: &Topology) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, package) in topology.packages.iter().enumerate() {
        let nodes: Vec<_> =
            topology.nodes.iter().filter(|node| !node.cpus.intersection(&package.cpus).is_empty()).collect();
        let id = package.id.map_or_else(|| format!("[{index}]"), |id| id.to_string());
        let node = match nodes[..] {
            [node] => format!(", node {}", node.id),
            [] => String::new(),
            _ => format!(", {}", count(nodes.len(), "node")),
        };
        let cores = count(topology.cores_in(&package.cpus), "core");
        lines.push(format!("{id}{node}: {cores}, {}", named(&package.cpus)));
        if nodes.len() > 1 {
            lines.extend(nodes.iter().map(|node| format!("- node {}: {}", node.id, named(&node.cpus))));
        }
    }
    let memory = topology.nodes.iter().filter(|node| node.cpus.is_empty());
    lines.extend(memory.map(|node| format!("node {}: memory without CPUs", node.id)));
    lines
}

/// Describes each type of core: number, threads, speed and CPUs.
fn cores(topology: &Topology) -> Vec<String> {
    let several = topology.core_types.len() > 1;
    let line = |(index, core_type): (usize, &morecores_study::CoreType)| {
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
        let cpus = if several { format!(": {}", named(&core_type.cpus)) } else { String::new() };
        format!("{}{capacity}, {}{rate}{cpus}", count(cores.len(), kind), threads(&cores))
    };
    topology.core_types.iter().enumerate().map(line).collect()
}

/// Number of online hardware threads of these cores.
fn threads(cores: &[&Core]) -> String {
    let counts: BTreeSet<usize> = cores.iter().map(|core| core.cpus.len()).collect();
    match (counts.first(), counts.last()) {
        (Some(1), Some(1)) => "one thread each".to_owned(),
        (Some(least), Some(most)) if least == most => format!("{most} threads each (SMT)"),
        (Some(least), Some(most)) => format!("{least} to {most} threads each (SMT)"),
        _ => "no threads".to_owned(),
    }
}

/// Clusters of more than one core, unless a cache covers the same CPUs.
fn clusters(topology: &Topology) -> Option<String> {
    let cached = |set: &&CpuSet| topology.caches.iter().any(|cache| cache.cpus == **set);
    let (_, told): (Vec<&CpuSet>, Vec<&CpuSet>) = topology.clusters.iter().partition(cached);
    (!told.is_empty()).then(|| sets(&told))
}

/// Sets of CPUs in words: `0-3; 4-5`.
fn sets(sets: &[&CpuSet]) -> String {
    sets.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Number with its noun: `1 core`, `2 cores`.
fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Names CPUs: `CPU 3` or `CPUs 0-3`.
fn named(cpus: &CpuSet) -> String {
    format!("CPU{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}

fn cpus_of_time(cpus: &str) -> String {
    format!("{cpus} {}", if cpus == "1" { "CPU" } else { "CPUs" })
}

/// Number of CPUs with up to three decimals: quotas are set in hundredths of a CPU, seldom finer.
fn rounded(cpus: f64) -> String {
    ((cpus * 1e3).round() / 1e3).to_string()
}
