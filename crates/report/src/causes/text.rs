//! The causes in plain words.
//!
//! This module words the decisions of `decide` and makes none.

use morecores_study::Quantity;
use morecores_view::Component;
use morecores_view::code::FunctionLoss;

use super::{Explanation, LossCause, NamedLock, NoCauseReason};
use crate::code::{runtime_lock_name, site_name};
use crate::component::{awaited_name, component_name};
use crate::format::{cpu_share, cpus, join_with_and, percent, ratio, time};

/// Cause as a clause that begins with its figure, without a full stop: ``0.31 of 2 CPUs idle: only
/// `ld` ran``. Names are in backquotes.
pub fn cause_clause(cause: &LossCause) -> String {
    clause_with_total(cause, &format!(" of {} CPUs", cause.cpus))
}

/// Causes of one stack, in words; only the first states the number of CPUs.
pub(crate) fn cause_clauses(causes: &[LossCause]) -> Vec<String> {
    let (first, rest) = causes.split_at(causes.len().min(1));
    first.iter().map(cause_clause).chain(rest.iter().map(|cause| clause_with_total(cause, ""))).collect()
}

/// The [`main_causes`](super::main_causes) as a sentence without a full stop.
pub fn main_causes_text(causes: &[LossCause]) -> String {
    let clauses = cause_clauses(causes).join("; ");
    if causes.len() == 1 {
        format!("The largest loss is {clauses}")
    } else {
        format!("The largest losses are about equal, within their intervals: {clauses}")
    }
}

/// Reason why no cause is named, as a sentence.
pub(crate) fn no_cause_sentence(reason: &NoCauseReason) -> String {
    match *reason {
        NoCauseReason::TraceDiffers { cpus: count, times } => format!(
            "No cause is named: the traced run on {} took {} times as long as the timed runs, so it may have lost \
             its time to something else.",
            cpus(count),
            ratio(times)
        ),
        NoCauseReason::RanOutsideCpus { cpus: count } => format!(
            "No cause is named: with {} the command also ran on other CPUs, so its losses there are not known.",
            cpus(count)
        ),
        NoCauseReason::NoBaseline { cpus: count, threads } => format!(
            "No cause is named: on {} the command ran {threads} threads at once, so it is no baseline for more CPUs.",
            cpus(count)
        ),
        NoCauseReason::TooShort { cpus: count, seconds } => format!(
            "No cause is named: on {} the command takes only {}, and tracing changes runs of this length. Give it \
             more work.",
            cpus(count),
            time(seconds)
        ),
        NoCauseReason::FigureDiffers { cpus: count, figure, whole } => format!(
            "No cause is named: on {} the figure has a speedup of {} and the whole run one of {}, and a trace \
             describes only the whole run.",
            cpus(count),
            ratio(figure),
            ratio(whole)
        ),
        NoCauseReason::WithinNoise { component, lost, ci95: [low, high], cpus: count } => format!(
            "No cause is named: on {} each loss may be noise. The largest, \"{}\", is {} CPUs (95% interval {} to \
             {}). More runs or a quieter machine would tell.",
            cpus(count),
            component_name(component),
            cpu_share(lost),
            cpu_share(low),
            cpu_share(high)
        ),
    }
}

fn clause_with_total(cause: &LossCause, total: &str) -> String {
    let figure = cpu_share(cause.lost.abs());
    let what = if cause.lost < 0.0 { gain_text(cause) } else { loss_text(cause) };
    format!("{figure}{total} {what}")
}

fn loss_text(cause: &LossCause) -> String {
    let base = cpus(cause.base_cpus);
    let place = functions_text(cause);
    match cause.component {
        Component::UserWork => {
            format!("lost to extra user-mode time compared with {base}{place}{}", slowdown_reason(cause))
        }
        Component::KernelWork => format!("lost to extra kernel time compared with {base}{place}"),
        Component::Interrupt => "used by interrupts".to_owned(),
        Component::KernelLockSpin => format!("spinning for {}", lock_name(cause)),
        Component::OtherProcesses => format!("used by other processes{}", process_names(cause)),
        Component::Tracer => "used by the tracer itself".to_owned(),
        Component::Steal => "taken by the hypervisor".to_owned(),
        Component::IdleScheduling if cause.explanation == Explanation::PerhapsProcesses => {
            "idle or used by other processes (this trace cannot tell which) while threads were ready to run".to_owned()
        }
        Component::IdleScheduling if cause.explanation == Explanation::NotBalanced => {
            "idle while threads were ready to run: the scheduler does not balance these CPUs".to_owned()
        }
        Component::IdleScheduling => {
            "idle while threads were ready to run: an idle CPU takes time to wake".to_owned()
        }
        Component::IdleHeld => {
            "idle while a CPU quota, a frozen group or a real-time budget held back threads that were ready to run"
                .to_owned()
        }
        Component::IdlePinned => "idle while threads were ready to run but not allowed on these CPUs".to_owned(),
        Component::IdleKernelLock => format!("idle, waiting for {}{place}", lock_name(cause)),
        Component::IdleUserLock => user_lock_text(cause),
        Component::IdleDisk => format!("idle, waiting for a disk{place}"),
        Component::IdlePeer => format!("idle, waiting for a process that is not part of the command{place}"),
        Component::IdleDevice => format!("idle, waiting for a device other than a disk{place}"),
        Component::IdleRcu => {
            format!("idle, waiting for an RCU grace period of the kernel (as after membarrier){place}")
        }
        Component::IdleUninterruptible => {
            format!(
                "idle, in uninterruptible waits of the kernel for something that the trace does not show{place}"
            )
        }
        Component::IdleTimer => format!("idle while all threads slept until a timer{place}"),
        Component::IdleTooLittleWork => idle_text(cause),
        Component::Unexplained => "not explained".to_owned(),
    }
}

fn gain_text(cause: &LossCause) -> String {
    let base = cpus(cause.base_cpus);
    match cause.component {
        Component::UserWork => {
            let why = match cause.explanation {
                Explanation::OversubscribedBase(threads) => format!(", where {threads} threads took turns"),
                _ => ", perhaps because of more cache".to_owned(),
            };
            format!("gained: less user-mode time than on {base}{why}")
        }
        Component::KernelWork => format!("gained: less kernel time than on {base}"),
        other => format!("gained: less \"{}\" than on {base}", component_name(other)),
    }
}

/// Possible reason why the same work takes longer in user mode.
fn slowdown_reason(cause: &LossCause) -> String {
    match &cause.explanation {
        Explanation::TightLoop(share) => {
            format!("; {} of its work is spinning in loops of its own", percent(*share))
        }
        Explanation::OpenMp { share, region: Some(region) } => {
            let share = percent(*share);
            format!("; {share} of it is spinning at OpenMP's barriers, most of all in `{}`", shorten(region))
        }
        Explanation::OpenMp { share, region: None } => {
            format!(
                "; {} of it is spinning in OpenMP's runtime, mostly between parallel regions",
                percent(*share)
            )
        }
        _ => ": caches, memory bandwidth or the clock rate may be the reason".to_owned(),
    }
}

fn process_names(cause: &LossCause) -> String {
    match &cause.explanation {
        Explanation::Processes(names) => format!(" ({})", names.join(", ")),
        _ => String::new(),
    }
}

fn lock_name(cause: &LossCause) -> String {
    match &cause.explanation {
        Explanation::Lock { symbol, caller, mostly } => {
            let caller = caller.as_ref().map(|c| format!(" ({c})")).unwrap_or_default();
            if *mostly {
                format!("the kernel lock {symbol}{caller}")
            } else {
                format!("kernel locks, most of all {symbol}{caller}")
            }
        }
        _ => "kernel locks".to_owned(),
    }
}

fn user_lock_text(cause: &LossCause) -> String {
    let Explanation::UserLocks { lock, mostly, released_in, holders_wait } = &cause.explanation else {
        return "idle, waiting for the command's own locks (futex)".to_owned();
    };
    const LOCKS: &str = "the command's own locks (futex)";
    let what = match lock {
        None => LOCKS.to_owned(),
        Some(NamedLock::Runtime(lock)) if *mostly => runtime_lock_name(*lock).to_owned(),
        Some(NamedLock::Variable(lock)) if *mostly => {
            format!("the command's own lock `{}` (futex)", shorten(lock))
        }
        Some(NamedLock::Site(function)) if *mostly => {
            format!("a lock of the command's own (futex) in `{}`", shorten(function))
        }
        Some(NamedLock::Runtime(lock)) => format!("{LOCKS}, most of all {}", runtime_lock_name(*lock)),
        Some(NamedLock::Variable(lock)) => format!("{LOCKS}, most of all `{}`", shorten(lock)),
        Some(NamedLock::Site(function)) => format!("{LOCKS}, most of all in `{}`", shorten(function)),
    };
    let released =
        released_in.as_ref().map(|site| format!(", mostly released in `{}`", shorten(&site_name(site))));
    let released = released.unwrap_or_default();
    let behind = holders_wait
        .map(|what| format!(", whose holders mostly waited for {}", awaited_name(what)))
        .unwrap_or_default();
    format!("idle, waiting for {what}{released}{behind}")
}

/// Words for idle time in which no command of the tree ran.
const NO_THREAD: &str = "no thread of the command ran";

fn idle_text(cause: &LossCause) -> String {
    if let Explanation::OpenMp { share, region } = &cause.explanation {
        let region = region.as_ref().map(|region| format!(", most of all in `{}`", shorten(region)));
        return format!(
            "idle for lack of parallel work; in {} of it threads waited for each other at OpenMP's barriers{}",
            percent(*share),
            region.unwrap_or_default()
        );
    }
    let Explanation::Commands { commands, alone, serial, waiting_in } = &cause.explanation else {
        return "idle for lack of parallel work".to_owned();
    };
    let waiting = waiting_in.as_ref().map(|call| format!("; the other threads waited in {call}"));
    let commands_text = match (commands.as_slice(), serial) {
        ([(only, _)], Some(serial)) if *alone => {
            let unit = Quantity::Time.column_scale([serial.elapsed_s]);
            let in_unit = |seconds: f64| ratio(seconds / unit.size);
            let who = match only {
                Some(only) => format!("one thread of `{only}` ran alone"),
                None => NO_THREAD.to_owned(),
            };
            format!("{who} for {} of {} {}", in_unit(serial.seconds), in_unit(serial.elapsed_s), unit.symbol)
        }
        ([(None, _)], None) if *alone => NO_THREAD.to_owned(),
        ([(Some(only), _)], None) if *alone => format!("only `{only}` ran"),
        (several, _) => {
            let each = several.iter().map(|(name, cpus)| {
                let name = name.as_ref().map_or("none".to_owned(), |name| format!("`{name}`"));
                format!("{name} ({})", cpu_share(*cpus))
            });
            format!("too few threads ran, mostly {}", join_with_and(each))
        }
    };
    format!("idle: {commands_text}{}{}", functions_text(cause), waiting.unwrap_or_default())
}

/// Longest name of code in a sentence, in letters. A choice: two thirds of a terminal's line.
const MAX_NAME: usize = 53;

/// Name of code without the middle of a long one: templates and compilers make names of several
/// lines.
fn shorten(name: &str) -> String {
    const GAP: &str = "...";
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= MAX_NAME {
        return name.to_owned();
    }
    let half = (MAX_NAME - GAP.len()) / 2;
    let [first, last] = [&letters[..half], &letters[letters.len() - half..]];
    first.iter().copied().chain(GAP.chars()).chain(last.iter().copied()).collect()
}

/// Functions with a share of the loss: `, 70% of it in `parse``.
fn functions_text(cause: &LossCause) -> String {
    let name = |function: &str| match function {
        FunctionLoss::KERNEL => "the kernel".to_owned(),
        other => format!("`{}`", shorten(other)),
    };
    match cause.functions.as_slice() {
        [] => String::new(),
        [(only, share)] => format!(", {} of it in {}", percent(*share), name(only)),
        several => {
            let each =
                several.iter().map(|(function, share)| format!("{} ({})", name(function), percent(*share)));
            format!(", of it in {}", join_with_and(each))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shorten("parse_input"), "parse_input");
        let long = shorten(&format!("first::{}::last", "middle".repeat(40)));
        assert!(long.starts_with("first::middle") && long.ends_with("middle::last"), "{long}");
        assert_eq!(long.chars().count(), MAX_NAME);
        // Letters of several bytes are whole.
        assert_eq!(shorten(&"é".repeat(60)).chars().count(), MAX_NAME);
    }
}
