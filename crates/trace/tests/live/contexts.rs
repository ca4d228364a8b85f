//! Sources of wake-ups, in every context in which a wake-up can occur, with real programs. A test
//! also checks the location of the kernel's preempt_count.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use crate::support::{all_cpus, trace, trace_with};
use morecores_study::trace::{EventKind, Interrupt, Waker};
use morecores_testkit::report_skip;
use morecores_trace::Options;

#[test]
fn a_thread_wakes_by_a_pipe() {
    const NAME: &str = "a_thread_wakes_by_a_pipe";
    // On a busy machine the reader may only start after the line was written, and never wait.
    let mut all = Vec::new();
    for delay in ["0.02", "0.2", "2"] {
        let Some(traced) = trace(NAME, &format!("(sleep {delay}; echo x) | cat")) else { return };
        let (tree, wakers) = (traced.tree(), traced.wakers(traced.program("cat")));
        assert!(!wakers.iter().any(|by| matches!(by, Waker::Interrupt(Interrupt::Timer))), "{wakers:?}");
        if wakers.iter().any(|by| matches!(by, Waker::Thread(tid) if tree.contains(tid))) {
            return;
        }
        all.extend(wakers);
    }
    panic!("no thread of the tree woke the reader: {all:?}");
}

#[test]
fn a_timer_wakes_a_sleeper() {
    const NAME: &str = "a_timer_wakes_a_sleeper";
    let Some(traced) = trace(NAME, "exec sleep 0.02") else { return };
    let wakers = traced.wakers(traced.recorded.root);
    // The timer's interrupt. On a machine without a high-resolution timer, or on a busy one, the
    // interrupt leaves the wake-up to a soft interrupt: TIMER or HRTIMER of
    // include/linux/interrupt.h.
    let by_timer = |by: &Waker| match by {
        Waker::Interrupt(Interrupt::Timer) => true,
        Waker::SoftIrqOfInterrupt { vector, .. } | Waker::SoftIrqOfThread { vector, .. } => {
            [1, 8].contains(vector)
        }
        _ => false,
    };
    assert!(wakers.iter().any(by_timer), "{wakers:?}");
}

#[test]
fn a_device_wakes_a_thread_that_waits_for_a_disk() {
    const NAME: &str = "a_device_wakes_a_thread_that_waits_for_a_disk";
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("data");
    std::fs::write(&file, vec![1; 4 << 20]).unwrap();
    let direct =
        |arguments: &str| format!("dd if={} of=/dev/null bs=64k {arguments} 2>/dev/null", file.display());
    let synced =
        Command::new("sh").args(["-c", &format!("sync; {}", direct("iflag=direct"))]).status().unwrap();
    if !synced.success() {
        return report_skip(NAME, "the file system reads nothing past the page cache");
    }
    // A disk that finishes a read before the reader is asleep wakes no thread: of 64 reads on a
    // fast disk, none, some or all wait.
    let mut waits = Vec::new();
    for _ in 0..10 {
        let Some(traced) = trace(NAME, &format!("exec {}", direct("iflag=direct"))) else { return };
        waits.extend(
            traced.wakings(traced.recorded.root).filter(|waking| waking.io_wait).map(|waking| waking.by),
        );
        if waits.len() >= 8 {
            break;
        }
    }
    if waits.is_empty() {
        return report_skip(NAME, "the disk was done each time before its reader slept");
    }
    let by_device = |by: &Waker| {
        let interrupt = match by {
            Waker::Interrupt(interrupt) | Waker::SoftIrqOfInterrupt { interrupt, .. } => Some(interrupt),
            _ => None,
        };
        // The disk's own interrupt, or the interrupt of the CPU to which it was delivered.
        matches!(interrupt, Some(Interrupt::Device(_) | Interrupt::Other))
    };
    // A wait for the file system's own thread, which waits for the disk, also counts as a wait for
    // the disk. On a busy machine, a kernel thread does the work that the interrupt leaves behind.
    // No timer ends a wait for a disk.
    assert!(waits.iter().any(by_device), "none of these was ended by a device: {waits:?}");
    assert!(!waits.contains(&Waker::Interrupt(Interrupt::Timer)), "{waits:?}");
}

#[test]
fn on_loopback_the_sender_wakes_the_receiver() {
    const NAME: &str = "on_loopback_the_sender_wakes_the_receiver";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let own = morecores_study::trace::Tid(std::process::id());
    let server = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut byte = [0];
        while peer.read(&mut byte).unwrap() > 0 {
            // The pause lets the receiver fall asleep.
            std::thread::sleep(std::time::Duration::from_millis(2));
            peer.write_all(&byte).unwrap();
        }
        rustix::thread::gettid()
    });
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; for i in {{1..50}}; do printf x >&3; read -n 1 -u 3; done"
    );
    let traced = trace_with(NAME, &Options::new(all_cpus()), Command::new("bash").args(["-c", &script]));
    let Some(traced) = traced else {
        // The connection makes the server end too.
        drop(std::net::TcpStream::connect(("127.0.0.1", port)));
        return;
    };
    let server = morecores_study::trace::Tid(server.join().unwrap().as_raw_nonzero().get().cast_unsigned());
    assert_ne!(server, own, "a thread of its own");
    let wakers = traced.wakers(traced.recorded.root);
    // Vector 3 is NET_RX, include/linux/interrupt.h.
    let by_sender = |by: &&Waker| **by == Waker::SoftIrqOfThread { vector: 3, tid: server };
    // On a busy machine, a kernel thread sometimes does this work, and a receiver may come late for
    // its answer.
    assert!(wakers.iter().any(|waker| by_sender(&waker)), "{wakers:?} of {server:?}");
}

#[test]
fn a_kernel_worker_works_for_the_queuing_thread() {
    const NAME: &str = "a_kernel_worker_works_for_the_queuing_thread";
    // A worker writes a file back on behalf of `sync`, unless the file system is in memory. A
    // worker takes down a network namespace on behalf of the last process in it.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let script = format!(
        "unshare --net true; dd if=/dev/zero of={}/file bs=64k count=64 2>/dev/null; sync; exec sleep 0.2",
        dir.path().display()
    );
    let Some(traced) = trace(NAME, &script) else { return };
    let tree = traced.tree();
    let queued: Vec<_> = traced
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Work(work) => work.queued_by,
            _ => None,
        })
        .collect();
    assert!(queued.iter().any(|by| matches!(by, Waker::Thread(tid) if tree.contains(tid))), "{queued:?}");
}

#[test]
fn preempt_count_shows_the_context() {
    const NAME: &str = "preempt_count_shows_the_context";
    let options = Options { check_contexts: true, ..Options::new(all_cpus()) };
    let script = "for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done";
    let Some(traced) = trace_with(NAME, &options, Command::new("sh").args(["-c", script])) else { return };
    let checks = traced.tracer.context_checks();
    if checks.thread == [0, 0] {
        return report_skip(NAME, "the kernel does not describe where its preempt_count is");
    }
    // Timers end the sleeps, in an interrupt. Whether a soft interrupt wakes a thread in between
    // depends on the machine.
    for (context, [right, wrong], least) in [
        ("thread", checks.thread, 1),
        ("soft interrupt", checks.soft_interrupt, 0),
        ("interrupt", checks.interrupt, 1),
    ] {
        assert!(right >= least && wrong == 0, "{context}: {right} right, {wrong} wrong");
    }
}
