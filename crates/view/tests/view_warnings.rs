//! Every warning appears where its cause is, names its subject, and does not appear for a clean
//! study.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod studies;

use morecores_study::usable::Restriction;
use morecores_study::*;
use morecores_view::view;
use morecores_view::*;
use studies::{add_runs, change_surroundings, clean_study, cpu, program, quiet_times, run, seconds, study};

fn warnings(study: &Study) -> Vec<Warning> {
    view(study, &[]).warnings
}

/// Returns the one warning of a study that was clean before `spoil`.
fn only_warning(counts: &[u32], spoil: impl FnOnce(&mut Study)) -> Warning {
    let mut made = clean_study(counts);
    spoil(&mut made);
    let mut warnings = warnings(&made);
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    warnings.remove(0)
}

/// Asserts that a study that was clean before `spoil` has no warning.
fn assert_no_warning(counts: &[u32], spoil: impl FnOnce(&mut Study)) {
    let mut made = clean_study(counts);
    spoil(&mut made);
    assert_eq!(warnings(&made), []);
}

/// Replaces the runs on one CPU.
fn set_times(study: &mut Study, elapsed: &[f64]) {
    study.runs.retain(|run| run.cpus != 1);
    add_runs(study, 1, elapsed);
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 0.01 * expected, "{value} instead of {expected}");
}

#[test]
fn a_clean_study_has_no_warnings() {
    assert_no_warning(&[1, 2, 4, 8], |_| ());
    assert_no_warning(&[4], |_| ());
    // The surroundings of the runs are unknown.
    assert_no_warning(&[1, 2], |made| made.runs.iter_mut().for_each(|run| run.surroundings = None));
    assert_no_warning(&[1, 2], |made| made.header.closing = None);
}

#[test]
fn too_few_runs() {
    let warning = only_warning(&[1], |made| set_times(made, &[8.0; 5]));
    assert_eq!(warning, Warning::TooFewRuns { cpus: 1, runs: 5 });
    assert_no_warning(&[1], |made| set_times(made, &[8.0; 6]));
}

#[test]
fn a_missed_precision_causes_a_warning() {
    let imprecise = |reason| {
        let mut made = clean_study(&[1]);
        made.header.plan.stop.precision = Some(0.001);
        made.header.closing.as_mut().unwrap().reason = reason;
        warnings(&made)
    };
    for reason in [StopReason::RunsExhausted, StopReason::TimeExhausted, StopReason::Interrupted] {
        let found = imprecise(reason);
        let [Warning::Imprecise { cpus: 1, half_width, precision }] = found[..] else { panic!("{found:?}") };
        assert_eq!(precision, 0.001);
        assert!((0.003..=0.0041).contains(&half_width), "{half_width}");
    }
    assert_eq!(imprecise(StopReason::Precise), []);
    assert_no_warning(&[1], |made| made.header.plan.stop.precision = Some(0.01));
}

/// With two counts, the precision is that of the speedup, whatever the medians' noise.
#[test]
fn the_precision_of_two_counts_is_that_of_the_speedup() {
    let found = |precision, two: [f64; 6]| {
        let mut made = study(&[1, 2]);
        made.header.plan.stop.precision = Some(precision);
        add_runs(&mut made, 1, &[8.0, 8.8, 7.2, 8.4, 7.6, 8.0]);
        add_runs(&mut made, 2, &two);
        let all = warnings(&made).into_iter();
        all.filter(|warning| matches!(warning, Warning::Imprecise { .. })).collect::<Vec<_>>()
    };
    assert_eq!(found(0.01, [4.0, 4.4, 3.6, 4.2, 3.8, 4.01]), []);
    let [Warning::Imprecise { cpus: 2, half_width, .. }] = found(0.01, [4.0, 4.0, 4.0, 4.2, 3.8, 4.0])[..]
    else {
        panic!("one warning")
    };
    assert!((0.05..0.1).contains(&half_width), "{half_width}");
}

#[test]
fn runs_of_incomplete_rounds_are_counted() {
    let incomplete = |spoil: fn(&mut Study)| {
        let mut made = clean_study(&[1, 2, 4]);
        spoil(&mut made);
        let all = warnings(&made).into_iter();
        all.filter(|warning| !matches!(warning, Warning::FailedRuns { .. })).collect::<Vec<_>>()
    };
    let left_out =
        |cpus, count, base_count| Warning::IncompleteRounds { cpus, count, base_cpus: 1, base_count };
    let base_failed = incomplete(|made| made.runs[3].exit = Exit::Code(1));
    assert_eq!(base_failed, [left_out(2, 1, 0), left_out(4, 1, 0)]);
    // The sweep was interrupted in the last round, before the run on 4 CPUs.
    assert_eq!(incomplete(|made| drop(made.runs.pop())), [left_out(4, 0, 1)]);
    // The rounds of an edited study say nothing.
    let equal_rounds = incomplete(|made| made.runs.iter_mut().for_each(|run| run.round = 0));
    let unpaired = |cpus| Warning::NoCommonRounds { cpus, base_cpus: 1 };
    assert_eq!(equal_rounds, [unpaired(2), unpaired(4)]);
}

#[test]
fn outliers_are_counted_if_there_are_many() {
    let spoil = |runs: &[usize]| {
        let mut made = clean_study(&[1, 2]);
        for &at in runs {
            made.runs[at].elapsed_ns = seconds(1.1 * made.runs[at].elapsed_ns.as_secs_f64());
        }
        warnings(&made)
    };
    assert_eq!(spoil(&[3]), [], "one of 16 runs");
    let expected = [1, 2].map(|cpus| Warning::Outliers { cpus, count: 3 });
    assert_eq!(spoil(&[1, 3, 6, 10, 12, 15]), expected);
}

#[test]
fn a_first_run_that_is_slower_than_all_others() {
    let spoil = |first: f64, at: usize| {
        let mut made = clean_study(&[1]);
        made.runs[at].elapsed_ns = seconds(first);
        warnings(&made)
    };
    let first = |found: &[Warning]| {
        found
            .iter()
            .any(|w| matches!(w, Warning::FirstRunDiffers { cpus: 1, ratio } if (1.49..1.51).contains(ratio)))
    };
    assert!(first(&spoil(12.0, 0)));
    let any = |found: Vec<Warning>| found.iter().any(|w| matches!(w, Warning::FirstRunDiffers { .. }));
    assert!(!any(spoil(12.0, 1)), "a later run");
    assert!(!any(spoil(4.0, 0)), "a faster run");
    assert!(any(spoil(8.5, 0)), "6%");
    assert!(!any(spoil(8.06, 0)), "0.7%");
}

#[test]
fn the_machine_changed_its_speed() {
    let slower: Vec<f64> = [quiet_times(8.0), quiet_times(8.4)].concat();
    let Warning::Drift { cpus: 1, ratio } = only_warning(&[1], |made| set_times(made, &slower)) else {
        panic!("no drift")
    };
    assert_close(ratio, 1.05);
    // A change of 0.5% is visible, but smaller than the requested precision.
    let hardly: Vec<f64> = [quiet_times(8.0), quiet_times(8.04)].concat();
    let found = {
        let mut made = clean_study(&[1]);
        set_times(&mut made, &hardly);
        warnings(&made)
    };
    assert!(!found.iter().any(|w| matches!(w, Warning::Drift { .. })), "{found:?}");
}

#[test]
fn runs_that_depend_on_the_one_before() {
    // A slow wave that returns to its start is no drift, since both halves are alike.
    let wave: Vec<f64> =
        (0..24).map(|i| 8.0 + 0.03 * (f64::from(i) * std::f64::consts::TAU / 12.0).sin()).collect();
    let Warning::DependentRuns { cpus: 1, correlation } = only_warning(&[1], |made| set_times(made, &wave))
    else {
        panic!("not seen")
    };
    assert!((0.5..1.0).contains(&correlation), "{correlation}");
}

#[test]
fn two_speeds_are_reported_if_they_matter() {
    let two = |gap: f64| {
        let parts = [0.0, 1.0, 0.01, 1.01, 1.02, 0.02, 0.03, 1.03, 0.04, 1.04];
        parts.map(|part| 8.0 * (1.0 + gap * part))
    };
    assert_eq!(only_warning(&[1], |made| set_times(made, &two(0.1))), Warning::TwoSpeeds { cpus: 1 });
    assert_no_warning(&[1], |made| set_times(made, &two(0.005)));
}

#[test]
fn steal_is_a_share_of_the_cpus_time() {
    let warning = only_warning(&[1, 2], |made| change_surroundings(made, 2, |s| s.steal_ns = seconds(0.4)));
    let Warning::Steal { cpus: 2, share } = warning else { panic!("{warning:?}") };
    assert_close(share, 0.05);
    assert_no_warning(&[1, 2], |made| change_surroundings(made, 2, |s| s.steal_ns = seconds(0.04)));
}

#[test]
fn throttling_is_reported_in_seconds() {
    let warning =
        only_warning(&[1, 2], |made| change_surroundings(made, 2, |s| s.throttled_ns = Some(seconds(0.5))));
    let Warning::Throttled { cpus: 2, seconds: held } = warning else { panic!("{warning:?}") };
    assert_close(held, 4.0);
    assert_no_warning(&[1, 2], |made| {
        change_surroundings(made, 2, |s| s.throttled_ns = Some(seconds(0.001)))
    });
}

#[test]
fn a_quota_below_the_cpus_causes_a_warning() {
    let warning = only_warning(&[1, 2], |made| made.header.host.topology.usable.quota_cpus = Some(1.5));
    assert_eq!(warning, Warning::QuotaBelowCpus { cpus: 2, quota: 1.5 });
    assert_no_warning(&[1, 2], |made| made.header.host.topology.usable.quota_cpus = Some(2.0));
}

#[test]
fn kinds_of_cpu_are_named_at_their_first_count() {
    let adds = |kind| only_warning(&[1, 2], move |made| made.header.plan.points[1].adds = [kind].into());
    assert_eq!(adds(CpuKind::SmtSibling), Warning::SmtSiblings { cpus: 2 });
    assert_eq!(adds(CpuKind::OtherCoreType), Warning::MixedCoreTypes { cpus: 2 });
    assert_no_warning(&[1, 2], |made| made.header.plan.points[1].adds = [CpuKind::OtherNode].into());
}

#[test]
fn the_clock_rate_may_change() {
    let frequency = |governor: Option<&str>, boost| {
        let mut made = clean_study(&[1, 2]);
        let governor = governor.map(str::to_owned);
        made.header.host.frequency = Frequency { governor, driver: None, boost };
        warnings(&made)
    };
    let warning = |governor: Option<&str>, boost| {
        vec![Warning::FrequencyScaling { governor: governor.map(str::to_owned), boost }]
    };
    assert_eq!(frequency(Some("schedutil"), None), warning(Some("schedutil"), None));
    assert_eq!(frequency(Some("performance"), Some(true)), warning(Some("performance"), Some(true)));
    assert_eq!(frequency(None, Some(true)), warning(None, Some(true)));
    assert_eq!(frequency(Some("performance"), Some(false)), []);
    assert_eq!(frequency(None, None), []);
}

/// Makes the runs on four CPUs use only one of them.
fn use_one_cpu(made: &mut Study) {
    for run in made.runs.iter_mut().filter(|run| run.cpus == 4) {
        run.elapsed_ns = seconds(8.0);
        run.cpu = cpu(7.2, 0.8, CpuEstimator::Cgroup);
    }
}

#[test]
fn threads_that_did_not_follow_the_cpus() {
    let tells_n = |change: fn(&mut Study)| {
        let warning = only_warning(&[1, 4], |made| {
            use_one_cpu(made);
            change(made);
        });
        let Warning::ThreadsDidNotFollow { cpus: 4, used, gets_count } = warning else {
            panic!("{warning:?}")
        };
        assert_close(used, 1.0);
        gets_count
    };
    assert!(tells_n(|_| ()), "{{n}} was in the command");
    assert!(!tells_n(|made| made.header.subject = program("make")));
    assert!(!tells_n(|made| made.header.subject = program("echo {{n}}")));
    assert!(tells_n(|made| {
        made.header.subject = program("make");
        made.header.plan.thread_env = true;
    }));
    // Amdahl's law with one half of serial work: two busy CPUs of four is poor, but the threads
    // follow.
    assert_no_warning(&[1, 4], |made| {
        for run in made.runs.iter_mut().filter(|run| run.cpus == 4) {
            run.cpu = cpu(3.0, 1.0, CpuEstimator::Cgroup);
        }
    });
}

#[test]
fn no_warning_if_others_used_the_added_cpus() {
    let has_warning = |around_runs: fn(&mut Surroundings)| {
        let mut made = clean_study(&[1, 4]);
        use_one_cpu(&mut made);
        change_surroundings(&mut made, 4, |s| (s.covers_ns, s.tree_ns) = (seconds(8.0), seconds(8.0)));
        change_surroundings(&mut made, 4, |s| s.busy_allotted_ns = seconds(8.0));
        change_surroundings(&mut made, 4, around_runs);
        warnings(&made).iter().any(|w| matches!(w, Warning::ThreadsDidNotFollow { .. }))
    };
    // Three CPUs were added: 0.5 of them explain nothing, 0.8 may.
    assert!(has_warning(|s| s.busy_allotted_ns += seconds(4.0)));
    assert!(!has_warning(|s| s.busy_allotted_ns += seconds(6.4)));
    assert!(!has_warning(|s| s.steal_ns = seconds(6.4)));
    assert!(!has_warning(|s| s.busy_elsewhere_ns = seconds(16.0)), "a server did the work");
    assert!(has_warning(|s| s.busy_elsewhere_ns = seconds(1.0)));
}

#[test]
fn no_warning_without_added_cpus() {
    let mut made = clean_study(&[2]);
    made.header.plan.points.push(studies::point(2, 4));
    for (round, elapsed) in (0..).zip(quiet_times(4.1)) {
        let busy = cpu(elapsed * 1.7, elapsed * 0.2, CpuEstimator::Cgroup);
        let run = Run { n: 4, round, cpu: busy, ..run(&made, 2, elapsed) };
        made.runs.push(run);
    }
    assert_eq!(warnings(&made), []);
}

/// The threads of one variant follow to the second CPU, those of the other do not.
#[test]
fn threads_are_compared_with_the_base_of_the_same_axes() {
    let mut made = clean_study(&[1, 2]);
    let variant = |name: &str| -> Coordinates { [("variant".to_owned(), name.into())].into() };
    let serial = made.runs.clone().into_iter().map(|run| {
        let axes = variant("serial");
        let cpu = CpuTime { user_ns: run.elapsed_ns, system_ns: Nanos::ZERO, ..run.cpu };
        Run { axes, cpu, ..run }
    });
    let serial: Vec<Run> = serial.collect();
    made.runs.iter_mut().for_each(|run| run.axes = variant("parallel"));
    made.runs.extend(serial);
    let points = std::mem::take(&mut made.header.plan.points);
    for name in ["parallel", "serial"] {
        made.header
            .plan
            .points
            .extend(points.iter().map(|point| Point { axes: variant(name), ..point.clone() }));
    }
    assert_eq!(warnings(&made), [Warning::ThreadsDidNotFollow { cpus: 2, used: 1.0, gets_count: true }]);
}

/// Adds 2 s of a daemon's work on other CPUs to each run on two CPUs. Each of these runs takes 4 s
/// and 8 s of CPU time.
fn add_daemon(made: &mut Study) {
    change_surroundings(made, 2, |s| s.busy_elsewhere_ns = seconds(2.0));
}

fn set_quiet_load(busy: f64) -> impl FnOnce(&mut Study) {
    move |made| {
        let quiet = Quiet { watched_ns: seconds(0.5), busy_ns: seconds(0.5 * busy), steal_ns: Nanos::ZERO };
        made.header.closing.as_mut().unwrap().quiet = Some(quiet);
    }
}

#[test]
fn work_outside_of_the_tree() {
    let Warning::WorkOutsideTree { cpus: 2, busy_cpus, of_cpus: 64, .. } = only_warning(&[1, 2], add_daemon)
    else {
        panic!("not seen")
    };
    assert_close(busy_cpus, 2.0 / 4.0);
    // The machine was almost idle between the runs.
    let warning = only_warning(&[1, 2], |made| {
        add_daemon(made);
        set_quiet_load(0.05)(made);
    });
    let Warning::WorkOutsideTree { busy_cpus, .. } = warning else { panic!("{warning:?}") };
    assert_close(busy_cpus, 2.0 / 4.0);
    // The machine was as busy while the command did not run: an unrelated program, not the
    // command's daemon.
    let warning = only_warning(&[1, 2], |made| {
        add_daemon(made);
        set_quiet_load(0.5)(made);
    });
    assert!(matches!(warning, Warning::NotQuiet { busy_cpus: 0.5, .. }), "{warning:?}");
    // Housekeeping of 1% of the tree.
    assert_no_warning(&[1, 2], |made| change_surroundings(made, 2, |s| s.busy_elsewhere_ns = seconds(0.08)));
}

#[test]
fn only_programs_with_a_good_part_of_the_disturbance_are_named() {
    // Eight runs on two CPUs with 2 s of other programs' work in each: 16 s.
    let named = |others: &[(&str, f64)]| {
        let warning = only_warning(&[1, 2], |made| {
            add_daemon(made);
            let program =
                |(name, cpu): &(&str, f64)| OtherProgram { name: (*name).into(), cpu_ns: seconds(*cpu) };
            made.header.closing.as_mut().unwrap().other_programs = others.iter().map(program).collect();
        });
        let Warning::WorkOutsideTree { other_programs, .. } = warning else { panic!("{warning:?}") };
        other_programs.into_iter().map(|program| program.name).collect::<Vec<_>>()
    };
    assert_eq!(named(&[("rustc", 14.0), ("kdamond.0", 0.06)]), ["rustc"]);
    assert_eq!(named(&[("rustc", 8.0), ("cc1plus", 4.1), ("sshd", 3.9)]), ["rustc", "cc1plus"]);
    assert_eq!(named(&[("kdamond.0", 0.06)]), [] as [&str; 0], "compilers came and went unseen");
}

#[test]
fn work_on_the_allotted_cpus_counts_but_that_of_morecores_does_not() {
    let more = |s: &mut Surroundings| s.busy_allotted_ns += seconds(2.0);
    let warning = only_warning(&[1, 2], |made| change_surroundings(made, 2, more));
    assert!(matches!(warning, Warning::WorkOutsideTree { cpus: 2, .. }), "{warning:?}");
    assert_no_warning(&[1, 2], |made| {
        change_surroundings(made, 2, more);
        change_surroundings(made, 2, |s| s.own_ns = seconds(2.0));
    });
}

#[test]
fn clients_of_daemons_are_known() {
    for (command, client, expected) in [
        (program("/usr/bin/docker build ."), "docker", true),
        (Command::Shell { line: "ssh build7 make".into() }, "ssh", true),
        (Command::Shell { line: "make && docker build .".into() }, "", false),
        (program("cat docker"), "", false),
        (program("docker-compose up"), "", false),
    ] {
        let mut made = clean_study(&[1]);
        made.header.subject = command;
        let found = warnings(&made);
        assert_eq!(found.len(), usize::from(expected), "{found:?}");
        assert!(found.iter().all(|w| matches!(w, Warning::KnownClient { program, .. } if program == client)));
    }
}

#[test]
fn a_busy_machine() {
    let not_quiet = Warning::NotQuiet { busy_cpus: 0.5, of_cpus: 64, other_programs: vec![] };
    assert_eq!(only_warning(&[1], set_quiet_load(0.5)), not_quiet);
    assert_no_warning(&[1], set_quiet_load(0.08));
    assert_no_warning(&[1], |made| {
        set_quiet_load(0.0)(made);
        made.header.closing.as_mut().unwrap().quiet.as_mut().unwrap().watched_ns = Nanos::ZERO;
    });
}

#[test]
fn getrusage_alone() {
    let with = |estimator| {
        let mut made = clean_study(&[1, 2]);
        made.runs[0].cpu.estimator = estimator;
        warnings(&made)
    };
    assert_eq!(with(CpuEstimator::Getrusage), [Warning::OnlyGetrusage]);
    assert_eq!(with(CpuEstimator::CgroupV1), []);
    assert_eq!(with(CpuEstimator::Taskstats), []);
}

#[test]
fn survivors_are_named_once() {
    let survivors = |kept: bool| {
        only_warning(&[1], |made| {
            made.header.plan.keep_survivors = kept;
            made.runs[0].survivors = vec!["sleep".into(), "agent".into()];
            made.runs[1].survivors = vec!["sleep".into()];
        })
    };
    for kept in [false, true] {
        let names = vec!["agent".to_owned(), "sleep".to_owned()];
        assert_eq!(survivors(kept), Warning::Survivors { names, kept });
    }
}

#[test]
fn failed_runs_and_damaged_lines() {
    let warning = only_warning(&[1, 2], |made| {
        let failed = Run { exit: Exit::Code(1), ..run(made, 2, 1.0) };
        made.runs.push(failed);
    });
    let failures = vec![FailureCount { how: Failure::Status(1), count: 1 }];
    assert_eq!(warning, Warning::FailedRuns { cpus: 2, count: 1, failures, success: [0].into() });
    assert_eq!(only_warning(&[1], |made| made.damaged_lines = 3), Warning::DamagedLines { count: 3 });
    assert_no_warning(&[1, 2], |made| {
        let failed = Run { phase: Phase::Warmup, exit: Exit::Code(1), ..run(made, 2, 1.0) };
        made.runs.push(failed);
    });
}

#[test]
fn the_other_cpus_help_unless_they_are_off() {
    for limit in [Limit::Affinity, Limit::Cpuset] {
        assert_eq!(only_warning(&[1, 2], |made| made.header.plan.limit = limit), Warning::OtherCpusHelp);
        assert_no_warning(&[64], |made| made.header.plan.limit = limit);
    }
    let mut nothing = study(&[1]);
    nothing.header.plan.limit = Limit::Affinity;
    assert_eq!(warnings(&nothing), []);
}

#[test]
fn cpu_time_beyond_that_of_the_cpus_proves_work_elsewhere() {
    // Both CPUs are busy in runs on one, as with a command that widens its affinity.
    let both = |made: &mut Study, estimator| {
        for run in made.runs.iter_mut().filter(|run| run.cpus == 1) {
            run.cpu = cpu(run.elapsed_ns.as_secs_f64() * 1.9, run.elapsed_ns.as_secs_f64() * 0.1, estimator);
        }
    };
    let warning = only_warning(&[1, 2], |made| both(made, CpuEstimator::Cgroup));
    let Warning::RanOutsideCpus { cpus: 1, share, evidence: OutsideEvidence::CpuTime } = warning else {
        panic!("{warning:?}")
    };
    assert_close(share, 1.0);
    // The runs use all of their CPUs' time, and what fork and the clocks may add to it.
    assert_no_warning(&[1, 2], |made| {
        made.runs.iter_mut().for_each(|run| run.cpu.user_ns += seconds(0.009));
    });
    // In version 1 the cgroup of the runs also counts processes that a hook left running. A
    // survivor counts with the runs after it.
    assert_no_warning(&[1, 2], |made| {
        made.header.plan.hooks.setup = Some("server &".into());
        both(made, CpuEstimator::CgroupV1);
    });
    let kept = {
        let mut made = clean_study(&[1, 2]);
        both(&mut made, CpuEstimator::Cgroup);
        made.header.plan.keep_survivors = true;
        made.runs[0].survivors = vec!["server".to_owned()];
        warnings(&made)
    };
    assert!(!kept.iter().any(|w| matches!(w, Warning::RanOutsideCpus { .. })), "{kept:?}");
}

#[test]
fn several_cpus_without_load_balancing_cause_a_warning() {
    let off = |limit, restriction: Restriction| {
        let mut made = clean_study(&[1, 2]);
        made.header.plan.limit = limit;
        made.header.host.topology.usable.cpus = (0..4).map(CpuId).collect();
        made.header.host.topology.usable.restrictions = vec![restriction];
        // At 2 CPUs the command keeps one busy: both threads are on it.
        for run in made.runs.iter_mut().filter(|run| run.cpus == 2) {
            run.cpu.user_ns = run.elapsed_ns;
            run.cpu.system_ns = Nanos::ZERO;
        }
        let about = |w: &Warning| !matches!(w, Warning::OtherCpusHelp | Warning::WorkOutsideTree { .. });
        warnings(&made).into_iter().filter(about).collect::<Vec<_>>()
    };
    let cpus: CpuSet = (0..4).map(CpuId).collect();
    let cpuset = || Restriction::NotBalanced { cpus: cpus.clone(), file: "/x".to_owned() };
    let at_two = |by_cpuset| Warning::NotBalanced { cpus: 2, cpu_set: "0-1".parse().unwrap(), by_cpuset };
    // The command is not mistaken for one without threads.
    assert_eq!(off(Limit::Affinity, cpuset()), [at_two(true)]);
    assert!(matches!(off(Limit::Cpuset, cpuset())[..], [Warning::ThreadsDidNotFollow { .. }]));
    let isolated = || Restriction::Isolated { cpus: "1-3".parse().unwrap() };
    let one = Warning::NotBalanced { cpus: 2, cpu_set: "1".parse().unwrap(), by_cpuset: false };
    assert_eq!(off(Limit::Cpuset, isolated()), [one]);
}
