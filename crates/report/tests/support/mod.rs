//! Synthetic views with known truth, for the tests of the reports.
//!
//! Speedup, efficiency and serial fraction follow from the times by their definitions. The
//! intervals follow by the crudest propagation that still looks plausible.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "every test binary holds this module and uses a part of it"
)]

mod traced;

use morecores_machine::*;
use morecores_report::Style;
use morecores_study::trace::*;
use morecores_study::*;
use morecores_view::page::*;
use morecores_view::*;

pub use traced::*;

/// Text without the colour codes, which end in `m`.
pub fn strip(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once('m').expect("a colour code ends in m").1)
}

/// A terminal of 80 columns without colour.
pub const PLAIN: Style = Style { width: 80, colour: false, unicode: true, wide: false };

/// Asserts that a report contains nothing that `style` forbids, and no line wider than the style's
/// width.
pub fn assert_fits_style(style: Style, text: &str) {
    let Style { width, colour, unicode, .. } = style;
    assert!(colour || !text.contains('\u{1b}'), "colour without being asked");
    assert!(unicode || text.is_ascii(), "{text}");
    for line in strip(text).lines() {
        let columns = textwrap::core::display_width(line);
        assert!(columns <= width.max(Style::MIN_WIDTH), "{columns} > {width}: {line:?}\n{text}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

/// Builds a view point by point.
pub struct Synthetic {
    view: View,
}

/// Starts a view of `command` without points.
pub fn view(command: &[&str]) -> Synthetic {
    let argv: Vec<String> = command.iter().map(|w| (*w).to_owned()).collect();
    let host = Host {
        hostname: "build7".to_owned(),
        os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        kernel: "6.1.0-18-amd64".to_owned(),
        arch: "x86_64".to_owned(),
        cpu_model: "AMD EPYC 7763 64-Core Processor".to_owned(),
        hypervisor: Some("KVM".to_owned()),
        memory_bytes: Bytes(32 << 30),
        ..Host::default()
    };
    Synthetic {
        view: View {
            schema: VIEW_SCHEMA.to_owned(),
            tool: "0.1.0".to_owned(),
            command: argv,
            host,
            plan: morecores_testkit::plan(Vec::new()),
            closing: Some(Closing {
                ended_at_ns: Nanos(0),
                reason: StopReason::Precise,
                other_programs: Vec::new(),
                quiet: None,
            }),
            verdict: Verdict::default(),
            points: Vec::new(),
            rankings: Vec::new(),
            quota: None,
            cells: Vec::new(),
            traces: Vec::new(),
            stack: Vec::new(),
            efficiencies: Vec::new(),
            prediction: None,
            disturbed_rounds: Vec::new(),
            verdict_with_disturbed: None,
            rounds_until_precise: None,
            warnings: Vec::new(),
        },
    }
}

fn summary(median: f64, half: f64, runs: u32) -> Summary {
    Summary {
        median,
        mean: median,
        min: median - 1.5 * half,
        max: median + 2.0 * half,
        ci95: (runs >= 6).then_some([median - half, median + half]),
    }
}

impl Synthetic {
    /// Adds a point with six runs: median and half-width of elapsed time in seconds, and number of
    /// busy CPUs.
    pub fn point(self, cpus: u32, elapsed: f64, half: f64, used: f64) -> Self {
        self.point_with_runs(cpus, elapsed, half, used, 6)
    }

    /// Adds a point with a given number of runs.
    pub fn point_with_runs(mut self, cpus: u32, elapsed: f64, half: f64, used: f64, runs: u32) -> Self {
        let elapsed_s = summary(elapsed, half, runs);
        let cpu_time = elapsed * used;
        let point = PointView {
            axes: Default::default(),
            cpus,
            n: cpus,
            cpu_set: (0..cpus).map(CpuId).collect(),
            adds: [CpuKind::Core].into(),
            limit: Limit::Affinity,
            runs,
            failed_runs: 0,
            outliers: 0,
            elapsed_s,
            user_s: summary(cpu_time * 0.85, half, runs),
            system_s: summary(cpu_time * 0.15, half, runs),
            cpu_percent: used * 100.0,
            max_rss_bytes: 212 << 20,
            max_rss_is_bound: false,
            tree_peak_bytes: Some(1_450 << 20),
            minor_faults: 8_345_678.0,
            major_faults: 0.0,
            swapped_in_pages: None,
            swapped_out_pages: None,
            voluntary_switches: 12_345.0,
            involuntary_switches: 987.0,
            block_read_bytes: 0.0,
            block_written_bytes: 123e6,
            intervals: Default::default(),
            steal_s: Some(0.0),
            throttled_s: None,
            throttling: None,
            others_allotted_s: Some(0.1),
            others_elsewhere_s: Some(0.2),
            busy_devices: Vec::new(),
            metric: None,
            further_metrics: Vec::new(),
            speedup: Estimate { value: 1.0, ci95: None },
            ratio_to_larger: None,
            efficiency: 1.0,
            efficiency_ci95: None,
            serial_fraction: None,
            serial_fraction_ci95: None,
            kernel_ratio: Some(0.15),
            kernel_ratio_estimator: CpuEstimator::Cgroup,
            noise_floor: (runs >= 6).then_some(1.5 * half / elapsed),
        };
        self.view.points.push(point);
        self
    }

    /// Makes `rates` of the points the basis of the speedup; half-widths are 1%.
    pub fn rate(mut self, unit: &str, better: Better, rates: &[f64]) -> Self {
        self.view.plan.metric =
            Some(Metric { name: None, regex: "x".to_owned(), unit: Some(unit.to_owned()), better });
        for (point, rate) in self.view.points.iter_mut().zip(rates) {
            let summary = summary(*rate, rate * 0.01, point.runs);
            point.metric = Some(MetricView { name: None, summary, unit: Some(unit.to_owned()), better });
        }
        self
    }

    /// Adds warnings.
    pub fn warn(mut self, warnings: impl IntoIterator<Item = Warning>) -> Self {
        self.view.warnings.extend(warnings);
        self
    }

    /// Applies any other change.
    pub fn with(mut self, change: impl FnOnce(&mut View)) -> Self {
        change(&mut self.view);
        self
    }

    /// Finishes the view: computes its ratios and its answer.
    pub fn build(mut self) -> View {
        let Some(base) = self.view.points.first().cloned() else { return decided(self.view) };
        let measured = |p: &PointView| p.metric.as_ref().map_or(p.elapsed_s, |m| m.summary);
        let relative = |s: &Summary| s.ci95.map(|[low, high]| (high - low) / 2.0 / s.median);
        // Speedup of one point over another, with the spreads of both.
        let over = |b: &PointView, p: &PointView| {
            let rate = p.metric.as_ref().is_some_and(|m| m.better == Better::Higher);
            let (b, p) = (measured(b), measured(p));
            let value = if rate { p.median / b.median } else { b.median / p.median };
            let spread = relative(&b).zip(relative(&p)).map(|(a, b)| a.hypot(b));
            Estimate { value, ci95: spread.map(|s| [value / (1.0 + s), value * (1.0 + s)]) }
        };
        for point in &mut self.view.points {
            let is_base = point.cpus == base.cpus;
            let Estimate { value, ci95 } = over(&base, point);
            let ci95 = ci95.map(|ends| if is_base { [1.0, 1.0] } else { ends });
            point.speedup = Estimate { value, ci95 };
            let n = f64::from(point.cpus) / f64::from(base.cpus);
            point.efficiency = value / n;
            let serial = |s: f64| (1.0 / s - 1.0 / n) / (1.0 - 1.0 / n);
            if !is_base {
                point.serial_fraction = Some(serial(value));
                point.serial_fraction_ci95 = ci95.map(|[low, high]| [serial(high), serial(low)]);
            }
        }
        let points = self.view.points.clone();
        for (place, point) in self.view.points.iter_mut().enumerate() {
            let larger = points[place + 1..].iter();
            let fastest = larger.max_by(|a, b| a.speedup.value.total_cmp(&b.speedup.value));
            point.ratio_to_larger = fastest.map(|fastest| over(fastest, point));
        }
        decided(self.view)
    }
}

/// The view with the answer that follows from its present figures and warnings.
pub fn decided(mut view: View) -> View {
    view.verdict = verdict(&view);
    view
}

/// Two CPUs, nearly twice as fast: a small kernel build.
pub fn two_points() -> View {
    view(&["make", "-j{n}", "vmlinux"]).point(1, 98.4, 0.3, 0.995).point(2, 51.0, 0.2, 1.96).build()
}

/// Amdahl's law with a serial fraction of 4%.
pub fn five_points() -> View {
    let time = |n: f64| 62.0 * (0.04 + 0.96 / n);
    let mut view = view(&["cargo", "build", "-j", "{n}"]);
    for (cpus, half) in [(1, 0.8), (2, 0.3), (4, 0.25), (8, 0.1), (16, 0.06)] {
        let n = f64::from(cpus);
        view = view.point(cpus, time(n), half, 62.0 / time(n));
    }
    view.build()
}

/// A serial fraction that grows: overhead per CPU.
pub fn nine_points() -> View {
    let mut view = view(&["./simulate", "--threads={n}", "big input.dat"]);
    for power in 0..9 {
        let n = f64::from(1 << power);
        let time = 1_180.0 * (0.002 + 0.998 / n) + 0.03 * (n - 1.0);
        view = view.point(1 << power, time, time * 0.004, (n * 0.97).min(n * 1_180.0 / n / time * 1.1));
    }
    view.build()
}

/// No difference, all CPUs but one idle.
pub fn no_scaling() -> View {
    view(&["gzip", "-k", "x.tar"])
        .point(1, 12.31, 0.05, 1.0)
        .point(2, 12.29, 0.06, 1.0)
        .point(4, 12.30, 0.05, 1.0)
        .warn([
            Warning::ThreadsDidNotFollow { cpus: 2, used: 1.0, gets_count: false },
            Warning::ThreadsDidNotFollow { cpus: 4, used: 1.0, gets_count: false },
        ])
        .build()
}

/// Every kind of warning, some at several CPU counts.
pub fn all_warnings() -> Vec<Warning> {
    let program = |name: &str| OtherProgram { name: name.to_owned(), cpu_ns: Nanos(4_000_000_000) };
    let mut all = vec![
        Warning::OtherCpusHelp,
        Warning::TooFewRuns { cpus: 1, runs: 3 },
        Warning::TooFewRuns { cpus: 2, runs: 5 },
        Warning::Imprecise { cpus: 2, half_width: 0.023, precision: 0.01 },
        Warning::Outliers { cpus: 1, count: 1 },
        Warning::Outliers { cpus: 2, count: 2 },
        Warning::FirstRunDiffers { cpus: 1, ratio: 1.84 },
        Warning::Drift { cpus: 2, ratio: 1.031 },
        Warning::Steal { cpus: 1, share: 0.012 },
        Warning::Steal { cpus: 2, share: 0.031 },
        Warning::Throttled { cpus: 2, seconds: 3.21 },
        Warning::QuotaBelowCpus { cpus: 2, quota: 1.5 },
        Warning::NotBalanced { cpus: 2, cpu_set: (0..2).map(CpuId).collect(), by_cpuset: true },
        Warning::SmtSiblings { cpus: 2 },
        Warning::MixedCoreTypes { cpus: 2 },
        Warning::FrequencyScaling { governor: Some("powersave".to_owned()), boost: Some(true) },
        Warning::FrequencyScaling { governor: None, boost: None },
        Warning::ThreadsDidNotFollow { cpus: 2, used: 1.02, gets_count: true },
        Warning::NotQuiet { busy_cpus: 0.82, of_cpus: 2, other_programs: vec![program("dockerd")] },
        Warning::OnlyGetrusage,
        Warning::FailedRuns {
            cpus: 2,
            count: 2,
            failures: vec![FailureCount { how: Failure::Status(1), count: 2 }],
            success: [0].into(),
        },
        Warning::IncompleteRounds { cpus: 2, count: 0, base_cpus: 1, base_count: 2 },
        Warning::IncompleteRounds { cpus: 4, count: 3, base_cpus: 1, base_count: 1 },
        Warning::NoCommonRounds { cpus: 8, base_cpus: 1 },
        Warning::DamagedLines { count: 3 },
        Warning::LossyTrace { cpus: 2, lost_events: 1234, share: 0.021 },
        Warning::RanOutsideCpus { cpus: 1, share: 0.048, evidence: OutsideEvidence::Trace },
        Warning::TraceOverhead { cpus: 2, overhead: 0.17 },
        Warning::UnexplainedTime { cpus: 1, share: 0.032 },
        Warning::UnexplainedTime { cpus: 2, share: -0.045 },
        Warning::OversubscribedBase {
            cpus: 1,
            workers: Workers { name: "worker".to_owned(), threads: 7 },
            machine_sized: false,
            gets_count: false,
        },
        Warning::UserSpinning { cpus: 2, share: 0.081 },
    ];
    all.extend([1, 2].map(|cpus| Warning::WorkOutsideTree {
        cpus,
        busy_cpus: 0.34 * f64::from(cpus),
        of_cpus: 2,
        other_programs: vec![program("sccache"), program("dockerd")],
    }));
    all.push(Warning::KilledForMemory {
        cpus: 2,
        count: 3,
        names: vec!["python3".to_owned()],
        job_bytes: Some(400 << 20),
        limit_bytes: Some(600 << 20),
    });
    all.push(Warning::KnownClient { program: "docker".to_owned(), daemon: "dockerd".to_owned() });
    all.extend([true, false].map(|kept| Warning::Survivors { names: vec!["gopls".to_owned()], kept }));
    all
}

/// A hash rate that grows with the CPUs: a rate, with one run length for every count.
pub fn rates() -> View {
    view(&["openssl", "speed", "-multi", "{n}", "sha256"])
        .point(1, 10.01, 0.01, 1.0)
        .point(2, 10.01, 0.01, 2.0)
        .point(4, 10.02, 0.01, 3.4)
        .rate("MB/s", Better::Higher, &[412.3, 815.0, 1_391.0])
        .with(|v| v.points.iter_mut().for_each(|p| p.kernel_ratio_estimator = CpuEstimator::Taskstats))
        .build()
}

/// One point, so there is nothing to compare.
pub fn one_point() -> View {
    view(&["true"]).point(1, 569e-6, 4e-6, 0.9).build()
}

/// Three runs of each count, all faster on two CPUs.
pub fn too_few_runs() -> View {
    view(&["make", "-j{n}"])
        .point_with_runs(1, 98.4, 0.3, 1.0, 3)
        .point_with_runs(2, 51.0, 0.2, 1.95, 3)
        .warn([Warning::TooFewRuns { cpus: 1, runs: 3 }, Warning::TooFewRuns { cpus: 2, runs: 3 }])
        .build()
}

/// Less speed with more CPUs.
pub fn slower() -> View {
    view(&["./counter", "{n}"])
        .point(1, 2.01, 0.02, 1.0)
        .point(2, 2.62, 0.05, 1.9)
        .point(4, 3.4, 0.4, 3.6)
        .build()
}

/// More cache with each CPU.
pub fn superlinear() -> View {
    view(&["./stencil"]).point(1, 40.2, 0.1, 1.0).point(2, 17.9, 0.1, 2.0).build()
}

/// Two points with every kind of warning.
pub fn everything_warned() -> View {
    view(&["docker", "build", "."])
        .point_with_runs(1, 98.4, 0.3, 1.0, 5)
        .point_with_runs(2, 60.0, 0.2, 1.95, 3)
        .warn(all_warnings())
        .with(|v| {
            v.points.iter_mut().for_each(|p| {
                p.kernel_ratio_estimator = CpuEstimator::Getrusage;
                p.max_rss_is_bound = true;
            });
            v.closing = None;
        })
        .build()
}

/// Faster up to eight CPUs, then no more.
pub fn plateau() -> View {
    view(&["./queue"])
        .point(1, 80.0, 0.4, 1.0)
        .point(2, 41.0, 0.3, 2.0)
        .point(4, 22.0, 0.2, 3.9)
        .point(8, 15.1, 0.2, 6.0)
        .point(16, 15.0, 0.2, 6.1)
        .build()
}
