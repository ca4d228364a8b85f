//! The best value of `{n}` at a CPU count: the figures that its words need, and the words.

use std::ffi::OsStr;

use morecores_study::{QuotaPercent, substitute};
use morecores_view::page::Statement;
use morecores_view::{MemoryByN, RankedValue, Ranking, SearchedBest, View};

use super::lead::ahead_of;
use super::{ComparedQuantity, PlanSummary};
use crate::format::{bytes, cpus, percent, quota_cpus};

/// Largest probability that is stated: a model of the noise supports no more. A choice.
const SUREST: f64 = 0.99;
/// Share of the memory above which the need of the largest value is told. A choice: below it, a few
/// more jobs fit in any case.
const MUCH_MEMORY: f64 = 0.1;
/// Longest part of a command that stands for a value, in characters.
const LONGEST_FORM: usize = 24;
/// Form of a value where the command has none that is short.
const PLAIN_FORM: &str = "n = {n}";

/// Best value of `{n}` at a CPU count.
#[derive(Clone, Debug, PartialEq)]
pub struct BestN {
    /// CPU count.
    pub cpus: u32,
    /// CPU quota, if the runs had one.
    pub quota: Option<QuotaPercent>,
    /// Form in which the command takes `{n}`, such as `-j{n}`.
    pub form: String,
    /// Value with the best median.
    pub best: u32,
    /// All measured values, in the order of the plan.
    pub measured: Vec<u32>,
    /// Those of them that may be best, in this order.
    pub candidates: Vec<u32>,
    /// Nearest of the other values; none if all may be best.
    pub next: Option<RankedValue>,
    /// Value of one for each CPU, if it is neither a candidate nor the nearest of the others.
    pub one_for_each_cpu: Option<RankedValue>,
    /// Whether the runs are enough for intervals.
    pub has_intervals: bool,
    /// Certainty of a search.
    pub search: Option<SearchedBest>,
    /// Memory by the value of `{n}`, if it is a good part of what the command has.
    pub memory: Option<MemoryByN>,
}

impl BestN {
    /// Selects the figures of a ranking.
    pub(super) fn new(ranking: &Ranking, view: &View) -> Self {
        let candidates = ranking.values.iter().filter(|value| value.may_be_best).map(|value| value.n);
        // A search states the probability of its best. The other values are all told apart by it.
        let is_search = ranking.search.is_some();
        let others = || {
            let rivals = ranking.values.iter().filter(|value| value.n != ranking.best);
            rivals.filter(move |value| is_search || !value.may_be_best)
        };
        let next = others().min_by(|a, b| a.lead.value.total_cmp(&b.lead.value)).copied();
        let is_usual =
            |value: &&RankedValue| value.n == ranking.cpus && Some(value.n) != next.map(|next| next.n);
        let rivals = || ranking.values.iter().filter(|value| value.n != ranking.best);
        Self {
            cpus: ranking.cpus,
            quota: QuotaPercent::from_coordinates(&ranking.axes),
            form: form_of_n(&view.command),
            best: ranking.best,
            measured: ranking.values.iter().map(|value| value.n).collect(),
            candidates: candidates.collect(),
            next,
            one_for_each_cpu: others().find(is_usual).copied(),
            has_intervals: rivals().all(|value| value.lead.ci95.is_some()),
            search: ranking.search,
            memory: ranking.memory.filter(limits),
        }
    }

    fn text(&self, n: u32) -> String {
        value_text(&self.form, n)
    }

    /// Whether the measurements leave all values in question.
    fn is_open(&self) -> bool {
        !self.has_intervals && self.candidates.len() > 1 || self.candidates.len() == self.measured.len()
    }
}

/// Whether memory may limit the number of jobs.
fn limits(memory: &MemoryByN) -> bool {
    memory.limit_bytes.is_some_and(|limit| memory.largest_bytes > MUCH_MEMORY * limit)
}

/// Memory that the jobs need, and the number of them that fits: `-j8 needs 11 GiB of memory, and
/// each more adds 1.3 GiB: -j17 fits in 24 GiB, by a straight line.`
fn memory_text(best: &BestN) -> Option<String> {
    let MemoryByN { largest, largest_bytes, bytes_per_n, limit_bytes, fits } = best.memory?;
    let fits = fits
        .zip(limit_bytes)
        .map(|(fits, limit)| format!(": {} fits in {}, by a straight line", best.text(fits), bytes(limit)));
    let needs = format!("{} needs {} of memory", best.text(largest), bytes(largest_bytes));
    let adds = format!("each more adds {}", bytes(bytes_per_n));
    Some(format!("{needs}, and {adds}{}.", fits.unwrap_or_default()))
}

/// Value of `{n}` in the form in which the command takes it.
pub(super) fn value_text(form: &str, n: u32) -> String {
    substitute(OsStr::new(form), n).to_string_lossy().into_owned()
}

/// Option of a command that takes `{n}`, as `-j{n}`, `--threads={n}` or `-T {n}`.
pub(super) fn form_of_n(command: &[String]) -> String {
    let words: Vec<&str> = command.iter().flat_map(|word| word.split_whitespace()).collect();
    let is_option = |word: &str| {
        let name = word.trim_start_matches('-');
        name.len() < word.len() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_=".contains(c))
    };
    let with_option = words.iter().enumerate().find_map(|(place, word)| {
        let form = match (word.strip_suffix("{n}")?, place.checked_sub(1).map(|before| words[before])) {
            ("", Some(option)) if is_option(option) => format!("{option} {{n}}"),
            (option, _) if is_option(option) => format!("{option}{{n}}"),
            _ => return None,
        };
        (form.chars().count() <= LONGEST_FORM).then_some(form)
    });
    with_option.unwrap_or_else(|| PLAIN_FORM.to_owned())
}

/// The best value as one statement, with the memory of the jobs.
pub(super) fn best_n_statement(best: &BestN, compared: &ComparedQuantity, plan: &PlanSummary) -> Statement {
    let Statement { lead, rest } = best_statement(best, compared, plan);
    let rest = [rest].into_iter().chain(memory_text(best)).collect::<Vec<_>>().join(" ");
    Statement::new(lead, rest)
}

fn best_statement(best: &BestN, compared: &ComparedQuantity, plan: &PlanSummary) -> Statement {
    if let Some(search) = &best.search {
        return searched_statement(best, search, compared);
    }
    let superlative = if *compared == ComparedQuantity::Time { "fastest" } else { "best" };
    let fastest = best.text(best.best);
    if best.is_open() {
        let values = range_text(best, &best.measured, "and");
        let why = if best.has_intervals {
            format!("no difference between {values} can be told. {fastest} was {superlative}.")
        } else {
            format!("the runs are too few to tell {values} apart. {fastest} was {superlative}.")
        };
        let more = plan.rounds_until_precise.map(|rounds| {
            format!(" About {rounds} runs of each value (--resume --runs {rounds}) would tell.")
        });
        let why = why + &more.unwrap_or_default();
        return Statement::new("It cannot be told yet", why);
    }
    let ahead = |value: &RankedValue| ahead_text(best, value, compared);
    let usual = best
        .one_for_each_cpu
        .iter()
        .map(|value| format!("{fastest} is {}, which has one for each CPU.", ahead(value)));
    let (lead, first) = match (best.candidates.as_slice(), &best.next) {
        ([_], Some(next)) => {
            let of = best.measured.len();
            (format!("Best is {fastest}"), format!("{}, the next best of {of} values.", ahead(next)))
        }
        (candidates, next) => {
            let next = next.iter().map(|next| format!(" It is {}, the nearest of the others.", ahead(next)));
            let first = format!(
                "no difference between them can be told, and {fastest} was {superlative}.{}",
                next.collect::<String>()
            );
            (format!("Best is {}", range_text(best, candidates, "or")), first)
        }
    };
    Statement::new(lead, [first].into_iter().chain(usual).collect::<Vec<_>>().join(" "))
}

/// Result of a search as one statement.
fn searched_statement(best: &BestN, search: &SearchedBest, compared: &ComparedQuantity) -> Statement {
    let as_good = percent(search.tolerance);
    let probability = |p: f64| if p > SUREST { format!("over {}", percent(SUREST)) } else { percent(p) };
    let mut sentences = vec![format!(
        "with a probability of {}; within {as_good} of the best with {}.",
        probability(search.probability),
        probability(search.probability_as_good)
    )];
    sentences.extend(best.next.iter().map(|next| format!("It is {}.", ahead_text(best, next, compared))));
    sentences.extend(
        best.one_for_each_cpu
            .iter()
            .map(|value| format!("It is {}, which has one for each CPU.", ahead_text(best, value, compared))),
    );
    sentences
        .push(format!("The search made {} of the {} runs of all values.", search.runs, search.grid_runs));
    Statement::new(format!("Best is {}", best.text(best.best)), sentences.join(" "))
}

/// The statement as a sentence about one CPU count, or one quota, of several.
pub(super) fn best_n_remark(best: &BestN, compared: &ComparedQuantity, plan: &PlanSummary) -> String {
    let Statement { lead, rest } = best_n_statement(best, compared, plan);
    let lead = lead.replace("Best is", "best is").replace("It cannot", "it cannot");
    match best.quota {
        Some(quota) => format!("With a limit of {}, {lead}: {rest}", quota_cpus(quota)),
        None => format!("On {}, {lead}: {rest}", cpus(best.cpus)),
    }
}

/// Values as text: `-j2 to -j4` for three or more in a row of the measured ones.
fn range_text(best: &BestN, values: &[u32], conjunction: &str) -> String {
    let text = |n: &u32| best.text(*n);
    let is_row = best.measured.windows(values.len().max(1)).any(|window| window == values);
    match values {
        [first, _, .., last] if is_row => format!("{} to {}", text(first), text(last)),
        [rest @ .., before, last] => {
            let rest = rest.iter().map(|n| format!("{}, ", text(n))).collect::<String>();
            format!("{rest}{} {conjunction} {}", text(before), text(last))
        }
        [only] => text(only),
        [] => String::new(),
    }
}

/// Lead of the best over another value: `4% ahead of -j2 (95% interval 1% to 7%)`.
fn ahead_text(best: &BestN, other: &RankedValue, compared: &ComparedQuantity) -> String {
    ahead_of(&best.text(other.n), other.lead, compared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_view::Estimate;

    fn value(n: u32, lead: f64, may_be_best: bool) -> RankedValue {
        let ci95 = (lead != 1.0).then_some([lead * 0.98, lead * 1.02]);
        RankedValue { n, lead: Estimate { value: lead, ci95 }, may_be_best }
    }

    fn best(values: &[RankedValue]) -> BestN {
        let next = values.iter().filter(|value| !value.may_be_best);
        BestN {
            cpus: 2,
            quota: None,
            form: "-j{n}".to_owned(),
            best: 3,
            measured: values.iter().map(|value| value.n).collect(),
            candidates: values.iter().filter(|value| value.may_be_best).map(|value| value.n).collect(),
            next: next.min_by(|a, b| a.lead.value.total_cmp(&b.lead.value)).copied(),
            one_for_each_cpu: None,
            has_intervals: true,
            search: None,
            memory: None,
        }
    }

    fn words(best: &BestN) -> String {
        best_n_statement(best, &ComparedQuantity::Time, &PlanSummary::default()).to_string()
    }

    #[test]
    fn the_statement_tells_the_best_and_those_that_noise_hides() {
        let [one, two, three, four] =
            [value(1, 1.9, false), value(2, 1.04, false), value(3, 1.0, true), value(4, 1.01, true)];
        assert_eq!(
            words(&best(&[one, two, three])),
            "Best is -j3: 4.0% ahead of -j2 (95% interval 1.9% to 6.1%), the next best of 3 values."
        );
        let two = RankedValue { may_be_best: true, ..two };
        assert_eq!(
            words(&best(&[one, two, three, four])),
            "Best is -j2 to -j4: no difference between them can be told, and -j3 was fastest. It is 90% ahead of -j1 \
             (95% interval 86% to 94%), the nearest of the others."
        );
        let all = best(&[two, three, four]);
        assert_eq!(
            words(&all),
            "It cannot be told yet: no difference between -j2 to -j4 can be told. -j3 was fastest."
        );
        assert_eq!(
            best_n_remark(
                &all,
                &ComparedQuantity::Time,
                &PlanSummary { rounds_until_precise: Some(32), ..PlanSummary::default() }
            ),
            "On 2 CPUs, it cannot be told yet: no difference between -j2 to -j4 can be told. -j3 was fastest. About 32 \
             runs of each value (--resume --runs 32) would tell."
        );
        let too_few = BestN { has_intervals: false, ..all };
        assert!(words(&too_few).contains("the runs are too few to tell -j2 to -j4 apart"));
        let search = SearchedBest {
            probability: 0.72,
            probability_as_good: 1.0,
            tolerance: 0.02,
            runs: 21,
            grid_runs: 96,
        };
        assert_eq!(
            words(&BestN {
                search: Some(search),
                ..best(&[one, RankedValue { may_be_best: false, ..two }, three])
            }),
            "Best is -j3: with a probability of 72%; within 2.0% of the best with over 99%. It is 4.0% ahead of -j2 \
             (95% interval 1.9% to 6.1%). The search made 21 of the 96 runs of all values."
        );
        let slow = value(1, 2.5, false);
        assert!(
            words(&best(&[slow, three])).contains("2.50 times as fast as -j1 (95% interval 2.45 to 2.55)")
        );
    }

    #[test]
    fn a_value_is_written_as_the_command_takes_it() {
        let form =
            |words: &[&str]| form_of_n(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(form(&["make", "-j{n}"]), "-j{n}");
        assert_eq!(form(&["xz", "-T", "{n}", "file"]), "-T {n}");
        assert_eq!(form(&["./work", "{n}"]), "n = {n}");
        assert_eq!(form(&["./work"]), "n = {n}");
        assert_eq!(form(&["sh", "-c", "find . | xargs -P{n} wc"]), "-P{n}");
        assert_eq!(form(&["sh", "-c", "sleep 0.0$((8/{n}))"]), "n = {n}");
        assert_eq!(form(&["awk", "{{n}}", "--a-very-long-option-that-takes={n}"]), "n = {n}");
    }

    #[test]
    fn the_memory_of_the_jobs_is_told_where_it_may_limit_them() {
        let memory = MemoryByN {
            largest: 8,
            largest_bytes: 11e9,
            bytes_per_n: 1.3e9,
            limit_bytes: Some(24e9),
            fits: Some(17),
        };
        assert!(limits(&memory) && !limits(&MemoryByN { largest_bytes: 1e9, ..memory }));
        assert!(!limits(&MemoryByN { limit_bytes: None, ..memory }));
        let best = BestN { memory: Some(memory), ..best(&[value(3, 1.0, true), value(8, 1.1, false)]) };
        let Statement { rest, .. } =
            best_n_statement(&best, &ComparedQuantity::Time, &PlanSummary::default());
        assert!(
            rest.ends_with(
                "-j8 needs 10.2 GiB of memory, and each more adds 1.2 GiB: -j17 fits in 22.4 GiB, by a straight line."
            ),
            "{rest}"
        );
    }
}
