//! The times that code holds: each sample and each wait with its calls, its component and the time
//! for which it stands. This module names no function and makes no table.

use std::collections::BTreeMap;

use morecores_study::trace::{FileLine, SampleMode, StackEnd, TraceSource};
use morecores_view::Component;
use morecores_view::code::{CodeTime, CodeTimes};

use super::code::{Call, Code, CodeMap, outermost_first};
use super::code_sites::CodeSites;
use super::critical_path::CriticalPath;
use super::programs::{ProgramId, Programs};
use crate::trace::{Cause, CpuSample, IdleAccounting, ThreadId, Timeline, WaitId};

/// A sample or a wait: its calls, and the time for which it stands.
pub(super) struct Moment<'m> {
    pub(super) program: ProgramId,
    /// Calls, the outermost first, after [`Code::UnknownCallers`] if the stack is incomplete. A
    /// function that calls itself occurs once in a row. Empty if the place is unknown.
    pub(super) calls: &'m [Call],
    pub(super) component: Component,
    pub(super) time: TimeSum,
    /// Number of running threads at a sample of CPU time.
    pub(super) running: Option<u32>,
    /// Whether it is a sample of CPU time on the critical path.
    pub(super) on_critical_path: bool,
}

/// A time in seconds, and the variance of its estimate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeSum {
    seconds: f64,
    variance: f64,
}

/// Times by component.
#[derive(Clone, Debug, Default)]
pub(super) struct ComponentTimes(Vec<(Component, TimeSum)>);

/// Times by component, and by the line that ran or called.
#[derive(Clone, Debug, Default)]
pub(super) struct LineTimes {
    pub(super) sum: ComponentTimes,
    /// CPU time on the critical path, in seconds.
    pub(super) path_s: f64,
    /// Seconds of the known lines.
    lines: BTreeMap<FileLine, f64>,
}

/// Input of the tables of code.
pub(super) struct CodeInput<'a> {
    pub(super) source: TraceSource,
    pub(super) map: &'a CodeMap<'a>,
    pub(super) timeline: &'a Timeline,
    pub(super) programs: &'a Programs,
    pub(super) idle: &'a IdleAccounting,
    pub(super) causes: &'a [Cause],
    pub(super) sites: &'a CodeSites<'a>,
    /// Critical path, if the trace shows it.
    pub(super) path: Option<&'a CriticalPath<'a>>,
    /// Time between two samples of a CPU, in seconds.
    pub(super) period_s: f64,
}

impl TimeSum {
    pub(super) const fn seconds(self) -> f64 {
        self.seconds
    }
}

impl ComponentTimes {
    pub(super) fn add(&mut self, component: Component, time: TimeSum) {
        let known = self.0.iter_mut().find(|(other, _)| *other == component);
        match known {
            Some((_, sum)) => {
                sum.seconds += time.seconds;
                sum.variance += time.variance;
            }
            None => self.0.push((component, time)),
        }
    }

    /// CPU time, and idle time, in seconds.
    pub(super) fn cpu_and_idle(&self) -> (f64, f64) {
        self.0.iter().fold((0.0, 0.0), |(cpu, idle), (component, time)| {
            if component.is_idle() { (cpu, idle + time.seconds) } else { (cpu + time.seconds, idle) }
        })
    }

    /// CPU time and idle time together, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        let (cpu, idle) = self.cpu_and_idle();
        cpu + idle
    }

    pub(super) fn to_view(&self) -> CodeTimes {
        let time = |(component, time): &(Component, TimeSum)| CodeTime {
            component: *component,
            seconds: time.seconds,
            error_s: time.variance.sqrt(),
        };
        let mut times: Vec<CodeTime> =
            self.0.iter().filter(|(_, time)| time.seconds != 0.0).map(time).collect();
        times.sort_by_key(|time| time.component);
        CodeTimes(times)
    }
}

impl LineTimes {
    pub(super) fn add(&mut self, moment: &Moment<'_>, line: Option<FileLine>) {
        self.sum.add(moment.component, moment.time);
        self.path_s += if moment.on_critical_path { moment.time.seconds } else { 0.0 };
        if let Some(line) = line {
            *self.lines.entry(line).or_default() += moment.time.seconds;
        }
    }

    /// Line with the most time; `None` if no line is known.
    pub(super) fn longest(&self) -> Option<FileLine> {
        let longest = self.lines.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        longest.map(|(line, _)| *line)
    }
}

impl CodeInput<'_> {
    /// Calls `visit` with each moment that stands for some time.
    ///
    /// The idle time charged to samples is scaled to that of their program, which is known without
    /// samples. The variance is that of independent samples. The idle time lost to waits is known
    /// for each wait. Waits with a stack stand for all waits of their program with their component;
    /// the variance is that of recording each stack independently.
    pub(super) fn visit_moments(&self, mut visit: impl FnMut(&Moment<'_>)) {
        self.visit_samples(&mut visit);
        self.visit_waits(&mut visit);
    }

    fn visit_samples(&self, visit: &mut impl FnMut(&Moment<'_>)) {
        let scales = self.idle_scales();
        let period_s = self.period_s;
        let one = TimeSum { seconds: period_s, variance: period_s * period_s };
        for (index, sample) in self.timeline.samples.iter().enumerate() {
            let Some(id) = sample.thread.filter(|id| self.timeline.thread(*id).in_tree) else { continue };
            let component = match sample.mode {
                SampleMode::User => Component::UserWork,
                SampleMode::Kernel => Component::KernelWork,
                SampleMode::Interrupt => continue,
            };
            let program = self.programs.program_at(id, sample.at);
            let calls = self.sample_calls(sample, id);
            let running = Some(self.idle.sample_running[index]);
            let on_critical_path = self.path.is_some_and(|path| path.runs(id, sample.at));
            visit(&Moment { program, calls: &calls, component, time: one, running, on_critical_path });
            let scale = scales.get(&program).copied().unwrap_or(0.0);
            let seconds = self.idle.sample_charges[index] * scale * period_s;
            if seconds > 0.0 {
                let time = TimeSum { seconds, variance: seconds * seconds };
                let component = Component::IdleTooLittleWork;
                visit(&Moment {
                    program,
                    calls: &calls,
                    component,
                    time,
                    running: None,
                    on_critical_path: false,
                });
            }
        }
    }

    /// Calls of a sample, as in [`Moment::calls`].
    pub(super) fn sample_calls(&self, sample: &CpuSample, id: ThreadId) -> Vec<Call> {
        let process = self.timeline.thread(id).process;
        let code = sample.stack.iter().flat_map(|stack| self.timeline.user_stacks.code(stack));
        let of_stack = code.flat_map(|code| self.map.calls_at(process, code));
        // The stack of a sample in user mode begins with the sampled function.
        let is_in_stack = sample.mode == SampleMode::User && sample.stack.is_some();
        let mut calls = if is_in_stack { Vec::new() } else { self.map.sample_calls(process, sample) };
        calls.extend(of_stack);
        if sample.stack.is_none_or(|stack| stack.end != StackEnd::Outermost) {
            calls.push(Call::without_line(Code::UnknownCallers));
        }
        outermost_first(calls)
    }

    /// Idle time charged to each program, over the estimate of it by the program's samples. The
    /// samples of perf events are in user mode alone, so that a smaller estimate is right.
    fn idle_scales(&self) -> BTreeMap<ProgramId, f64> {
        let mut estimates: BTreeMap<ProgramId, f64> = BTreeMap::new();
        for (sample, charge) in self.timeline.samples.iter().zip(&self.idle.sample_charges) {
            if let Some(id) = sample.thread.filter(|_| sample.mode != SampleMode::Interrupt) {
                *estimates.entry(self.programs.program_at(id, sample.at)).or_default() +=
                    charge * self.period_s;
            }
        }
        let mut charged: BTreeMap<ProgramId, f64> = BTreeMap::new();
        for charge in &self.idle.charges {
            let Some(id) = charge.thread else { continue };
            *charged
                .entry(self.programs.charged_program(self.timeline, id, charge.name_index))
                .or_default() += charge.seconds;
        }
        let mut scales = scales(charged, &estimates);
        if self.source == TraceSource::Perf {
            scales.values_mut().for_each(|scale| *scale = scale.min(1.0));
        }
        scales
    }

    fn visit_waits(&self, visit: &mut impl FnMut(&Moment<'_>)) {
        let stacks = &self.timeline.user_stacks.at_waits;
        let mut weights: Vec<(WaitId, f64)> = stacks.iter().map(|(id, stack)| (*id, stack.weight)).collect();
        weights.sort_by_key(|(id, _)| *id);
        let weight = |id: WaitId| {
            let index = weights.binary_search_by_key(&id, |(other, _)| *other).ok()?;
            Some(weights[index].1)
        };
        let mut lost: BTreeMap<(ProgramId, Component), f64> = BTreeMap::new();
        let mut estimates: BTreeMap<(ProgramId, Component), f64> = BTreeMap::new();
        let charged = || (0..).map(WaitId).zip(&self.idle.wait_charges).filter(|(_, charge)| **charge > 0.0);
        let group = |id: WaitId| {
            let wait = self.timeline.wait(id);
            let component = component_of(self.causes[id.index()])?;
            Some((self.programs.program_at(wait.thread, wait.from), component))
        };
        for (id, charge) in charged() {
            let Some(group) = group(id) else { continue };
            *lost.entry(group).or_default() += charge;
            if let Some(weight) = weight(id) {
                *estimates.entry(group).or_default() += charge * weight;
            }
        }
        for ((program, component), seconds) in &lost {
            if !estimates.contains_key(&(*program, *component)) {
                let time = TimeSum { seconds: *seconds, variance: 0.0 };
                visit(&Moment {
                    program: *program,
                    calls: &[],
                    component: *component,
                    time,
                    running: None,
                    on_critical_path: false,
                });
            }
        }
        let scales = scales(lost, &estimates);
        for (id, charge) in charged() {
            let Some((group, weight)) = group(id).zip(weight(id)) else { continue };
            let weight = weight * scales.get(&group).copied().unwrap_or(0.0);
            let (program, component) = group;
            let variance = (weight * (weight - 1.0)).max(0.0) * charge * charge;
            let time = TimeSum { seconds: weight * charge, variance };
            let calls = self.sites.calls_to_wait(id);
            visit(&Moment {
                program,
                calls: &calls,
                component,
                time,
                running: None,
                on_critical_path: false,
            });
        }
    }
}

/// Known sums over their estimates; zero for an estimate of zero.
fn scales<K: Ord>(known: BTreeMap<K, f64>, estimates: &BTreeMap<K, f64>) -> BTreeMap<K, f64> {
    let scale = |(key, sum): (K, f64)| {
        let estimate = estimates.get(&key).copied().unwrap_or(0.0);
        (key, if estimate > 0.0 { sum / estimate } else { 0.0 })
    };
    known.into_iter().map(scale).collect()
}

/// Component of the idle time that is lost to a wait with this cause; none if it is not lost to a
/// wait.
const fn component_of(cause: Cause) -> Option<Component> {
    Some(match cause {
        Cause::KernelLock => Component::IdleKernelLock,
        Cause::UserLock => Component::IdleUserLock,
        Cause::Disk => Component::IdleDisk,
        Cause::Device => Component::IdleDevice,
        Cause::Rcu => Component::IdleRcu,
        Cause::Uninterruptible => Component::IdleUninterruptible,
        Cause::Peer => Component::IdlePeer,
        Cause::Timer => Component::IdleTimer,
        Cause::Thread(_) | Cause::Endless | Cause::Unknown => return None,
    })
}
