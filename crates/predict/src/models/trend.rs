//! Two readings of measured points that explain and do not predict.

use super::Point;

/// Whether the serial fraction stays what it is as CPUs are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// It falls: a fixed amount of serial work was overtaken, or caches grew with the CPUs.
    Falling,
    /// It stays: Amdahl's law holds.
    Steady,
    /// It grows: each added CPU costs something, as with locks or memory.
    Growing,
}

/// The serial fraction of each point against the smallest count, and where it is going, by the sign of its slope where that
/// is more than `tolerance` over the whole range. `None` with fewer than two larger counts.
///
/// Source: A. H. Karp, H. P. Flatt, Measuring Parallel Processor Performance, CACM 33(5), 1990.
pub fn karp_flatt_trend(points: &[Point], tolerance: f64) -> Option<(Vec<(u32, f64)>, Trend)> {
    let base = points.iter().min_by_key(|point| point.cpus)?;
    let mut fractions: Vec<_> = points
        .iter()
        .filter(|point| point.cpus > base.cpus)
        .map(|point| {
            let growth = f64::from(point.cpus) / f64::from(base.cpus);
            (point.cpus, (point.elapsed / base.elapsed - 1.0 / growth) / (1.0 - 1.0 / growth))
        })
        .collect();
    fractions.sort_by_key(|(cpus, _)| *cpus);
    let (first, last) = (fractions.first()?.1, fractions.last()?.1);
    let trend = match last - first {
        _ if fractions.len() < 2 => return None,
        change if change > tolerance => Trend::Growing,
        change if change < -tolerance => Trend::Falling,
        _ => Trend::Steady,
    };
    Some((fractions, trend))
}

/// Scaled speedup: how much more could be done in the same time on `cpus` CPUs, with a share `serial` of that time serial.
///
/// Source: J. L. Gustafson, Reevaluating Amdahl's Law, CACM 31(5), 1988: `n - s(n-1)`.
pub fn gustafson(serial: f64, cpus: u32) -> f64 {
    let n = f64::from(cpus);
    n - serial * (n - 1.0)
}
