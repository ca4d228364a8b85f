//! Tests of the demands in a trace, by replay. On the traced CPUs a replay takes as long as the
//! traced run, and on other CPUs as long as the program takes there.

mod corpus;

use corpus::{Program, Size, TUNING, TraceDetail, trace, truth};
use morecores_explain::trace::Timeline;
use morecores_predict::demand::Demands;
use morecores_predict::replay::{Machine, replay};
use morecores_study::Nanos;

/// Number of programs in the test: enough for several programs of each style.
const PROGRAMS: usize = 60;

/// Elapsed time of an exact trace on one CPU with two jobs at once, and of its replay on one and
/// two CPUs.
fn replay_on_one_and_two(program: &Program) -> (Nanos, [Nanos; 2]) {
    let traced = trace(program, Size { cpus: 1, n: 2 }, 7, TraceDetail::Exact);
    let timeline = Timeline::new(&traced.header, &traced.events);
    let demands = Demands::from_timeline(&timeline).expect("the main process is in the trace");
    (timeline.elapsed(), [1, 2].map(|cpus| replay(&demands.program, &Machine::new(cpus)).elapsed))
}

fn sorted_errors(error: impl Fn(&Program) -> f64) -> Vec<f64> {
    let mut errors: Vec<f64> =
        corpus::corpus(TUNING).take(PROGRAMS).map(|program| error(&program).abs()).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

fn relative_difference(a: Nanos, b: Nanos) -> f64 {
    a.as_secs_f64() / b.as_secs_f64() - 1.0
}

#[test]
fn replay_on_the_traced_cpu_takes_as_long_as_the_run() {
    let errors = sorted_errors(|program| {
        let (elapsed, [one, _]) = replay_on_one_and_two(program);
        relative_difference(one, elapsed)
    });
    assert!(errors[PROGRAMS * 95 / 100] < 0.01 && errors[PROGRAMS - 1] < 0.02, "{errors:?}");
}

#[test]
fn replay_from_one_cpu_predicts_two() {
    let errors = sorted_errors(|program| {
        let (_, [_, two]) = replay_on_one_and_two(program);
        relative_difference(two, truth(program, 2))
    });
    assert!(errors[PROGRAMS / 2] < 0.025, "{errors:?}");
}

/// The programs have teams that divide loops, and the creating thread works as a member. With more
/// threads than CPUs, the distribution of the work is an accident of the run.
#[test]
fn parent_that_works_in_its_team_shares_the_work() {
    for seed in [417, 446, 496] {
        let program = corpus::generate_program(seed);
        let traced = trace(&program, Size { cpus: 2, n: 8 }, 7, TraceDetail::Exact);
        let demands =
            Demands::from_timeline(&Timeline::new(&traced.header, &traced.events)).expect("the main process");
        let eight = replay(&demands.program, &Machine::new(8)).elapsed;
        let error = relative_difference(eight, truth(&program, 8));
        assert!(error.abs() < 0.12, "{seed}: {error}");
    }
}
