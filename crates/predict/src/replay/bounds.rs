//! Lower bounds on elapsed time that follow from the program alone and hold on any machine.

use std::ops::AddAssign;

use morecores_study::Nanos;

use super::engine::replay;
use super::machine::Machine;
use super::program::{Program, Step};

/// Lower bounds on elapsed time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Total CPU time.
    pub work: Nanos,
    /// Longest chain of dependent steps: the elapsed time with one CPU per thread, free locks, and
    /// devices that serve all requests at once.
    pub span: Nanos,
    /// Total hold time of each lock.
    pub holds: Vec<Nanos>,
    /// Total service time of each device, divided by its channels; zero for a device without a
    /// limit on channels.
    pub services: Vec<Nanos>,
}

impl Bounds {
    /// Lower bound on elapsed time on `cpus` CPUs.
    pub fn least_elapsed(&self, cpus: u32) -> Nanos {
        let queue = self.holds.iter().chain(&self.services).copied().max().unwrap_or(Nanos::ZERO);
        self.span.max(queue).max(Nanos(self.work.0 / u64::from(cpus.max(1))))
    }
}

impl Program {
    /// Lower bounds on the elapsed time of this program.
    pub fn bounds(&self) -> Bounds {
        let mut bounds = Bounds {
            work: Nanos::ZERO,
            span: Nanos::ZERO,
            holds: vec![Nanos::ZERO; self.locks.len()],
            services: vec![Nanos::ZERO; self.devices.len()],
        };
        let pieces = self.shared_work.iter().flat_map(|work| &work.pieces);
        for script in self.threads.iter().chain(pieces) {
            let mut held_lock = None;
            for step in script {
                bounds.work.add_assign(step.work());
                match *step {
                    Step::Lock(lock) => held_lock = Some(lock),
                    Step::Unlock(_) => held_lock = None,
                    Step::Hold { lock, time } => bounds.holds[lock as usize].add_assign(time),
                    Step::UseDevice { device, time } => bounds.services[device as usize].add_assign(time),
                    _ => {}
                }
                let under_lock = match *step {
                    Step::Run(time) | Step::Sleep(time) | Step::UseDevice { time, .. } => time,
                    _ => continue,
                };
                if let Some(lock) = held_lock {
                    bounds.holds[lock as usize].add_assign(under_lock);
                }
            }
        }
        for (service, channels) in bounds.services.iter_mut().zip(&self.devices) {
            service.0 = if *channels == u32::MAX { 0 } else { service.0 / u64::from((*channels).max(1)) };
        }
        bounds.span = replay(&self.without_queues(), &Machine::new(self.threads.len() as u32)).elapsed;
        bounds
    }

    /// Program with every lock free and every device serving all requests at once.
    fn without_queues(&self) -> Self {
        let free = |step: &Step| match *step {
            Step::Hold { time, .. } => Step::Run(time),
            Step::UseDevice { time, .. } => Step::Sleep(time),
            other => other,
        };
        let mut freed = self.clone();
        for script in freed.scripts_mut() {
            script.retain(|step| !matches!(step, Step::Lock(_) | Step::Unlock(_)));
            script.iter_mut().for_each(|step| *step = free(step));
        }
        freed
    }
}
