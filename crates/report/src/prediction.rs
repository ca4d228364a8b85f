//! A prediction in words.
//!
//! This module draws and lays out nothing, and adds no judgement to the prediction.

use morecores_view::{Abstention, BoundsView, Caveat, FirstLimit, PredictedPoint, Prediction, Resource};

use crate::format::{bytes as bytes_text, cpus, join_with_and, percent, ratio, time, two_digits};

/// Name of the replay model in a prediction.
const REPLAY: &str = "replay";

/// Share of other models in a prediction, from which the report mentions them.
const LEAST_OTHERS: f64 = 0.1;

/// Basis of the prediction, its model, and the error of that model in the test.
pub(crate) fn headline(prediction: &Prediction) -> String {
    let counts = join_with_and(&prediction.from);
    let plural = if prediction.from == [1] { "CPU" } else { "CPUs" };
    let model_text = match prediction.model.as_str() {
        REPLAY => "by replay of its traces".to_owned(),
        form => format!("by {}", form_name(form)),
    };
    let own = prediction.models.iter().find(|model| model.model == prediction.model);
    let others: f64 =
        prediction.models.iter().map(|model| model.weight).sum::<f64>() - own.map_or(0.0, |own| own.weight);
    let model_text = if others > LEAST_OTHERS {
        format!("{model_text} and, for {}, by other models", percent(others))
    } else {
        model_text
    };
    let tested = own.and_then(|model| model.back_test).map_or(String::new(), |error| {
        let largest = prediction.from.last().copied().unwrap_or(1);
        format!("; from fewer CPUs it was {} off at {}", signed_percent(error), cpus(largest))
    });
    format!("predicted from {counts} {plural} {model_text}{tested}")
}

/// Name of a closed form in words.
pub(crate) fn form_name(form: &str) -> &str {
    match form {
        "ideal" => "the ideal line",
        "Amdahl" => "Amdahl's law",
        "USL" => "the universal scalability law",
        "kernel lock" => "the model of one kernel lock",
        other => other,
    }
}

/// Relative error with its sign: `+1.2%`.
pub(crate) fn signed_percent(error: f64) -> String {
    let sign = if error < 0.0 { "-" } else { "+" };
    format!("{sign}{}", percent(error.abs()))
}

/// Predicted points, one sentence each.
pub(crate) fn point_sentences(prediction: &Prediction) -> Vec<String> {
    let point = |point: &PredictedPoint| {
        let [low, high] = point.band90;
        let band = format!("90% band {} to {}", two_digits(low), two_digits(high));
        match point.speedup {
            Some(speedup) => format!("{}: a speedup of {} ({band}).", cpus(point.cpus), two_digits(speedup)),
            None => format!("{}: no figure can be given ({band}).", cpus(point.cpus)),
        }
    };
    prediction.points.iter().map(point).collect()
}

/// Sentences beside the table.
pub(crate) fn sentences(prediction: &Prediction) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(prediction.abstained.as_ref().map(abstention_sentence));
    sentences.extend(prediction.first_limit.as_ref().map(first_limit_sentence));
    sentences.extend(prediction.peak_cpus.map(|peak| format!("Beyond {} it gets slower.", about_cpus(peak))));
    sentences.extend(prediction.bounds.as_ref().map(bounds_sentence));
    sentences
}

fn about_cpus(count: f64) -> String {
    if (count.round() - 1.0).abs() < 0.5 {
        "1 CPU".to_owned()
    } else {
        format!("about {} CPUs", two_digits(count))
    }
}

fn first_limit_sentence(limit: &FirstLimit) -> String {
    let what = match &limit.resource {
        Resource::SerialWork { command: Some(command) } => format!("serial work, most of it in {command}"),
        Resource::SerialWork { command: None } => "serial work".to_owned(),
        Resource::Lock { name } | Resource::Device { name } => name.clone(),
        Resource::MemorySize { .. } => "memory".to_owned(),
        Resource::Memory => "memory and caches, in which CPUs slow each other down".to_owned(),
        Resource::Coherency => "what CPUs cost each other in pairs".to_owned(),
    };
    match limit.resource {
        Resource::MemorySize { needed_bytes, limit_bytes, at_cpus } => format!(
            "The first limit is memory: {} need about {}, and there are {}, enough for {}.",
            cpus(at_cpus),
            bytes_text(needed_bytes as f64),
            bytes_text(limit_bytes as f64),
            cpus(limit.cpus as u32)
        ),
        Resource::Coherency => {
            format!("The first limit is {what}: it is fastest on {}.", about_cpus(limit.cpus))
        }
        _ => format!("The first limit is {what}: it never keeps more than {} busy.", about_cpus(limit.cpus)),
    }
}

/// Lower limits of the elapsed time on any machine.
fn bounds_sentence(bounds: &BoundsView) -> String {
    let mut parts = vec![format!("{} of work over the CPUs", time(bounds.work_s))];
    parts.push(format!("{} that depend on each other", time(bounds.span_s)));
    let locks = bounds.locks.iter().filter(|(_, seconds)| *seconds > 0.0).take(2);
    parts.extend(locks.map(|(name, seconds)| format!("{} under {name}", time(*seconds))));
    let devices = bounds.devices.iter().filter(|(_, seconds)| *seconds > 0.0);
    parts.extend(devices.map(|(name, seconds)| format!("{} of {name}", time(*seconds))));
    format!("By the trace no machine of such CPUs beats any of: {}.", join_with_and(parts))
}

/// Reason why the prediction gives no point.
fn abstention_sentence(reason: &Abstention) -> String {
    let why = match reason {
        Abstention::Unexplained { share } => {
            format!("the trace leaves {} of the CPUs' time unexplained", percent(*share))
        }
        Abstention::Saturated { device, share } => {
            format!(
                "{device} is busy {} of the time already, and how it behaves beyond that is not in the data",
                percent(*share)
            )
        }
        Abstention::Spinning { share } => {
            format!(
                "threads spin for each other in {} of the CPUs' time: with fewer CPUs than threads that says little of more",
                percent(*share)
            )
        }
        Abstention::SteepFromTwoPoints { serial_fraction } => {
            format!(
                "of two counts, whose serial fraction is {}, it cannot be told what is serial work and what the second CPU \
                 costs; `morecores run --predict` would",
                ratio(*serial_fraction)
            )
        }
        Abstention::MixedKinds => {
            "the larger counts add CPUs of another kind (siblings or other core types), and more of one kind say little of \
             the other"
                .to_owned()
        }
        Abstention::NotHeld { share } => format!(
            "the command also ran on CPUs that it was not given, for {} of the time of those that it was: measure again \
             with --limit cpuset or hotplug (as root)",
            percent(*share)
        ),
        Abstention::MachineSized { threads } => format!(
            "the command runs {threads} threads however many CPUs it may use, as many as this machine has: on a larger \
             machine it is another program; tell it how many with {{n}}, or measure with --limit hotplug (as root)"
        ),
        Abstention::Contradictory => {
            "it got slower with more CPUs and then faster again, which no model here can do; measure again".to_owned()
        }
    };
    format!("No point is given, only bands: {why}.")
}

/// Caveat in words: a reason why the prediction is less certain.
pub(crate) fn caveat_text(caveat: &Caveat) -> String {
    match caveat {
        Caveat::Untraced => {
            "no run was traced: closed forms only, which know nothing of what the program does; `morecores run --predict` \
             traces"
                .to_owned()
        }
        Caveat::NotOversubscribed { cpus } => {
            format!(
                "no trace has {{n}} = {}: closed forms only there; `morecores run --predict={}` makes them",
                join_with_and(cpus),
                cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
            )
        }
        Caveat::Lossy { share } => format!("the trace lost {} of its events: the replay is a guess", percent(*share)),
        Caveat::NoSystemCalls => {
            "traced without system calls: waits that ended at once are not in the trace, and it may take longer than said; \
             `--syscalls` traces them"
                .to_owned()
        }
        Caveat::OneCount => {
            "the CPU time on 1 CPU and on more is not both measured: how much CPUs slow each other down is not known, and taken to be little"
                .to_owned()
        }
        Caveat::Wide { cpus, factor } => {
            format!(
                "the band of {} is wider than a factor of {}: no point is given; more counts, or longer and quieter runs, narrow it",
                join_with_and(cpus),
                ratio(*factor)
            )
        }
        Caveat::Forced { share } => format!(
            "in the replay threads waited for each other without end and were let go on, {} times for each thread: the order in \
             which they wait is not all in the trace",
            ratio(*share)
        ),
        Caveat::Crowded { times } => format!(
            "told of more CPUs than there are, the command took {} times the CPU time for as many processes: whether it will there too is not known",
            ratio(*times)
        ),
    }
}
