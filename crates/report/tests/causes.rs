//! Causes that limit a command: the decision from a stack, and its words.

mod support;

use morecores_report::{
    Explanation, NoCauseReason, Remark, cause_clause, causes, decide, main_causes, no_cause_reason,
    verdict_statement,
};
use morecores_study::*;
use morecores_view::code::{CodeLoss, FunctionLoss};
use morecores_view::*;

fn largest_stack(view: &View) -> &StackView {
    view.stack.last().expect("a stack")
}

/// View with a stack of two CPUs with these losses.
fn view_with_losses(losses: Losses) -> View {
    let view = support::view(&["x"]).point(1, 10.0, 0.01, 1.0).point(2, 7.0, 0.01, 1.5).build();
    let mut view = support::stacked(view, |_| losses);
    view.traces = vec![support::build_trace()];
    view
}

fn clauses(view: &View) -> Vec<String> {
    let stack = largest_stack(view);
    causes(stack, view).iter().map(cause_clause).collect()
}

fn main_components(view: &View) -> Vec<Component> {
    main_causes(view).iter().map(|cause| cause.component).collect()
}

#[test]
fn the_largest_causes_come_first_and_small_ones_are_left_out() {
    let view = view_with_losses(Losses {
        other_processes: 0.3,
        idle_disk: Some(0.05),
        steal: Some(0.039),
        ..Losses::default()
    });
    let components: Vec<Component> =
        causes(largest_stack(&view), &view).iter().map(|c| c.component).collect();
    assert_eq!(components, [Component::OtherProcesses, Component::IdleTooLittleWork, Component::IdleDisk]);
}

#[test]
fn causes_below_the_unexplained_time_are_left_out() {
    for unexplained in [0.1, -0.1] {
        let losses = Losses { other_processes: 0.3, idle_disk: Some(0.09), unexplained, ..Losses::default() };
        let view = view_with_losses(losses);
        let components: Vec<Component> =
            causes(largest_stack(&view), &view).iter().map(|c| c.component).collect();
        assert!(
            components.contains(&Component::OtherProcesses) && !components.contains(&Component::IdleDisk),
            "{components:?}"
        );
        assert!(!components.contains(&Component::Unexplained));
    }
}

/// View with losses to other processes and disks alone, each with an interval of this half-width.
fn view_with_intervals(others: f64, disk: f64, half_width: f64) -> View {
    let mut view = view_with_losses(Losses::default());
    view.stack[0].losses = Losses { other_processes: others, idle_disk: Some(disk), ..Losses::default() };
    let ends = |lost: f64| Some([lost - half_width, lost + half_width]);
    view.stack[0].losses_ci95 = Some(ComponentIntervals {
        other_processes: ends(others),
        idle_disk: ends(disk),
        ..ComponentIntervals::default()
    });
    view
}

#[test]
fn a_loss_that_may_be_noise_is_not_named() {
    let named = |view: &View| -> Vec<Component> {
        causes(largest_stack(view), view).iter().map(|cause| cause.component).collect()
    };
    let both = [Component::OtherProcesses, Component::IdleDisk];
    assert_eq!(named(&view_with_intervals(0.3, 0.2, 0.1)), both);
    assert_eq!(named(&view_with_intervals(0.3, 0.2, 0.25)), both[..1]);
    let view = view_with_intervals(0.3, 0.2, 0.35);
    assert_eq!((named(&view), main_components(&view)), (vec![], vec![]));
    let text = verdict_statement(&decide(&view)).to_string();
    let words = "No cause is named: on 2 CPUs each loss may be noise. The largest, \"other processes\", is 0.30 CPUs \
                 (95% interval -0.05 to 0.65).";
    assert!(text.contains(words), "{text}");
}

#[test]
fn losses_that_may_be_equal_are_named_together() {
    let apart = view_with_intervals(0.3, 0.2, 0.04);
    assert_eq!(main_components(&apart), [Component::OtherProcesses]);
    let equal = view_with_intervals(0.3, 0.2, 0.06);
    assert_eq!(main_components(&equal), [Component::OtherProcesses, Component::IdleDisk]);
    let text = verdict_statement(&decide(&equal)).to_string();
    assert!(
        text.contains("The largest losses are about equal, within their intervals: 0.30 of 2 CPUs"),
        "{text}"
    );
}

#[test]
fn a_trace_that_contradicts_itself_is_reported_with_both_countings() {
    let law = OperationalLaw::FutexWaits;
    let warning = Warning::LawViolated { cpus: 2, law, counted_s: 1.5, integrated_s: 2.0 };
    let words = "counted by its events, the waiting for futexes is 0.750 times as long as by its timeline.";
    let sentence = morecores_report::warning_sentence(&warning);
    assert!(sentence.contains(words), "{sentence}");
}

#[test]
fn at_most_four_causes_are_named() {
    let losses = Losses {
        user_work: 0.08,
        kernel_work: Some(0.08),
        interrupt: Some(0.07),
        steal: Some(0.06),
        idle_disk: Some(0.05),
        idle_timer: Some(0.05),
        ..Losses::default()
    };
    let view = view_with_losses(losses);
    assert_eq!(causes(largest_stack(&view), &view).len(), 4);
}

#[test]
fn the_wait_of_a_lock_holder_is_named() {
    let mut view = view_with_losses(Losses { idle_user_lock: Some(0.2), ..Losses::default() });
    let waiting_clause =
        |view: &View| clauses(view).into_iter().find(|words| words.contains("the command's own locks"));
    assert_eq!(
        waiting_clause(&view).as_deref(),
        Some("0.20 of 2 CPUs idle, waiting for the command's own locks (futex)")
    );
    view.traces[0].components.idle_user_lock_s = Some(1.0);
    view.traces[0].behind_user_lock = HolderWaits { disk_s: 0.8, peer_s: 0.1, timer_s: 0.0 };
    assert_eq!(
        waiting_clause(&view).as_deref(),
        Some(
            "0.20 of 2 CPUs idle, waiting for the command's own locks (futex), whose holders mostly waited for a disk"
        )
    );
}

#[test]
fn the_culprit_is_named_if_the_trace_shows_it() {
    assert_eq!(
        clauses(&support::build()),
        [
            "0.28 of 2 CPUs idle: only `ld` ran; the other threads waited in wait4",
            "0.05 of 2 CPUs used by other processes (Xorg)",
        ]
    );
    let contended = clauses(&support::contended());
    assert_eq!(contended[0], "4.13 of 8 CPUs spinning for the kernel lock dcache_lru (d_lru_add)");
    assert_eq!(contended[3], "0.16 of 8 CPUs idle, waiting for the kernel lock i_rwsem (path_openat)");
    let many = clauses(&support::many());
    assert_eq!(
        many[0],
        "22.06 of 64 CPUs idle: too few threads ran, mostly `simulate` (13.24) and `reader` (7.72); the other threads \
         waited in futex"
    );
}

#[test]
fn a_lock_among_many_is_not_named_as_the_only_one() {
    let mut view = support::contended();
    let lock = |symbol: &str| support::lock("spinlock", symbol, None, 9, 3.0, 3.0);
    view.traces[3].locks = vec![lock("a"), lock("b"), lock("c")];
    assert!(clauses(&view)[0].ends_with("spinning for kernel locks, most of all c"), "{:?}", clauses(&view));
    view.traces[3].locks.clear();
    assert!(clauses(&view)[0].ends_with("spinning for kernel locks"), "no lock was seen");
}

#[test]
fn without_a_trace_no_culprit_is_named() {
    let mut view = support::contended();
    view.traces.clear();
    let stack = largest_stack(&view);
    assert!(causes(stack, &view).iter().all(|c| c.explanation == Explanation::Unknown));
}

#[test]
fn spinning_in_user_mode_is_a_reason_for_more_user_time() {
    let mut view = view_with_losses(Losses { user_work: 0.4, ..Losses::default() });
    assert!(clauses(&view)[0].contains("caches, memory bandwidth or the clock rate"), "{:?}", clauses(&view));
    let work = view.traces[0].components.user_work_s + view.traces[0].components.kernel_work_s.unwrap();
    view.traces[0].user_spin_s = Some(0.3 * work);
    assert!(clauses(&view)[0].contains("caches"), "too few samples, or too little, for the analysis to warn");
    view.warnings.push(Warning::UserSpinning { cpus: 2, share: 0.2 });
    assert!(clauses(&view)[0].ends_with("with 1 CPU; 30% of its work is spinning in loops of its own"));
}

#[test]
fn waits_in_openmp_are_named_where_they_hold_half_of_a_loss() {
    let mut view = view_with_losses(Losses { user_work: 0.4, ..Losses::default() });
    view.traces.push(support::trace(1, 10.0, |_| {}));
    let elapsed_s = view.traces[0].elapsed_s;
    let idle_cpus = view.stack[0].losses.idle_too_little_work;
    let region = OpenMpRegion {
        function: None,
        caller: "solve".to_owned(),
        source: None,
        module: None,
        waited_s: 0.3 * elapsed_s,
        waited_error_s: 0.0,
    };
    let row = |spun: f64, slept: f64, between: f64| OpenMpView {
        command: "model".to_owned(),
        waited_s: (spun + slept) * elapsed_s,
        waited_error_s: 0.0,
        spun_s: spun * elapsed_s,
        slept_s: slept * elapsed_s,
        spun_between_s: between * elapsed_s,
        regions: vec![region.clone()],
    };
    let mut clauses_with = |row: OpenMpView| {
        view.traces[0].openmp = vec![row];
        clauses(&view)
    };
    let [user, idle] = &clauses_with(row(0.24, 0.6 * idle_cpus, 0.0))[..] else { panic!() };
    let words = "compared with 1 CPU; 60% of it is spinning at OpenMP's barriers, most of all in `solve`";
    assert!(user.contains(words), "{user}");
    let words = "in 60% of it threads waited for each other at OpenMP's barriers, most of all in `solve`";
    assert!(idle.contains(words), "{idle}");
    let [user, idle] = &clauses_with(row(0.04, 0.04, 0.32))[..] else { panic!() };
    assert!(
        user.contains("90% of it is spinning in OpenMP's runtime, mostly between parallel regions"),
        "{user}"
    );
    assert!(!idle.contains("OpenMP"), "{idle}");
    let less = clauses_with(row(0.15, 0.0, 0.0));
    assert!(less.iter().all(|clause| !clause.contains("OpenMP")), "{less:?}");
}

#[test]
fn idle_time_that_may_be_other_programs_is_not_called_slow_waking() {
    let mut view = view_with_losses(Losses { idle_scheduling: 0.4, ..Losses::default() });
    assert!(clauses(&view)[0].ends_with("an idle CPU takes time to wake"), "{:?}", clauses(&view));
    view.traces[0].untold_others_s = Some(2.0);
    let start = "0.40 of 2 CPUs idle or used by other processes (this trace cannot tell which) while threads";
    assert!(clauses(&view)[0].starts_with(start), "{:?}", clauses(&view));
}

/// The part of a loss that a function holds.
fn held_by(function: &str, loss: Component, lost_cpus: f64, ci95: [f64; 2]) -> FunctionLoss {
    let name = || function.to_owned();
    let part = CodeLoss { loss, lost_cpus, ci95 };
    FunctionLoss { command: name(), function: name(), module: None, source: None, part }
}

/// Any loss names the functions that hold it, if their intervals are above zero; the locks of the
/// command's own have other words.
#[test]
fn functions_are_named_with_the_loss_that_they_hold() {
    let losses = Losses {
        idle_disk: Some(0.4),
        kernel_work: Some(0.2),
        idle_user_lock: Some(0.3),
        ..Losses::default()
    };
    let mut view = view_with_losses(losses);
    view.stack[0].functions = vec![
        held_by("save", Component::IdleDisk, 0.3, [0.25, 0.35]),
        held_by("take", Component::IdleUserLock, 0.3, [0.25, 0.35]),
        held_by("clear_page", Component::KernelWork, 0.2, [0.1, 0.3]),
        held_by("load", Component::IdleDisk, 0.1, [-0.1, 0.3]),
    ];
    let clauses = clauses(&view);
    let has = |end: &str| clauses.iter().any(|clause| clause.ends_with(end));
    assert!(has("idle, waiting for a disk, 75% of it in `save`"), "{clauses:?}");
    assert!(has("extra kernel time compared with 1 CPU, 100% of it in `clear_page`"), "{clauses:?}");
    assert!(
        !clauses.iter().any(|clause| clause.contains("`take`") || clause.contains("`load`")),
        "{clauses:?}"
    );
}

#[test]
fn no_program_is_named_if_none_ran() {
    let mut view = view_with_losses(Losses::default());
    view.stack[0].culprits = vec![support::culprit("nothing", 0.5, None)];
    assert!(
        clauses(&view)[0].ends_with("of 2 CPUs idle: no thread of the command ran"),
        "{:?}",
        clauses(&view)
    );
    view.stack[0].culprits = vec![support::culprit("nothing", 0.3, None), support::culprit("ld", 0.2, None)];
    assert!(
        clauses(&view)[0].ends_with("too few threads ran, mostly none (0.30) and `ld` (0.20)"),
        "{:?}",
        clauses(&view)
    );
}

#[test]
fn a_command_that_ran_alone_is_named_with_its_time() {
    let mut view = support::build();
    view.traces[1].serial_phases.iter_mut().filter(|p| p.culprit == "ld").for_each(|p| p.duration_s = 17.0);
    let clause = "0.28 of 2 CPUs idle: one thread of `ld` ran alone for 17.0 of 62.5 s; the other threads waited in wait4";
    assert_eq!(clauses(&view)[0], clause);
    // Serial phases that explain less than the loss are not named.
    view.traces[1].serial_phases.iter_mut().for_each(|p| p.duration_s /= 2.0);
    assert!(clauses(&view)[0].contains("idle: only `ld` ran;"), "{:?}", clauses(&view));
}

#[test]
fn gained_cpus_are_called_a_gain() {
    let gain_clauses = clauses(&support::gaining());
    assert!(
        gain_clauses[0].starts_with("0.36 of 2 CPUs gained: less user-mode time than on 1 CPU"),
        "{gain_clauses:?}"
    );
    let view = view_with_losses(Losses { idle_disk: Some(-0.2), ..Losses::default() });
    assert!(clauses(&view)[1].ends_with("gained: less \"idle: disk\" than on 1 CPU"));
}

#[test]
fn the_verdict_names_the_main_cause() {
    let text = verdict_statement(&decide(&support::build())).to_string();
    assert!(
        text.contains("The largest loss is 0.28 of 2 CPUs idle: only `ld` ran; the other threads"),
        "{text}"
    );
    let says = |view: &View| decide(view).remarks.iter().any(|r| matches!(r, Remark::MainCauses { .. }));
    assert!(says(&support::contended()));
    assert!(!says(&support::two_points()), "no stack");
    assert!(!says(&support::gaining()), "nothing stops what is faster than it should be");
}

#[test]
fn the_tracer_and_a_stack_of_a_smaller_count_are_not_the_main_cause() {
    let view = view_with_losses(Losses { tracer: 0.3, other_processes: 0.25, ..Losses::default() });
    assert_eq!(causes(largest_stack(&view), &view)[0].component, Component::Tracer);
    assert_eq!(main_components(&view), [Component::OtherProcesses]);
    // The largest count was not traced: another cause may limit a smaller count.
    let mut view = support::contended();
    view.stack.pop();
    assert_eq!(main_components(&view), []);
}

#[test]
fn a_traced_run_unlike_the_timed_ones_explains_nothing() {
    let overhead = |overhead: f64| {
        let mut view =
            view_with_losses(Losses { kernel_work: Some(0.5), user_work: -0.3, ..Losses::default() });
        view.traces[0].overhead = Some(overhead);
        view
    };
    let named = overhead(0.2);
    assert!(
        verdict_statement(&decide(&named)).to_string().contains("The largest loss is")
            && !clauses(&named).is_empty()
    );
    for (o, ratio) in [(8.65, "took 9.65 times as long"), (-0.4, "took 0.600 times as long")] {
        let view = overhead(o);
        assert!(clauses(&view).is_empty());
        let text = verdict_statement(&decide(&view)).to_string();
        assert!(text.contains(ratio) && !text.contains("The largest loss is"), "{text}");
    }
    // As slow as the slowest of the timed runs: that is their noise.
    let mut noisy = overhead(0.3);
    noisy.points[1].elapsed_s.max = 9.2;
    assert_eq!(no_cause_reason(largest_stack(&noisy), &noisy), None);
}

/// Example: the time of the parallel part of a build, whose serial part is in the traces all the
/// same.
#[test]
fn a_figure_that_scales_differently_from_the_run_is_not_explained() {
    let figure = |speedup: f64| {
        let mut view = view_with_losses(Losses { kernel_work: Some(0.5), ..Losses::default() });
        let whole = view.points[0].elapsed_s.median / view.points[1].elapsed_s.median;
        let summary = view.points[1].elapsed_s;
        view.points[1].metric = Some(MetricView { name: None, summary, unit: None, better: Better::Lower });
        view.points[1].speedup =
            Estimate { value: speedup * whole, ci95: Some([0.98 * speedup * whole, 1.02 * speedup * whole]) };
        view
    };
    let view = figure(1.2);
    assert!(matches!(
        no_cause_reason(largest_stack(&view), &view),
        Some(NoCauseReason::FigureDiffers { cpus: 2, .. })
    ));
    assert!(
        verdict_statement(&decide(&view)).to_string().contains("a trace describes only the whole run"),
        "{}",
        verdict_statement(&decide(&view)).to_string()
    );
    assert_eq!(no_cause_reason(largest_stack(&figure(1.05)), &figure(1.05)), None);
}

#[test]
fn cpus_without_load_balancing_are_not_called_slow_to_wake() {
    let mut view = view_with_losses(Losses { idle_scheduling: 0.5, ..Losses::default() });
    assert!(
        clauses(&view).iter().any(|clause| clause.contains("takes time to wake")),
        "{:?}",
        clauses(&view)
    );
    let cpu_set = (0..2).map(CpuId).collect();
    view.warnings.push(Warning::NotBalanced { cpus: 2, cpu_set, by_cpuset: true });
    let cause_clauses = clauses(&view);
    assert!(
        cause_clauses.iter().any(|clause| clause.contains("does not balance these CPUs")),
        "{cause_clauses:?}"
    );
    assert!(!cause_clauses.iter().any(|clause| clause.contains("takes time to wake")), "{cause_clauses:?}");
}

#[test]
fn extra_time_of_a_crowded_base_is_not_explained_by_caches() {
    let crowded = |machine_sized| {
        let mut view = view_with_losses(Losses { user_work: -0.5, ..Losses::default() });
        let workers = Workers { name: "x".to_owned(), threads: 7 };
        view.warnings.push(Warning::OversubscribedBase {
            cpus: 1,
            workers,
            machine_sized,
            gets_count: false,
        });
        view
    };
    let view = crowded(true);
    assert_eq!(
        no_cause_reason(largest_stack(&view), &view),
        Some(NoCauseReason::NoBaseline { cpus: 1, threads: 7 })
    );
    let crowded_clauses = clauses(&crowded(false));
    assert!(
        crowded_clauses.iter().any(|s| s.ends_with("on 1 CPU, where 7 threads took turns")),
        "{crowded_clauses:?}"
    );
}

#[test]
fn runs_too_short_to_be_traced_explain_nothing() {
    let short = |seconds: f64| {
        let mut view = view_with_losses(Losses { kernel_work: Some(0.5), ..Losses::default() });
        view.points[1].elapsed_s.median = seconds;
        view
    };
    let view = short(0.0012);
    assert_eq!(
        no_cause_reason(largest_stack(&view), &view),
        Some(NoCauseReason::TooShort { cpus: 2, seconds: 0.0012 })
    );
    assert!(
        verdict_statement(&decide(&view)).to_string().contains("on 2 CPUs the command takes only 1.20 ms"),
        "{}",
        verdict_statement(&decide(&view)).to_string()
    );
    assert_eq!(no_cause_reason(largest_stack(&short(0.010)), &short(0.010)), None);
}

#[test]
fn the_trace_of_a_stack_is_that_of_the_same_n() {
    let mut view = view_with_losses(Losses { other_processes: 0.3, ..Losses::default() });
    let mut oversubscribed = view.traces[0].clone();
    (oversubscribed.n, oversubscribed.others) = (8, vec![("wrong".to_owned(), 9.0)]);
    view.traces.insert(0, oversubscribed);
    assert!(clauses(&view)[0].ends_with("(Xorg)"), "{:?}", clauses(&view));
}
