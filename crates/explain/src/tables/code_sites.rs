//! Places in the command's code where threads wait, and from where they release locks. The recorded
//! stacks are a random sample of all waits; this module estimates shares of them, with standard
//! errors.

use std::collections::HashMap;

use morecores_study::Nanos;
use morecores_study::trace::{Call as KernelCall, CodeAddress, StackEnd};
use morecores_view::code::{CodeSite, WaitKind};

use super::code::{Call, Code, CodeMap, outermost_first};
use super::wait_kinds::kind_by_arguments;
use super::wait_places::{NamedFrame, WaitPlace, find_place};
use crate::trace::{LockHold, RecordedStack, ThreadId, Timeline, WaitId, WakeUp};

/// Largest number of functions by which a runtime's lock is known.
const MAX_FUNCTIONS: usize = 4;

/// A function of the command, with its caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    function: String,
    source: Option<String>,
    module: Option<String>,
    caller: Option<String>,
    /// Kind by the functions between this one and the kernel.
    kind: Option<WaitKind>,
}

impl Place {
    /// The function, with its caller in parentheses.
    pub(super) fn in_words(&self) -> String {
        match &self.caller {
            Some(caller) => format!("{} ({caller})", self.function),
            None => self.function.clone(),
        }
    }

    /// The function and its caller, without the line.
    pub(super) fn without_line(self) -> Self {
        Self { source: None, ..self }
    }
}

/// Places of the stacks at waits and wake-ups.
pub(super) struct CodeSites<'a> {
    map: &'a CodeMap<'a>,
    timeline: &'a Timeline,
    at_waits: HashMap<WaitId, &'a RecordedStack>,
    /// Stacks of wake-ups by the waker and the time.
    at_wakes: HashMap<(ThreadId, Nanos), &'a RecordedStack>,
}

/// Calls of a stack.
struct Calls {
    /// Kind by the functions of the libraries.
    kind: Option<WaitKind>,
    /// Calls from the place to the outermost one.
    from_place: Vec<Call>,
}

/// Durations at one lock, some of them with a stack.
#[derive(Debug, Default)]
pub(super) struct Durations {
    count: u64,
    total_s: f64,
    /// Duration, weight, and place of each stack.
    placed: Vec<(f64, f64, Place)>,
}

/// Sums over the durations of one place.
#[derive(Clone, Copy, Debug, Default)]
struct WeightedSums {
    count: f64,
    length: f64,
    /// Sum of `w(w - 1)` times the squared length, with the weight `w`.
    squares: f64,
}

impl<'a> CodeSites<'a> {
    pub(super) fn new(map: &'a CodeMap<'a>, timeline: &'a Timeline) -> Self {
        let stacks = &timeline.user_stacks;
        let waker = |(wait, stack): &'a (WaitId, RecordedStack)| {
            let wake = WakeUp::from_wait(timeline.wait(*wait))?;
            Some(((wake.by, wake.at), stack))
        };
        Self {
            map,
            timeline,
            at_waits: stacks.at_waits.iter().map(|(wait, stack)| (*wait, stack)).collect(),
            at_wakes: stacks.at_wakes.iter().filter_map(waker).collect(),
        }
    }

    /// Place of a wait; `None` without a stack.
    pub(super) fn wait_place(&self, wait: WaitId) -> Option<Place> {
        let place = self.place(self.timeline.wait(wait).thread, self.at_waits.get(&wait)?)?;
        let wait = self.timeline.wait(wait);
        let by_arguments = || wait.futex.and_then(kind_by_arguments);
        let kind = place.kind.or_else(by_arguments).filter(|_| wait.call != KernelCall::Fault);
        Some(Place { kind, ..place })
    }

    /// Calls from the outermost to the place of a wait, after [`Code::UnknownCallers`] if the
    /// stack is incomplete; empty if the place is unknown. A function that calls itself occurs once
    /// in a row.
    pub(super) fn calls_to_wait(&self, wait: WaitId) -> Vec<Call> {
        let thread = self.timeline.wait(wait).thread;
        let Some(stack) = self.at_waits.get(&wait) else { return Vec::new() };
        let Some(Calls { from_place: mut calls, .. }) = self.calls(thread, stack) else { return Vec::new() };
        if stack.end != StackEnd::Outermost {
            calls.push(Call::without_line(Code::UnknownCallers));
        }
        outermost_first(calls)
    }

    /// Functions of a wait outside the libraries, the innermost first, with the
    /// weight of the stack; `None` stands for a function without a symbol. `None` without a stack.
    pub(super) fn wait_functions(&self, wait: WaitId) -> Option<(Vec<Option<&'a str>>, f64)> {
        let stack = self.at_waits.get(&wait)?;
        let Calls { from_place, .. } = self.calls(self.timeline.wait(wait).thread, stack)?;
        let with_symbols = from_place.iter().filter(|call| !call.is_inlined);
        let names = with_symbols.map(|call| self.map.symbol(call.code));
        Some((names.take(MAX_FUNCTIONS).collect(), stack.weight))
    }

    /// Whether a wait is one of the C library's allocator for memory.
    pub(super) fn is_in_allocator(&self, wait: WaitId) -> bool {
        self.wait_place(wait).is_some_and(|place| place.kind == Some(WaitKind::Allocator))
    }

    /// Adds a wait.
    pub(super) fn add_wait(&self, id: WaitId, durations: &mut Durations) {
        let wait = self.timeline.wait(id);
        let place = self.wait_place(id).zip(self.at_waits.get(&id));
        durations.add(wait.to.since(wait.from), place.map(|(place, stack)| (stack.weight, place)));
    }

    /// Adds a hold, which ended when the holder woke a thread.
    pub(super) fn add_hold(&self, hold: &LockHold, durations: &mut Durations) {
        let stack = self.at_wakes.get(&(hold.holder, hold.to)).copied();
        let place = stack.and_then(|stack| {
            let place = self.place(hold.holder, stack)?;
            Some((stack.weight, Place { kind: None, ..place }))
        });
        durations.add(hold.to.since(hold.from), place);
    }

    /// Place of a thread's stack; `None` if it is unknown.
    fn place(&self, thread: ThreadId, stack: &RecordedStack) -> Option<Place> {
        let Calls { kind, from_place } = self.calls(thread, stack)?;
        let mut calls = from_place.into_iter();
        let (function, caller) = (calls.next()?, calls.next());
        Some(Place {
            function: self.map.name(function.code),
            source: self.map.source(function.code, function.line),
            module: self.map.module(function.code),
            caller: caller.map(|caller| self.map.name(caller.code)),
            kind,
        })
    }

    /// Calls of a thread's stack from the place on; `None` if the stack ends before it.
    fn calls(&self, thread: ThreadId, stack: &RecordedStack) -> Option<Calls> {
        let process = self.timeline.thread(thread).process;
        let calls_at =
            |code: CodeAddress| self.map.calls_at(process, code).map(move |call| (code.module, call));
        let mut calls: Vec<(u32, Call)> = self.timeline.user_stacks.code(stack).flat_map(calls_at).collect();
        let names = calls.iter().map(|(module, call)| NamedFrame {
            file: self.map.file(*module),
            function: self.map.name(call.code),
            is_known: call.code.is_function(),
        });
        let WaitPlace { index, kind } = find_place(names, stack.end)?;
        Some(Calls { kind, from_place: calls.drain(index..).map(|(_, call)| call).collect() })
    }
}

impl Durations {
    /// Adds a duration, with the weight and the place of its stack.
    fn add(&mut self, length: Nanos, place: Option<(f64, Place)>) {
        let length = length.as_secs_f64();
        self.count += 1;
        self.total_s += length;
        self.placed.extend(place.map(|(weight, place)| (length, weight, place)));
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn total_s(&self) -> f64 {
        self.total_s
    }

    /// Estimates for each place, longest first. A duration stands for as many as its weight says.
    /// The estimate of a share is a ratio of two such sums; its standard error is that of sampling
    /// each moment independently (Särndal, Swensson and Wretman, *Model Assisted Survey Sampling*,
    /// 1992, 5.6 and 3.5), and zero if all durations have a stack.
    pub(super) fn sites(&self) -> Vec<CodeSite> {
        let weights: f64 = self.placed.iter().map(|(_, weight, _)| weight).sum();
        let whole: f64 = self.placed.iter().map(|(length, weight, _)| length * weight).sum();
        if whole <= 0.0 {
            return Vec::new();
        }
        // Stacks can be missing for other reasons than the sampling.
        let missing = (self.count as f64 / weights).max(1.0);
        let mut sums: HashMap<&Place, WeightedSums> = HashMap::new();
        let mut all_squares = 0.0;
        for (length, weight, place) in &self.placed {
            let corrected = weight * missing;
            let squares = corrected * (corrected - 1.0) * length * length;
            let sum = sums.entry(place).or_default();
            sum.count += weight;
            sum.length += length * weight;
            sum.squares += squares;
            all_squares += squares;
        }
        let site = |place: &Place, WeightedSums { count, length, squares }: WeightedSums| {
            let share = length / whole;
            // The residual of a duration is `1 - share` of it at the place, and `-share` elsewhere.
            let variance = (share * share * all_squares + (1.0 - 2.0 * share) * squares).max(0.0);
            CodeSite {
                function: place.function.clone(),
                source: place.source.clone(),
                module: place.module.clone(),
                caller: place.caller.clone(),
                kind: place.kind,
                count: count / weights * self.count as f64,
                seconds: share * self.total_s,
                seconds_error: variance.sqrt() / (whole * missing) * self.total_s,
            }
        };
        let mut sites: Vec<(&Place, CodeSite)> =
            sums.into_iter().map(|(place, sums)| (place, site(place, sums))).collect();
        sites.sort_by(|(a, one), (b, other)| other.seconds.total_cmp(&one.seconds).then_with(|| a.cmp(b)));
        sites.into_iter().map(|(_, site)| site).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(function: &str) -> Place {
        Place { function: function.to_owned(), source: None, module: None, caller: None, kind: None }
    }

    #[test]
    fn shares_follow_the_weights() {
        let placed = vec![(1.0, 1.0, place("rare")), (0.5, 4.0, place("usual")), (0.5, 4.0, place("usual"))];
        let sites = Durations { count: 9, total_s: 10.0, placed }.sites();
        let seconds: Vec<(&str, f64, f64)> =
            sites.iter().map(|site| (site.function.as_str(), site.count, site.seconds)).collect();
        assert_eq!(seconds, [("usual", 8.0, 8.0), ("rare", 1.0, 2.0)]);
        let [usual, rare] = [&sites[0], &sites[1]].map(|site| site.seconds_error);
        assert!(usual > 0.0 && (usual - rare).abs() < 1e-12, "{usual} {rare}");
    }

    #[test]
    fn complete_stacks_have_no_error_and_missing_ones_have_one() {
        let placed = || vec![(1.0, 1.0, place("a")), (3.0, 1.0, place("b"))];
        let sites = Durations { count: 2, total_s: 4.0, placed: placed() }.sites();
        assert_eq!(sites.iter().map(|site| site.seconds_error).collect::<Vec<_>>(), [0.0, 0.0]);
        let sites = Durations { count: 4, total_s: 8.0, placed: placed() }.sites();
        assert_eq!((sites[0].seconds, sites[0].count), (6.0, 2.0));
        assert!(sites[0].seconds_error > 0.0);
        assert_eq!(Durations { count: 3, total_s: 1.0, placed: Vec::new() }.sites(), []);
    }

    /// The interval of twice the standard error holds in 95 of 100 samples.
    #[test]
    fn standard_errors_cover_the_truth() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let covered = (0..1000).filter(|_| {
            let (mut placed, mut total_s, mut of_a) = (Vec::new(), 0.0, 0.0);
            for index in 0..4000 {
                let is_a = index % 3 == 0;
                let length = -random().max(1e-9).ln() * if is_a { 2.0 } else { 1.0 };
                total_s += length;
                of_a += if is_a { length } else { 0.0 };
                // Later waits are recorded more rarely.
                let weight = if index < 2000 { 8.0 } else { 32.0 };
                if random() < 1.0 / weight {
                    placed.push((length, weight, place(if is_a { "a" } else { "b" })));
                }
            }
            let sites = Durations { count: 4000, total_s, placed }.sites();
            let a = sites.iter().find(|site| site.function == "a").expect("some of it");
            (a.seconds - of_a).abs() <= 1.96 * a.seconds_error
        });
        let covered = covered.count();
        assert!((925..=975).contains(&covered), "{covered}");
    }
}
