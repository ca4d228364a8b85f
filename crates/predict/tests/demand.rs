//! Tests of the demands in a trace, by replay. On the traced CPUs a replay takes as long as the
//! traced run, and on other CPUs as long as the program takes there.

mod corpus;

use corpus::{Program, Size, TUNING, Watch, trace, truth};
use morecores_explain::trace::Timeline;
use morecores_predict::demand::demands;
use morecores_predict::replay::{Machine, replay};
use morecores_study::Nanos;

/// Number of programs in the test: enough for several programs of each style.
const PROGRAMS: usize = 60;

/// Elapsed time of an exact trace on one CPU with two jobs at once, and of its replay on one and
/// two CPUs.
fn replayed(program: &Program) -> (Nanos, [Nanos; 2]) {
    let traced = trace(program, Size { cpus: 1, n: 2 }, 7, Watch::Exact);
    let timeline = Timeline::new(&traced.header, &traced.events);
    let demands = demands(&timeline).expect("the main process is in the trace");
    (timeline.elapsed(), [1, 2].map(|cpus| replay(&demands.program, &Machine::new(cpus)).elapsed))
}

fn sorted_errors(of: impl Fn(&Program) -> f64) -> Vec<f64> {
    let mut errors: Vec<f64> =
        corpus::corpus(TUNING).take(PROGRAMS).map(|program| of(&program).abs()).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

fn ratio(a: Nanos, b: Nanos) -> f64 {
    a.as_secs_f64() / b.as_secs_f64() - 1.0
}

#[test]
fn on_the_cpu_that_was_traced_a_replay_takes_as_long_as_the_run() {
    let errors = sorted_errors(|program| {
        let (elapsed, [one, _]) = replayed(program);
        ratio(one, elapsed)
    });
    assert!(errors[PROGRAMS * 95 / 100] < 0.01 && errors[PROGRAMS - 1] < 0.02, "{errors:?}");
}

#[test]
fn from_one_cpu_it_tells_the_time_on_two() {
    let errors = sorted_errors(|program| {
        let (_, [_, two]) = replayed(program);
        ratio(two, truth(program, 2))
    });
    assert!(errors[PROGRAMS / 2] < 0.025, "{errors:?}");
}

/// The programs have teams that divide loops, and the creating thread works as a member. With more
/// threads than CPUs, the distribution of the work is an accident of the run.
#[test]
fn who_makes_a_team_and_works_with_it_shares_its_work() {
    for seed in [417, 446, 496] {
        let program = corpus::generate(seed);
        let traced = trace(&program, Size { cpus: 2, n: 8 }, 7, Watch::Exact);
        let demands = demands(&Timeline::new(&traced.header, &traced.events)).expect("the main process");
        let eight = replay(&demands.program, &Machine::new(8)).elapsed;
        let error = ratio(eight, truth(&program, 8));
        assert!(error.abs() < 0.12, "{seed}: {error}");
    }
}
