//! Makes one run of the command according to the plan, and reports its measurements.
//!
//! This module and its submodules contain all effects: limits, hooks, caches, the process itself.
//! It does not choose the next run, and computes nothing from several runs.

mod error;
mod hooks;
mod metric;
mod orphans;
mod start;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use morecores_study::{
    Bytes, Cache, Cell, Command, Exit, InCell, Limit, Nanos, OtherProgram, Phase, Plan, Point, Quiet, Run,
    RunRecord,
};

use crate::account::Account;
use crate::capture::Capture;
use crate::cold::Cold;
use crate::control::Control;
use crate::done_once::FirstRoundRuns;
use crate::environment::Environment;
use crate::input::{Input, Size};
use crate::observer::{NoObserver, ObservedRun, RunObserver};
use crate::program;
use crate::spawn::{self, ChildStack, Image, Terminal};
use crate::sweep::{Executor, Trial};
use morecores_machine::activity::{ActivityMonitor, OtherProgramMonitor};
use morecores_machine::cgroup::{GroupPurpose, Hierarchies, OomKills, StudyGroup, Survivors};
use morecores_machine::limit::{LimitError, Limiter};
use morecores_machine::undo::{Journal, UndoError};
use tracing::info;

pub use crate::account::Accounting;
pub use error::ExecuteError;
pub use hooks::HookError;
pub use metric::{MetricError, MetricFault};

use hooks::Hook;
use metric::MetricReaders;

/// Smallest length of a run after which the study has time to watch the machine while nothing is
/// measured.
const LONG_RUN: Nanos = Nanos::from_millis(1_000);
/// Pause after a change of the online CPUs, so that the kernel can move tasks and interrupts.
const SETTLE: Duration = Duration::from_millis(50);

/// A completed run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Measurements of the run.
    pub run: Run,
    /// Tail of a failed command's output; empty for a successful command.
    pub output: String,
    /// Reason for a missing figure, if any.
    pub no_figure: Option<MetricError>,
    /// Other programs that worked most since the first run; present only after a look at the
    /// processes.
    pub other_programs: Option<Vec<OtherProgram>>,
}

impl AsRef<Run> for Outcome {
    fn as_ref(&self) -> &Run {
        &self.run
    }
}

/// Makes runs on this machine.
#[derive(Debug)]
pub struct ProcessExecutor {
    command: Command,
    plan: Plan,
    environment: Environment,
    control: Arc<Control>,
    images: HashMap<Cell, Image>,
    capture: Capture,
    input: Input,
    stack: ChildStack,
    terminal: Terminal,
    limiter: Limiter,
    group: Option<StudyGroup>,
    account: Account,
    oom_kills: OomKills,
    watch: ActivityMonitor,
    quiet: Option<Quiet>,
    other_programs: OtherProgramMonitor,
    cold: Option<Cold>,
    metrics: MetricReaders,
    early: FirstRoundRuns,
    /// The last field, so that the journal restores the system after all other fields are dropped.
    journal: Journal,
}

impl ProcessExecutor {
    /// Prepares everything that the plan needs, and changes the system accordingly. Must be called
    /// on the thread that makes the runs, and dropped there.
    ///
    /// # Errors
    /// The plan cannot be carried out on this machine. The system is restored.
    pub fn new(
        command: &Command,
        plan: &Plan,
        input: Input,
        control: Arc<Control>,
    ) -> Result<Self, ExecuteError> {
        Self::with_accounting(command, plan, input, control, Accounting::Best)
    }

    /// Like [`new`](Self::new), with a choice of the estimator of user and system time, for
    /// comparisons of estimators.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn with_accounting(
        command: &Command,
        plan: &Plan,
        input: Input,
        control: Arc<Control>,
        accounting: Accounting,
    ) -> Result<Self, ExecuteError> {
        let io_error = |action| move |error| ExecuteError::Io { action, error };
        spawn::become_subreaper().map_err(io_error("adopt the command's orphans"))?;
        let environment = Environment::from_this_process(plan);
        let metrics = MetricReaders::new(plan, &environment.numeric_locale())?;
        environment.withhold_job_server();
        let mut images = HashMap::new();
        for point in &plan.points {
            images.insert(point.cell(), program::image(command, point, &environment)?);
        }
        // The capture precedes the move of this thread into a cgroup. The thread that drains the
        // output must not belong to the command's cgroups.
        let capture = Capture::new(&plan.output).map_err(io_error("make a pipe for the command's output"))?;
        let mut journal = Journal::new();
        let cold = match &plan.cache {
            Cache::Warm => None,
            Cache::Cold { remount } => Some(Cold::prepare(remount, &mut journal)?),
        };
        let hierarchies = Hierarchies::read_own();
        let limiter = Limiter::new(plan.limit, &mut journal)?;
        let purpose = match plan.limit {
            Limit::Affinity | Limit::Hotplug => GroupPurpose::Accounting,
            Limit::Cpuset => GroupPurpose::Cpuset,
            Limit::Quota => GroupPurpose::Quota,
        };
        let survivors = if plan.keep_survivors { Survivors::Keep } else { Survivors::End };
        let group = match StudyGroup::create(&hierarchies, purpose, survivors, &mut journal) {
            Ok(group) => Some(group),
            Err(error) if purpose.controller().is_some() => return Err(LimitError::from(error).into()),
            Err(error) => {
                info!("no cgroup counts the command: {error}");
                None
            }
        };
        for point in &plan.points {
            info!("CPU count {}: CPUs {}, limited by {}", point.cpus, point.cpu_set, plan.limit);
        }
        let oom_kills = OomKills::new(&hierarchies, group.as_ref().and_then(StudyGroup::memory));
        let mut watch = ActivityMonitor::new(&hierarchies);
        // The throttling by a quota of the plan belongs to the run, not to its surroundings.
        let copied_quota = group.as_ref().and_then(StudyGroup::v2).filter(|_| plan.limit != Limit::Quota);
        if let Some(dir) = copied_quota {
            watch.watch_throttling(dir);
        }
        let mut executor = Self {
            command: command.clone(),
            plan: plan.clone(),
            environment,
            control,
            images,
            capture,
            input,
            stack: ChildStack::new(),
            terminal: Terminal::from_this_process(),
            limiter,
            group,
            account: Account::new(accounting),
            oom_kills,
            watch,
            quiet: None,
            other_programs: OtherProgramMonitor::start(),
            cold,
            metrics,
            early: FirstRoundRuns::default(),
            journal,
        };
        executor.enter_group()?;
        Ok(executor)
    }

    fn enter_group(&mut self) -> Result<(), ExecuteError> {
        if let Some(point) = self.plan.points.last() {
            // A version 1 cpuset accepts no thread before it has CPUs.
            if self.plan.limit == Limit::Cpuset {
                self.limiter.allot(point, self.group.as_ref())?;
            }
        }
        if let Some(Err(error)) = self.group.as_mut().map(StudyGroup::enter) {
            if matches!(self.plan.limit, Limit::Cpuset | Limit::Quota) {
                return Err(LimitError::from(error).into());
            }
            info!("the cgroup is not used: {error}");
            self.group = None;
        }
        Ok(())
    }

    /// Learns the format of the command's numbers, and the work of its first run, from the study's
    /// earlier runs.
    pub fn recall(&mut self, runs: &[Run]) {
        self.metrics.recall(runs);
        runs.iter().for_each(|run| self.early.add(&self.plan, run));
    }

    /// Runs the plan's set-up command, if any.
    ///
    /// # Errors
    /// The command fails.
    pub fn set_up(&mut self) -> Result<(), ExecuteError> {
        self.hook(Hook::Setup, None)
    }

    /// Runs the plan's clean-up command, if any.
    ///
    /// # Errors
    /// The command fails.
    pub fn clean_up(&mut self) -> Result<(), ExecuteError> {
        self.control.begin_cleaning_up();
        self.hook(Hook::Cleanup, None)
    }

    /// Activity of the machine while nothing was measured; absent until a run has been long.
    pub fn quiet(&self) -> Option<Quiet> {
        self.quiet
    }

    /// Other programs that worked most since this executor was created, busiest first. Takes one
    /// more look. Must be called before traced runs, because the tracer's work does not belong to
    /// other programs.
    pub fn other_programs(&mut self) -> Vec<OtherProgram> {
        self.other_programs.sample();
        self.other_programs.busiest()
    }

    /// Restores the system now, earlier than on drop, and returns the errors.
    pub fn restore_system(&mut self) -> Vec<UndoError> {
        self.journal.undo()
    }

    fn hook(&mut self, hook: Hook, point: Option<&Point>) -> Result<(), ExecuteError> {
        self.control.wait_for_kill();
        let outside = self.group.as_ref().map_or(&[][..], StudyGroup::previous_cgroups);
        // A process that a hook leaves running, such as a server for the command, does not belong
        // to the command's tree.
        if let Some(reaper) = hooks::run(hook, &self.plan.hooks, point, &self.environment, outside)? {
            self.control.foreign.add(reaper);
        }
        Ok(())
    }
}

impl Executor<Point> for ProcessExecutor {
    type Outcome = Outcome;
    type Error = ExecuteError;

    fn execute(&mut self, trial: &Trial<Point>) -> Result<Outcome, ExecuteError> {
        let outcome = self.execute_observed(trial, &mut NoObserver)?.outcome;
        self.early.add(&self.plan, &outcome.run);
        Ok(outcome)
    }

    fn value(&self, outcome: &Outcome) -> Option<f64> {
        outcome.run.counts(&self.plan).then(|| outcome.run.value())
    }

    fn is_disturbed(&self, outcome: &Outcome) -> bool {
        outcome.run.is_disturbed()
    }

    fn is_already_done(&self) -> bool {
        !self.plan.incremental && self.early.done_once().is_some()
    }
}

impl ProcessExecutor {
    /// Makes one run while `observer` watches its process. The observer does not watch the
    /// preparations around the run.
    ///
    /// No diagnostics are emitted between the start and the end of the run's process: an event that
    /// somebody reads costs time, which would count as the command's.
    ///
    /// # Errors
    /// The run could not be made at all; [`ExecuteError::Observer`] is one such error. A later
    /// error of the observer affects only its own observations: [`ObservedRun::observed`].
    pub fn execute_observed<O>(
        &mut self,
        trial: &Trial<Point>,
        observer: &mut dyn RunObserver<Observation = O>,
    ) -> Result<ObservedRun<O>, ExecuteError> {
        let point = &trial.cell;
        if self.limiter.allot(point, self.group.as_ref())? {
            sleep(SETTLE);
            self.watch.restart();
        }
        if let Some(group) = &mut self.group {
            group.set_share(point.cpu_set.len()).map_err(LimitError::from)?;
        }
        if Hook::Prepare.is_given(&self.plan.hooks) {
            self.hook(Hook::Prepare, Some(point))?;
            self.watch.restart();
        }
        if let Some(cold) = &self.cold {
            cold.empty()?;
            self.watch.restart();
        }
        self.capture
            .clear()
            .map_err(|error| ExecuteError::Io { action: "read the output of the run before", error })?;

        // An input that --prepare creates again may have another size each time.
        let is_made_anew = Hook::Prepare.is_given(&self.plan.hooks);
        let input = self.input.for_run(if is_made_anew { Size::Free } else { Size::Fixed })?;
        if let Some(group) = &mut self.group {
            group.reset_peak();
        }
        self.control.foreign.forget_ended();
        self.oom_kills.begin();
        self.account.begin(self.group.as_mut());
        self.control.begin();
        let started = self.start(point, &input, observer);
        let timed_out = self.control.end();
        let (ended, observed) = started?;
        if ended.had_terminal && ended.exit == Exit::Signal(libc::SIGINT) {
            self.control.pass_on_interrupt();
        }
        let mut rusage = ended.rusage;
        let survivors = self.gather_orphans(&mut rusage);
        let (cpu, mut tree) = self.account.end(self.group.as_mut(), &rusage, &self.control.foreign.pids());
        tree.killed_for_memory = self.oom_kills.end();
        tree.memory_limit_bytes = self.oom_kills.limit();
        let surroundings = self.watch.run_surroundings(cpu.user_ns + cpu.system_ns, &point.cpu_set);
        if self.quiet.is_none() && ended.elapsed() >= LONG_RUN {
            self.quiet = Some(self.watch.watch_quiet_machine());
        }
        let exit = if timed_out { Exit::TimedOut } else { ended.exit };
        let ended_well = self.plan.is_success(exit);
        let tail = || self.capture.tail().unwrap_or_default();
        let (figures, no_figure) = match ended_well && self.plan.metric.is_some() {
            false => (Vec::new(), None),
            true => match self.metrics.read(&tail()) {
                Ok(figures) => (figures, None),
                Err(error) => (Vec::new(), Some(error)),
            },
        };
        let output = if ended_well && no_figure.is_none() { String::new() } else { tail() };
        let run = Run {
            index: trial.index,
            round: trial.round,
            phase: trial.phase,
            cpus: point.cpus,
            n: point.n,
            axes: point.axes.clone(),
            cpu_set: point.cpu_set.clone(),
            limit: self.plan.limit,
            started_at_ns: ended.started_at,
            elapsed_ns: ended.elapsed(),
            exit,
            cpu,
            rusage,
            max_rss_floor_bytes: own_peak(),
            tree,
            surroundings,
            metric: figures.first().map(|figure| figure.value),
            figures,
            missing: no_figure.as_ref().map(MetricError::missing),
            survivors,
            unknown: serde_json::Map::new(),
        };
        let outcome =
            Outcome { run, output, no_figure, other_programs: self.sample_other_programs(trial.phase) };
        Ok(ObservedRun { outcome, began: ended.began, ended: ended.ended, observed })
    }

    /// Busiest other programs, if a look is due. There is no look around traced runs, because the
    /// tracer itself is another program.
    fn sample_other_programs(&mut self, phase: Phase) -> Option<Vec<OtherProgram>> {
        if phase == Phase::Traced || !self.other_programs.sample_if_due() {
            return None;
        }
        self.watch.restart();
        Some(self.other_programs.busiest())
    }
}

/// Peak resident memory of this process. The child's own peak starts at this value.
fn own_peak() -> Bytes {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the rusage; all-zero bytes would be a valid rusage too.
    #[allow(unsafe_code)]
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    Bytes::from_kib(usage.ru_maxrss as u64)
}
