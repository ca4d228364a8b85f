//! The parallelism profile: the share of the elapsed time for each number of running threads and of
//! ready threads.

use morecores_view::Parallelism;

use super::concurrency::Moment;

/// Largest number of threads per CPU that the profile distinguishes. Four runnable threads per CPU
/// keep a machine of four times the size busy, which is beyond the range of a prediction.
const TOLD_APART: u32 = 4;

/// Profile of a run on `cpus` CPUs. Both lists extend to the largest number of threads, but at
/// least to `cpus` and at most to four times `cpus`. They are empty for a run of zero length.
pub(super) fn parallelism(moments: &[Moment], cpus: u32) -> Parallelism {
    Parallelism {
        running: shares(moments, cpus, |moment| moment.running),
        runnable: shares(moments, cpus, |moment| moment.running + moment.runnable),
    }
}

fn shares(moments: &[Moment], cpus: u32, count: fn(&Moment) -> u32) -> Vec<f64> {
    let whole: f64 = moments.iter().map(|moment| moment.length().as_secs_f64()).sum();
    let Some(most) = moments.iter().map(count).max().filter(|_| whole > 0.0) else { return Vec::new() };
    let last = most.max(cpus).min(cpus.saturating_mul(TOLD_APART));
    let mut shares = vec![0.0; last as usize + 1];
    for moment in moments {
        shares[count(moment).min(last) as usize] += moment.length().as_secs_f64() / whole;
    }
    shares
}
