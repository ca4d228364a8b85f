//! Threads that spend a known share of their CPU time in system calls.
//!
//! The call is `getrandom` of some kilobytes: all but some 0.3% of it is computing in the kernel,
//! without shared data. In a call as short as `getppid`, half would be entry and exit, which no
//! clock divides between the two modes.

use std::thread;

use clap::Args;
use rustix::rand::{GetRandomFlags, getrandom};

use super::KnownProgram;
use super::work_parts::alternate;
use crate::clock::{thread_cpu, tree_cpu};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Bytes a call: some 20 µs of the kernel's ChaCha20.
const CALL_BYTES: usize = 8 << 10;

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Calls {
    /// Share of the CPU time in the kernel
    #[arg(long)]
    pub percent: f64,
    /// CPU time of all work, in seconds
    #[arg(long)]
    pub work_s: f64,
    /// Threads that share it: as many as CPUs, so that none is idle
    #[arg(long)]
    pub threads: u32,
}

impl KnownProgram for Calls {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let each_s = self.work_s / f64::from(self.threads);
        let mut results = Vec::new();
        thread::scope(|scope| {
            let work = |seed| {
                let (mut random, mut result) = (vec![0; CALL_BYTES], Ok(()));
                alternate(each_s, self.percent, seed, |end| {
                    while thread_cpu() < end && result.is_ok() {
                        result = getrandom(random.as_mut_slice(), GetRandomFlags::empty()).map(drop);
                    }
                });
                result
            };
            let threads: Vec<_> =
                (0..self.threads).map(|seed| scope.spawn(move || work(u64::from(seed)))).collect();
            results.extend(threads.into_iter().map(thread::ScopedJoinHandle::join));
        });
        for result in results {
            let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result.map_err(AccuracyError::system("get random bytes"))?;
        }
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), ..Truth::default() })
    }

    fn expected(&self, _: &Truth, _: u32, _: f64) -> ExpectedReport {
        expected_division(self.percent, self.work_s)
    }

    fn arguments(&self) -> Vec<String> {
        command_arguments("calls", self.percent, self.work_s, self.threads)
    }
}

/// Truth of `percent` of `work_s` in the kernel, the rest in user mode, and no CPU idle.
pub(super) fn expected_division(percent: f64, work_s: f64) -> ExpectedReport {
    let kernel = work_s * percent / 100.0;
    ExpectedReport::from_shares([
        Share::from_construction(Part::KernelWork, kernel),
        Share::from_construction(Part::UserWork, work_s - kernel),
    ])
}

/// Command line of a program with these arguments.
pub(super) fn command_arguments(name: &str, percent: f64, work_s: f64, threads: u32) -> Vec<String> {
    let [percent, work_s, threads] = [percent.to_string(), work_s.to_string(), threads.to_string()];
    [name, "--percent", &percent, "--work-s", &work_s, "--threads", &threads].map(String::from).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_user_work() {
        let seconds =
            expected_division(30.0, 20.0).shares.iter().map(|s| (s.part, s.seconds)).collect::<Vec<_>>();
        assert_eq!(seconds, [(Part::KernelWork, 6.0), (Part::UserWork, 14.0)]);
    }
}
