//! The CPU quota that is enough: the figures that its words need, and the words.

use morecores_view::page::Statement;
use morecores_view::{QuotaComparison, QuotaView, SizedBy, Sufficiency, Throttling, View};

use super::best_n::{form_of_n, value_text};
use super::lead::ahead_of;
use super::{ComparedQuantity, PlanSummary};
use crate::format::{percent, quota_cpus};

/// Share of throttled time below which the largest quota counts as large enough. A choice.
const LITTLE_THROTTLING: f64 = 0.01;

/// Number of periods below which the whole quota at the start of the first one matters much. A
/// choice: it is a tenth of the run there.
const FEW_PERIODS: f64 = 10.0;

/// Measured quotas.
#[derive(Clone, Debug, PartialEq)]
pub struct EnoughQuota {
    /// Comparison of the view; it has two quotas or more.
    pub comparison: QuotaComparison,
    /// Form in which the command takes `{n}`, if the quotas differ in their best value of it.
    pub form: Option<String>,
}

impl EnoughQuota {
    /// Selects the figures of a comparison.
    pub(super) fn new(comparison: &QuotaComparison, view: &View) -> Self {
        let first = comparison.quotas.first().map(|quota| quota.n);
        let differ = comparison.quotas.iter().any(|quota| Some(quota.n) != first);
        Self { comparison: comparison.clone(), form: differ.then(|| form_of_n(&view.command)) }
    }

    /// Name of a quota: `1.5 CPUs`, with the best value of `{n}` if that differs.
    fn text(&self, quota: &QuotaView) -> String {
        let of = self.form.iter().map(|form| format!(" with {}", value_text(form, quota.n)));
        quota_cpus(quota.quota_percent) + &of.collect::<String>()
    }
}

/// The quota that is enough as one statement.
pub(super) fn quota_statement(
    enough: &EnoughQuota,
    compared: &ComparedQuantity,
    plan: &PlanSummary,
) -> Statement {
    let quotas = &enough.comparison.quotas;
    let Some((largest, smaller)) = quotas.split_last() else { return Statement::new("", String::new()) };
    let ahead = |quota: &QuotaView| {
        let of = ahead_of(&enough.text(quota), quota.lead, compared);
        format!("A limit of {} is {of}.", enough.text(largest))
    };
    let smallest = enough.comparison.smallest_enough().unwrap_or(largest);
    let below = || smaller.iter().filter(|quota| quota.quota_percent < smallest.quota_percent);
    let open: Vec<&QuotaView> = below().filter(|quota| quota.suffices == Sufficiency::Unknown).collect();
    let too_small = below().rfind(|quota| quota.suffices == Sufficiency::TooSmall);
    let mut sentences = Vec::new();
    let lead = match open.last() {
        _ if smallest.quota_percent < largest.quota_percent => {
            sentences.push(ahead(smallest));
            format!("A limit of {} is enough", enough.text(smallest))
        }
        None => format!("It needs the largest limit, {}", enough.text(largest)),
        Some(nearest) => {
            sentences.push(ahead(nearest));
            format!("It cannot be told yet whether {} is enough", enough.text(nearest))
        }
    };
    if let Some(rounds) = plan.rounds_until_precise.filter(|_| !open.is_empty()) {
        let what = if smallest == largest { "it" } else { "whether a smaller one is enough" };
        sentences
            .push(format!("About {rounds} runs of each limit (--resume --runs {rounds}) would tell {what}."));
    }
    if let Some(quota) = too_small {
        sentences.extend(throttling(enough, quota));
        sentences.push(ahead(quota));
    }
    let is_throttled = largest.throttling.is_some_and(|throttling| throttling.share > LITTLE_THROTTLING);
    if smallest == largest && is_throttled {
        sentences.extend(throttling(enough, largest));
    }
    let periods = largest.throttling.map(|throttling| throttling.periods);
    if let Some(periods) = periods.filter(|periods| *periods < FEW_PERIODS) {
        sentences.push(format!(
            "A run has about {periods:.0} periods of 100 ms, and each begins with a whole quota: longer runs show a \
             limit better."
        ));
    }
    sentences.extend(enough.comparison.sized_by.map(sizing));
    Statement::new(lead, lower_first(&sentences.join(" ")))
}

/// Throttling at a quota: the share of the wanted time, and that of the periods.
fn throttling(enough: &EnoughQuota, quota: &QuotaView) -> Option<String> {
    let Throttling { share, periods_share, .. } = quota.throttling?;
    Some(format!(
        "At {} it is throttled for {} of the time for which it could run, in {} of the periods.",
        enough.text(quota),
        percent(share),
        percent(periods_share)
    ))
}

fn sizing(sized_by: SizedBy) -> String {
    match sized_by {
        SizedBy::Quota => "The command starts as many workers as the limit allows.".to_owned(),
        SizedBy::Machine { quota_percent, workers } => format!(
            "With {}, up to {workers} of its workers were ready to run at once: their number does not follow the \
             limit.",
            quota_cpus(quota_percent)
        ),
    }
}

/// The text with a small first letter, to follow a colon.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::QuotaPercent;
    use morecores_view::Estimate;

    fn quota(percent: u32, lead: f64, suffices: Sufficiency, throttled: f64) -> QuotaView {
        let ci95 = (lead != 1.0).then_some([lead - 0.01, lead + 0.01]);
        QuotaView {
            quota_percent: QuotaPercent(percent),
            n: 2,
            lead: Estimate { value: lead, ci95 },
            suffices,
            throttling: Some(Throttling {
                share: throttled,
                periods_share: if throttled > 0.0 { 0.98 } else { 0.0 },
                periods: 50.0,
            }),
        }
    }

    fn text(quotas: &[QuotaView], sized_by: Option<SizedBy>, rounds_until_precise: Option<u32>) -> String {
        let comparison = QuotaComparison { quotas: quotas.to_vec(), tolerance: 0.05, sized_by };
        let plan = PlanSummary { rounds_until_precise, ..PlanSummary::default() };
        let enough = EnoughQuota { comparison, form: None };
        let Statement { lead, rest } = quota_statement(&enough, &ComparedQuantity::Time, &plan);
        format!("{lead}: {rest}")
    }

    #[test]
    fn the_smallest_quota_that_is_enough_is_named_with_the_cost_of_the_next_smaller_one() {
        let quotas = [
            quota(50, 2.0, Sufficiency::TooSmall, 0.5),
            quota(100, 1.003, Sufficiency::Enough, 0.0),
            quota(200, 1.0, Sufficiency::Enough, 0.0),
        ];
        assert_eq!(
            text(&quotas, Some(SizedBy::Machine { quota_percent: QuotaPercent(50), workers: 2 }), None),
            "A limit of 1 CPU is enough: a limit of 2 CPUs is 0.30% ahead of 1 CPU (95% interval -0.70% to 1.30%). At 0.5 \
             CPUs it is throttled for 50% of the time for which it could run, in 98% of the periods. A limit of 2 CPUs is 2.00 times as \
             fast as 0.5 CPUs (95% interval 1.99 to 2.01). With 0.5 CPUs, up to 2 of its workers were ready to run \
             at once: their number does not follow the limit."
        );
    }

    #[test]
    fn the_largest_quota_may_be_needed_or_too_small_itself() {
        let quotas =
            [quota(100, 1.5, Sufficiency::TooSmall, 0.5), quota(150, 1.0, Sufficiency::Enough, 0.25)];
        assert_eq!(
            text(&quotas, None, None),
            "It needs the largest limit, 1.5 CPUs: at 1 CPU it is throttled for 50% of the time for which it could \
             run, in 98% of the periods. A limit of 1.5 CPUs is 50% ahead of 1 CPU (95% interval 49% to 51%). At 1.5 CPUs it is \
             throttled for 25% of the time for which it could run, in 98% of the periods."
        );
    }

    #[test]
    fn an_open_comparison_says_how_many_runs_would_tell() {
        let quotas = [quota(100, 1.05, Sufficiency::Unknown, 0.1), quota(200, 1.0, Sufficiency::Enough, 0.0)];
        assert_eq!(
            text(&quotas, None, Some(20)),
            "It cannot be told yet whether 1 CPU is enough: a limit of 2 CPUs is 5.0% ahead of 1 CPU (95% interval 4.0% to \
             6.0%). About 20 runs of each limit (--resume --runs 20) would tell it."
        );
    }
}
