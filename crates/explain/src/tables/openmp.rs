//! Time for which the threads of OpenMP programs wait for each other in parallel regions.
//!
//! A thread of the pool is in no code of the program while it waits at the end of a region, and
//! between regions. No stack tells these two apart, and regions may be shorter than the time
//! between two samples. So the time of its waits in regions is a difference: the time for which its
//! master had a region open, less the thread's time in the code of regions. Both are sums over the
//! samples and waits of one thread, so the difference is right for regions of any length.

mod activity;

use std::collections::{BTreeMap, HashMap};

use morecores_study::Nanos;
use morecores_study::trace::{CodeAddress, SampleMode};
use morecores_view::{OpenMpRegion, OpenMpView};

use super::code::{Code, CodeMap};
use super::programs::{ProgramId, Programs};
use crate::trace::{Cause, FutexId, State, Thread, ThreadId, Timeline, WaitId, awaited_futex};
use activity::{Activity, StackReader};

/// Share of the waits from which a region has a row.
const LEAST_SHARE: f64 = 0.01;

/// Share of a thread's samples that must have a complete stack. A choice: the others are taken to
/// be like them.
const LEAST_KNOWN: f64 = 0.5;

/// Rows of the commands with a team of threads, longest waits first. `causes` are those of the idle
/// rule.
pub(super) fn openmp(
    map: &CodeMap<'_>,
    timeline: &Timeline,
    programs: &Programs,
    causes: &[Cause],
) -> Vec<OpenMpView> {
    let Some(reader) = StackReader::new(map, timeline, causes) else { return Vec::new() };
    let histories = histories(timeline, &reader);
    let mut sums: BTreeMap<ProgramId, TeamSums> = BTreeMap::new();
    for (master, members) in teams(timeline, &histories) {
        let program = programs.program_at(master, members[0].from);
        sums.entry(program).or_default().add_team(timeline, &histories[&master], &members);
    }
    let mut rows: Vec<OpenMpView> =
        sums.into_iter().map(|(program, sums)| sums.into_view(programs.name(program), map)).collect();
    rows.sort_by(|one, other| other.waited_s.total_cmp(&one.waited_s));
    rows
}

/// Masters with the threads of their pools. A pool of a thread that is in a pool itself is left
/// out: its regions are work of the outer region.
fn teams<'h>(
    timeline: &Timeline,
    histories: &'h HashMap<ThreadId, History>,
) -> Vec<(ThreadId, Vec<&'h History>)> {
    let mut teams: BTreeMap<ThreadId, Vec<&History>> = BTreeMap::new();
    let mut members: Vec<(&ThreadId, &History)> =
        histories.iter().filter(|(_, history)| history.is_of_pool && history.is_known()).collect();
    members.sort_unstable_by_key(|(id, _)| **id);
    for (id, member) in members {
        let master = timeline.thread(*id).parent;
        let is_master = |id: &ThreadId| {
            histories.get(id).is_some_and(|history| !history.is_of_pool && history.is_known())
        };
        if let Some(master) = master.filter(is_master) {
            teams.entry(master).or_default().push(member);
        }
    }
    teams.into_iter().collect()
}

/// Activities of one thread.
#[derive(Debug)]
struct History {
    thread: ThreadId,
    is_of_pool: bool,
    /// Life of the thread in the window.
    from: Nanos,
    to: Nanos,
    samples: Vec<(Nanos, Activity)>,
    /// Waits with their activity, in the order of time.
    waits: Vec<(Nanos, Nanos, Activity)>,
    /// Number of samples with and without an activity.
    all_samples: usize,
    /// CPU time for which a sample with an activity stands, in seconds.
    sample_s: f64,
}

impl History {
    /// Whether most samples have an activity.
    fn is_known(&self) -> bool {
        self.samples.len() as f64 >= LEAST_KNOWN * self.all_samples as f64
    }

    /// Number of samples inside a span for which `is_counted`, and the sum of these waits there.
    fn sums(&self, from: Nanos, to: Nanos, is_counted: impl Fn(Activity) -> bool) -> (f64, f64) {
        let samples =
            self.samples.iter().filter(|(at, activity)| (from..to).contains(at) && is_counted(*activity));
        let waits = self.waits.iter().filter(|(.., activity)| is_counted(*activity));
        (samples.count() as f64, waits.map(|wait| overlap(from, to, wait.0, wait.1)).sum())
    }

    /// Variance of the estimated CPU time of samples with these weights.
    fn variance(&self, weights: impl Iterator<Item = f64> + Clone) -> f64 {
        let (sum, squares): (f64, f64) = (weights.clone().sum(), weights.map(|weight| weight * weight).sum());
        let spread = squares - sum * sum / (self.samples.len() as f64).max(1.0);
        spread.max(0.0) * self.sample_s * self.sample_s
    }
}

/// Length of the common part of two spans, in seconds.
fn overlap(from: Nanos, to: Nanos, other_from: Nanos, other_to: Nanos) -> f64 {
    to.min(other_to).since(from.max(other_from)).as_secs_f64()
}

/// Histories of the threads of the tree with stacks.
fn histories(timeline: &Timeline, reader: &StackReader<'_>) -> HashMap<ThreadId, History> {
    let mut histories: HashMap<ThreadId, History> = HashMap::new();
    let new = |id: ThreadId| {
        let thread: &Thread = timeline.thread(id);
        History {
            thread: id,
            is_of_pool: false,
            from: thread.created.unwrap_or_default().max(timeline.began),
            to: thread.ended.unwrap_or(timeline.ended),
            samples: Vec::new(),
            waits: Vec::new(),
            all_samples: 0,
            sample_s: 0.0,
        }
    };
    let in_tree = |id: &ThreadId| timeline.thread(*id).in_tree;
    for sample in timeline.samples.iter().filter(|sample| sample.mode != SampleMode::Interrupt) {
        let Some(id) = sample.thread.filter(in_tree) else { continue };
        let history = histories.entry(id).or_insert_with(|| new(id));
        history.all_samples += 1;
        let Some(stack) = &sample.stack else { continue };
        history.is_of_pool |= reader.is_of_pool(stack);
        let seems_to_wait = sample.spins || sample.mode == SampleMode::Kernel;
        history.samples.extend(reader.activity(stack, seems_to_wait).map(|activity| (sample.at, activity)));
    }
    let at_waits: HashMap<WaitId, _> =
        timeline.user_stacks.at_waits.iter().map(|(id, stack)| (*id, stack)).collect();
    for stack in &timeline.user_stacks.at_waits {
        let id = timeline.wait(stack.0).thread;
        if in_tree(&id) {
            histories.entry(id).or_insert_with(|| new(id)).is_of_pool |= reader.is_of_pool(&stack.1);
        }
    }
    // Waits for one futex are alike.
    let mut by_futex: HashMap<(bool, FutexId), BTreeMap<Activity, f64>> = HashMap::new();
    let is_of_pool: HashMap<ThreadId, bool> =
        histories.iter().map(|(id, history)| (*id, history.is_of_pool)).collect();
    let known =
        |id: WaitId| at_waits.get(&id).and_then(|stack| Some((reader.activity(stack, true)?, stack.weight)));
    let waits =
        || (0..).map(WaitId).zip(&timeline.waits).filter(|(_, wait)| is_of_pool.contains_key(&wait.thread));
    for (id, wait) in waits() {
        if let Some((futex, (activity, weight))) = awaited_futex(timeline, wait).zip(known(id)) {
            *by_futex.entry((is_of_pool[&wait.thread], futex)).or_default().entry(activity).or_default() +=
                weight;
        }
    }
    let usual: HashMap<_, Activity> = by_futex
        .into_iter()
        .filter_map(|(futex, votes)| {
            Some((futex, votes.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?.0))
        })
        .collect();
    for (id, wait) in waits() {
        let of_pool = is_of_pool[&wait.thread];
        let of_futex = || usual.get(&(of_pool, awaited_futex(timeline, wait)?)).copied();
        let Some(history) = histories.get_mut(&wait.thread) else { continue };
        let before = || {
            let sample = history.samples[..history.samples.partition_point(|(at, _)| *at < wait.from)].last();
            let last_wait = history.waits.last().map(|(_, to, activity)| (*to, *activity));
            sample
                .copied()
                .into_iter()
                .chain(last_wait)
                .max_by_key(|(at, _)| *at)
                .map(|(_, activity)| activity)
        };
        let activity = known(id).map(|(activity, _)| activity).or_else(of_futex).or_else(before);
        let otherwise = if of_pool { Activity::Pool } else { Activity::Outside };
        history.waits.push((wait.from, wait.to, activity.unwrap_or(otherwise)));
    }
    for (id, history) in &mut histories {
        let on_cpu = timeline.thread(*id).on_cpu().as_secs_f64();
        history.sample_s = on_cpu / (history.samples.len() as f64).max(1.0);
    }
    histories
}

/// Site at which a thread has a region open; none outside.
const fn open_site(activity: Activity) -> Option<CodeAddress> {
    match activity {
        Activity::Work(region) | Activity::Wait(region) => region.site,
        Activity::Outside | Activity::Pool => None,
    }
}

const fn is_wait(activity: Activity) -> bool {
    matches!(activity, Activity::Wait(_))
}

/// Time of a master with one region open or with none, by its samples and waits: the end of a span
/// is the middle between two of them.
#[derive(Clone, Copy, Debug)]
struct SiteSpan {
    from: Nanos,
    to: Nanos,
    site: Option<CodeAddress>,
    /// First and last moment that a sample or a wait shows.
    first: Nanos,
    last: Nanos,
}

/// Spans of a master over its life.
fn site_spans(master: &History) -> Vec<SiteSpan> {
    let at_samples = master.samples.iter().map(|(at, activity)| (*at, open_site(*activity)));
    let at_waits = master
        .waits
        .iter()
        .flat_map(|(from, to, activity)| [(*from, open_site(*activity)), (*to, open_site(*activity))]);
    let mut moments: Vec<(Nanos, Option<CodeAddress>)> = at_samples.chain(at_waits).collect();
    moments.sort_by_key(|(at, _)| *at);
    let mut spans: Vec<SiteSpan> = Vec::new();
    for (at, site) in moments {
        match spans.last_mut() {
            Some(span) if span.site == site => (span.to, span.last) = (at, at),
            last => {
                let middle = last.map_or(master.from, |span| {
                    let middle = Nanos(span.last.0.midpoint(at.0));
                    span.to = middle;
                    middle
                });
                spans.push(SiteSpan { from: middle, to: at, site, first: at, last: at });
            }
        }
    }
    if let Some(last) = spans.last_mut() {
        last.to = master.to.max(last.to);
    }
    spans
}

/// Sums over the teams of one command.
#[derive(Debug, Default)]
struct TeamSums {
    waited_s: f64,
    variance: f64,
    slept_s: f64,
    /// Spinning of all threads, in regions and between them.
    spun_s: f64,
    regions: BTreeMap<CodeAddress, RegionSums>,
}

/// Sums over one region.
#[derive(Debug, Default)]
struct RegionSums {
    waited_s: f64,
    variance: f64,
    /// Number of samples in each function of the region.
    functions: BTreeMap<Code, f64>,
}

impl TeamSums {
    fn add_team(&mut self, timeline: &Timeline, master: &History, members: &[&History]) {
        let spans = site_spans(master);
        let sites = function_sites(&spans, master, members);
        for (function, (site, votes)) in &sites {
            *self.regions.entry(*site).or_default().functions.entry(*function).or_default() += votes;
        }
        // The master's own waits in regions.
        let (spinning, slept) = master.sums(master.from, master.to, is_wait);
        self.spun_s += spinning * master.sample_s;
        self.slept_s += slept;
        for (_, activity) in &master.samples {
            if let Some(site) = open_site(*activity).filter(|_| is_wait(*activity)) {
                self.add(site, master.sample_s, 0.0);
            }
        }
        for (from, to, activity) in &master.waits {
            if let Some(site) = open_site(*activity).filter(|_| is_wait(*activity)) {
                self.add(site, to.since(*from).as_secs_f64(), 0.0);
            }
        }
        for member in members {
            self.add_member(timeline, master, member, &spans, &sites);
        }
        // A sample of the master counts for each member, and once more for its own wait.
        let weight = |(at, activity): &(Nanos, Activity)| {
            let alive = members.iter().filter(|member| (member.from..member.to).contains(at)).count();
            open_site(*activity).map_or(0.0, |_| alive as f64 + f64::from(u8::from(is_wait(*activity))))
        };
        self.variance += master.variance(master.samples.iter().map(weight));
        let opened: Vec<CodeAddress> = self.regions.keys().copied().collect();
        for site in opened {
            let here = |sample: &(Nanos, Activity)| {
                if open_site(sample.1) == Some(site) { weight(sample) } else { 0.0 }
            };
            let variance = master.variance(master.samples.iter().map(here));
            self.add(site, 0.0, variance);
        }
    }

    fn add(&mut self, site: CodeAddress, seconds: f64, variance: f64) {
        self.waited_s += seconds;
        let region = self.regions.entry(site).or_default();
        region.waited_s += seconds;
        region.variance += variance;
    }

    /// Adds the waits of a thread of the pool.
    fn add_member(
        &mut self,
        timeline: &Timeline,
        master: &History,
        member: &History,
        spans: &[SiteSpan],
        sites: &BTreeMap<Code, (CodeAddress, f64)>,
    ) {
        let (from, to) = (member.from, member.to);
        // Time with a region open: on a CPU, in waits, and runnable.
        for (at, activity) in &master.samples {
            if let Some(site) = open_site(*activity).filter(|_| (from..to).contains(at)) {
                self.add(site, master.sample_s, 0.0);
            }
        }
        for (began, ended, activity) in &master.waits {
            if let Some(site) = open_site(*activity) {
                self.add(site, overlap(from, to, *began, *ended), 0.0);
            }
        }
        self.add_ready_time(timeline, master.thread, (from, to), spans, 1.0);
        // A ready thread does not wait for others.
        self.add_ready_time(timeline, member.thread, (from, to), spans, -1.0);
        // Its work.
        let is_work = |activity: Activity| matches!(activity, Activity::Work(_));
        let (samples, all) = (member.sums(from, to, is_work).0, member.samples.len() as f64);
        let variance = (1.0 - samples / all.max(1.0)) * member.sample_s * member.sample_s;
        let of_samples = member.samples.iter().map(|(_, activity)| (*activity, member.sample_s, variance));
        let of_waits = member
            .waits
            .iter()
            .map(|(began, ended, activity)| (*activity, ended.since(*began).as_secs_f64(), 0.0));
        for (activity, seconds, variance) in of_samples.chain(of_waits) {
            let Activity::Work(region) = activity else { continue };
            match region.function.and_then(|function| sites.get(&function)) {
                Some((site, _)) => self.add(*site, -seconds, variance),
                None => self.waited_s -= seconds,
            }
        }
        let weights = member.samples.iter().map(|(_, activity)| f64::from(u8::from(is_work(*activity))));
        self.variance += member.variance(weights);
        // Sleep in regions, and all spinning.
        let (spinning, slept) = member.sums(from, to, is_wait);
        let (spinning_in_pool, _) = member.sums(from, to, |activity| activity == Activity::Pool);
        self.spun_s += (spinning + spinning_in_pool) * member.sample_s;
        self.slept_s += slept;
        for (began, ended, activity) in &member.waits {
            if *activity == Activity::Pool {
                self.slept_s += open_time(spans, *began, *ended).map(|(_, seconds)| seconds).sum::<f64>();
            }
        }
        for (site, seconds) in slept_through(spans, member) {
            self.slept_s -= seconds;
            self.add(site, -seconds, 0.0);
        }
    }

    /// Adds the time of a span for which a thread was ready without a CPU while a region was open.
    fn add_ready_time(
        &mut self,
        timeline: &Timeline,
        thread: ThreadId,
        (from, to): (Nanos, Nanos),
        spans: &[SiteSpan],
        sign: f64,
    ) {
        for segment in &timeline.thread(thread).segments {
            if matches!(segment.state, State::Runnable | State::Held(_)) {
                for (site, seconds) in open_time(spans, segment.from.max(from), segment.to.min(to)) {
                    self.add(site, sign * seconds, 0.0);
                }
            }
        }
    }

    fn into_view(self, command: String, map: &CodeMap<'_>) -> OpenMpView {
        let waited_s = self.waited_s.max(0.0);
        let slept_s = self.slept_s.clamp(0.0, waited_s);
        let region = |(site, sums): (CodeAddress, RegionSums)| {
            let caller = map.code_at(site);
            let function = sums.functions.iter().max_by(|one, other| one.1.total_cmp(other.1));
            OpenMpRegion {
                function: function.map(|(function, _)| map.name(*function)),
                caller: map.name(caller),
                source: map.source(caller, map.line_at(site)),
                module: map.module(caller),
                waited_s: sums.waited_s,
                waited_error_s: sums.variance.sqrt(),
            }
        };
        let mut regions: Vec<OpenMpRegion> = self.regions.into_iter().map(region).collect();
        regions.retain(|region| region.waited_s > 0.0 && region.waited_s >= LEAST_SHARE * waited_s);
        regions.sort_by(|one, other| other.waited_s.total_cmp(&one.waited_s));
        OpenMpView {
            command,
            waited_s,
            waited_error_s: self.variance.sqrt(),
            spun_s: waited_s - slept_s,
            slept_s,
            spun_between_s: (self.spun_s - (waited_s - slept_s)).max(0.0),
            regions,
        }
    }
}

/// Time of a span with a region open, in seconds.
fn open_time(spans: &[SiteSpan], from: Nanos, to: Nanos) -> impl Iterator<Item = (CodeAddress, f64)> + '_ {
    let first = spans.partition_point(|span| span.to <= from);
    let inside = spans[first..].iter().take_while(move |span| span.from < to);
    inside.filter_map(move |span| Some((span.site?, overlap(from, to, span.from, span.to))))
}

/// Regions that a thread of the pool slept through, from before their beginning until after their
/// end, with their lengths in seconds: it belongs to no team there.
fn slept_through(spans: &[SiteSpan], member: &History) -> Vec<(CodeAddress, f64)> {
    // One region may follow another.
    let parts: Vec<&[SiteSpan]> =
        spans.chunk_by(|one, next| one.site.is_some() == next.site.is_some()).collect();
    let mut regions = Vec::new();
    for part in parts.windows(3) {
        let [Some(before), inside, Some(after)] = [part[0].last(), part[1].first(), part[2].first()] else {
            continue;
        };
        let is_open = inside.is_some_and(|span| span.site.is_some());
        let sleeps = |(from, to, activity): &(Nanos, Nanos, Activity)| {
            *activity == Activity::Pool && *from < before.last && *to > after.first
        };
        if is_open && member.waits.iter().any(sleeps) {
            let seconds = |span: &SiteSpan| Some((span.site?, span.to.since(span.from).as_secs_f64()));
            regions.extend(part[1].iter().filter_map(seconds));
        }
    }
    regions
}

/// Site of each function of a region, with the number of samples that show it: of the master in the
/// function, and of members in the function while the master had the region open.
fn function_sites(
    spans: &[SiteSpan],
    master: &History,
    members: &[&History],
) -> BTreeMap<Code, (CodeAddress, f64)> {
    let mut votes: BTreeMap<Code, BTreeMap<CodeAddress, f64>> = BTreeMap::new();
    let function = |activity: Activity| match activity {
        Activity::Work(region) | Activity::Wait(region) => region.function,
        Activity::Outside | Activity::Pool => None,
    };
    for (_, activity) in &master.samples {
        if let Some((function, site)) = function(*activity).zip(open_site(*activity)) {
            *votes.entry(function).or_default().entry(site).or_default() += 1.0;
        }
    }
    for (at, activity) in members.iter().flat_map(|member| &member.samples) {
        let span = spans.get(spans.partition_point(|span| span.to <= *at));
        if let Some((function, site)) = function(*activity).zip(span.and_then(|span| span.site)) {
            *votes.entry(function).or_default().entry(site).or_default() += 1.0;
        }
    }
    let most =
        |sites: BTreeMap<CodeAddress, f64>| sites.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    votes.into_iter().filter_map(|(function, sites)| Some((function, most(sites)?))).collect()
}
