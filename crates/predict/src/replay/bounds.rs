//! What no machine can beat, by the program alone.

use std::ops::AddAssign;

use morecores_study::Nanos;

use super::engine::replay;
use super::machine::Machine;
use super::program::{Program, Step};

/// Times that elapsed time cannot be below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// CPU time in all.
    pub work: Nanos,
    /// The longest chain of steps that wait for each other: elapsed time with a CPU for each thread, free locks and devices that
    /// serve all at once.
    pub span: Nanos,
    /// Time under each lock in all.
    pub holds: Vec<Nanos>,
    /// Service of each device in all, over its channels; nothing of one that serves any number at once.
    pub services: Vec<Nanos>,
}

impl Bounds {
    /// The least elapsed time on so many CPUs.
    pub fn least(&self, cpus: u32) -> Nanos {
        let alone = self.holds.iter().chain(&self.services).copied().max().unwrap_or(Nanos::ZERO);
        self.span.max(alone).max(Nanos(self.work.0 / u64::from(cpus.max(1))))
    }
}

impl Program {
    /// What no machine can beat.
    pub fn bounds(&self) -> Bounds {
        let mut bounds = Bounds {
            work: self.work(),
            span: Nanos::ZERO,
            holds: vec![Nanos::ZERO; self.locks.len()],
            services: vec![Nanos::ZERO; self.devices.len()],
        };
        for script in self.scripts() {
            let mut kept = None;
            for step in script {
                match *step {
                    Step::Lock(lock) => kept = Some(lock),
                    Step::GiveBack(_) => kept = None,
                    Step::Hold { lock, time } => bounds.holds[lock as usize].add_assign(time),
                    Step::Serve { device, time } => bounds.services[device as usize].add_assign(time),
                    _ => {}
                }
                if let (Some(lock), Step::Run(time) | Step::Sleep(time) | Step::Serve { time, .. }) =
                    (kept, *step)
                {
                    bounds.holds[lock as usize].add_assign(time);
                }
            }
        }
        for (service, channels) in bounds.services.iter_mut().zip(&self.devices) {
            service.0 = if *channels == u32::MAX { 0 } else { service.0 / u64::from((*channels).max(1)) };
        }
        bounds.span = replay(&self.without_queues(), &Machine::new(self.threads.len() as u32)).elapsed;
        bounds
    }

    /// The same with every lock free and every device serving all at once.
    fn without_queues(&self) -> Self {
        let free = |step: &Step| match *step {
            Step::Hold { time, .. } => Step::Run(time),
            Step::Serve { time, .. } => Step::Sleep(time),
            other => other,
        };
        let mut freed = self.clone();
        for script in freed.scripts_mut() {
            script.retain(|step| !matches!(step, Step::Lock(_) | Step::GiveBack(_)));
            script.iter_mut().for_each(|step| *step = free(step));
        }
        freed
    }
}
