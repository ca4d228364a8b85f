//! The parallelism profile: for what share of the elapsed time how many threads of the tree ran, and could have.

use morecores_view::Parallelism;

use super::concurrency::Moment;

/// Thread counts up to this many a CPU are told apart. Four runnable threads a CPU keep four times the machine busy,
/// which is further than a prediction goes.
const TOLD_APART: u32 = 4;

/// The profile of a run on `cpus` CPUs. Both lists reach to the most threads there were, to `cpus` at least and to
/// four times that at most, and are empty for a run of no length.
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
