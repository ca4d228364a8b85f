//! The sampling clock: a timer on each CPU that calls the program `on_sample`.

use std::os::fd::{AsRawFd, IntoRawFd};

use libbpf_rs::{Link, ProgramMut};
use morecores_study::trace::UntracedFact;
use morecores_study::{CpuId, CpuSet, Nanos};
use perf_event_open_sys::bindings::{PERF_COUNT_SW_CPU_CLOCK, PERF_TYPE_SOFTWARE, perf_event_attr};
use rustix::io::Errno;

use crate::SAMPLE_PERIOD;
use crate::perf::ALL_THREADS;

/// The timers; dropping them stops them.
#[derive(Debug, Default)]
pub(super) struct SamplingClock {
    links: Vec<Link>,
    /// Online CPUs without a timer, and the reason for the first of them.
    refused: Option<(CpuSet, String)>,
}

impl SamplingClock {
    /// Starts a timer on each online CPU of `cpus`.
    pub(super) fn start(program: &ProgramMut<'_>, cpus: &CpuSet) -> Self {
        let mut clock = Self::default();
        for cpu in cpus.iter() {
            match start_timer(program, cpu) {
                Ok(link) => clock.links.extend(link),
                Err(why) => clock.add_refused(cpu, why),
            }
        }
        clock
    }

    fn add_refused(&mut self, cpu: CpuId, why: String) {
        let (cpus, _) = self.refused.get_or_insert_with(|| (CpuSet::new(), why));
        *cpus = cpus.union(&[cpu].into_iter().collect());
    }

    /// Time between two samples of one CPU; absent if there are no timers.
    pub(super) fn period(&self) -> Option<Nanos> {
        (!self.links.is_empty()).then_some(SAMPLE_PERIOD)
    }

    /// CPUs without samples.
    pub(super) fn untraced(&self) -> Option<UntracedFact> {
        self.refused.as_ref().map(|(cpus, why)| UntracedFact {
            what: format!("samples of the threads on CPUs {cpus}"),
            why: format!("no sampling clock could be started: {why}"),
        })
    }
}

/// Timer of one CPU, over all threads that run there; none if the CPU is offline.
fn start_timer(program: &ProgramMut<'_>, cpu: CpuId) -> Result<Option<Link>, String> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: u64::from(PERF_COUNT_SW_CPU_CLOCK),
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_period = SAMPLE_PERIOD.0;
    // The timer excludes idle time, since the idle loop has no thread to sample.
    attributes.set_exclude_idle(1);
    let event = match crate::perf::open(&mut attributes, ALL_THREADS, cpu) {
        // The CPU is offline.
        Err(Errno::NODEV) => return Ok(None),
        opened => opened.map_err(|errno| errno.to_string())?,
    };
    let link = program.attach_perf_event(event.as_raw_fd()).map_err(|error| error.to_string())?;
    // The link closes the event.
    let _ = event.into_raw_fd();
    Ok(Some(link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_without_samples_are_reported_with_the_first_reason() {
        let mut clock = SamplingClock::default();
        assert_eq!((clock.untraced(), clock.period()), (None, None));
        clock.add_refused(CpuId(1), "too many open files".to_owned());
        clock.add_refused(CpuId(2), "another".to_owned());
        let untraced = clock.untraced().expect("two CPUs");
        assert_eq!(untraced.what, "samples of the threads on CPUs 1-2");
        assert!(untraced.why.ends_with("too many open files"), "{untraced:?}");
    }
}
