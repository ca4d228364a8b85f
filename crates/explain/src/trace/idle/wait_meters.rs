//! Meters of the idle time that waits absorb: one for each class of causes, read at the beginning
//! and the end of a wait. This module does not decide what a class absorbs.

use crate::trace::timeline::WaitId;
use crate::trace::wait_forest::CauseClass;

/// Idle time that one wait of a class has absorbed since the run began, and the number of waits
/// that share what the class absorbs now.
#[derive(Clone, Copy, Default)]
struct Meter {
    waits: u32,
    each_s: f64,
}

/// Meters of all classes that absorb idle time.
#[derive(Default)]
pub(super) struct WaitMeters([Meter; CauseClass::Other as usize]);

/// A wait since its meter was read.
pub(super) struct MeteredWait {
    pub(super) wait: WaitId,
    class: CauseClass,
    from_s: f64,
}

impl WaitMeters {
    /// Begins a wait; `None` for a class that absorbs no idle time.
    pub(super) fn begin(&mut self, wait: WaitId, class: CauseClass) -> Option<MeteredWait> {
        let meter = self.0.get_mut(class as usize)?;
        meter.waits += 1;
        Some(MeteredWait { wait, class, from_s: meter.each_s })
    }

    /// Ends a wait. Returns the idle time that it absorbed, in CPU-seconds.
    pub(super) fn end(&mut self, MeteredWait { class, from_s, .. }: &MeteredWait) -> f64 {
        let meter = &mut self.0[*class as usize];
        meter.waits -= 1;
        meter.each_s - from_s
    }

    /// Divides idle time that a class absorbed among its present waits, in equal parts.
    pub(super) fn absorb(&mut self, class: CauseClass, seconds: f64) {
        let meter = &mut self.0[class as usize];
        if meter.waits > 0 {
            meter.each_s += seconds / f64::from(meter.waits);
        }
    }
}
