//! A prediction in words.
//!
//! This module draws and lays out nothing, and adds no judgement to the prediction.

use morecores_view::{
    Abstention, BoundsView, Caveat, FirstLimit, LimitBasis, ModelName, PredictedPoint, Prediction, Resource,
};

use crate::format::{bytes as bytes_text, cpus, join_with_and, percent, ratio, time, two_digits};

/// Share of other models in a prediction, from which the report mentions them.
const LEAST_OTHERS: f64 = 0.1;

/// Model of the prediction, and its error in the back-test: two sentences.
pub(crate) fn headline(prediction: &Prediction) -> String {
    let own = prediction.models.iter().find(|model| model.model == prediction.model);
    let own_weight = own.map_or(0.0, |own| own.weight);
    let all: f64 = prediction.models.iter().map(|model| model.weight).sum();
    let others = all - own_weight;
    let (share, rest) = if others > LEAST_OTHERS {
        let kind = if prediction.model == ModelName::Replay { "formulas" } else { "other models" };
        (format!(" ({} of the weight)", percent(own_weight)), format!(" and by {kind} ({})", percent(others)))
    } else {
        (String::new(), String::new())
    };
    let model = match prediction.model {
        ModelName::Replay => "replaying the traces",
        form => model_name(form),
    };
    let counts = join_with_and(&prediction.from);
    let plural = if prediction.from == [1] { "CPU" } else { "CPUs" };
    let basis = format!("Predicted from {counts} {plural} by {model}{share}{rest}.");
    let Some(error) = own.and_then(|model| model.back_test) else { return basis };
    let smaller = &prediction.from[..prediction.from.len().saturating_sub(1)];
    let plural = if smaller == [1] { "CPU" } else { "CPUs" };
    let largest = prediction.from.last().copied().unwrap_or(1);
    format!(
        "{basis} Test: from {} {plural} it predicts {} {}.",
        join_with_and(smaller),
        cpus(largest),
        error_text(error)
    )
}

/// Name of a model in words.
pub(crate) const fn model_name(model: ModelName) -> &'static str {
    match model {
        ModelName::Replay => "replay",
        ModelName::Ideal => "the ideal line",
        ModelName::Amdahl => "Amdahl's law",
        ModelName::Usl => "the universal scalability law",
        ModelName::KernelLock => "the model of one kernel lock",
        ModelName::Ceiling => "the model of a ceiling",
        ModelName::NoModel => "none",
    }
}

/// Relative error of an elapsed time, in words: `2.3% too slow`.
fn error_text(error: f64) -> String {
    match percent(error.abs()).as_str() {
        none if error == 0.0 || none == percent(0.0) => "correctly".to_owned(),
        some if error > 0.0 => format!("{some} too slow"),
        some => format!("{some} too fast"),
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

/// Sentences that accompany the table.
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
        Resource::Memory => "memory and caches, where busy CPUs slow each other down".to_owned(),
        Resource::Coherency => "the traffic between each pair of CPUs".to_owned(),
    };
    let source = match limit.basis {
        LimitBasis::Trace => "first limit",
        LimitBasis::Fit => "first limit of the fit",
    };
    let band = limit.band90.map_or(String::new(), limit_band);
    match limit.resource {
        Resource::MemorySize { needed_bytes, limit_bytes, at_cpus } => format!(
            "The first limit is memory: {} need about {}, and {} are available, enough for {}.",
            cpus(at_cpus),
            bytes_text(needed_bytes as f64),
            bytes_text(limit_bytes as f64),
            cpus(limit.cpus as u32)
        ),
        Resource::Coherency => {
            format!("The {source} is {what}: the command is fastest on {}{band}.", about_cpus(limit.cpus))
        }
        _ => {
            format!(
                "The {source} is {what}: the command never keeps more than {} busy{band}.",
                about_cpus(limit.cpus)
            )
        }
    }
}

/// 90% band of a limit, in brackets.
fn limit_band([low, high]: [f64; 2]) -> String {
    format!(" (90% band {} to {})", two_digits(low), two_digits(high))
}

/// Lower limits of the elapsed time on any machine.
fn bounds_sentence(bounds: &BoundsView) -> String {
    let part = |seconds: f64, [low, high]: [f64; 2], what: &str| {
        format!("{} ({what}; 90% band {} to {})", time(seconds), time(low), time(high))
    };
    let mut parts = vec![
        part(bounds.work_s, bounds.work_band90_s, "all its work, to be divided by the number of CPUs"),
        part(bounds.span_s, bounds.span_band90_s, "its longest chain of dependent steps"),
    ];
    let locks = bounds.locks.iter().zip(&bounds.lock_bands90_s).filter(|((_, time), _)| *time > 0.0).take(2);
    parts.extend(
        locks.map(|((name, seconds), band)| part(*seconds, *band, &format!("its work under {name}"))),
    );
    let devices = bounds.devices.iter().zip(&bounds.device_bands90_s).filter(|((_, time), _)| *time > 0.0);
    parts.extend(devices.map(|((name, seconds), band)| part(*seconds, *band, &format!("its use of {name}"))));
    format!("Lower limits, by the trace: {}.", parts.join(", "))
}

/// Reason why the prediction gives no point.
fn abstention_sentence(reason: &Abstention) -> String {
    let why = match reason {
        Abstention::Unexplained { share } => {
            format!("the trace does not explain {} of the CPUs' time", percent(*share))
        }
        Abstention::Saturated { device, share } => {
            format!(
                "{device} is already busy {} of the time, and the data do not show its speed under more load",
                percent(*share)
            )
        }
        Abstention::Spinning { share } => {
            format!(
                "threads spin for each other in {} of the CPUs' time, and with fewer CPUs than threads this says little \
                 about more CPUs",
                percent(*share)
            )
        }
        Abstention::SteepFromTwoPoints { serial_fraction } => {
            format!(
                "two counts with a serial fraction of {} do not separate serial work from the cost of the second CPU; \
                 `morecores run --predict` does",
                ratio(*serial_fraction)
            )
        }
        Abstention::MixedKinds => {
            "the larger counts add CPUs of another kind (siblings or other core types), and one kind says little about \
             the other"
                .to_owned()
        }
        Abstention::NotHeld { share } => format!(
            "the command also ran on CPUs that it was not allotted, for {} of the allotted CPUs' time; measure again \
             with --limit cpuset or hotplug (as root)",
            percent(*share)
        ),
        Abstention::MachineSized { threads } => format!(
            "the command runs {threads} threads whatever its CPU count, one for each CPU of this machine, so it is \
             another program on a larger machine; tell it its CPU count with {{n}}, or measure with --limit hotplug \
             (as root)"
        ),
        Abstention::FixedTime { elapsed_s } => format!(
            "the command seems to run for a fixed time ({}), so its elapsed time says nothing about its speed; give the \
             figure that it reports with --metric",
            time(*elapsed_s)
        ),
        Abstention::Contradictory => {
            "the command got slower with more CPUs and then faster again, and no model here does that; measure again"
                .to_owned()
        }
    };
    format!("Only bands are given, no points: {why}.")
}

/// Caveat as sentences: a reason why the prediction is less certain.
pub(crate) fn caveat_text(caveat: &Caveat) -> String {
    match caveat {
        Caveat::Untraced => {
            "No run was traced, so formulas alone predict, which do not know what the program does. \
                             `morecores run --predict` traces it."
                .to_owned()
        }
        Caveat::NotOversubscribed { cpus } => format!(
            "No trace has {{n}} = {}, so formulas alone predict there. `morecores run --predict={}` makes the traces.",
            join_with_and(cpus),
            cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
        ),
        Caveat::Lossy { share } => {
            format!("The trace lost {} of its events, so the replay is a guess.", percent(*share))
        }
        Caveat::NoSystemCalls => {
            "The trace has no system calls and misses waits that ended at once, so the command may \
                                  take longer than predicted. `--syscalls` traces them."
                .to_owned()
        }
        Caveat::OneCount => {
            "The study does not compare the CPU time on 1 CPU and on several, so the prediction assumes \
                             that busy CPUs hardly slow each other down."
                .to_owned()
        }
        Caveat::Wide { cpus: counts, factor } => {
            let plural = if counts.as_slice() == [1] { "CPU" } else { "CPUs" };
            format!(
                "The band of {} {plural} is wider than a factor of {}, so it has no point. More counts, or longer and \
                 quieter runs, narrow it.",
                join_with_and(counts),
                ratio(*factor)
            )
        }
        Caveat::Forced { share } => format!(
            "In the replay, threads waited for each other without end and were released by force, {} times for each \
             thread: the trace does not show the whole order of their waits.",
            ratio(*share)
        ),
        Caveat::Oversubscribed { times } => format!(
            "With {{n}} above its CPU count, the command used {} times the CPU time for as many processes. How much of \
             this disappears when each has its own CPU is unknown, so the band spans both extremes.",
            ratio(*times)
        ),
        Caveat::FailedBackTest { cpus: count, error } => format!(
            "The replay predicts {} {}, which is outside its band. It therefore gives no lower limit and no gain.",
            cpus(*count),
            error_text(*error)
        ),
        Caveat::FitAlone { cpus: counts, above } => format!(
            "By the formulas alone, {} CPUs give more than {} times the speed. No trace supports this, so there is no \
             point. `morecores run --predict` makes the traces.",
            join_with_and(counts),
            ratio(*above)
        ),
        Caveat::UnseenSharing => {
            "Its threads share memory; how they disturb each other shows only on 2 CPUs or more.".to_owned()
        }
        Caveat::MemoryBound { chance, cpus: counts } => format!(
            "Its user time grows as copies of memory slow down, so the memory probably limits it ({}). The prediction \
             for {} CPUs follows the memory's measured bandwidth.",
            percent(*chance),
            join_with_and(counts)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_a_fit_is_called_one() {
        let limit = |basis, band90| FirstLimit {
            resource: Resource::SerialWork { command: None },
            cpus: 12.0,
            band90,
            basis,
        };
        assert_eq!(
            first_limit_sentence(&limit(LimitBasis::Fit, Some([10.0, 14.0]))),
            "The first limit of the fit is serial work: the command never keeps more than about 12 CPUs busy (90% \
             band 10 to 14)."
        );
        assert!(
            first_limit_sentence(&limit(LimitBasis::Trace, None))
                .starts_with("The first limit is serial work")
        );
    }

    #[test]
    fn lower_limits_have_their_bands() {
        let bounds = BoundsView {
            work_s: 2.25,
            work_band90_s: [2.2, 2.3],
            span_s: 0.453,
            span_band90_s: [0.44, 0.47],
            locks: vec![("a mutex".to_owned(), 0.2), ("another".to_owned(), 0.0)],
            lock_bands90_s: vec![[0.1, 0.3], [0.0, 0.0]],
            devices: Vec::new(),
            device_bands90_s: Vec::new(),
        };
        assert_eq!(
            bounds_sentence(&bounds),
            "Lower limits, by the trace: 2.25 s (all its work, to be divided by the number of CPUs; 90% band 2.20 s \
             to 2.30 s), 453 ms (its longest chain of dependent steps; 90% band 440 ms to 470 ms), 200 ms (its work \
             under a mutex; 90% band 100 ms to 300 ms)."
        );
    }

    #[test]
    fn caveats_say_what_happened() {
        let text = caveat_text(&Caveat::FailedBackTest { cpus: 2, error: 0.38 });
        assert!(
            text.starts_with("The replay predicts 2 CPUs 38% too slow, which is outside its band."),
            "{text}"
        );
        let text = caveat_text(&Caveat::FitAlone { cpus: vec![128], above: 100.0 });
        assert!(
            text.starts_with("By the formulas alone, 128 CPUs give more than 100 times the speed."),
            "{text}"
        );
        let text = abstention_sentence(&Abstention::FixedTime { elapsed_s: 10.0 });
        assert!(text.contains("for a fixed time (10.0 s)"), "{text}");
    }
}
