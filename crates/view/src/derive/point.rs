//! Figures of one CPU count of a study, computed from its runs.

use std::collections::BTreeMap;

use crate::{Estimate, FigureView, MedianIntervals, MetricView, PointView, Summary, median_estimate};
use morecores_study::{CpuEstimator, FurtherMetric, Nanos, Plan, Run, Scaling, Surroundings};

use crate::quota::throttling;
use crate::sample::Sample;
use morecores_statistics::{
    Design, Interval, ScalingRatio, mean, median, median_interval, noise_floor, outliers,
    scaled_serial_fraction, serial_fraction, speedup,
};

/// CPU time, in seconds, below which its split into user and system time is unknown: 25 ticks of 4
/// ms (`CONFIG_HZ=250`). Their share has a standard error of up to 10 percentage points.
const LEAST_SPLIT_S: f64 = 0.1;

/// Factor by which a memory high-water mark must exceed the starting process's own mark to be the
/// command's. Both marks grow in steps of whole pages and huge pages.
const FLOOR_TOLERANCE: f64 = 1.02;

impl Sample<'_> {
    /// Computes the figures of this cell. `base` is the smallest count or quota for the same work,
    /// perhaps this one.
    pub(super) fn point_view(&self, base: &Sample<'_>, plan: &Plan, design: Design) -> PointView {
        let (elapsed, values) = (self.elapsed(), self.values());
        let cpu = CpuTimes::from_runs(&self.runs);
        let better = plan.better();
        let is_base = std::ptr::eq(self.point, base.point);
        let speedup = if is_base {
            let exactly_one = Interval { lo: 1.0, hi: 1.0 };
            Some(ScalingRatio { value: 1.0, interval: median_interval(&values, design).map(|_| exactly_one) })
        } else {
            let work_growth = plan.scaling.work(self.point.n) / plan.scaling.work(base.point.n);
            speedup(&base.round_values(), &self.round_values(), better, design)
                .map(|speedup| speedup.times(work_growth))
        };
        let speedup = speedup.unwrap_or(ScalingRatio { value: f64::NAN, interval: None });
        // Both formulas compare with one CPU.
        let serial = match plan.scaling {
            _ if base.point.cpus != 1 => None,
            Scaling::Strong => serial_fraction(speedup, self.point.cpus),
            Scaling::Weak => scaled_serial_fraction(speedup, self.point.cpus),
        };
        let growth = self.point.cpu_time() / base.point.cpu_time();
        let total = |value: fn(&Surroundings) -> Nanos| {
            self.surroundings()
                .next()
                .map(|_| self.surroundings().map(|s| value(s).as_secs_f64()).sum::<f64>())
        };
        let others = self.other_cpu_seconds();
        let max_rss = self.median(|run| run.rusage.max_rss_bytes.0 as f64);
        let floor = self.median(|run| run.max_rss_floor_bytes.0 as f64);
        PointView {
            cpus: self.point.cpus,
            n: self.point.n,
            axes: self.point.axes.clone(),
            cpu_set: self.point.cpu_set.clone(),
            adds: self.point.adds.clone(),
            limit: plan.limit,
            runs: self.runs.len() as u32,
            failed_runs: self.failed.len() as u32,
            outliers: outliers(&elapsed).len() as u32,
            elapsed_s: summary(&elapsed, design),
            user_s: summary(&cpu.user, design),
            system_s: summary(&cpu.system, design),
            cpu_percent: 100.0 * self.median_if_known(busy_cpus).unwrap_or(0.0),
            max_rss_bytes: max_rss as u64,
            max_rss_is_bound: max_rss <= floor * FLOOR_TOLERANCE,
            tree_peak_bytes: self.median_if_known(tree_peak_bytes).map(|m| m as u64),
            minor_faults: self.median(|run| run.rusage.minor_faults as f64),
            major_faults: self.median(|run| run.rusage.major_faults as f64),
            swapped_in_pages: self.mean_if_known(|run| run.tree.swapped_in_pages),
            swapped_out_pages: self.mean_if_known(|run| run.tree.swapped_out_pages),
            voluntary_switches: self.median(|run| run.rusage.voluntary_switches as f64),
            involuntary_switches: self.median(|run| run.rusage.involuntary_switches as f64),
            block_read_bytes: self.median(block_read_bytes),
            block_written_bytes: self.median(block_written_bytes),
            intervals: self.median_intervals(design),
            steal_s: total(|s| s.steal_ns),
            throttled_s: self
                .surroundings()
                .filter_map(|s| s.throttled_ns)
                .map(Nanos::as_secs_f64)
                .reduce(|a, b| a + b),
            throttling: throttling(&self.runs),
            others_allotted_s: others.map(|(here, _)| here),
            others_elsewhere_s: others.map(|(_, elsewhere)| elsewhere),
            busy_devices: self.busy_devices(),
            metric: plan.metric.as_ref().map(|metric| MetricView {
                name: metric.name.clone(),
                summary: summary(&values, design),
                unit: metric.unit.clone(),
                better: metric.better,
            }),
            further_metrics: plan
                .further_metrics
                .iter()
                .map(|metric| self.further_figure(metric, design))
                .collect(),
            speedup: Estimate { value: speedup.value, ci95: speedup.interval.map(Interval::ends) },
            ratio_to_larger: None,
            efficiency: speedup.value / growth,
            efficiency_ci95: speedup.interval.map(|interval| interval.ends().map(|end| end / growth)),
            serial_fraction: serial.map(|serial| serial.value),
            serial_fraction_ci95: serial.and_then(|serial| serial.interval).map(Interval::ends),
            kernel_ratio: cpu.kernel_ratio(),
            kernel_ratio_estimator: cpu.estimator,
            noise_floor: noise_floor(&values),
        }
    }

    /// Computes the intervals of the medians that are plain numbers.
    fn median_intervals(&self, design: Design) -> MedianIntervals {
        let interval_if_known = |value: fn(&Run) -> Option<f64>| {
            let values: Vec<f64> = self.runs.iter().filter_map(|run| value(run)).collect();
            median_interval(&values, design).map(Interval::ends)
        };
        let interval = |value: fn(&Run) -> f64| {
            let values: Vec<f64> = self.runs.iter().map(|run| value(run)).collect();
            median_interval(&values, design).map(Interval::ends)
        };
        MedianIntervals {
            cpu_percent_ci95: interval_if_known(busy_cpus).map(|ends| ends.map(|end| 100.0 * end)),
            max_rss_bytes_ci95: interval(|run| run.rusage.max_rss_bytes.0 as f64),
            tree_peak_bytes_ci95: interval_if_known(tree_peak_bytes),
            minor_faults_ci95: interval(|run| run.rusage.minor_faults as f64),
            major_faults_ci95: interval(|run| run.rusage.major_faults as f64),
            voluntary_switches_ci95: interval(|run| run.rusage.voluntary_switches as f64),
            involuntary_switches_ci95: interval(|run| run.rusage.involuntary_switches as f64),
            block_read_bytes_ci95: interval(block_read_bytes),
            block_written_bytes_ci95: interval(block_written_bytes),
        }
    }

    /// Computes the figure of a further metric, which no verdict uses.
    fn further_figure(&self, metric: &FurtherMetric, design: Design) -> FigureView {
        let values: Vec<f64> = self.runs.iter().filter_map(|run| run.figure(&metric.name)).collect();
        FigureView { name: metric.name.clone(), summary: summary(&values, design), unit: metric.unit.clone() }
    }

    /// Returns the disks and network interfaces with the share of the time of all runs in which
    /// each was busy.
    fn busy_devices(&self) -> Vec<(String, f64)> {
        let covered: f64 = self.surroundings().map(|s| s.covers_ns.as_secs_f64()).sum();
        let mut busy: BTreeMap<&str, f64> = BTreeMap::new();
        for device in self.surroundings().flat_map(|s| &s.devices) {
            *busy.entry(&device.name).or_default() += device.busy_ns.as_secs_f64();
        }
        let mut shares: Vec<_> =
            busy.into_iter().map(|(name, time)| (name.to_owned(), (time / covered).min(1.0))).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }

    fn median(&self, value: impl Fn(&Run) -> f64) -> f64 {
        self.median_if_known(|run| Some(value(run))).unwrap_or(0.0)
    }

    fn median_if_known(&self, value: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        median(&self.runs.iter().filter_map(|run| value(run)).collect::<Vec<_>>())
    }

    fn mean_if_known(&self, value: impl Fn(&Run) -> Option<u64>) -> Option<f64> {
        let values: Vec<f64> = self.runs.iter().filter_map(|run| value(run)).map(|v| v as f64).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// CPU time divided by elapsed time; none for a run without elapsed time.
fn busy_cpus(run: &Run) -> Option<f64> {
    let used = run.cpu.user_ns + run.cpu.system_ns;
    ratio(used.as_secs_f64(), run.elapsed_ns.as_secs_f64())
}

fn tree_peak_bytes(run: &Run) -> Option<f64> {
    Some(run.tree.peak_memory_bytes?.0 as f64)
}

fn block_read_bytes(run: &Run) -> f64 {
    run.tree.block_read_bytes.unwrap_or(run.rusage.block_read_bytes).0 as f64
}

fn block_written_bytes(run: &Run) -> f64 {
    run.tree.block_written_bytes.unwrap_or(run.rusage.block_written_bytes).0 as f64
}

/// User and system times of the runs, in seconds.
struct CpuTimes {
    user: Vec<f64>,
    system: Vec<f64>,
    /// Least accurate estimator among the runs.
    estimator: CpuEstimator,
    /// Whether the total is exact and the split comes from ticks.
    by_ticks: bool,
}

impl CpuTimes {
    fn from_runs(runs: &[&Run]) -> Self {
        let column =
            |value: fn(&Run) -> Nanos| runs.iter().map(|run| value(run).as_secs_f64()).collect::<Vec<_>>();
        let (mut user, mut system) = (column(|r| r.cpu.user_ns), column(|r| r.cpu.system_ns));
        let accuracy_rank = |estimator: &CpuEstimator| match estimator {
            CpuEstimator::Cgroup => 0,
            CpuEstimator::CgroupV1 => 1,
            CpuEstimator::Taskstats => 2,
            CpuEstimator::Getrusage => 3,
        };
        let estimator = runs
            .iter()
            .map(|run| run.cpu.estimator)
            .max_by_key(accuracy_rank)
            .unwrap_or(CpuEstimator::Getrusage);
        let totals: Vec<f64> = user.iter().zip(&system).map(|(u, s)| u + s).collect();
        // The total of a cgroup is exact, but its split comes from ticks. For short runs only the
        // sum of their ticks gives a reliable split.
        let by_ticks = estimator != CpuEstimator::Getrusage;
        if by_ticks && median(&totals).is_some_and(|total| total < LEAST_SPLIT_S) {
            let share = ratio(system.iter().sum(), totals.iter().sum()).unwrap_or(0.0);
            user = totals.iter().map(|total| total * (1.0 - share)).collect();
            system = totals.iter().map(|total| total * share).collect();
        }
        Self { user, system, estimator, by_ticks }
    }

    fn sum(&self) -> f64 {
        self.user.iter().chain(&self.system).sum()
    }

    /// Returns system time divided by user + system time; none if all runs together had too few
    /// ticks to tell.
    fn kernel_ratio(&self) -> Option<f64> {
        let is_known = !self.by_ticks || self.sum() >= LEAST_SPLIT_S;
        ratio(self.system.iter().sum(), self.sum()).filter(|_| is_known)
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn summary(values: &[f64], design: Design) -> Summary {
    let Some((Estimate { value: median, ci95 }, mean)) = median_estimate(values, design).zip(mean(values))
    else {
        return Summary { median: 0.0, mean: 0.0, min: 0.0, max: 0.0, ci95: None };
    };
    let (min, max) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &v| (f64::min(min, v), f64::max(max, v)));
    // Rounding of the sum must not put the mean of equal values outside their range.
    Summary { median, mean: mean.clamp(min, max), min, max, ci95 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_in_order() {
        let found = summary(&[4.0, 1.0, 1.0, 2.0], Design::Fixed);
        assert_eq!(found, Summary { median: 1.5, mean: 2.0, min: 1.0, max: 4.0, ci95: None });
        // The rounded sum of three times 0.1 is more than 0.3.
        assert_eq!(summary(&[0.1; 3], Design::Fixed).mean, 0.1);
    }
}
