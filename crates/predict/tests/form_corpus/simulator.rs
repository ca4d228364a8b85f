//! Simulation of tasks with dependencies and one lock on CPUs whose speed depends on how many are
//! busy.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Program with its machine.
pub(super) struct Case {
    tasks: Vec<Task>,
    pub(super) machine: Machine,
}

/// Task: pieces of work, alternately free and under the lock, after other tasks.
struct Task {
    pieces: Vec<f64>,
    after: Vec<usize>,
}

/// Machine: what its busy CPUs do to each other.
#[derive(Clone, Copy, Default)]
pub(super) struct Machine {
    /// Number of busy CPUs whose demand the memory can serve; absent without a limit.
    bandwidth: Option<f64>,
    /// Number of cores, each with two hardware threads; absent without siblings.
    pub(super) cores: Option<u32>,
    /// Work of a second hardware thread of a core, relative to that of the first alone.
    sibling: f64,
    /// Loss of clock rate for each doubling of the busy CPUs.
    clock_loss: f64,
}

impl Machine {
    /// Work that each of `busy` CPUs does in a unit of time.
    fn speed(&self, busy: usize) -> f64 {
        let busy = busy as f64;
        let mut capacity = busy;
        if let Some(cores) = self.cores.map(f64::from) {
            capacity = busy.min(cores) + self.sibling * (busy - cores).clamp(0.0, cores);
        }
        if let Some(bandwidth) = self.bandwidth {
            capacity = capacity.min(bandwidth);
        }
        capacity / busy * (1.0 - self.clock_loss * busy.log2()).max(0.3)
    }
}

/// Case of a seed.
pub(super) fn generate_case(seed: u64) -> Case {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let tasks = match rng.random_range(0..4) {
        0 => fork_join(&mut rng, 0.0),
        1 => random_graph(&mut rng),
        2 => {
            let held = log_uniform(&mut rng, 0.002, 0.3);
            fork_join(&mut rng, held)
        }
        _ => fixed_threads(&mut rng),
    };
    let mut machine = Machine { clock_loss: 0.04 * rng.random::<f64>(), ..Machine::default() };
    match rng.random_range(0..10) {
        0 | 1 => machine.bandwidth = Some(log_uniform(&mut rng, 1.5, 64.0)),
        2 | 3 => {
            machine.cores = Some([4, 8, 16, 32][rng.random_range(0..4)]);
            machine.sibling = 0.1 + 0.4 * rng.random::<f64>();
        }
        _ => {}
    }
    Case { tasks, machine }
}

fn log_uniform(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(rng.random())
}

/// Length of a task: the spread between tasks of one program is the same, and differs between
/// programs.
fn length(rng: &mut ChaCha8Rng, spread: f64) -> f64 {
    let sum: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    (spread * sum).exp()
}

/// Phases of one serial task and many parallel ones, of which a share `held` is under the lock.
fn fork_join(rng: &mut ChaCha8Rng, held: f64) -> Vec<Task> {
    let (phases, spread) = (rng.random_range(1..6), rng.random_range(0.0..1.0));
    let serial = log_uniform(rng, 0.0005, 0.2);
    let mut tasks: Vec<Task> = Vec::new();
    let mut before: Vec<usize> = Vec::new();
    for _ in 0..phases {
        let width = log_uniform(rng, 30.0, 400.0) as usize;
        tasks.push(Task { pieces: vec![serial * width as f64], after: std::mem::take(&mut before) });
        let first = tasks.len() - 1;
        for _ in 0..width {
            let work = length(rng, spread);
            let turns = if held > 0.0 { 4 } else { 1 };
            let mut pieces = Vec::new();
            for _ in 0..turns {
                let turn = work / f64::from(turns);
                let hold = turn * held * length(rng, 0.8);
                pieces.push((turn - hold).max(0.0));
                pieces.push(hold);
            }
            if held == 0.0 {
                pieces.truncate(1);
            }
            before.push(tasks.len());
            tasks.push(Task { pieces, after: vec![first] });
        }
    }
    tasks
}

/// Tasks that each wait for up to three of those shortly before.
fn random_graph(rng: &mut ChaCha8Rng) -> Vec<Task> {
    let (count, spread) = (log_uniform(rng, 50.0, 600.0) as usize, rng.random_range(0.0..1.2));
    let reach = log_uniform(rng, 10.0, 300.0) as usize;
    let task = |index: usize| {
        let most = rng.random_range(0..=3_usize);
        let after = (0..most).filter_map(|_| index.checked_sub(rng.random_range(1..=reach))).collect();
        Task { pieces: vec![length(rng, spread)], after }
    };
    (0..count).map(task).collect()
}

/// As many equal tasks as threads, after a short serial start.
fn fixed_threads(rng: &mut ChaCha8Rng) -> Vec<Task> {
    let (threads, rounds) = (log_uniform(rng, 6.0, 200.0) as usize, rng.random_range(1..8));
    let mut tasks =
        vec![Task { pieces: vec![0.01 * threads as f64 * rng.random::<f64>()], after: Vec::new() }];
    let mut before = vec![0];
    for _ in 0..rounds {
        let first = tasks.len();
        tasks.extend((0..threads).map(|_| Task { pieces: vec![length(rng, 0.05)], after: before.clone() }));
        before = (first..tasks.len()).collect();
    }
    tasks
}

impl Case {
    /// Elapsed time on `cpus` CPUs: a free CPU takes the first task that can start, threads wait
    /// for the lock on their CPU and get it in the order of arrival.
    pub(super) fn elapsed(&self, cpus: u32) -> f64 {
        let mut missing: Vec<usize> = self.tasks.iter().map(|task| task.after.len()).collect();
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); self.tasks.len()];
        for (index, task) in self.tasks.iter().enumerate() {
            task.after.iter().for_each(|before| followers[*before].push(index));
        }
        let mut ready: std::collections::VecDeque<usize> =
            (0..self.tasks.len()).filter(|index| missing[*index] == 0).collect();
        // Running tasks, with their piece and its remaining work.
        let mut running: Vec<(usize, usize, f64)> = Vec::new();
        let mut queue: std::collections::VecDeque<usize> = std::collections::VecDeque::new();
        let mut elapsed = 0.0;
        loop {
            while running.len() < cpus as usize {
                let Some(task) = ready.pop_front() else { break };
                running.push((task, 0, self.tasks[task].pieces[0]));
            }
            if running.is_empty() {
                return elapsed;
            }
            let speed = self.machine.speed(running.len());
            // Only the first of the queue works under the lock.
            let works =
                |(task, piece, _): &(usize, usize, f64)| piece % 2 == 0 || queue.front() == Some(task);
            let step = running
                .iter()
                .filter(|entry| works(entry))
                .map(|entry| entry.2)
                .fold(f64::INFINITY, f64::min);
            elapsed += step / speed;
            let holder = queue.front().copied();
            let mut ended = Vec::new();
            for (task, piece, left) in &mut running {
                if *piece % 2 == 1 && holder != Some(*task) {
                    continue;
                }
                *left -= step;
                if *left > 1e-12 {
                    continue;
                }
                if *piece % 2 == 1 {
                    queue.pop_front();
                }
                *piece += 1;
                match self.tasks[*task].pieces.get(*piece) {
                    Some(work) => {
                        *left = *work;
                        if *piece % 2 == 1 {
                            queue.push_back(*task);
                        }
                    }
                    None => ended.push(*task),
                }
            }
            running.retain(|(task, ..)| !ended.contains(task));
            for follower in ended.iter().flat_map(|task| &followers[*task]) {
                missing[*follower] -= 1;
                if missing[*follower] == 0 {
                    ready.push_back(*follower);
                }
            }
        }
    }
}
