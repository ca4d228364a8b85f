//! A program from a seed: what is drawn, and from which distribution.
//!
//! The ranges are wide rather than typical: each limit that a program can meet between 1 and 16 CPUs is to be met by
//! many of the programs, and by many not.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::program::{Device, Gear, Job, Lock, LockKind, Memory, Phase, Program, Step, Style};

const US: f64 = 1e3;
const MS: f64 = 1e6;
const S: f64 = 1e9;

/// Holds of one lock in a whole program, at most: more would only take longer to simulate.
const MOST_HOLDS: f64 = 1500.0;
/// A piece of work is not longer than this; each has a noise of its own.
const LONGEST_PIECE: f64 = 20.0 * MS;

/// The program of a seed. The same one for ever: a change here makes all earlier scores incomparable.
pub(crate) fn generate(seed: u64) -> Program {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(seed));
    let work = draw.between(0.5 * S, 3.0 * S);
    let serial = work * draw.log_between(0.002, 0.25);
    let device = draw.chance(0.3).then_some(Device { interrupt: 24 });
    let favourite = draw.style();
    let locks = draw.locks(favourite);
    // What each phase's jobs are spiced with; the lengths are of the whole program.
    let spice = Spice::draw(&mut draw, &locks, device.is_some(), work);

    let parallel = draw.whole(1, 4);
    let fewest_jobs = if draw.chance(0.5) { 8 } else { 48 };
    let parts = draw.parts(parallel, work - serial);
    let gaps = draw.parts(parallel + 1, serial);
    let mut phases = Vec::new();
    for (gap, part) in gaps.iter().zip(parts.iter().map(Some).chain([None])) {
        phases.push(Phase::Serial(spice.job(&mut draw, *gap, Place::Serial)));
        let Some(part) = part else { continue };
        let style = if draw.chance(0.75) { favourite } else { draw.style() };
        let jobs = draw.whole(fewest_jobs, 64);
        let sizes = draw.sizes(jobs, *part);
        let place = if style.by_processes() { Place::Process } else { Place::Thread };
        let most = 0.2 * part / jobs as f64;
        let handing = if draw.chance(0.5) { 0.0 } else { draw.log_between(5.0 * US, 500.0 * US).min(most) };
        let jobs = sizes.iter().map(|size| spice.job(&mut draw, *size, place)).collect();
        phases.push(Phase::Parallel { style, handing, jobs });
    }
    Program {
        seed,
        phases,
        locks,
        device,
        memory: draw.memory(),
        noise: draw.between(0.0, 0.02),
        system: draw.between(0.02, 0.4) as f32,
        gear: draw.gear(),
    }
}

/// By whom a job is done, which decides what it can share.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Serial,
    Process,
    Thread,
}

/// Locks and requests, by how often they come in the work.
struct Spice {
    /// Of each lock: holds a nanosecond of work, the mean time held, and whether all holds are as long.
    locks: Vec<(LockKind, f64, f64, bool)>,
    /// Requests a nanosecond of work, and the mean service.
    requests: Option<(f64, f64)>,
}

impl Spice {
    fn draw(draw: &mut Draw, locks: &[Lock], device: bool, work: f64) -> Self {
        let locks = locks.iter().map(|lock| {
            let share = draw.log_between(0.003, 0.2);
            let held = draw.log_between(5.0 * US, 300.0 * US).max(share * work / MOST_HOLDS);
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

    /// A job of this much work, with the rest at random points of it.
    fn job(&self, draw: &mut Draw, size: f64, place: Place) -> Job {
        let mut points: Vec<(f64, Step)> = Vec::new();
        for (lock, &(kind, rate, mean, equal)) in self.locks.iter().enumerate() {
            if kind == LockKind::Futex && place != Place::Thread {
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
                // No device is quicker than this.
                let service = (mean * draw.exponential()).max(20.0 * US);
                points.push((draw.between(0.0, size), Step::Request(service)));
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut job = Vec::new();
        let mut done = 0.0;
        for (at, step) in points.into_iter().map(|(at, step)| (at, Some(step))).chain([(size, None)]) {
            let pieces = ((at - done) / LONGEST_PIECE).ceil();
            job.extend((0..pieces as u32).map(|_| Step::Work((at - done) / pieces)));
            job.extend(step);
            done = at;
        }
        job
    }
}

/// Random numbers of the shapes that are needed.
struct Draw(ChaCha8Rng);

impl Draw {
    fn chance(&mut self, p: f64) -> bool {
        self.0.random::<f64>() < p
    }

    fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.0.random::<f64>()
    }

    fn log_between(&mut self, from: f64, to: f64) -> f64 {
        self.between(from.ln(), to.ln()).exp()
    }

    fn whole(&mut self, from: usize, to: usize) -> usize {
        self.0.random_range(from..=to)
    }

    /// Of mean one.
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.0.random::<f64>()).ln()
    }

    fn normal(&mut self) -> f64 {
        // Box & Muller 1958.
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.0.random::<f64>()).cos()
    }

    /// By counting arrivals; the means here are small.
    fn poisson(&mut self, mean: f64) -> u32 {
        let (mut count, mut at) = (0, self.exponential());
        while at < mean {
            count += 1;
            at += self.exponential();
        }
        count
    }

    /// So many parts of a whole, none of them tiny.
    fn parts(&mut self, count: usize, whole: f64) -> Vec<f64> {
        let weights: Vec<f64> = (0..count).map(|_| self.between(0.2, 1.0)).collect();
        scaled(&weights, whole)
    }

    fn sizes(&mut self, count: usize, whole: f64) -> Vec<f64> {
        let shape = self.whole(0, 2);
        let sigma = self.between(0.2, 1.0);
        let weights: Vec<f64> = (0..count)
            .map(|_| match shape {
                // None is empty.
                0 => 0.02 + self.exponential(),
                1 => (sigma * self.normal()).exp(),
                _ => 1.0,
            })
            .collect();
        scaled(&weights, whole)
    }

    fn style(&mut self) -> Style {
        match self.whole(0, 99) {
            0..20 => Style::Processes { shell: false },
            20..32 => Style::Processes { shell: true },
            32..44 => Style::ProcessPool,
            44..64 => Style::ThreadPool,
            64..76 => Style::Dealt,
            76..88 => Style::Team { dynamic: false },
            _ => Style::Team { dynamic: true },
        }
    }

    /// Where most jobs are processes, the kernel's: they share no futex here.
    fn locks(&mut self, favourite: Style) -> Vec<Lock> {
        let count = [0, 0, 0, 0, 1, 1, 1, 1, 2, 3][self.whole(0, 9)];
        let locks = (0..count).map(|_| {
            let user = !favourite.by_processes() && self.chance(0.6);
            let kernel = if self.chance(0.5) { LockKind::Spin } else { LockKind::Sleep };
            let kind = if user { LockKind::Futex } else { kernel };
            Lock { kind, growth: self.log_between(0.02, 0.3) }
        });
        locks.collect()
    }

    /// Three times of five CPUs slow each other down; with 16 of them up to 1.8 times.
    fn memory(&mut self) -> Memory {
        if self.chance(0.4) {
            return Memory::default();
        }
        let at_16 = self.between(1.0, 1.8);
        let (p, b) = (self.between(0.6, 1.6), self.between(0.0, 0.2));
        Memory { a: (at_16 - 1.0) * (1.0 + 15.0 * b) / 15f64.powf(p), p, b }
    }

    fn gear(&mut self) -> Gear {
        Gear {
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

/// In these proportions, with this sum.
fn scaled(weights: &[f64], sum: f64) -> Vec<f64> {
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| sum * weight / all).collect()
}
