//! A serial fraction, by threads and condition variables: the shape of a parallel loop. Each part
//! is a function of its own.
//!
//! In each round the main thread does the serial part, then wakes two threads that share the rest,
//! and waits for both.

use std::hint::black_box;

use clap::Args;

use super::KnownProgram;
use super::serial_fork::{WORKERS, expected_serial_times};
use super::thread_pool::run_with_pool;
use super::work_parts::{idle_while_working, part_of_time};
use crate::accounts::IdleClock;
use crate::clock::{burn_in, spin, tree_cpu};
use crate::{
    AccuracyError, ExpectedReport, FunctionName, Part, Proportion, Share, ShareBound, Source, Truth,
};

/// Number of rounds; large enough to exercise handing over. The two wake-ups a round, of some 50
/// µs each on a virtual machine, are no part of the work.
const ROUNDS: u32 = 20;

/// Functions with the serial and the parallel part.
pub(crate) const FUNCTIONS: [&str; 2] = ["compute_alone", "compute_together"];

/// Least part of the serial time that is at the right function, in percent.
const RIGHT_PERCENT: f64 = 95.0;

/// Work of the serial part.
#[inline(never)]
fn compute_alone(turns: u64) {
    black_box(spin(turns));
}

/// Work of the parallel part.
#[inline(never)]
fn compute_together(turns: u64) {
    // Another constant than above: a linker may fold equal functions into one.
    black_box(spin(turns).wrapping_add(1));
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct SerialThreads {
    /// Share of the work that is done in turn
    #[arg(long)]
    pub percent: f64,
    /// CPU time of all work, in seconds
    #[arg(long)]
    pub work_s: f64,
}

impl KnownProgram for SerialThreads {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let round_s = self.work_s / f64::from(ROUNDS);
        let alone = part_of_time(round_s, self.percent);
        let each = part_of_time(round_s, (100.0 - self.percent) / f64::from(WORKERS));
        let idle = IdleClock::start()?;
        let runnable = run_with_pool(
            WORKERS,
            || burn_in(each, compute_together),
            |pool| {
                for _ in 0..ROUNDS {
                    burn_in(alone, compute_alone);
                    pool.run_batch(WORKERS);
                }
            },
        );
        let (idle_s, runnable_s) = (Some(idle.elapsed()?.as_secs_f64()), Some(runnable.as_secs_f64()));
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), idle_s, runnable_s, ..Truth::default() })
    }

    fn expected(&self, truth: &Truth, cpus: u32, _: f64) -> ExpectedReport {
        let serial_s = self.work_s * self.percent / 100.0;
        let times = [serial_s, self.work_s - serial_s];
        expected_functions(times, Share::from_construction, truth, &FunctionName::Symbol, cpus)
    }

    fn arguments(&self) -> Vec<String> {
        ["serial-threads", "--percent", &self.percent.to_string(), "--work-s", &self.work_s.to_string()]
            .map(String::from)
            .to_vec()
    }

    fn functions(&self) -> &'static [&'static str] {
        &FUNCTIONS
    }
}

/// Truth of a program in another language with the same two functions, by its own clocks.
pub(crate) fn expected_serial_functions(
    truth: &Truth,
    name: &dyn Fn(&'static str) -> FunctionName,
    cpus: u32,
) -> ExpectedReport {
    let times = FUNCTIONS.map(|function| truth.in_function(function, |own| own.cpu_s));
    expected_functions(times, Share::from_own_clocks, truth, name, cpus)
}

/// Truth of CPU times in [`FUNCTIONS`], with the source of `known`.
fn expected_functions(
    times: [f64; 2],
    known: fn(Part, f64) -> Share,
    truth: &Truth,
    name: &dyn Fn(&'static str) -> FunctionName,
    cpus: u32,
) -> ExpectedReport {
    let mut expected = expected_serial_times(times, known, truth, cpus);
    let [alone, together] = FUNCTIONS.map(name);
    let beside_alone = idle_while_working(cpus, 1, times[0]);
    expected.shares.extend([
        known(Part::Function(alone), times[0]),
        known(Part::Function(together), times[1]),
        known(Part::IdleBeside(alone), beside_alone),
    ]);
    if beside_alone > 0.0 {
        let all = beside_alone + idle_while_working(cpus, WORKERS, times[1]);
        expected.proportions.push(Proportion {
            part: Part::IdleBeside(alone),
            percent: RIGHT_PERCENT * beside_alone / all,
            bound: ShareBound::AtLeast,
            source: Source::Construction,
        });
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionTruth;

    #[test]
    fn most_serial_idle_time_is_beside_the_serial_function() {
        let percents = |percent, cpus| {
            let expected = SerialThreads { percent, work_s: 10.0 }.expected(&Truth::default(), cpus, 10.0);
            expected.proportions.iter().map(|share| share.percent).collect::<Vec<_>>()
        };
        assert!(percents(50.0, 1).is_empty() && percents(0.0, 2).is_empty());
        assert_eq!(percents(50.0, 2), [95.0]);
        // 15 s of four CPUs are idle in the serial half, and 5 s in the other.
        assert_eq!(percents(50.0, 4), [95.0 * 15.0 / 20.0]);
    }

    #[test]
    fn own_clocks_replace_the_construction() {
        let function = |cpu_s| FunctionTruth { cpu_s: Some(cpu_s), ..FunctionTruth::default() };
        let functions = FUNCTIONS.map(String::from).into_iter().zip([1.5, 4.5].map(function)).collect();
        let truth = Truth { cpu_s: 6.0, functions, ..Truth::default() };
        let own = expected_serial_functions(&truth, &FunctionName::Symbol, 2).shares;
        let built = SerialThreads { percent: 25.0, work_s: 6.0 }.expected(&truth, 2, 3.75).shares;
        assert_eq!(own.len(), built.len());
        for (own, built) in own.into_iter().zip(built) {
            assert_eq!((own.part, own.seconds), (built.part, built.seconds));
            assert_ne!(own.source, Source::Construction, "{}", own.part);
        }
    }
}
