//! Waits for kernel locks that a trace can see on this machine.
//!
//! The tracepoints `lock:contention_begin` and `contention_end` (`include/trace/events/lock.h`) are
//! in the slow path of each kind of lock. A spinlock has three slow paths, and the boot process
//! chooses one (`queued_spin_lock_slowpath` in `kernel/locking/qspinlock.c`, `virt_spin_lock` in
//! `arch/x86/include/asm/qspinlock.h`):
//!
//! | slow path | traced waits |
//! |---|---|
//! | queue with paravirtual waiting | every waiter |
//! | native queue | every waiter except the first, which spins on the lock word outside of the queue |
//! | test-and-set, under hypervisors without help for waiters | none |

use crate::{CheckedFacility, Finding, State};

use super::facts::{Facts, Spinlocks};
use super::remedy::{no_remedy, root_command};
use super::tracing::TOO_OLD;
use super::{fine_finding, flawed_finding, unknown_finding};

/// Slow path of a spinlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlowPath {
    Paravirtual,
    Queue,
    TestAndSet,
    /// Guests of Xen and Hyper-V decide by facts that are not visible to this process.
    Unknown,
}

pub(super) fn finding(facts: &Facts) -> Finding {
    let what = CheckedFacility::KernelLocks;
    let matters = "waits for kernel locks, and with them the waiting ratio";
    let Some(missing) = &facts.tracing.missing_tracepoints else {
        let fact = "unknown: neither tracefs nor the kernel's types can be read";
        return unknown_finding(facts, what, fact, matters);
    };
    if missing.iter().any(|name| name.starts_with("lock:")) {
        return flawed_finding(
            what,
            State::Missing,
            "this kernel has no tracepoints for them",
            matters,
            no_remedy(TOO_OLD),
        );
    }
    match slow_path(facts) {
        SlowPath::Paravirtual => {
            fine_finding(what, "waits are traced, for spinlocks too (paravirtual queue)", matters)
        }
        SlowPath::Queue => fine_finding(
            what,
            "waits are traced; for spinlocks all but those of the first waiter, which spins outside the queue",
            matters,
        ),
        SlowPath::TestAndSet => flawed_finding(
            what,
            State::Limited,
            "waits are traced, but none for spinlocks: under this hypervisor they have no queue (test-and-set)",
            matters,
            no_remedy(
                "only its host can offer paravirtual spinlocks; spinning counts as the kernel's work here",
            ),
        ),
        SlowPath::Unknown => flawed_finding(
            what,
            State::Limited,
            "waits are traced; only the kernel's log shows whether this includes spinlocks",
            matters,
            root_command(&facts.privilege, "dmesg | grep -i 'PV spinlocks'"),
        ),
    }
}

/// Slow path that `native_pv_lock_init` (`arch/x86/kernel/paravirt.c`) and `kvm_spinlock_init`
/// (`arch/x86/kernel/kvm.c`) choose. Until Linux 6.17, `kvm_spinlock_init` checked the host's
/// support before the three reasons for a native queue.
fn slow_path(facts: &Facts) -> SlowPath {
    let Spinlocks { paravirt, paravirt_spinlocks, nopvspin, possible_cpus, pv_unhalt, dedicated } =
        facts.tracing.spinlocks;
    match facts.host.arch.as_str() {
        "x86_64" | "i686" => {}
        // aarch64 uses the generic queue, without a hook for a hypervisor.
        "aarch64" => return SlowPath::Queue,
        _ => return SlowPath::Unknown,
    }
    let Some(hypervisor) = facts.host.hypervisor.as_deref() else { return SlowPath::Queue };
    match (paravirt, paravirt_spinlocks) {
        (Some(false), _) => return SlowPath::Queue,
        (Some(true), Some(false)) => return SlowPath::TestAndSet,
        (Some(true), Some(true)) => {}
        _ => return SlowPath::Unknown,
    }
    match hypervisor {
        "KVM" => match (pv_unhalt, dedicated) {
            (Some(false), Some(false)) if possible_cpus > 1 && !nopvspin => SlowPath::TestAndSet,
            // The order of the kernel's checks decides, and it has changed between versions.
            (Some(false), _) => SlowPath::Unknown,
            (Some(true), Some(false)) if possible_cpus > 1 && !nopvspin => SlowPath::Paravirtual,
            (Some(true), Some(_)) => SlowPath::Queue,
            _ => SlowPath::Unknown,
        },
        "Xen" | "Hyper-V" => SlowPath::Unknown,
        // The kernel has no spinlocks for other hypervisors.
        _ => SlowPath::TestAndSet,
    }
}
