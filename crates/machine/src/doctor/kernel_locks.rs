//! Which waits for kernel locks a trace can see here.
//!
//! The tracepoints `lock:contention_begin` and `contention_end` (`include/trace/events/lock.h`) stand in the slow path
//! of each kind of lock. A spinlock has three slow paths, chosen at boot (`queued_spin_lock_slowpath` in
//! `kernel/locking/qspinlock.c`, `virt_spin_lock` in `arch/x86/include/asm/qspinlock.h`):
//!
//! | slow path | what is traced |
//! |---|---|
//! | queue with paravirtual waiting | every waiter |
//! | native queue | every waiter but the first one, who spins on the lock word outside of the queue |
//! | test-and-set, under hypervisors without help for waiters | none |

use crate::{Finding, State, Subject};

use super::facts::{Facts, Spinlocks};
use super::remedy::{as_root, by_root, nothing};
use super::tracing::TOO_OLD;
use super::{fine, flaw};

/// How spinlocks are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlowPath {
    Paravirtual,
    Queue,
    TestAndSet,
    /// Xen's and Hyper-V's guests decide by more than can be seen from here.
    Unknown,
}

pub(super) fn finding(facts: &Facts) -> Finding {
    let what = Subject::KernelLocks;
    let matters = "waits for kernel locks, and with them the waiting ratio";
    let Some(missing) = &facts.tracing.missing_tracepoints else {
        let fact = "unknown: neither tracefs nor the kernel's types can be read";
        return flaw(what, State::Limited, fact, matters, by_root(&facts.privilege, "morecores doctor"));
    };
    if missing.iter().any(|name| name.starts_with("lock:")) {
        return flaw(
            what,
            State::Missing,
            "this kernel has no tracepoints for them",
            matters,
            nothing(TOO_OLD),
        );
    }
    match slow_path(facts) {
        SlowPath::Paravirtual => {
            fine(what, "waits are traced, for spinlocks too (paravirtual queue)", matters)
        }
        SlowPath::Queue => fine(
            what,
            "waits are traced; for spinlocks all but the first waiter's, who spins outside of the queue",
            matters,
        ),
        SlowPath::TestAndSet => flaw(
            what,
            State::Limited,
            "waits are traced, but none for spinlocks: under this hypervisor they have no queue (test-and-set)",
            matters,
            nothing(
                "only its host can offer paravirtual spinlocks; spinning counts as the kernel's work here",
            ),
        ),
        SlowPath::Unknown => flaw(
            what,
            State::Limited,
            "waits are traced; whether those for spinlocks are, only the kernel's log tells",
            matters,
            as_root(&facts.privilege, "dmesg | grep -i 'PV spinlocks'"),
        ),
    }
}

/// As `native_pv_lock_init` (`arch/x86/kernel/paravirt.c`) and `kvm_spinlock_init` (`arch/x86/kernel/kvm.c`) choose.
/// Until Linux 6.17 the latter looked at the host's support before the three reasons for a native queue.
fn slow_path(facts: &Facts) -> SlowPath {
    let Spinlocks { paravirt, paravirt_spinlocks, nopvspin, possible_cpus, pv_unhalt, dedicated } =
        facts.tracing.spinlocks;
    match facts.host.arch.as_str() {
        "x86_64" | "i686" => {}
        // The generic queue, and no hook for a hypervisor.
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
            // The order of the questions decides, and it changed.
            (Some(false), _) => SlowPath::Unknown,
            (Some(true), Some(false)) if possible_cpus > 1 && !nopvspin => SlowPath::Paravirtual,
            (Some(true), Some(_)) => SlowPath::Queue,
            _ => SlowPath::Unknown,
        },
        "Xen" | "Hyper-V" => SlowPath::Unknown,
        // No other hypervisor has a spinlock of its own in the kernel.
        _ => SlowPath::TestAndSet,
    }
}
