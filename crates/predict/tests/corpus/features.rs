//! Programs and machines with what the other programs of the corpus lack: a limited bandwidth,
//! second hardware threads, devices that serve several requests at once, locks held across waits,
//! and a condition variable that many workers share.
//!
//! Each is added to the program of the same seed, so that every other quantity keeps its
//! distribution.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::generator::{INTERRUPT, MAX_HOLDS, MS, RandomDraws, US, generate_program};
use super::machine::{Capacity, Siblings};
use super::program::{Device, HeldWait, Job, Lock, LockKind, Phase, Program, Step, Style, Wakes};

/// Numbers of requests that a device serves at once.
const CHANNELS: [usize; 4] = [1, 2, 4, 32];
/// Numbers of cores of a machine with second hardware threads.
const CORES: [u32; 4] = [4, 8, 16, 32];

/// Property of a program or its machine by which predictions are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feature {
    /// None of the others.
    Plain,
    /// Bandwidth for few CPUs.
    Knee,
    /// Second hardware threads.
    Siblings,
    /// Device that serves one request after the other.
    SerialDevice,
    /// Device that serves several requests at once.
    ParallelDevice,
    /// Lock held across waits.
    LockAcrossWaits,
    /// Condition variable of many workers.
    ConditionVariable,
}

impl Feature {
    /// Display name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "none of these",
            Self::Knee => "limited bandwidth",
            Self::Siblings => "second hardware threads",
            Self::SerialDevice => "serial device",
            Self::ParallelDevice => "parallel device",
            Self::LockAcrossWaits => "lock held across waits",
            Self::ConditionVariable => "shared condition variable",
        }
    }
}

impl Program {
    /// Features of the program and its machine; at least one.
    pub(crate) fn features(&self) -> Vec<Feature> {
        let holds_across = self.jobs().flatten().any(|step| matches!(step, Step::HoldAcross { .. }));
        let has_chains = self
            .phases
            .iter()
            .any(|phase| matches!(phase, Phase::Parallel { style: Style::Chains { .. }, .. }));
        let channels = self.device.map(|device| device.channels);
        let found = [
            (self.capacity.bandwidth.is_some(), Feature::Knee),
            (self.capacity.siblings.is_some(), Feature::Siblings),
            (channels == Some(1), Feature::SerialDevice),
            (channels.is_some_and(|channels| channels > 1), Feature::ParallelDevice),
            (holds_across, Feature::LockAcrossWaits),
            (has_chains, Feature::ConditionVariable),
        ];
        let found: Vec<Feature> =
            found.into_iter().filter(|(has, _)| *has).map(|(_, feature)| feature).collect();
        if found.is_empty() { vec![Feature::Plain] } else { found }
    }
}

/// Generates the program of a seed with features of the machine and of the program. Like that of
/// [`generate_program`], the result must never change.
pub(crate) fn generate_varied_program(seed: u64) -> Program {
    let mut program = generate_program(seed);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // The other streams of this generator are those of the runs, which are above.
    rng.set_stream(1);
    let mut draw = RandomDraws(rng);
    program.capacity = match draw.integer(0, 3) {
        0 => Capacity { bandwidth: Some(draw.log_between(1.5, 64.0)), ..Capacity::default() },
        1 => {
            let cores = CORES[draw.integer(0, CORES.len() - 1)];
            let siblings = Siblings { cores, share: draw.between(0.2, 0.5) };
            Capacity { siblings: Some(siblings), ..Capacity::default() }
        }
        _ => Capacity::default(),
    };
    if let Some(device) = &mut program.device {
        device.channels = CHANNELS[draw.integer(0, CHANNELS.len() - 1)];
    }
    match draw.integer(0, 3) {
        0 if program.device.is_none() => add_device(&mut program, &mut draw),
        1 => add_lock_across_waits(&mut program, &mut draw),
        2 => add_chains(&mut program, &mut draw),
        _ => {}
    }
    program
}

/// Adds a device, and requests to it at random places of all jobs.
fn add_device(program: &mut Program, draw: &mut RandomDraws) {
    program.device = Some(Device { interrupt: INTERRUPT, channels: CHANNELS[draw.integer(0, 3)] });
    let share = draw.log_between(0.02, 0.4);
    let service = draw.log_between(100.0 * US, 4.0 * MS);
    for phase in &mut program.phases {
        let jobs = match phase {
            Phase::Serial(job) => std::slice::from_mut(job),
            Phase::Parallel { jobs, .. } => jobs.as_mut_slice(),
        };
        for job in jobs {
            insert_steps(job, draw, share / service, |draw| {
                Step::Request((service * draw.exponential()).max(20.0 * US))
            });
        }
    }
}

/// Adds a lock that threads hold across waits for the device or a timer.
fn add_lock_across_waits(program: &mut Program, draw: &mut RandomDraws) {
    let uses_threads =
        |phase: &Phase| matches!(phase, Phase::Parallel { style, .. } if !style.uses_processes());
    if !program.phases.iter().any(uses_threads) {
        for phase in &mut program.phases {
            if let Phase::Parallel { style, .. } = phase {
                *style = Style::ThreadPool;
            }
        }
    }
    let lock = program.locks.len();
    program.locks.push(Lock { kind: LockKind::Futex, growth: 0.0 });
    let share = draw.log_between(0.005, 0.3);
    let mean = draw.log_between(100.0 * US, 2.0 * MS).max(share * program.demand() / MAX_HOLDS);
    let by_device = program.device.is_some() && draw.chance(0.5);
    for phase in program.phases.iter_mut().filter(|phase| uses_threads(phase)) {
        let Phase::Parallel { jobs, .. } = phase else { continue };
        for job in jobs {
            insert_steps(job, draw, share / mean, |draw| {
                let time = (mean * draw.exponential()).max(20.0 * US);
                let wait = if by_device { HeldWait::Device(time) } else { HeldWait::Timer(time) };
                Step::HoldAcross { lock, wait }
            });
        }
    }
}

/// Makes every parallel phase a fork-join pool.
fn add_chains(program: &mut Program, draw: &mut RandomDraws) {
    let wakes = if draw.chance(0.5) { Wakes::One } else { Wakes::All };
    let own_work = if draw.chance(0.5) { 0.0 } else { draw.log_between(5.0 * US, 100.0 * US) };
    for phase in &mut program.phases {
        if let Phase::Parallel { style, handout_cost, jobs } = phase {
            let chains = (draw.log_between(2.0, 64.0) as usize).min(jobs.len());
            (*style, *handout_cost) = (Style::Chains { chains, wakes }, own_work);
        }
    }
}

/// Inserts steps into the work of a job at this rate per nanosecond.
fn insert_steps(
    job: &mut Job,
    draw: &mut RandomDraws,
    rate: f64,
    mut step: impl FnMut(&mut RandomDraws) -> Step,
) {
    let mut steps = Job::new();
    for known in job.drain(..) {
        let Step::Work(ns) = known else {
            steps.push(known);
            continue;
        };
        let mut cuts: Vec<f64> = (0..draw.poisson(rate * ns)).map(|_| draw.between(0.0, ns)).collect();
        cuts.sort_by(f64::total_cmp);
        let mut done = 0.0;
        for at in cuts {
            steps.extend([Step::Work(at - done), step(draw)]);
            done = at;
        }
        steps.push(Step::Work(ns - done));
    }
    *job = steps;
}
