//! The cost of waiting on the machine, one statement for each price.

use morecores_view::Estimate;
use morecores_view::locks::{CostModel, LinePrice, LocksView};
use morecores_view::page::Statement;

use super::time_with_ends;

/// Prices, and the conclusions from them.
pub(crate) fn price_statements(view: &LocksView) -> Vec<Statement> {
    let prices = &view.prices;
    let switch_statement = |ns: &Estimate| {
        let rest = format!("{} from one thread to another on the same CPU.", time_with_ends(ns));
        Statement::new("A switch", rest)
    };
    let wake_statement = |ns: &Estimate| {
        let rest = format!(
            "{} from an unlock until a sleeping thread on another CPU has the lock. For longer waits, sleeping is cheaper \
             than spinning.",
            time_with_ends(ns)
        );
        Statement::new("A wake-up", rest)
    };
    let mut statements: Vec<Statement> = prices.switch_ns.iter().map(switch_statement).collect();
    statements.extend(prices.wake_ns.iter().map(wake_statement));
    statements.extend(line_travel_statement(&prices.lines));
    statements.extend(view.cost_model.as_ref().and_then(model_statement));
    statements
}

/// Transfer of a cache line between the nearest and the farthest pair of CPUs.
fn line_travel_statement(lines: &[LinePrice]) -> Option<Statement> {
    let by_price = |a: &&LinePrice, b: &&LinePrice| a.ns.value.total_cmp(&b.ns.value);
    let (near, far) = (lines.iter().min_by(by_price)?, lines.iter().max_by(by_price)?);
    let between =
        |line: &LinePrice| format!("{} between CPUs {} and {}", time_with_ends(&line.ns), line.from, line.to);
    let most = if lines.len() > 1 { format!(", up to {}", between(far)) } else { String::new() };
    Some(Statement::new("A cache line transfer", format!("{}{most}.", between(near))))
}

fn model_statement(model: &CostModel) -> Option<Statement> {
    let CostModel { spinning, blocking, told_apart, right, .. } = model;
    let points = if *told_apart == 1 { "point" } else { "points" };
    (*told_apart > 0).then(|| {
        let rest = format!(
            "these prices alone predict the better of {spinning} and {blocking} at {right} of the {told_apart} {points} \
             where the two differ by more than noise."
        );
        Statement::new("The cost model", rest)
    })
}
