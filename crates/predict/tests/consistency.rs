//! Consistency of all figures in one output: of the committed studies, and of random programs whose
//! measured times agree with their traces or not.
//!
//! `contradictions` lists each pair of figures that cannot both be true. It knows the public types
//! alone.

use std::path::{Path, PathBuf};

use morecores_explain::{DecodedTrace, trace_view};
use morecores_predict::demand::{Demands, LockId, LockUse, SectionLock};
use morecores_predict::forecast::{Evidence, MeasuredPoint, TracedProgram, forecast, what_if};
use morecores_predict::replay::{LockPolicy, Machine, Program, Step, replay};
use morecores_study::trace::read_trace_events;
use morecores_study::{Nanos, Study};
use morecores_view::{Gain, Prediction, Resource};
use proptest::prelude::*;

/// Relative error of rounding.
const ROUNDING: f64 = 1e-9;

/// Speedup that needs a trace.
const MAX_FIT_SPEEDUP: f64 = 100.0;

/// Number of processes beyond one per CPU from which a command is a graph of jobs.
const MIN_JOBS: usize = 20;

/// Each contradiction between two figures of one output, in words.
fn contradictions(evidence: &Evidence, prediction: &Prediction, gains: &[Gain]) -> Vec<String> {
    let mut found = Vec::new();
    limit_contradictions(evidence, prediction, &mut found);
    bound_contradictions(evidence, prediction, &mut found);
    gain_contradictions(evidence, prediction, gains, &mut found);
    for point in &prediction.points {
        let Some(speedup) = point.speedup else { continue };
        if !(point.band90[0] <= speedup * (1.0 + ROUNDING) && speedup <= point.band90[1] * (1.0 + ROUNDING)) {
            found.push(format!("{} CPUs: {speedup} is outside its band {:?}", point.cpus, point.band90));
        }
        if speedup > MAX_FIT_SPEEDUP && prediction.bounds.is_none() {
            found.push(format!("{} CPUs: {speedup} times without a trace", point.cpus));
        }
        let jobs = evidence.programs.iter().filter(|program| {
            program.n == program.cpus
                && program.cpus > 1
                && program.processes >= program.n as usize + MIN_JOBS
        });
        let serial = jobs.map(|program| program.serial_s).fold(0.0, f64::max);
        if evidence.is_time
            && evidence.receives_n
            && point.elapsed_s.is_some_and(|elapsed| elapsed < 0.9 * serial)
        {
            found.push(format!(
                "{} CPUs: {:?} s, with serial phases of {serial} s",
                point.cpus, point.elapsed_s
            ));
        }
    }
    found
}

/// Speedups of the output: measured ones, and predicted ones.
fn speedups(evidence: &Evidence, prediction: &Prediction) -> Vec<(u32, f64)> {
    let base = evidence.points[0].elapsed;
    let measured = evidence.points.iter().map(|point| (point.cpus, base / point.elapsed));
    measured.chain(prediction.points.iter().filter_map(|point| Some((point.cpus, point.speedup?)))).collect()
}

fn limit_contradictions(evidence: &Evidence, prediction: &Prediction, found: &mut Vec<String>) {
    if let Some(peak) = prediction.peak_cpus {
        let all = speedups(evidence, prediction);
        let next =
            all.iter().map(|(cpus, _)| *cpus).find(|cpus| f64::from(*cpus) >= peak).unwrap_or(u32::MAX);
        let fastest = |far: bool| {
            let speedups = all.iter().filter(|(cpus, _)| (*cpus > next) == far).map(|(_, speedup)| *speedup);
            speedups.fold(0.0, f64::max)
        };
        if fastest(true) > fastest(false) * (1.0 + ROUNDING) {
            found.push(format!("slower beyond {peak} CPUs, but {all:?}"));
        }
    }
    let Some(limit) = &prediction.first_limit else { return };
    if let Some([low, high]) = limit.band90
        && !(low <= limit.cpus && limit.cpus <= high)
    {
        found.push(format!("limit {limit:?} outside its band"));
    }
    if matches!(limit.resource, Resource::MemorySize { .. } | Resource::Coherency) {
        return;
    }
    for (cpus, speedup) in speedups(evidence, prediction) {
        if speedup > limit.cpus * (1.0 + ROUNDING) {
            found.push(format!("limit {} ({:?}) below {speedup} on {cpus} CPUs", limit.cpus, limit.resource));
        }
    }
}

fn bound_contradictions(evidence: &Evidence, prediction: &Prediction, found: &mut Vec<String>) {
    let Some(bounds) = prediction.bounds.as_ref().filter(|_| evidence.is_time) else { return };
    let measured = evidence.points.iter().map(|point| (point.cpus, point.elapsed));
    let predicted = prediction.points.iter().filter_map(|point| Some((point.cpus, point.elapsed_s?)));
    for (cpus, elapsed) in measured.chain(predicted) {
        let queues = bounds.locks.iter().chain(&bounds.devices).map(|(name, time)| (name.as_str(), *time));
        let work = bounds.work_s / f64::from(cpus);
        for (name, least) in queues.chain([("work", work), ("span", bounds.span_s)]) {
            if least > elapsed * (1.0 + ROUNDING) {
                found.push(format!("bound {name} {least} s above {elapsed} s on {cpus} CPUs"));
            }
        }
    }
}

fn gain_contradictions(
    evidence: &Evidence,
    prediction: &Prediction,
    gains: &[Gain],
    found: &mut Vec<String>,
) {
    let base = evidence.points[0];
    for (gain, point) in gains.iter().flat_map(|gain| gain.points.iter().map(move |point| (gain, point))) {
        let left = point.elapsed_s - point.saved_s;
        let [low, high] = point.saved_band90_s;
        let text = format!("{} on {} CPUs: {point:?}", gain.change, point.cpus);
        if !(low <= point.saved_s && point.saved_s <= high && low >= 0.0 && point.gained_cpus >= 0.0) {
            found.push(format!("no gain: {text}"));
        }
        if left <= 0.0 {
            found.push(format!("no time left: {text}"));
        }
        let keeps_work = !gain.change.contains('=')
            && !evidence.programs.iter().any(|program| program.commands.contains(&gain.change));
        let bounds = prediction.bounds.as_ref().filter(|_| !evidence.receives_n && keeps_work);
        if bounds.is_some_and(|bounds| left * f64::from(point.cpus) < bounds.work_s * (1.0 - ROUNDING)) {
            found.push(format!("more than its CPUs: {text}"));
        }
        let known = evidence.points.iter().find(|known| known.cpus == point.cpus).map(|known| known.elapsed);
        let known = known.or_else(|| {
            prediction.points.iter().find(|known| known.cpus == point.cpus).and_then(|known| known.elapsed_s)
        });
        if known.is_some_and(|known| base.elapsed / left < base.elapsed / known * (1.0 - ROUNDING)) {
            found.push(format!("slower than without the change: {text}"));
        }
    }
    if !gains.is_empty() && prediction.bounds.is_none() && !evidence.receives_n {
        found.push("gains by a replay without bounds".to_owned());
    }
}

/// Evidence of a committed study, as `morecores predict` collects it.
fn study_evidence(path: &Path) -> Evidence {
    let study = Study::read(path).expect("a study");
    let (mut views, mut programs) = (Vec::new(), Vec::new());
    for header in &study.traces {
        let decoded = DecodedTrace::new(header, read_trace_events(path, header).expect("its events"));
        let view = trace_view(&decoded, &study.header.host.arch);
        programs.extend(TracedProgram::from_trace(&decoded, &view));
        views.push(view);
    }
    let view = morecores_view::view(&study, &views);
    let receives_n = study.header.plan.tells_n(&study.header.subject);
    Evidence { receives_n, ..Evidence::from_view(&view, programs, None) }
}

/// Contradictions in the prediction and the gains of this evidence.
fn output_contradictions(evidence: &Evidence) -> Vec<String> {
    let Some(largest) = evidence.points.last().map(|point| point.cpus) else { return Vec::new() };
    let targets: Vec<u32> = [2, 8, 64].iter().map(|times| times * largest).collect();
    let Some(prediction) = forecast(evidence, &targets) else { return Vec::new() };
    let gains = what_if(evidence, &[], None).unwrap_or_default();
    contradictions(evidence, &prediction, &gains)
}

/// Committed studies of commands, by date and name.
fn committed_studies() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let entries = |path: &Path| {
        let entries = std::fs::read_dir(path).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>()
    };
    let dates = entries(&folder).into_iter().filter(|path| path.is_dir());
    let studies = dates.flat_map(|date| entries(&date));
    let is_study = |path: &PathBuf| path.extension().is_some_and(|end| end == "study");
    let mut all: Vec<_> = studies.filter(is_study).filter(|path| !path.ends_with("locks.study")).collect();
    all.sort();
    all
}

/// Size of all traces of a study in bytes.
fn trace_bytes(study: &Path) -> u64 {
    let entries = std::fs::read_dir(study.join("traces")).into_iter().flatten().flatten();
    entries.map(|entry| entry.metadata().map_or(0, |metadata| metadata.len())).sum()
}

fn check_studies(studies: &[PathBuf]) {
    let mut found = Vec::new();
    for study in studies {
        let lines = output_contradictions(&study_evidence(study));
        found.extend(lines.into_iter().map(|line| format!("{}: {line}", study.display())));
    }
    assert!(found.is_empty(), "{} contradictions:\n{}", found.len(), found.join("\n"));
}

/// Largest traces of a study that the quick test examines, in bytes.
const SMALL_TRACES: u64 = 60_000;

#[test]
fn outputs_of_committed_studies_do_not_contradict_themselves() {
    let small: Vec<_> =
        committed_studies().into_iter().filter(|study| trace_bytes(study) <= SMALL_TRACES).collect();
    assert!(small.len() > 20, "{}", small.len());
    check_studies(&small);
}

/// Share of the studies with large traces that the long test examines: all of them in a build with
/// optimisation.
const LARGE_STEP: usize = if cfg!(debug_assertions) { 4 } else { 1 };

#[test]
#[ignore = "a minute without optimisation, for a sample"]
fn outputs_of_large_committed_studies_do_not_contradict_themselves() {
    let all = committed_studies().into_iter();
    let mut large: Vec<_> = all.filter(|study| trace_bytes(study) > SMALL_TRACES).collect();
    large.sort_by_key(|study| trace_bytes(study));
    let sample: Vec<_> = large.into_iter().step_by(LARGE_STEP).collect();
    assert!(sample.len() >= 3, "{}", sample.len());
    check_studies(&sample);
}

/// Random program of a first thread and several workers: work, a mutex held on the CPU or across a
/// sleep, a disk, a serial beginning.
#[derive(Clone, Debug)]
struct Design {
    serial_ms: u64,
    workers: u32,
    rounds: u64,
    work_us: u64,
    hold_us: u64,
    held_sleep_us: u64,
    disk_us: u64,
}

impl Design {
    fn program(&self) -> Program {
        let us = Nanos::from_micros;
        let mut first = vec![Step::Run(Nanos::from_millis(self.serial_ms))];
        first.extend((1..=self.workers).map(Step::Start));
        first.extend((1..=self.workers).map(Step::Join));
        let round = [
            Step::Run(us(self.work_us)),
            Step::Lock(0),
            Step::Run(us(self.hold_us)),
            Step::Sleep(us(self.held_sleep_us)),
            Step::Unlock(0),
            Step::UseDevice { device: 0, time: us(self.disk_us) },
        ];
        let worker: Vec<Step> = (0..self.rounds).flat_map(|_| round).collect();
        let mut threads = vec![first];
        threads.extend((0..self.workers).map(|_| worker.clone()));
        Program { threads, devices: vec![1], locks: vec![LockPolicy::Barging], ..Program::default() }
    }

    /// Traced run of the program on `cpus` CPUs, which takes as long as its replay.
    fn traced(&self, cpus: u32, n: u32) -> TracedProgram {
        let program = self.program();
        let elapsed = replay(&program, &Machine::new(cpus)).elapsed;
        let id = LockId::Kernel(1);
        let lock = LockUse {
            id,
            share: 0.0,
            users: (1..=self.workers).collect(),
            waited: Nanos::ZERO,
            waits: 10,
            policy: LockPolicy::Barging,
            section: Some(0),
        };
        let commands = vec!["job".to_owned(); program.threads.len()];
        let demands = Demands {
            program,
            threads: Vec::new(),
            locks: vec![SectionLock { id, mostly_across_waits: true }],
            wake_latency: None,
            slice: None,
        };
        TracedProgram {
            locks: vec![lock],
            lock_names: vec!["a mutex".to_owned()],
            commands,
            serial_s: self.serial_ms as f64 / 1e3,
            ..TracedProgram::from_demands(demands, cpus, n, elapsed)
        }
    }
}

prop_compose! {
    fn design()(
        serial_ms in 0_u64..20,
        workers in 1_u32..5,
        rounds in 1_u64..4,
        work_us in 10_u64..4000,
        hold_us in 0_u64..1000,
        held_sleep_us in 0_u64..2000,
        disk_us in 0_u64..1000,
    ) -> Design {
        Design { serial_ms, workers, rounds, work_us, hold_us, held_sleep_us, disk_us }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// The measured times differ from the replays by random factors: the program waited less than
    /// its trace says, or its CPUs disturbed each other.
    #[test]
    fn outputs_of_random_programs_do_not_contradict_themselves(
        design in design(),
        counts in prop::sample::subsequence(vec![1_u32, 2, 3, 4], 1..=3),
        factors in prop::collection::vec(0.4_f64..1.6, 4),
        error in 0.001_f64..0.1,
        traced in prop::sample::subsequence(vec![0_usize, 1, 2], 0..=3),
        receives_n in any::<bool>(),
    ) {
        let program = design.program();
        let points: Vec<MeasuredPoint> = counts.iter().zip(&factors).map(|(cpus, factor)| {
            let replayed = replay(&program, &Machine::new(*cpus));
            MeasuredPoint {
                cpus: *cpus,
                elapsed: replayed.elapsed.as_secs_f64() * factor,
                error,
                speedup_error: 1.4 * error,
                deviation: 2.0 * error,
                work: Some(replayed.busy.as_secs_f64() * factor.max(1.0)),
                kernel: Some(0.1),
            }
        }).collect();
        let largest = counts[counts.len() - 1];
        let mut programs: Vec<_> =
            traced.iter().filter_map(|index| counts.get(*index)).map(|cpus| design.traced(*cpus, *cpus)).collect();
        if receives_n {
            programs.extend([2, 4, 8].map(|times| design.traced(largest, times * largest)));
        }
        let evidence = Evidence { points, programs, receives_n, is_time: true, ..Evidence::default() };
        let found = output_contradictions(&evidence);
        prop_assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
