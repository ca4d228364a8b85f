//! Synthetic traced runs and speedup stacks: time without a given cause is idle for lack of
//! parallel work, so that every stack adds up to its CPUs by construction.

use morecores_machine::*;
use morecores_study::trace::*;
use morecores_study::*;
use morecores_view::page::*;
use morecores_view::*;

/// Traced run with all its CPU time in user mode, except for the changes by `change`; the rest is
/// idle time.
pub fn trace(cpus: u32, elapsed_s: f64, change: impl FnOnce(&mut TraceView)) -> TraceView {
    let mut trace = TraceView {
        cpus,
        n: cpus,
        axes: Coordinates::new(),
        cpu_set: (0..cpus).map(CpuId).collect(),
        source: TraceSource::Bpf,
        runs: 1,
        elapsed_s,
        overhead: Some(0.008),
        events: 1_234_567,
        lost_events: 0,
        misfits: Inconsistencies::default(),
        law_violations: Vec::new(),
        components: Components::default(),
        components_ci95: None,
        unexplained_by_cpu: Vec::new(),
        overaccounted_s: 0.0,
        user_spin_s: None,
        outside_cpu_s: 0.0,
        outside_tree_s: 0.0,
        kernel_ratio: Some(0.152),
        kernel_ratio_estimator: KernelRatioEstimator::Trace(TraceEstimator::Ticks),
        waiting_ratio: Some(0.0004),
        lock_ratio: None,
        parallelism: Parallelism::default(),
        workers: None,
        serial_phases: Vec::new(),
        serial_gap_s: 0.001,
        serial_minimum_s: 0.010,
        parts: SerialAndParallel { serial_s: 0.0, parallel_s: elapsed_s },
        commands: Vec::new(),
        locks: Vec::new(),
        user_locks: Vec::new(),
        lock_holds: None,
        waits: Vec::new(),
        openmp: Vec::new(),
        critical_path: None,
        threads: Vec::new(),
        efficiency_times: None,
        call_tree: Vec::new(),
        sample_period_s: None,
        stack_coverage: None,
        culprits: Vec::new(),
        functions: Vec::new(),
        others: Vec::new(),
        untold_others_s: None,
        behind_user_lock: HolderWaits::default(),
        untraced: Vec::new(),
    };
    change(&mut trace);
    let c = &mut trace.components;
    let rest = f64::from(cpus) * elapsed_s - sum(c);
    c.idle_too_little_work_s += rest;
    trace
}

fn sum(c: &Components) -> f64 {
    all(&serde_json::to_value(c).expect("plain numbers"))
}

/// Sum of all losses, in CPUs.
pub fn sum_of_losses(l: &Losses) -> f64 {
    all(&serde_json::to_value(l).expect("plain numbers"))
}

/// Sum of all fields; the time of a null field is counted in another.
fn all(fields: &serde_json::Value) -> f64 {
    fields.as_object().expect("a structure").values().filter_map(serde_json::Value::as_f64).sum()
}

/// Adds a stack for every point but the first, with these losses and the rest idle for lack of
/// parallel work.
pub fn stacked(mut view: View, losses: impl Fn(u32) -> Losses) -> View {
    let base = (view.points[0].cpus, view.points[0].n);
    for point in &view.points[1..] {
        let mut losses = losses(point.cpus);
        let speedup = point.speedup.value;
        losses.idle_too_little_work =
            f64::from(point.cpus) - speedup * f64::from(base.0) - sum_of_losses(&losses);
        view.stack.push(StackView {
            cpus: point.cpus,
            n: point.n,
            axes: point.axes.clone(),
            base_cpus: base.0,
            base_n: base.1,
            speedup,
            losses,
            losses_ci95: None,
            culprits: Vec::new(),
            calls: Vec::new(),
            functions: Vec::new(),
            serial_speedup: None,
            parallel_speedup: None,
        });
    }
    view
}

/// Command that ran while CPUs were idle.
pub fn culprit(name: &str, lost_cpus: f64, waiting_in: Option<&str>) -> Culprit {
    Culprit { name: name.to_owned(), lost_cpus, waiting_in: waiting_in.map(str::to_owned) }
}

/// Command with its calls, CPU seconds, CPU ratio, and kernel ratio with its error.
pub fn command(name: &str, calls: u64, cpu_ratio: f64, kernel: Option<(f64, f64)>) -> CommandView {
    CommandView {
        name: name.to_owned(),
        calls,
        cpu_s: cpu_ratio * 98.0,
        cpu_ratio,
        kernel_ratio: kernel.map(|k| k.0),
        kernel_ratio_error: kernel.map(|k| k.1),
        waiting_ratio: Some(cpu_ratio * 0.002),
    }
}

/// Lock with its waits.
pub fn lock(
    kind: &str,
    symbol: &str,
    caller: Option<&str>,
    count: u64,
    wait_s: f64,
    spin_s: f64,
) -> LockView {
    LockView {
        kind: kind.to_owned(),
        symbol: symbol.to_owned(),
        caller: caller.map(str::to_owned),
        count,
        wait_s,
        spin_s,
        max_wait_s: wait_s / 50.0,
    }
}

/// A small kernel build, traced on 1 and on 2 CPUs.
pub fn build() -> View {
    let view =
        super::view(&["make", "-j{n}", "vmlinux"]).point(1, 98.4, 0.3, 0.995).point(2, 62.0, 0.2, 1.63);
    let mut view = stacked(view.build(), |_| Losses {
        user_work: 0.021,
        kernel_work: Some(0.034),
        interrupt: Some(0.004),
        kernel_lock_spin: Some(0.002),
        other_processes: 0.051,
        tracer: 0.011,
        idle_scheduling: 0.013,
        idle_disk: Some(0.001),
        unexplained: -0.004,
        ..Losses::default()
    });
    view.stack[0].culprits =
        vec![culprit("ld", 0.24, Some("wait4")), culprit("make", 0.02, None), culprit("objtool", 0.01, None)];
    view.stack[0].serial_speedup = Some(1.02);
    view.stack[0].parallel_speedup = Some(1.93);
    view.traces = vec![trace(1, 99.1, |t| t.components.user_work_s = 95.0), build_trace()];
    view
}

/// Traced run of the build on 2 CPUs.
pub fn build_trace() -> TraceView {
    let phase = |start_s, duration_s, culprit: &str| SerialPhase {
        start_s,
        duration_s,
        culprit: culprit.to_owned(),
        cause: None,
    };
    trace(2, 62.5, |t| {
        t.components = Components {
            user_work_s: 83.1,
            kernel_work_s: Some(15.2),
            interrupt_s: Some(0.41),
            kernel_lock_spin_s: Some(0.06),
            other_processes_s: 3.2,
            tracer_s: 0.62,
            steal_s: Some(0.0),
            idle_scheduling_s: 0.81,
            idle_disk_s: Some(0.05),
            unexplained_s: -0.25,
            ..Components::default()
        };
        t.parallelism =
            Parallelism { running: vec![0.004, 0.352, 0.644], runnable: vec![0.003, 0.221, 0.301, 0.475] };
        t.serial_phases = vec![
            phase(0.0, 1.31, "make"),
            phase(12.2, 0.02, "sh"),
            phase(40.1, 3.2, "objtool"),
            phase(45.2, 0.4, "nm"),
            phase(47.7, 0.05, "sh"),
            phase(50.1, 12.1, "ld"),
        ];
        t.parts = SerialAndParallel { serial_s: 17.08, parallel_s: 45.42 };
        t.commands = vec![
            command("cc1", 2_812, 0.712, Some((0.112, 0.004))),
            command("ld", 214, 0.121, Some((0.243, 0.011))),
            command("objtool", 1_204, 0.061, Some((0.18, 0.02))),
            command("as", 2_812, 0.048, Some((0.21, 0.02))),
            command("sh", 24_120, 0.021, Some((0.61, 0.03))),
            command("make", 1, 0.012, Some((0.35, 0.04))),
            command("gcc", 2_812, 0.009, Some((0.52, 0.05))),
            command("fixdep", 2_812, 0.006, Some((0.44, 0.06))),
            command("rm", 3_100, 0.004, Some((0.8, 0.06))),
            command("mv", 2_900, 0.003, None),
            command("grep", 820, 0.002, None),
            command("sed", 310, 0.001, None),
        ];
        t.locks = vec![
            lock("rwsem", "mmap_lock", Some("exit_mmap"), 812, 0.021, 0.004),
            lock(
                "spinlock",
                "queued_spin_lock_slowpath",
                Some("get_page_from_freelist"),
                4_120,
                0.011,
                0.011,
            ),
            lock("mutex", "__mutex_lock", None, 12, 0.0004, 0.0),
        ];
        t.culprits = vec![culprit("ld", 11.8, Some("wait4")), culprit("make", 1.2, None)];
        t.others = vec![("Xorg".to_owned(), 2.9), ("kworker/0:1".to_owned(), 0.2)];
        t.untraced = vec![UntracedFact {
            what: "kernel spinlocks".to_owned(),
            why: "this hypervisor waits for them itself".to_owned(),
        }];
        t.user_spin_s = Some(0.2);
    })
}

/// Directory entries: eight CPUs that contend for one kernel lock.
pub fn contended() -> View {
    let view = super::view(&["stress-ng", "--dentry", "{n}"])
        .point(1, 20.0, 0.05, 1.0)
        .point(2, 12.5, 0.05, 1.98)
        .point(4, 9.4, 0.05, 3.9)
        .point(8, 9.1, 0.05, 7.3);
    let mut view = stacked(view.build(), |n| {
        let n = f64::from(n);
        Losses {
            user_work: 0.012 * n,
            kernel_work: Some(0.05 * n),
            interrupt: Some(0.002 * n),
            kernel_lock_spin: Some([0.0, 0.14, 1.21, 4.13][n.log2() as usize]),
            idle_kernel_lock: Some(0.02 * n),
            other_processes: 0.013 * n,
            tracer: 0.011 * n,
            unexplained: 0.006 * n,
            ..Losses::default()
        }
    });
    view.traces = [(1, 20.3), (2, 12.8), (4, 9.6), (8, 9.4)].map(contended_trace).to_vec();
    view
}

fn contended_trace((cpus, elapsed): (u32, f64)) -> TraceView {
    let whole = f64::from(cpus) * elapsed;
    trace(cpus, elapsed, |t| {
        t.components.user_work_s = 0.1 * whole;
        t.components.kernel_work_s = Some(0.4 * whole);
        t.components.kernel_lock_spin_s = Some(0.45 * whole);
        t.components.idle_kernel_lock_s = Some(0.02 * whole);
        t.kernel_ratio = Some(0.93);
        t.waiting_ratio = Some(0.47);
        t.overhead = Some(0.012 + 0.003 * f64::from(cpus));
        t.commands = vec![command("stress-ng-dentry", u64::from(cpus), 0.998, Some((0.93, 0.003)))];
        t.locks = vec![
            lock("spinlock", "dcache_lru", Some("d_lru_add"), 2_312_000, 0.43 * whole, 0.43 * whole),
            lock("rwsem", "i_rwsem", Some("path_openat"), 41_200, 0.03 * whole, 0.012 * whole),
        ];
        t.parallelism.running =
            (0..=cpus).map(|k| if k == cpus { 0.93 } else { 0.07 / f64::from(cpus) }).collect();
    })
}

/// From 1 to 64 CPUs, with ever smaller gains.
pub fn many() -> View {
    let mut view = super::view(&["./simulate", "--threads={n}"]);
    for power in 0..7 {
        let n = f64::from(1 << power);
        let time = 1_180.0 * (0.02 + 0.98 / n) + 0.03 * (n - 1.0);
        view = view.point(1 << power, time, time * 0.004, n * 0.9);
    }
    let mut view = stacked(view.build(), |n| {
        let n = f64::from(n);
        Losses {
            user_work: 0.03 * n,
            kernel_work: Some(0.004 * n),
            idle_scheduling: 0.05 * n * n / 64.0,
            idle_user_lock: Some(0.15 * n * n / 64.0),
            interrupt: Some(0.001 * n),
            unexplained: -0.003 * n,
            ..Losses::default()
        }
    });
    for stack in &mut view.stack {
        let lost = stack.losses.idle_too_little_work;
        stack.culprits =
            vec![culprit("simulate", 0.6 * lost, Some("futex")), culprit("reader", 0.35 * lost, None)];
    }
    view.traces = (0..7)
        .map(|power| {
            let n = 1_u32 << power;
            trace(n, 1_190.0 / f64::from(n), |t| {
                t.components.user_work_s = 900.0;
                t.parallelism.running = (0..=n).map(|_| 1.0 / f64::from(n + 1)).collect();
                t.commands =
                    vec![command("simulate", 1, 0.91, Some((0.02, 0.001))), command("reader", 1, 0.09, None)];
            })
        })
        .collect();
    view
}

/// More cache with each CPU: user time shrinks, so a loss is negative.
pub fn gaining() -> View {
    let mut view = stacked(super::superlinear(), |_| Losses {
        user_work: -0.36,
        kernel_work: Some(0.04),
        idle_scheduling: 0.03,
        unexplained: 0.002,
        ..Losses::default()
    });
    view.traces = vec![trace(2, 18.0, |t| t.components.user_work_s = 35.1)];
    view
}

/// One CPU only, traced: there is nothing to compare.
pub fn alone() -> View {
    let mut view = super::view(&["make"]).point(1, 98.4, 0.3, 0.995).build();
    view.traces = vec![trace(1, 99.1, |t| {
        t.components.user_work_s = 82.0;
        t.components.kernel_work_s = Some(14.1);
        t.components.idle_disk_s = Some(2.1);
    })];
    view
}

/// The build with a trace on 2 CPUs that lost events.
pub fn lossy() -> View {
    let mut view = build();
    view.traces[1].lost_events = 12_345;
    view
}
