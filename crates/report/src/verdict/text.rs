//! The verdict in plain words.
//!
//! This module words the decisions of `decide` and makes none.

use super::{CrowdedBase, Gain, OutsideTime, PlanSummary, Remark, Subject, Verdict, VerdictKind};
use morecores_statistics::MIN_RUNS;
use morecores_study::Limit;
use morecores_view::{Estimate, Workers};

use crate::cause_clause;
use crate::causes::no_cause_sentence;
use crate::format::{cpus, figure_with_bounds, percent, ratio, serial_fraction, two_digits};

/// Verdict as one paragraph on one line. The paragraph begins with a short answer and a colon.
pub fn verdict_text(verdict: &Verdict) -> String {
    let mut sentences = vec![kind_text(verdict)];
    sentences.extend(verdict.remarks.iter().map(remark_text));
    sentences.join(" ")
}

fn kind_text(verdict: &Verdict) -> String {
    let (subject, plan) = (&verdict.subject, &verdict.plan);
    match &verdict.kind {
        VerdictKind::NothingMeasured if plan.out_of_time => {
            "Nothing measured yet: the time was used up before a run that counts.".to_owned()
        }
        VerdictKind::OneCount { cpus: count, .. } if plan.out_of_time && plan.counts > 1 => format!(
            "Nothing to compare yet: the time was used up when it had been measured on {} only.",
            cpus(*count)
        ),
        VerdictKind::NothingMeasured => "Nothing measured: no run succeeded.".to_owned(),
        VerdictKind::AlreadyDone => {
            "Not known: its first run left the others next to nothing to do. Undo before each run what it \
             makes, by --prepare; or go on with what there is left to do, by --resume --incremental."
                .to_owned()
        }
        VerdictKind::OneCount { cpus: count, used } => format!(
            "Nothing to compare: it was measured on {} only, and kept {} busy. Name two counts or more with --cpus.",
            cpus(*count),
            busy_cpus(*used)
        ),
        VerdictKind::NoBaseline { crowd, gain } => no_baseline_text(crowd, gain, subject, plan.limit),
        VerdictKind::RanOutsideCpus(outside) => outside_cpus_text(outside, plan.limit),
        VerdictKind::ZeroFigures { base, largest } => {
            let unit = match subject {
                Subject::Time => "elapsed time",
                Subject::Rate(unit) | Subject::Cost(unit) => unit.as_deref().unwrap_or("cost"),
            };
            format!(
                "Not as a ratio: there are zeros among the figures. The median of {unit} is {} on {} and {} on {}.",
                ratio(base.1),
                cpus(base.0),
                ratio(largest.1),
                cpus(largest.0)
            )
        }
        VerdictKind::TooFewRuns(gain) => {
            format!(
                "Too few runs to tell: {}. {}",
                claim(gain, subject, &no_interval_text(gain)),
                more_runs_advice(plan)
            )
        }
        VerdictKind::Likely(gain) => {
            let lead = if gain.speedup.value > 1.0 { "It seems so" } else { "It seems not" };
            let how = if gain.speedup.value > 1.0 { "better" } else { "worse" };
            format!(
                "{lead}: {}, and every run was {how} than every run on {}. {}",
                claim(gain, subject, &no_interval_text(gain)),
                gain.base,
                more_runs_advice(plan)
            )
        }
        VerdictKind::Scales(gain) => {
            format!("Yes: {}, {}.", claim(gain, subject, &interval_text(gain)), share_of_ideal(gain))
        }
        VerdictKind::DiminishingGain(gain) => {
            format!(
                "Yes, but less and less: {}, {}.",
                claim(gain, subject, &interval_text(gain)),
                share_of_ideal(gain)
            )
        }
        VerdictKind::SmallGain(gain) => {
            format!("A little: {}, {}.", claim(gain, subject, &interval_text(gain)), share_of_ideal(gain))
        }
        VerdictKind::Superlinear { gain, uncrowded } => format!(
            "Yes, and more than they should: {}, {}. More cache or memory bandwidth comes with the \
             CPUs, {}something slowed the runs on {} down.",
            claim(gain, subject, &interval_text(gain)),
            share_of_ideal(gain),
            if *uncrowded { "or " } else { "more threads than CPUs ran there (a trace would tell), or " },
            gain.base
        ),
        VerdictKind::Saturates { enough, largest, slower } => {
            let beyond = if *slower {
                format!(
                    "With {} it is slower than that: {} times.",
                    largest.cpus,
                    ratio(largest.speedup.value)
                )
            } else {
                format!("More, up to {}, gave no difference beyond the noise.", largest.cpus)
            };
            format!(
                "Yes, up to {}: {}, {}. {beyond}",
                cpus(enough.cpus),
                claim(enough, subject, &interval_text(enough)),
                share_of_ideal(enough)
            )
        }
        VerdictKind::NoDifference { gain, noise } => {
            let noise = noise.map(|n| format!(" of {}", percent(n))).unwrap_or_default();
            format!(
                "No: {}: no difference beyond the noise{noise}.",
                claim(gain, subject, &interval_text(gain))
            )
        }
        VerdictKind::Slower(gain) => {
            format!("No, they make it worse: {}.", claim(gain, subject, &interval_text(gain)))
        }
        VerdictKind::UnusedCpus { gain, used, told } => {
            let advice = if *told {
                "It was told how many it had, so it has too little parallel work, or takes its \
                 thread count from elsewhere."
            } else {
                "Nothing told it how many it had: put {n} where it takes a thread count, or use --thread-env."
            };
            format!(
                "It does not use them: it kept {} busy when it had {}, and {}. {advice}",
                busy_cpus(*used),
                gain.cpus,
                claim(gain, subject, &interval_text(gain))
            )
        }
    }
}

fn outside_cpus_text(outside: &OutsideTime, limit: Limit) -> String {
    let advice = stricter_limit(limit).map(|option| format!(" Use {option}.")).unwrap_or_default();
    format!(
        "Not known: the command did not keep to the CPUs that it was given. With {} it also ran on other CPUs, for {}{} \
         of {} time, so the counts do not mean what they say.{advice}",
        cpus(outside.cpus),
        if outside.at_least { "at least " } else { "" },
        percent(outside.share),
        if outside.cpus == 1 { "that CPU's" } else { "their" },
    )
}

fn no_baseline_text(crowd: &CrowdedBase, gain: &Gain, subject: &Subject, limit: Limit) -> String {
    let Workers { name, threads } = &crowd.workers;
    let why = if crowd.machine_sized {
        ", as many as the machine has CPUs: it seems to count those, not the CPUs that it may use"
    } else {
        ", which took turns and were in each other's way"
    };
    format!(
        "Not known: {base} is no baseline. There the command ran {threads} threads at once (`{name}`){why}. That {} says \
         little of what more CPUs give. {}",
        claim(gain, subject, &interval_text(gain)),
        thread_advice(crowd.told, limit),
        base = cpus(crowd.cpus),
    )
}

/// Advice on how to make a command run as many threads as it has CPUs.
pub(crate) fn thread_advice(told: bool, limit: Limit) -> String {
    let tell = "put {n} where it takes a thread count, or use --thread-env";
    match (limit == Limit::Hotplug, told) {
        (false, true) => {
            "It was told how many it had: use --limit hotplug (as root), so that the machine has no others."
        }
        (false, false) => {
            return format!("Use --limit hotplug (as root), so that the machine has no others; or {tell}.");
        }
        (true, true) => {
            "It was told how many it had, and takes its thread count from elsewhere: see its manual."
        }
        (true, false) => return format!("To tell it how many it has, {tell}."),
    }
    .to_owned()
}

/// Option with a limit that the command cannot leave the way it left `limit`; none beyond hotplug.
pub(crate) fn stricter_limit(limit: Limit) -> Option<&'static str> {
    match limit {
        Limit::Affinity => Some("--limit cpuset (as root), which the command cannot leave"),
        Limit::Cpuset => Some("--limit hotplug (as root), which takes the other CPUs offline"),
        Limit::Hotplug => None,
    }
}

fn remark_text(remark: &Remark) -> String {
    match remark {
        Remark::LastStep { from, to, factor, smt: false } => {
            format!("The last step, from {from} to {to} CPUs, gave {} times.", ratio(*factor))
        }
        Remark::LastStep { from, to, factor, smt: true } => format!(
            "The last step, from {from} to {to} CPUs, gave {} times: with SMT siblings of cores \
             already in use, which give less than whole cores.",
            ratio(*factor)
        ),
        Remark::Busy { cpus: count, used, cpu_time_growth, base } => {
            let kept = format!("It kept {used:.1} of {} busy", cpus(*count));
            match cpu_time_growth {
                Some(growth) => {
                    format!("{kept}, and took {} times the CPU time it took on {base}.", ratio(*growth))
                }
                None => format!("{kept}."),
            }
        }
        Remark::SerialFractionRises { from, to } => format!(
            "The serial fraction rises from {} at {} to {} at {}: it is not a fixed serial part that \
             limits it, but what grows with the CPUs (locks, memory traffic, uneven shares).",
            fraction_text(&from.1),
            cpus(from.0),
            fraction_text(&to.1),
            to.0
        ),
        Remark::MainCause { cause, lossy } => {
            let by = if *lossy { ", by a trace that lost events" } else { "" };
            format!("What stops it most: {}{by}.", cause_clause(cause))
        }
        Remark::NoCause(why) => no_cause_sentence(why),
        Remark::Doubtful => {
            "But first see the warnings below: these figures may not mean what they seem to.".to_owned()
        }
        Remark::IfSerialFractionStays { serial_fraction: stays, cpus: count, speedup, limit, points } => {
            format!(
                "If the serial fraction of {} stays, {} would give about {} times, and no number more \
             than {}: a guess from {} points, not a prediction.",
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
fn claim(gain: &Gain, subject: &Subject, aside: &str) -> String {
    let (times, _) = figure_with_bounds(gain.speedup.value, gain.speedup.ci95);
    let verb = if gain.cpus == 1 { "gives" } else { "give" };
    let unit = |unit: &Option<String>, otherwise: &str| unit.clone().unwrap_or_else(|| otherwise.to_owned());
    let figure = match subject {
        Subject::Time => {
            let verb = if gain.cpus == 1 { "runs" } else { "run" };
            format!("{verb} it {times} times as fast as {}", gain.base)
        }
        Subject::Rate(name) => format!("{verb} {times} times the {} of {}", unit(name, "rate"), gain.base),
        Subject::Cost(name) => format!("{verb} {times} times less {} than {}", unit(name, "cost"), gain.base),
    };
    format!("{} {figure} {aside}", cpus(gain.cpus))
}

fn interval_text(gain: &Gain) -> String {
    match figure_with_bounds(gain.speedup.value, gain.speedup.ci95).1 {
        Some([low, high]) => format!("(95% interval {low} to {high})"),
        None => no_interval_text(gain),
    }
}

fn no_interval_text(gain: &Gain) -> String {
    let runs = if gain.runs == 1 { "1 run".to_owned() } else { format!("{} runs", gain.runs) };
    format!("(no interval: {runs})")
}

fn more_runs_advice(plan: &PlanSummary) -> String {
    let option = match (plan.out_of_time, (plan.runs as usize) < MIN_RUNS) {
        (false, _) => "--runs 6",
        (true, false) => "the time ran out before, so use a longer --max-time",
        (true, true) => "--runs 6, with a longer --max-time",
    };
    format!("Six runs of each are the least that give an interval: {option}.")
}

fn share_of_ideal(gain: &Gain) -> String {
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
