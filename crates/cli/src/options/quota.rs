//! Turns the texts of `--limit quota --quota` into the axis of the quotas.
//!
//! The module refuses a quota that an enclosing cgroup would not grant, or that would limit
//! nothing.

use anyhow::{Result, anyhow, bail, ensure};
use morecores_study::topology::Topology;
use morecores_study::{Axis, Limit, QuotaPercent};

/// Smallest quota in percent: the kernel accepts no less than 1 ms of a period of 100 ms
/// (`min_cfs_quota_period` of kernel/sched/core.c).
const LEAST_PERCENT: f64 = 1.0;

/// Axis of the quotas of a plan, for runs on at most `cpus` CPUs; none without `--quota`.
pub(super) fn quota_axis(
    text: Option<&str>,
    limit: Limit,
    topology: &Topology,
    cpus: u32,
) -> Result<Option<Axis>> {
    let text = match (text, limit) {
        (Some(text), Limit::Quota) => text,
        (None, Limit::Quota) => {
            bail!("--limit quota needs the limits to measure: give --quota, such as --quota 0.5,1,2")
        }
        (Some(_), _) => bail!("--quota needs --limit quota, not --limit {limit}"),
        (None, _) => return Ok(None),
    };
    let mut quotas = text.split(',').map(quota).collect::<Result<Vec<_>>>()?;
    quotas.sort_unstable();
    quotas.dedup();
    let largest = quotas.last().copied().unwrap_or(QuotaPercent(0));
    if let Some(parent) = topology.usable.quota_cpus {
        ensure!(
            largest.cpus() <= parent,
            "--quota {largest} is above the quota of a cgroup around morecores, which is {parent}: give at most that"
        );
    }
    ensure!(
        largest.cpus() <= f64::from(cpus),
        "--quota {largest} limits nothing on {}: give at most {cpus}",
        morecores_report::cpus(cpus)
    );
    Ok(Some(QuotaPercent::axis(&quotas)))
}

/// Parses a limit as container engines write it, `1.5`, or as Kubernetes does, `1500m`.
fn quota(text: &str) -> Result<QuotaPercent> {
    let text = text.trim();
    let wrong = || {
        anyhow!("--quota `{text}`: write CPUs from 0.01 in steps of 0.01, like 0.5,1,1.5, or like 500m,1000m")
    };
    let percent = match text.strip_suffix('m') {
        Some(thousandths) => thousandths.parse::<f64>().map(|number| number / 10.0),
        None => text.parse::<f64>().map(|cpus| cpus * 100.0),
    };
    let percent = percent.map_err(|_| wrong())?;
    // A decimal such as 0.29 has no exact product.
    let whole = percent.round();
    let is_valid = (percent - whole).abs() < 1e-6 && (LEAST_PERCENT..=f64::from(u32::MAX)).contains(&whole);
    if is_valid { Ok(QuotaPercent(whole as u32)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_read_in_the_forms_of_container_engines() {
        let read = |text| quota(text).ok().map(|quota| quota.0);
        assert_eq!(
            ["0.5", "1", "1.5", "0.29", "500m", " 10m", "0.01"].map(read),
            [50, 100, 150, 29, 50, 1, 1].map(Some)
        );
        assert_eq!(["0", "0.005", "-1", "one", "", "15m", "inf", "NaN", "1e12"].map(read), [None; 9]);
    }

    #[test]
    fn a_quota_fits_its_limit_and_its_surroundings() {
        let mut topology = Topology::default();
        let axis = |text, limit, topology: &Topology| {
            quota_axis(text, limit, topology, 2).map_err(|error| error.to_string())
        };
        let axes = axis(Some("1,0.5,1"), Limit::Quota, &topology).unwrap();
        assert_eq!(axes, Some(QuotaPercent::axis(&[QuotaPercent(50), QuotaPercent(100)])));
        assert_eq!(axis(None, Limit::Cpuset, &topology), Ok(None));
        let refused = |text, limit, topology: &Topology| axis(text, limit, topology).unwrap_err();
        assert!(refused(None, Limit::Quota, &topology).contains("give --quota"));
        assert!(refused(Some("1"), Limit::Affinity, &topology).contains("needs --limit quota"));
        assert!(refused(Some("1,2.5"), Limit::Quota, &topology).contains("limits nothing on 2 CPUs"));
        topology.usable.quota_cpus = Some(1.5);
        assert!(refused(Some("1,2"), Limit::Quota, &topology).contains("which is 1.5"));
    }
}
