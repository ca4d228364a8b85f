//! The verdict in plain words.
//!
//! This module words the decisions of `decide` and makes none.

use super::best_n::{best_n_remark, best_n_statement};
use super::quota::quota_statement;
use super::{
    Beyond, ComparedQuantity, MeasuredGain, PlanSummary, Remark, ReportedVerdict, Taker, VerdictKind,
};
use morecores_statistics::MIN_RUNS;
use morecores_study::Limit;
use morecores_view::page::Statement;
use morecores_view::{Answer, Estimate, OutsideTime, OversubscribedBase, Workers};

use crate::causes::no_cause_sentence;
use crate::format::{cpus, figure_with_bounds, percent, ratio, serial_fraction, two_digits};
use crate::main_causes_text;

/// Verdict as one paragraph on one line, which begins with a short answer.
pub fn verdict_statement(verdict: &ReportedVerdict) -> Statement {
    let Statement { lead, rest } = kind_statement(verdict);
    let remarks = verdict.remarks.iter().map(|remark| remark_text(remark, &verdict.compared, &verdict.plan));
    Statement { lead, rest: [rest].into_iter().chain(remarks).collect::<Vec<_>>().join(" ") }
}

fn kind_statement(verdict: &ReportedVerdict) -> Statement {
    let (compared, plan) = (&verdict.compared, &verdict.plan);
    let (addition, rest) = match &verdict.kind {
        VerdictKind::NothingMeasured if plan.out_of_time => {
            ("", "the time limit ended the first timed run. Use a longer --max-time.".to_owned())
        }
        VerdictKind::NothingMeasured => ("", "no run succeeded.".to_owned()),
        VerdictKind::OneCount { cpus: count, .. } if plan.out_of_time && plan.counts > 1 => {
            let ended = "the time limit ended the study after the runs on";
            ("", format!("{ended} {}. Use a longer --max-time.", cpus(*count)))
        }
        VerdictKind::OneCount { cpus: count, used } => (
            "",
            format!(
                "the command ran on {} only, and kept {} busy. Give {} or more.",
                cpus(*count),
                busy_cpus(*used),
                if plan.limit == Limit::Quota { "--quota two limits" } else { "--cpus two counts" }
            ),
        ),
        VerdictKind::BestN(best) => return best_n_statement(best, compared, plan),
        VerdictKind::EnoughQuota(enough) => return quota_statement(enough, compared, plan),
        VerdictKind::AlreadyDone => (
            "",
            "the first run left the later runs almost nothing to do. Undo its results before each run \
             (--prepare 'make clean'), or continue with the remaining work (--resume --incremental)."
                .to_owned(),
        ),
        VerdictKind::NoBaseline { crowd, gain } => ("", no_baseline_text(crowd, gain, compared, plan.limit)),
        VerdictKind::RanOutsideCpus(outside) => ("", outside_cpus_text(outside, plan.limit)),
        VerdictKind::ZeroFigures { base, largest } => ("", zero_figures_text(compared, *base, *largest)),
        VerdictKind::TooFewRuns(gain) => {
            ("", format!("{}. {}", claim(gain, compared, &no_interval_text(gain)), more_runs_advice(plan)))
        }
        VerdictKind::CpusTaken { gain, cpus: count, share, taker } => {
            ("", cpus_taken_text(gain, compared, *count, *share, *taker))
        }
        VerdictKind::WideInterval { gain, rounds } => ("", wide_interval_text(gain, *rounds, compared, plan)),
        VerdictKind::WorthIt { gain, beyond } => {
            return worth_it_statement(gain, *beyond, compared);
        }
        VerdictKind::NotWorthIt(gain) => (
            "",
            format!(
                "{}. {} are worth it from {} times on.",
                claim(gain, compared, &interval_text(gain)),
                cpus(gain.cpus),
                ratio(gain.worth_from)
            ),
        ),
        VerdictKind::Slower(gain) => {
            (", more CPUs make it worse", format!("{}.", claim(gain, compared, &interval_text(gain))))
        }
        VerdictKind::UnusedCpus { gain, used, gets_count } => (
            ", it does not use the extra CPUs",
            format!(
                "the command kept {} busy when it had {}, and {}. {}",
                busy_cpus(*used),
                gain.cpus,
                claim(gain, compared, &interval_text(gain)),
                unused_cpus_advice(*gets_count)
            ),
        ),
    };
    Statement::new(format!("{}{addition}", answer_text(verdict.answer)), rest)
}

/// First words of a verdict.
fn answer_text(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "Yes",
        Answer::No => "No",
        Answer::Unknown => "It cannot be told yet",
    }
}

fn worth_it_statement(gain: &MeasuredGain, beyond: Beyond, compared: &ComparedQuantity) -> Statement {
    let sentence = format!("{}, {}.", claim(gain, compared, &interval_text(gain)), share_of_ideal(gain));
    let more = match beyond {
        Beyond::Nothing => None,
        Beyond::NotKnown => Some("How many CPUs are enough cannot be told yet.".to_owned()),
        Beyond::LittleMore { largest, at_most } => {
            Some(format!("More CPUs, up to {largest}, add at most {}.", percent(at_most)))
        }
        Beyond::Slower { largest: (count, speedup) } => {
            Some(format!("{} are worse: a speedup of {}.", cpus(count), ratio(speedup)))
        }
    };
    let yes = answer_text(Answer::Yes);
    let lead = match beyond {
        Beyond::Nothing | Beyond::NotKnown => yes.to_owned(),
        Beyond::LittleMore { .. } | Beyond::Slower { .. } => format!("{yes}, up to {}", cpus(gain.cpus)),
    };
    Statement::new(lead, [Some(sentence), more].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// Sentences for an interval that contains the bound, with the number of runs that would tell.
fn wide_interval_text(
    gain: &MeasuredGain,
    rounds: Option<u32>,
    compared: &ComparedQuantity,
    plan: &PlanSummary,
) -> String {
    let bound = ratio(gain.worth_from);
    let range = format!("{}, and would be worth it from {bound} times on.", range_claim(gain, compared));
    let advice = match rounds {
        Some(rounds) => {
            let time = if plan.out_of_time { " and a longer --max-time" } else { "" };
            format!(
                "About {} more runs of each count (--resume --runs {rounds}{time}), or a quieter machine, would tell.",
                rounds.saturating_sub(gain.runs)
            )
        }
        None => format!(
            "No number of runs would tell: the estimate, {}, is too near to this bound.",
            ratio(gain.speedup.value)
        ),
    };
    format!("{range} {advice}")
}

/// Sentences for a gain that was measured while others used the CPUs.
fn cpus_taken_text(
    gain: &MeasuredGain,
    compared: &ComparedQuantity,
    count: u32,
    share: f64,
    taker: Taker,
) -> String {
    let (taker, advice) = match taker {
        Taker::OtherPrograms => ("other programs", "Stop them and repeat."),
        Taker::Hypervisor => ("the hypervisor", "Repeat when its other guests are idle."),
        Taker::Quota => ("a CPU quota", "Raise it and repeat."),
    };
    format!(
        "{taker} took {} of the time of the {} during the runs on {}. In these runs {}. {advice}",
        percent(share),
        if count == 1 { "CPU" } else { "CPUs" },
        cpus(count),
        claim(gain, compared, &interval_text(gain))
    )
}

fn zero_figures_text(compared: &ComparedQuantity, base: (u32, f64), largest: (u32, f64)) -> String {
    let unit = match compared {
        ComparedQuantity::Time | ComparedQuantity::Work => "elapsed time",
        ComparedQuantity::Rate(unit) | ComparedQuantity::Cost(unit) => unit.as_deref().unwrap_or("cost"),
    };
    format!(
        "some figures are zero, so they have no ratio. The median of {unit} is {} on {} and {} on {}.",
        ratio(base.1),
        cpus(base.0),
        ratio(largest.1),
        cpus(largest.0)
    )
}

fn outside_cpus_text(outside: &OutsideTime, limit: Limit) -> String {
    let advice = stricter_limit(limit).map(|option| format!(" Use {option}.")).unwrap_or_default();
    format!(
        "the command did not stay on its CPUs. With {} it also ran on other CPUs, for {}{} of its own CPUs' time, so \
         the CPU counts are not valid.{advice}",
        cpus(outside.cpus),
        if outside.at_least { "at least " } else { "" },
        percent(outside.share),
    )
}

fn no_baseline_text(
    crowd: &OversubscribedBase,
    gain: &MeasuredGain,
    compared: &ComparedQuantity,
    limit: Limit,
) -> String {
    let Workers { name, threads } = &crowd.workers;
    let why = if crowd.machine_sized {
        ", one for each CPU of the machine and not for each CPU that it may use"
    } else {
        ", which took turns and slowed each other down"
    };
    format!(
        "{base} is no baseline. There the command ran {threads} threads at once (`{name}`){why}. {}, but this does \
         not show what more CPUs give. {}",
        claim(gain, compared, &interval_text(gain)),
        thread_advice(crowd.gets_count, limit),
        base = cpus(crowd.cpus),
    )
}

/// Reason why a command uses no more CPUs, or advice on how to make it use them.
pub(crate) fn unused_cpus_advice(gets_count: bool) -> &'static str {
    if gets_count {
        "The command was told its CPU count. Either it has too little parallel work, or it takes its thread \
         count from elsewhere: see its manual."
    } else {
        "Nothing told the command its CPU count: put {n} where it takes a thread count, or use --thread-env."
    }
}

/// Advice on how to make a command run as many threads as it has CPUs.
pub(crate) fn thread_advice(gets_count: bool, limit: Limit) -> String {
    let tell = "put {n} where it takes a thread count, or use --thread-env";
    match (limit == Limit::Hotplug, gets_count) {
        (false, true) => {
            "The command was told its CPU count: use --limit hotplug (as root), which hides the other CPUs from it."
        }
        (false, false) => {
            return format!("Use --limit hotplug (as root), which hides the other CPUs from the command; or {tell}.");
        }
        (true, true) => {
            "The command was told its CPU count, but takes its thread count from elsewhere: see its manual."
        }
        (true, false) => return format!("To tell the command its CPU count, {tell}."),
    }
    .to_owned()
}

/// Option with a limit that the command cannot leave the way it left `limit`; none beyond hotplug.
pub(crate) fn stricter_limit(limit: Limit) -> Option<&'static str> {
    match limit {
        Limit::Affinity | Limit::Quota => Some("--limit cpuset (as root), which the command cannot leave"),
        Limit::Cpuset => Some("--limit hotplug (as root), which takes the other CPUs offline"),
        Limit::Hotplug => None,
    }
}

fn remark_text(remark: &Remark, compared: &ComparedQuantity, plan: &PlanSummary) -> String {
    match remark {
        Remark::BestN(best) => best_n_remark(best, compared, plan),
        Remark::DisturbedRounds { disturbed, of, with_them } => format!(
            "Other programs or the hypervisor disturbed {disturbed} of {of} rounds. The figures leave these rounds \
             out; with them, the answer would be {}.",
            match with_them {
                None => "the same",
                Some(Answer::Yes) => "yes",
                Some(Answer::No) => "no",
                Some(Answer::Unknown) => "that it cannot be told yet",
            }
        ),
        Remark::MoreThanIdeal { base, without_oversubscription } => format!(
            "This is more than the ideal. Possible reasons: the added CPUs bring more cache or memory bandwidth, \
             {}something else slowed the runs on {base} down.",
            if *without_oversubscription {
                "or "
            } else {
                "more threads than CPUs ran there (a trace would tell), or "
            }
        ),
        Remark::LastStep { from, to, factor, smt } => format!(
            "The last step, from {from} to {to} CPUs, multiplied the speedup by {}{}.",
            ratio(*factor),
            if *smt { ": it added SMT siblings of busy cores, which give less than whole cores" } else { "" }
        ),
        Remark::Busy { cpus: count, used, cpu_time_growth, base } => {
            let kept = format!("The command kept {used:.1} of {} busy", cpus(*count));
            match cpu_time_growth {
                Some(growth) => {
                    format!("{kept} and used {} times as much CPU time as on {base}.", ratio(*growth))
                }
                None => format!("{kept}."),
            }
        }
        Remark::SerialFractionRises { from, to } => format!(
            "The serial fraction rises from {} at {} to {} at {}. So no fixed serial part is the limit, but costs \
             that grow with the CPUs: locks, memory traffic or uneven shares.",
            fraction_text(&from.1),
            cpus(from.0),
            fraction_text(&to.1),
            to.0
        ),
        Remark::MainCauses { causes, lossy } => {
            let lossy = if *lossy { " The trace lost events, so this is a guess." } else { "" };
            format!("{}.{lossy}", main_causes_text(causes))
        }
        Remark::NoCause(why) => no_cause_sentence(why),
        Remark::Doubtful => "First read the warnings below: they put these figures in doubt.".to_owned(),
        Remark::IfSerialFractionStays { serial_fraction: stays, cpus: count, speedup, limit, points } => {
            format!(
                "With the same serial fraction, {}, {} would give a speedup of about {}, and no count more than {}. \
                 This is a guess from {} points, not a prediction.",
                fraction_text(stays),
                cpus(*count),
                two_digits(*speedup),
                two_digits(*limit),
                number_word(*points)
            )
        }
    }
}

/// Clause for a gain: `2 CPUs run it 1.93 times as fast as 1 (95% interval 1.91 to 1.95)`.
fn claim(gain: &MeasuredGain, compared: &ComparedQuantity, aside: &str) -> String {
    let (times, _) = figure_with_bounds(gain.speedup.value, gain.speedup.ci95);
    let (runs, does, gives, divides) = match gain.cpus {
        1 => ("runs", "does", "gives", "divides"),
        _ => ("run", "do", "give", "divide"),
    };
    let figure = match compared {
        ComparedQuantity::Time => format!("{runs} it {times} times as fast as {}", gain.base),
        ComparedQuantity::Work => format!("{does} {times} times the work of {} in the same time", gain.base),
        ComparedQuantity::Rate(name) => {
            format!("{gives} {times} times the {} of {}", unit(name, "rate"), gain.base)
        }
        ComparedQuantity::Cost(name) => {
            format!("{divides} the {} of {} by {times}", unit(name, "cost"), gain.base)
        }
    };
    format!("{} {figure} {aside}", cpus(gain.cpus))
}

/// Clause for the interval of a gain: `2 CPUs ran it between 1.0 and 2.1 times as fast as 1`.
fn range_claim(gain: &MeasuredGain, compared: &ComparedQuantity) -> String {
    let (times, bounds) = figure_with_bounds(gain.speedup.value, gain.speedup.ci95);
    let [low, high] = bounds.unwrap_or([times.clone(), times]);
    let figure = match compared {
        ComparedQuantity::Time => format!("ran it between {low} and {high} times as fast as {}", gain.base),
        ComparedQuantity::Work => {
            format!("did between {low} and {high} times the work of {} in the same time", gain.base)
        }
        ComparedQuantity::Rate(name) => {
            format!("gave between {low} and {high} times the {} of {}", unit(name, "rate"), gain.base)
        }
        ComparedQuantity::Cost(name) => {
            format!("divided the {} of {} by {low} to {high}", unit(name, "cost"), gain.base)
        }
    };
    format!("{} {figure}", cpus(gain.cpus))
}

/// Name of a metric's unit, or a general word.
fn unit<'a>(name: &'a Option<String>, otherwise: &'a str) -> &'a str {
    name.as_deref().unwrap_or(otherwise)
}

fn interval_text(gain: &MeasuredGain) -> String {
    match figure_with_bounds(gain.speedup.value, gain.speedup.ci95).1 {
        Some([low, high]) => format!("(95% interval {low} to {high})"),
        None => no_interval_text(gain),
    }
}

fn no_interval_text(gain: &MeasuredGain) -> String {
    let runs = if gain.runs == 1 { "1 run".to_owned() } else { format!("{} runs", gain.runs) };
    format!("(no interval: {runs})")
}

/// Advice on how to get an interval.
pub(crate) fn more_runs_advice(plan: &PlanSummary) -> String {
    let option = match (plan.out_of_time, (plan.runs as usize) < MIN_RUNS) {
        (false, _) => format!("use --runs {MIN_RUNS} or more"),
        (true, false) => "the time limit came first, so use a longer --max-time".to_owned(),
        (true, true) => format!("use --runs {MIN_RUNS} or more and a longer --max-time"),
    };
    format!("A 95% interval needs {MIN_RUNS} runs of each count: {option}.")
}

fn share_of_ideal(gain: &MeasuredGain) -> String {
    format!("{} of ideal", percent(gain.efficiency))
}

fn fraction_text(estimate: &Estimate) -> String {
    serial_fraction(Some(estimate.value), estimate.ci95)
}

fn busy_cpus(used: f64) -> String {
    format!("{used:.1} CPUs")
}

/// Spells a small number out as a word.
fn number_word(n: usize) -> String {
    const WORDS: [&str; 10] = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    WORDS.get(n).map_or_else(|| n.to_string(), |word| (*word).to_owned())
}
