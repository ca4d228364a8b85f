//! Measures of scaling that explain measured points and predict nothing: the trend of the serial
//! fraction, and the scaled speedup.

use super::Point;

/// Change of the serial fraction with the number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// Falling fraction: the serial work is a fixed amount that other work overtook, or caches grew
    /// with the CPUs.
    Falling,
    /// Constant fraction: Amdahl's law holds.
    Steady,
    /// Growing fraction: each added CPU has a cost, for example from locks or memory.
    Growing,
}

/// Serial fraction of each point relative to the smallest count, and its trend. The trend is the
/// sign of the change over the whole range if the change exceeds `tolerance`. `None` with fewer
/// than two larger counts.
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

/// Scaled speedup: the amount of work done in the same time on `cpus` CPUs, relative to one CPU.
/// `serial` is the share of that time that is serial.
///
/// Source: J. L. Gustafson, Reevaluating Amdahl's Law, CACM 31(5), 1988: `n - s(n-1)`.
pub fn gustafson_speedup(serial: f64, cpus: u32) -> f64 {
    let n = f64::from(cpus);
    n - serial * (n - 1.0)
}
