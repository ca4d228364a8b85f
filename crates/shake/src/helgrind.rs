//! Accesses that Helgrind, a tool of valgrind, reports as races. They are candidates for holds and
//! never a verdict: Helgrind is often wrong about atomic operations.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use morecores_findings::{CodePlace, HelgrindUse};
use nix::libc;
use nix::sys::ptrace::Options;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use roxmltree::{Document, Node};

use crate::code::CodeMap;
use crate::launch::{self, OutputFiles};
use crate::tracee::{self, NO_SIGNAL, Report};

/// Time between two looks at valgrind.
const PAUSE: Duration = Duration::from_millis(2);
/// File of valgrind that stands in for functions of the C library.
const REPLACEMENTS: &str = "vgpreload";

/// Places of the accesses that race, by Helgrind, in one run of the program that ends after
/// `timeout` at the latest. `directory` receives the reports.
///
/// # Errors
/// Valgrind cannot be started or traced, or it writes no report.
pub(crate) fn find_races(
    command: &[OsString],
    cpus: &[usize],
    directory: &Path,
    timeout: Duration,
    output: OutputFiles,
) -> io::Result<(BTreeSet<CodePlace>, HelgrindUse)> {
    let report = directory.join("helgrind-%p.xml");
    let mut line: Vec<OsString> = ["valgrind", "--tool=helgrind", "--trace-children=yes", "--xml=yes"]
        .into_iter()
        .map(OsString::from)
        .collect();
    let mut file = OsString::from("--xml-file=");
    file.push(report);
    line.extend([file, OsString::from("--")]);
    line.extend_from_slice(command);
    let (maps, has_succeeded) = trace_to_end(&line, cpus, timeout, output)?;
    let mut places = BTreeSet::new();
    for (process, map) in maps {
        let path = directory.join(format!("helgrind-{process}.xml"));
        if let Ok(text) = fs::read_to_string(path) {
            places.extend(racing_addresses(&text).into_iter().filter_map(|address| map.place(address)));
        }
    }
    Ok((places, if has_succeeded { HelgrindUse::Complete } else { HelgrindUse::CutShort }))
}

/// Runs valgrind. Returns the mappings that each process had at its end: valgrind reports
/// addresses, and loads a program elsewhere than the kernel. The second result tells whether the
/// program succeeded, as it does without valgrind: some crash in it (rustix reads the addresses of
/// the vDSO that valgrind hides), and then all later races are missing.
fn trace_to_end(
    line: &[OsString],
    cpus: &[usize],
    timeout: Duration,
    output: OutputFiles,
) -> io::Result<(HashMap<Pid, CodeMap>, bool)> {
    let child = launch::start(line, cpus, output)?;
    let root = tracee::seize(&child, Options::PTRACE_O_TRACEEXIT)?;
    let deadline = Instant::now() + timeout;
    let (mut maps, mut has_succeeded) = (HashMap::new(), false);
    loop {
        let report = match tracee::poll() {
            Ok(report) => report,
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok((maps, has_succeeded)),
            Err(error) => return Err(error),
        };
        let (thread, signal) = match report {
            None => {
                if Instant::now() >= deadline {
                    let _ = kill(root, Signal::SIGKILL);
                }
                std::thread::sleep(PAUSE);
                continue;
            }
            Some(Report::Event(thread, event)) => {
                if event == libc::PTRACE_EVENT_EXIT
                    && let Ok(map) = CodeMap::read(thread)
                {
                    maps.insert(thread, map);
                }
                (thread, NO_SIGNAL)
            }
            Some(Report::Signal(thread, signal)) => (thread, signal),
            Some(Report::Exited(thread, status)) => {
                has_succeeded |= thread == root && status == 0;
                continue;
            }
            Some(Report::Killed(..)) => continue,
        };
        match tracee::go_on(thread, signal) {
            // Another thread ended it meanwhile.
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error),
            _ => {}
        }
    }
}

/// Addresses of the accesses in the races of a report. The report of a process that was killed is
/// cut short.
fn racing_addresses(report: &str) -> BTreeSet<u64> {
    let complete = match report.rfind("</error>") {
        Some(end) => format!("{}</error></valgrindoutput>", &report[..end]),
        None => return BTreeSet::new(),
    };
    let Ok(document) = Document::parse(&complete) else { return BTreeSet::new() };
    let errors = document.descendants().filter(|node| node.has_tag_name("error"));
    let races = errors.filter(|error| child_text(*error, "kind") == Some("Race"));
    let stacks = races.flat_map(|race| race.children().filter(|node| node.has_tag_name("stack")));
    stacks.filter_map(|stack| access(&stack)).collect()
}

/// Address of the access of a stack: of its innermost frame in the program's own code.
fn access(stack: &Node<'_, '_>) -> Option<u64> {
    let frames = stack.children().filter(|node| node.has_tag_name("frame"));
    let mut own =
        frames.filter(|frame| !child_text(*frame, "obj").is_some_and(|file| file.contains(REPLACEMENTS)));
    let address = child_text(own.next()?, "ip")?;
    u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()
}

fn child_text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.children().find(|child| child.has_tag_name(name))?.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "<?xml version=\"1.0\"?>\n<valgrindoutput><error><kind>Race</kind>\
        <stack><frame><ip>0x1091A7</ip><obj>/p</obj></frame><frame><ip>0x109999</ip></frame></stack>\
        <xauxwhat><text>This conflicts</text></xauxwhat>\
        <stack><frame><ip>0x48</ip><obj>/usr/libexec/valgrind/vgpreload_helgrind-amd64-linux.so</obj></frame>\
        <frame><ip>0x1091B0</ip><obj>/p</obj></frame></stack></error>\
        <error><kind>LockOrder</kind><stack><frame><ip>0x5</ip></frame></stack></error>";

    #[test]
    fn both_accesses_of_a_race_are_found_in_a_cut_report() {
        let expected = BTreeSet::from([0x1091a7, 0x1091b0]);
        assert_eq!(racing_addresses(REPORT), expected);
        assert_eq!(racing_addresses(&format!("{REPORT}<error><kind>Ra")), expected);
        assert_eq!(racing_addresses(""), BTreeSet::new());
    }
}
