//! The cost of waiting on the machine, one sentence for each price.

use morecores_view::{CostModel, Estimate, LinePrice, LocksView};

use super::time_with_ends;

/// Prices, and the conclusions from them.
pub(crate) fn price_sentences(view: &LocksView) -> Vec<String> {
    let prices = &view.prices;
    let switch_sentence = |ns: &Estimate| {
        format!("A switch: {} from one thread to another on the same CPU.", time_with_ends(ns))
    };
    let wake_sentence = |ns: &Estimate| {
        format!(
            "A wake-up: {} from an unlock until a sleeping thread on another CPU has the lock. For longer waits, sleeping is \
             cheaper than spinning.",
            time_with_ends(ns)
        )
    };
    let mut sentences: Vec<String> = prices.switch_ns.iter().map(switch_sentence).collect();
    sentences.extend(prices.wake_ns.iter().map(wake_sentence));
    sentences.extend(line_travel_sentence(&prices.lines));
    sentences.extend(view.cost_model.as_ref().and_then(model_sentence));
    sentences
}

/// Transfer of a cache line between the nearest and the farthest pair of CPUs.
fn line_travel_sentence(lines: &[LinePrice]) -> Option<String> {
    let by_price = |a: &&LinePrice, b: &&LinePrice| a.ns.value.total_cmp(&b.ns.value);
    let (near, far) = (lines.iter().min_by(by_price)?, lines.iter().max_by(by_price)?);
    let between =
        |line: &LinePrice| format!("{} between CPUs {} and {}", time_with_ends(&line.ns), line.from, line.to);
    let most = if lines.len() > 1 { format!(", up to {}", between(far)) } else { String::new() };
    Some(format!("A cache line transfer: {}{most}.", between(near)))
}

fn model_sentence(model: &CostModel) -> Option<String> {
    let CostModel { spinning, blocking, told_apart, right, .. } = model;
    let points = if *told_apart == 1 { "point" } else { "points" };
    (*told_apart > 0).then(|| {
        format!(
            "The cost model: these prices alone predict the better of {spinning} and {blocking} at {right} of the {told_apart} \
             {points} where the two differ by more than noise."
        )
    })
}
