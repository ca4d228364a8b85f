//! The one table of the components of a traced run, and the types that follow from it.
//!
//! A component is a kind of CPU time. The table has its key, its field in a run, and the component
//! that contains its time where a trace cannot tell it apart. This module holds no name for people:
//! `report` has these.

use serde::{Deserialize, Serialize};

/// Value of a component's field: always known, or known for some traces only.
trait FieldValue {
    /// Converts an amount that is none if the component cannot be told apart.
    fn from_amount(amount: Option<f64>) -> Self;
}

impl FieldValue for f64 {
    fn from_amount(amount: Option<f64>) -> Self {
        amount.unwrap_or(0.0)
    }
}

impl FieldValue for Option<f64> {
    fn from_amount(amount: Option<f64>) -> Self {
        amount
    }
}

/// Defines the components: description, variant, key, then its field in a run with its type. `in`
/// names the component that contains the time of an optional one.
macro_rules! components {
    ($(
        $(#[doc = $description:literal])+
        $variant:ident, $key:ident, $field:ident: $type:ty $(, in $container:ident)?;
    )+) => {
        /// CPU-seconds of the allotted CPUs over one traced run, divided without overlap. The
        /// components add up to `cpus · elapsed`, because the time that no rule explains is a
        /// component too.
        ///
        /// A component that this trace cannot tell apart is null, and another component contains
        /// its time:
        ///
        /// - `kernel_work_s` in `user_work_s`,
        /// - `kernel_lock_spin_s` in the work of the spinning thread,
        /// - `interrupt_s` and `steal_s` in the component that they interrupt,
        /// - `idle_pinned_s` and `idle_held_s` in `idle_scheduling_s`,
        /// - every other idle component in `idle_too_little_work_s`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        pub struct Components {
            $($(#[doc = $description])+ pub $field: $type,)+
        }

        /// Loss of each component, in CPUs: its CPUs at this count minus those of the baseline
        /// times the speedup. May be negative.
        ///
        /// The names are those of [`Components`] without the unit. A loss is null if either run
        /// cannot tell the component apart. The component that contains its time then contains its
        /// loss too.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        #[allow(missing_docs, reason = "one per field of Components, described there")]
        pub struct Losses {
            $(pub $key: $type,)+
        }

        /// 95% interval of each component, `[low, high]`: CPU-seconds of a count's traced runs, or
        /// the CPUs of a loss. Null if the component cannot be told apart.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        #[allow(missing_docs, reason = "one per field of Components, described there")]
        pub struct ComponentIntervals {
            $(pub $key: Option<[f64; 2]>,)+
        }

        impl ComponentIntervals {
            /// Intervals with the `ends` of each component.
            pub(crate) fn from_ends(ends: impl Fn(Component) -> Option<[f64; 2]>) -> Self {
                Self { $($key: ends(Component::$variant),)+ }
            }
        }

        impl Losses {
            /// Losses with the `amount` of each component. An amount of none counts as zero for a
            /// component that every trace can tell apart.
            pub(crate) fn from_amounts(amount: impl Fn(Component) -> Option<f64>) -> Self {
                Self { $($key: FieldValue::from_amount(amount(Component::$variant)),)+ }
            }
        }

        /// A kind of CPU time, or the CPU time that no rule explains.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        #[serde(rename_all = "snake_case")]
        pub enum Component {
            $($(#[doc = $description])+ $variant,)+
        }

        impl Component {
            /// Every component, in the order of the record.
            pub const ALL: [Self; [$(stringify!($key)),+].len()] = [$(Self::$variant),+];

            /// Key in [`Losses`]; the key in [`Components`] has the unit after it.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => stringify!($key),)+ }
            }

            /// Component that contains the time of this one if a trace cannot tell it apart. None
            /// if every trace can.
            pub const fn container(self) -> Option<Self> {
                match self {
                    $($(Self::$variant => Some(Self::$container),)?)+
                    _ => None,
                }
            }

            /// CPU-seconds of the component in a traced run; none if the run cannot tell it apart.
            pub fn seconds(self, components: &Components) -> Option<f64> {
                match self { $(Self::$variant => components.$field.into(),)+ }
            }

            /// Loss of the component in a speedup stack, in CPUs; none if either run cannot tell it
            /// apart.
            pub fn loss(self, losses: &Losses) -> Option<f64> {
                match self { $(Self::$variant => losses.$key.into(),)+ }
            }

            /// Interval of the component, `[low, high]`; none if it cannot be told apart.
            pub fn interval(self, intervals: &ComponentIntervals) -> Option<[f64; 2]> {
                match self { $(Self::$variant => intervals.$key,)+ }
            }

            /// Whether the component is a kind of idle time.
            pub fn is_idle(self) -> bool {
                self.key().starts_with("idle_")
            }
        }
    };
}

components! {
    /// Work of the tree in user mode.
    UserWork, user_work, user_work_s: f64;
    /// Work of the tree in the kernel: system calls and faults.
    KernelWork, kernel_work, kernel_work_s: Option<f64>, in UserWork;
    /// Hard and soft interrupts.
    Interrupt, interrupt, interrupt_s: Option<f64>, in UserWork;
    /// Time that threads of the tree spun for kernel locks.
    KernelLockSpin, kernel_lock_spin, kernel_lock_spin_s: Option<f64>, in KernelWork;
    /// Time of other processes and kernel threads.
    OtherProcesses, other_processes, other_processes_s: f64;
    /// Time of the tracer: its reader and its BPF programs.
    Tracer, tracer, tracer_s: f64;
    /// Time that a hypervisor took while a thread was running.
    Steal, steal, steal_s: Option<f64>, in UserWork;
    /// Idle time although a thread was runnable and allowed on the idle CPU.
    IdleScheduling, idle_scheduling, idle_scheduling_s: f64;
    /// Idle time although a thread was ready, because a quota, a frozen group or a real-time budget
    /// held the thread back.
    IdleHeld, idle_held, idle_held_s: Option<f64>, in IdleScheduling;
    /// Idle time although a thread was runnable, because the thread was not allowed on the idle
    /// CPU.
    IdlePinned, idle_pinned, idle_pinned_s: Option<f64>, in IdleScheduling;
    /// Idle time while a thread waited for a kernel lock.
    IdleKernelLock, idle_kernel_lock, idle_kernel_lock_s: Option<f64>, in IdleTooLittleWork;
    /// Idle time while a thread waited for a user lock.
    IdleUserLock, idle_user_lock, idle_user_lock_s: Option<f64>, in IdleTooLittleWork;
    /// Idle time while a thread waited for a disk.
    IdleDisk, idle_disk, idle_disk_s: Option<f64>, in IdleTooLittleWork;
    /// Idle time while a thread waited for a process outside the tree.
    IdlePeer, idle_peer, idle_peer_s: Option<f64>, in IdleTooLittleWork;
    /// Idle time while a thread waited for a device other than a disk.
    IdleDevice, idle_device, idle_device_s: Option<f64>, in IdleTooLittleWork;
    /// Idle time while a thread waited for a grace period of the kernel's RCU on all CPUs.
    IdleRcu, idle_rcu, idle_rcu_s: Option<f64>, in IdleTooLittleWork;
    /// Idle time while a thread waited uninterruptibly in the kernel for something that no event
    /// shows.
    IdleUninterruptible, idle_uninterruptible, idle_uninterruptible_s: Option<f64>, in IdleTooLittleWork;
    /// Idle time while all threads waited and a timer ended the wait.
    IdleTimer, idle_timer, idle_timer_s: Option<f64>, in IdleTooLittleWork;
    /// Idle time for lack of parallel work.
    IdleTooLittleWork, idle_too_little_work, idle_too_little_work_s: f64;
    /// Time that no rule explains; may be negative.
    Unexplained, unexplained, unexplained_s: f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_optional_exactly_if_another_contains_it() {
        for component in Component::ALL {
            let absent = component.seconds(&Components::default()).is_none();
            assert_eq!(component.container().is_some(), absent, "{component:?}");
        }
    }

    #[test]
    fn the_field_of_a_component_is_its_key_with_the_unit() {
        let keys = |value: serde_json::Value| -> Vec<String> {
            value.as_object().unwrap().keys().cloned().collect()
        };
        let losses = keys(serde_json::to_value(Losses::default()).unwrap());
        let components = keys(serde_json::to_value(Components::default()).unwrap());
        assert_eq!(losses.len(), Component::ALL.len());
        for component in Component::ALL {
            assert!(losses.iter().any(|key| key == component.key()), "{component:?}");
            assert!(components.contains(&format!("{}_s", component.key())), "{component:?}");
            assert_eq!(serde_json::to_value(component).unwrap(), component.key());
        }
    }
}
