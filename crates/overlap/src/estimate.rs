//! Elapsed times of a build on other numbers of CPUs, from a run in series.
//!
//! The run in series tells what the build did between its commands, how long each command took, and
//! at which places the build would have waited. A replay goes through these steps with commands
//! beside the build. As many processes as there are CPUs run at full speed, and more share the CPUs
//! evenly. Memory, disks and SMT have no effect here.
//!
//! Pure: `supervisor::serial_steps` records the steps.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// One step of the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The build itself ran for this time.
    Work(Duration),
    /// It deferred the next command.
    Defer,
    /// It needs an output of a command.
    Need(usize),
    /// It needs the end of all commands so far.
    NeedAll,
}

/// A deferred command of the run in series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SerialCommand {
    /// Its elapsed time alone.
    pub(crate) elapsed: Duration,
    /// Earlier commands that must end before it starts.
    pub(crate) after: Vec<usize>,
}

/// A run in series.
#[derive(Debug, Default)]
pub(crate) struct SerialRun {
    pub(crate) steps: Vec<Step>,
    pub(crate) commands: Vec<SerialCommand>,
}

/// Estimated elapsed time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) cpus: usize,
    pub(crate) elapsed_s: f64,
    /// Speedup over the run in series.
    pub(crate) speedup: f64,
}

impl SerialRun {
    /// Adds time of the build itself.
    pub(crate) fn add_work(&mut self, elapsed: Duration) {
        match self.steps.last_mut() {
            Some(Step::Work(before)) => *before += elapsed,
            _ => self.steps.push(Step::Work(elapsed)),
        }
    }

    /// Time of the whole run.
    pub(crate) fn elapsed(&self) -> Duration {
        let work = self.steps.iter().map(|step| match step {
            Step::Work(elapsed) => *elapsed,
            _ => Duration::ZERO,
        });
        work.chain(self.commands.iter().map(|command| command.elapsed)).sum()
    }

    /// Estimates the build on this many CPUs, with as many commands at one time.
    pub(crate) fn estimate(&self, cpus: usize) -> Estimate {
        let elapsed_s = Replay::new(self, cpus).run();
        Estimate { cpus, elapsed_s, speedup: self.elapsed().as_secs_f64() / elapsed_s.max(f64::MIN_POSITIVE) }
    }
}

/// State of the build itself.
#[derive(Debug, Clone, Copy, PartialEq)]
enum BuildState {
    /// Seconds until its next step.
    Working(f64),
    /// It waits for the commands below this place, or for this one.
    Waiting(Step),
    Ended,
}

/// A replay of the steps on some CPUs.
struct Replay<'a> {
    run: &'a SerialRun,
    cpus: usize,
    next_step: usize,
    build: BuildState,
    /// Number of deferred commands.
    deferred: usize,
    /// Commands that wait for their start, in the serial order.
    waiting: Vec<usize>,
    /// Seconds until the end of each running command.
    running: BTreeMap<usize, f64>,
    has_ended: Vec<bool>,
}

impl<'a> Replay<'a> {
    fn new(run: &'a SerialRun, cpus: usize) -> Self {
        Self {
            run,
            cpus,
            next_step: 0,
            build: BuildState::Working(0.0),
            deferred: 0,
            waiting: Vec::new(),
            running: BTreeMap::new(),
            has_ended: vec![false; run.commands.len()],
        }
    }

    /// Runs to the end. Returns the elapsed time in seconds.
    fn run(mut self) -> f64 {
        let mut elapsed = 0.0;
        loop {
            self.advance_build();
            self.start_commands();
            let build = match self.build {
                BuildState::Working(rest) => Some(rest),
                _ => None,
            };
            let active = self.running.len() + usize::from(build.is_some());
            let Some(next) = self.running.values().copied().chain(build).reduce(f64::min) else {
                return elapsed;
            };
            // Seconds of each process in one second.
            let rate = (self.cpus as f64 / active as f64).min(1.0);
            elapsed += next / rate;
            self.pass(next);
        }
    }

    /// Lets every process run for this many seconds.
    fn pass(&mut self, seconds: f64) {
        if let BuildState::Working(rest) = &mut self.build {
            *rest -= seconds;
        }
        for rest in self.running.values_mut() {
            *rest -= seconds;
        }
        let ended: Vec<usize> =
            self.running.iter().filter(|(_, rest)| **rest <= 0.0).map(|(command, _)| *command).collect();
        for command in ended {
            self.running.remove(&command);
            self.has_ended[command] = true;
        }
    }

    /// Goes through the steps that take no time.
    fn advance_build(&mut self) {
        loop {
            match self.build {
                BuildState::Working(rest) if rest > 0.0 => return,
                BuildState::Waiting(need) if !self.is_met(need) => return,
                BuildState::Ended => return,
                BuildState::Working(_) | BuildState::Waiting(_) => {}
            }
            self.build = match self.run.steps.get(self.next_step) {
                None => BuildState::Ended,
                Some(Step::Work(elapsed)) => BuildState::Working(elapsed.as_secs_f64()),
                Some(Step::Defer) => {
                    self.waiting.push(self.deferred);
                    self.deferred += 1;
                    BuildState::Working(0.0)
                }
                Some(need) => BuildState::Waiting(*need),
            };
            self.next_step += 1;
        }
    }

    fn is_met(&self, need: Step) -> bool {
        match need {
            Step::Need(command) => self.has_ended[command],
            _ => self.has_ended[..self.deferred].iter().all(|has_ended| *has_ended),
        }
    }

    fn start_commands(&mut self) {
        while self.running.len() < self.cpus
            && let Some(place) = self.waiting.iter().position(|command| self.is_ready(*command))
        {
            let command = self.waiting.remove(place);
            self.running.insert(command, self.run.commands[command].elapsed.as_secs_f64());
        }
    }

    fn is_ready(&self, command: usize) -> bool {
        self.run.commands[command].after.iter().all(|earlier| self.has_ended[*earlier])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn command(seconds: u32, after: &[usize]) -> SerialCommand {
        SerialCommand { elapsed: SECOND * seconds, after: after.to_vec() }
    }

    /// Four compilations of two seconds each, and their link of one.
    fn project(need: &[Step]) -> SerialRun {
        let mut steps = vec![Step::Defer; 5];
        steps.extend(need);
        let mut commands = vec![command(2, &[]); 4];
        commands.push(command(1, &[0, 1, 2, 3]));
        SerialRun { steps, commands }
    }

    fn seconds(run: &SerialRun, cpus: usize) -> f64 {
        run.estimate(cpus).elapsed_s
    }

    #[test]
    fn compilations_are_divided_and_the_link_follows_them() {
        let run = project(&[]);
        assert_eq!(run.elapsed(), SECOND * 9);
        assert_eq!([1, 2, 4, 8].map(|cpus| seconds(&run, cpus)), [9.0, 5.0, 3.0, 3.0]);
        assert_eq!(run.estimate(2).speedup, 1.8);
    }

    #[test]
    fn work_of_the_build_goes_on_beside_its_commands_until_it_needs_one() {
        // It works for a second, and then needs the first command, or all.
        let beside = project(&[Step::Work(SECOND)]);
        // Five processes on four CPUs, for a second of each.
        assert_eq!(seconds(&beside, 4), 3.25);
        let after_all = project(&[Step::NeedAll, Step::Work(SECOND)]);
        assert_eq!(seconds(&after_all, 4), 4.0);
        let after_first = project(&[Step::Need(0), Step::Work(SECOND)]);
        assert_eq!(seconds(&after_first, 8), 3.0);
    }

    #[test]
    fn more_processes_than_cpus_share_them() {
        let run = SerialRun { steps: vec![Step::Defer, Step::Work(SECOND)], commands: vec![command(1, &[])] };
        assert_eq!([1, 2].map(|cpus| seconds(&run, cpus)), [2.0, 1.0]);
    }
}
