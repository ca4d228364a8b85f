//! Generator of a program from a seed: the drawn quantities and their distributions.
//!
//! The ranges are wide rather than typical. Each limit between 1 and 16 CPUs should affect many of
//! the programs, and leave many unaffected.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::machine::{Capacity, MachineCosts, Memory};
use super::program::{Device, Job, Lock, LockKind, Phase, Program, Step, Style};

pub(super) const US: f64 = 1e3;
pub(super) const MS: f64 = 1e6;
const S: f64 = 1e9;

/// Upper limit of the holds of one lock in a program; more would only lengthen the simulation.
pub(super) const MAX_HOLDS: f64 = 1500.0;
/// Number of the device's interrupt.
pub(super) const INTERRUPT: u32 = 24;
/// Upper limit of a piece of work; each piece has its own noise.
const MAX_PIECE: f64 = 20.0 * MS;

/// Generates the program of a seed. The result must never change, because a change makes all
/// earlier scores incomparable.
pub(crate) fn generate_program(seed: u64) -> Program {
    let mut draw = RandomDraws(ChaCha8Rng::seed_from_u64(seed));
    let work = draw.between(0.5 * S, 3.0 * S);
    let serial = work * draw.log_between(0.002, 0.25);
    let device = draw.chance(0.3).then_some(Device { interrupt: INTERRUPT, channels: 1 });
    let main_style = draw.style();
    let locks = draw.locks(main_style);
    // Locks and requests of each phase's jobs; the lengths refer to the whole program.
    let rates = ResourceRates::draw(&mut draw, &locks, device.is_some(), work);

    let parallel = draw.integer(1, 4);
    let min_jobs = if draw.chance(0.5) { 8 } else { 48 };
    let parts = draw.parts(parallel, work - serial);
    let gaps = draw.parts(parallel + 1, serial);
    let mut phases = Vec::new();
    for (gap, part) in gaps.iter().zip(parts.iter().map(Some).chain([None])) {
        phases.push(Phase::Serial(rates.job(&mut draw, *gap, JobPlace::Serial)));
        let Some(part) = part else { continue };
        let style = if draw.chance(0.75) { main_style } else { draw.style() };
        let jobs = draw.integer(min_jobs, 64);
        let sizes = draw.sizes(jobs, *part);
        let place = if style.uses_processes() { JobPlace::Process } else { JobPlace::Thread };
        let most = 0.2 * part / jobs as f64;
        let handout_cost =
            if draw.chance(0.5) { 0.0 } else { draw.log_between(5.0 * US, 500.0 * US).min(most) };
        let jobs = sizes.iter().map(|size| rates.job(&mut draw, *size, place)).collect();
        phases.push(Phase::Parallel { style, handout_cost, jobs });
    }
    Program {
        seed,
        phases,
        locks,
        device,
        memory: draw.memory(),
        capacity: Capacity::default(),
        noise: draw.between(0.0, 0.02),
        system: draw.between(0.02, 0.4) as f32,
        machine_costs: draw.machine_costs(),
    }
}

/// Place where a job runs, which decides the resources that it can share.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JobPlace {
    Serial,
    Process,
    Thread,
}

/// Rates of locks and requests per unit of work.
struct ResourceRates {
    /// Kind, holds per nanosecond of work, mean hold time, and whether all holds are equal, for
    /// each lock.
    locks: Vec<(LockKind, f64, f64, bool)>,
    /// Requests per nanosecond of work, and mean service time.
    requests: Option<(f64, f64)>,
}

impl ResourceRates {
    fn draw(draw: &mut RandomDraws, locks: &[Lock], device: bool, work: f64) -> Self {
        let locks = locks.iter().map(|lock| {
            let share = draw.log_between(0.003, 0.2);
            let held = draw.log_between(5.0 * US, 300.0 * US).max(share * work / MAX_HOLDS);
            (lock.kind, share / held, held, draw.chance(0.3))
        });
        let locks = locks.collect();
        let requests = device.then(|| {
            let share = draw.log_between(0.02, 0.4);
            let service = draw.log_between(100.0 * US, 4.0 * MS);
            (share / service, service)
        });
        Self { locks, requests }
    }

    /// Job with this much work, and with holds and requests at random points of it.
    fn job(&self, draw: &mut RandomDraws, size: f64, place: JobPlace) -> Job {
        let mut points: Vec<(f64, Step)> = Vec::new();
        for (lock, &(kind, rate, mean, equal)) in self.locks.iter().enumerate() {
            if kind == LockKind::Futex && place != JobPlace::Thread {
                continue;
            }
            for _ in 0..draw.poisson(rate * size) {
                let held = if equal { mean } else { mean * draw.exponential() };
                let before = if kind == LockKind::Futex { 0.0 } else { held * draw.between(0.3, 1.5) };
                points.push((draw.between(0.0, size), Step::Hold { lock, before, held }));
            }
        }
        if let Some((rate, mean)) = self.requests {
            for _ in 0..draw.poisson(rate * size) {
                // No device is faster than this.
                let service = (mean * draw.exponential()).max(20.0 * US);
                points.push((draw.between(0.0, size), Step::Request(service)));
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut job = Vec::new();
        let mut done = 0.0;
        for (at, step) in points.into_iter().map(|(at, step)| (at, Some(step))).chain([(size, None)]) {
            let pieces = ((at - done) / MAX_PIECE).ceil();
            job.extend((0..pieces as u32).map(|_| Step::Work((at - done) / pieces)));
            job.extend(step);
            done = at;
        }
        job
    }
}

/// Random numbers from the distributions in use.
pub(super) struct RandomDraws(pub(super) ChaCha8Rng);

impl RandomDraws {
    pub(super) fn chance(&mut self, p: f64) -> bool {
        self.0.random::<f64>() < p
    }

    pub(super) fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.0.random::<f64>()
    }

    pub(super) fn log_between(&mut self, from: f64, to: f64) -> f64 {
        self.between(from.ln(), to.ln()).exp()
    }

    pub(super) fn integer(&mut self, from: usize, to: usize) -> usize {
        self.0.random_range(from..=to)
    }

    /// Exponential value with mean one.
    pub(super) fn exponential(&mut self) -> f64 {
        -(1.0 - self.0.random::<f64>()).ln()
    }

    fn normal(&mut self) -> f64 {
        // Method: Box & Muller 1958.
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.0.random::<f64>()).cos()
    }

    /// Poisson value by counting arrivals; the means are small.
    pub(super) fn poisson(&mut self, mean: f64) -> u32 {
        let (mut count, mut at) = (0, self.exponential());
        while at < mean {
            count += 1;
            at += self.exponential();
        }
        count
    }

    /// Parts of a whole, none of them tiny.
    fn parts(&mut self, count: usize, whole: f64) -> Vec<f64> {
        let weights: Vec<f64> = (0..count).map(|_| self.between(0.2, 1.0)).collect();
        scale_to_sum(&weights, whole)
    }

    fn sizes(&mut self, count: usize, whole: f64) -> Vec<f64> {
        let shape = self.integer(0, 2);
        let sigma = self.between(0.2, 1.0);
        let weights: Vec<f64> = (0..count)
            .map(|_| match shape {
                // The offset keeps every job non-empty.
                0 => 0.02 + self.exponential(),
                1 => (sigma * self.normal()).exp(),
                _ => 1.0,
            })
            .collect();
        scale_to_sum(&weights, whole)
    }

    fn style(&mut self) -> Style {
        match self.integer(0, 99) {
            0..20 => Style::Processes { shell: false },
            20..32 => Style::Processes { shell: true },
            32..44 => Style::ProcessPool,
            44..64 => Style::ThreadPool,
            64..76 => Style::Dealt,
            76..88 => Style::Team { dynamic: false },
            _ => Style::Team { dynamic: true },
        }
    }

    /// Locks of the program. A program with mostly processes gets kernel locks, because its
    /// processes share no futex.
    fn locks(&mut self, main_style: Style) -> Vec<Lock> {
        let count = [0, 0, 0, 0, 1, 1, 1, 1, 2, 3][self.integer(0, 9)];
        let locks = (0..count).map(|_| {
            let user = !main_style.uses_processes() && self.chance(0.6);
            let kernel = if self.chance(0.5) { LockKind::Spin } else { LockKind::Sleep };
            let kind = if user { LockKind::Futex } else { kernel };
            Lock { kind, growth: self.log_between(0.02, 0.3) }
        });
        locks.collect()
    }

    /// Memory slowdown. Three of five programs have one, up to a factor of 1.8 with 16 CPUs.
    fn memory(&mut self) -> Memory {
        if self.chance(0.4) {
            return Memory::default();
        }
        let at_16 = self.between(1.0, 1.8);
        let (p, b) = (self.between(0.6, 1.6), self.between(0.0, 0.2));
        Memory { a: (at_16 - 1.0) * (1.0 + 15.0 * b) / 15f64.powf(p), p, b }
    }

    fn machine_costs(&mut self) -> MachineCosts {
        MachineCosts {
            wake_latency: self.log_between(2.0 * US, 20.0 * US) as u64,
            switch: self.between(0.7 * US, 2.0 * US),
            fork: self.log_between(50.0 * US, 200.0 * US),
            exec: self.log_between(150.0 * US, 500.0 * US),
            exit: self.log_between(40.0 * US, 150.0 * US),
            clone: self.between(10.0 * US, 25.0 * US),
            thread_exit: self.between(4.0 * US, 12.0 * US),
            call: self.between(0.5 * US, 2.0 * US),
        }
    }
}

/// Values in these proportions with this sum.
fn scale_to_sum(weights: &[f64], sum: f64) -> Vec<f64> {
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| sum * weight / all).collect()
}
