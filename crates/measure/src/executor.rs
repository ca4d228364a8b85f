//! Makes one run of the command as the plan says, and reports what was measured.
//!
//! Everything with an effect is here or below: limits, hooks, caches, the process itself. It decides nothing
//! about which run comes next and computes nothing from several runs.

mod error;
mod hooks;
mod metric;
mod orphans;
mod start;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use morecores_study::{Bytes, Cache, Command, Exit, Limit, Nanos, Neighbour, Phase, Plan, Point, Quiet, Run};

use crate::account::Account;
use crate::capture::Capture;
use crate::cold::Cold;
use crate::control::Control;
use crate::environment::Environment;
use crate::input::{Input, Size};
use crate::program;
use crate::spawn::{self, ChildStack, Image, Terminal};
use crate::witness::{Nobody, Witness, Witnessed};
use morecores_machine::activity::{Neighbours, Watch};
use morecores_machine::cgroup::Hierarchies;
use morecores_machine::group::{GroupError, OomKills, StudyGroup};
use morecores_machine::limit::{LimitError, Limiter};
use morecores_machine::taskstats::TaskstatsError;
use morecores_machine::undo::{Journal, UndoError};

pub use crate::account::Accounting;
pub use error::ExecuteError;
pub use hooks::HookError;
pub use metric::{MetricError, MetricFault};

use hooks::Hook;
use metric::MetricReaders;

/// A run this long shows that the study has time to spare for a look at the machine while nothing is measured.
const LONG_RUN: Nanos = Nanos::from_millis(1_000);
/// How long the machine is left alone after CPUs came or went, for the kernel to move what must move.
const SETTLE: Duration = Duration::from_millis(50);

/// One run to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Position in the study.
    pub index: u32,
    /// Its round.
    pub round: u32,
    /// Whether it will count.
    pub phase: Phase,
    /// At which CPU count.
    pub point: Point,
}

/// A run that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was measured.
    pub run: Run,
    /// The end of what a failed command printed; empty for a successful one.
    pub output: String,
    /// Reason for which a figure is missing, where one is.
    pub no_figure: Option<MetricError>,
    /// Others that worked most since the first run, where it was time for a look at them.
    pub neighbours: Option<Vec<Neighbour>>,
}

/// Makes runs. A trait, so that the sweep is tested without running anything.
pub trait Executor {
    /// Makes one run.
    ///
    /// # Errors
    /// Where it could not be made at all.
    fn execute(&mut self, trial: &Trial) -> Result<Outcome, ExecuteError>;
}

/// Makes runs on this machine.
#[derive(Debug)]
pub struct ProcessExecutor {
    command: Command,
    plan: Plan,
    environment: Environment,
    control: Arc<Control>,
    images: HashMap<(u32, u32), Image>,
    capture: Capture,
    input: Input,
    stack: ChildStack,
    terminal: Terminal,
    limiter: Limiter,
    group: Option<StudyGroup>,
    no_group: Option<GroupError>,
    account: Account,
    oom_kills: OomKills,
    watch: Watch,
    quiet: Option<Quiet>,
    neighbours: Neighbours,
    cold: Option<Cold>,
    metrics: MetricReaders,
    /// Last, so that everything above is let go of before the system is put back.
    journal: Journal,
}

impl ProcessExecutor {
    /// Makes everything ready that the plan needs, and changes the system as far as that takes. To be called on
    /// the thread that will make the runs, and dropped there.
    ///
    /// # Errors
    /// Where the plan cannot be carried out here. The system is put back.
    pub fn new(
        command: &Command,
        plan: &Plan,
        input: Input,
        control: Arc<Control>,
    ) -> Result<Self, ExecuteError> {
        Self::with_accounting(command, plan, input, control, Accounting::Best)
    }

    /// As [`new`](Self::new), with a choice of what tells user and system time: to compare estimators.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_accounting(
        command: &Command,
        plan: &Plan,
        input: Input,
        control: Arc<Control>,
        accounting: Accounting,
    ) -> Result<Self, ExecuteError> {
        let io_error = |action| move |source| ExecuteError::Io { action, source };
        spawn::become_subreaper().map_err(io_error("adopt the command's orphans"))?;
        let environment = Environment::of_this_process(plan);
        let metrics = MetricReaders::new(plan, &environment.numeric_locale())?;
        environment.withhold_job_server();
        let mut images = HashMap::new();
        for point in &plan.points {
            images.insert((point.cpus, point.n), program::image(command, point, &environment)?);
        }
        // Before this thread moves into any cgroup: who drains the output is none of the command's.
        let capture = Capture::new(&plan.output).map_err(io_error("make a pipe for the command's output"))?;
        let mut journal = Journal::new();
        let cold = match &plan.cache {
            Cache::Warm => None,
            Cache::Cold { remount } => Some(Cold::prepare(remount, &mut journal)?),
        };
        let hierarchies = Hierarchies::of_this_process();
        let limiter = Limiter::new(plan.limit, &mut journal)?;
        let limit = plan.limit == Limit::Cpuset;
        let (group, no_group) =
            match StudyGroup::create(&hierarchies, limit, plan.keep_survivors, &mut journal) {
                Ok(group) => (Some(group), None),
                Err(error) if limit => return Err(LimitError::from(error).into()),
                Err(error) => (None, Some(error)),
            };
        let oom_kills = OomKills::new(&hierarchies, group.as_ref().and_then(StudyGroup::memory));
        let mut watch = Watch::new(&hierarchies);
        if let Some(dir) = group.as_ref().and_then(StudyGroup::v2) {
            watch.throttled_in(dir);
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
            terminal: Terminal::of_this_process(),
            limiter,
            group,
            no_group,
            account: Account::new(accounting),
            oom_kills,
            watch,
            quiet: None,
            neighbours: Neighbours::watch(),
            cold,
            metrics,
            journal,
        };
        executor.enter_group()?;
        Ok(executor)
    }

    fn enter_group(&mut self) -> Result<(), ExecuteError> {
        if let Some(point) = self.plan.points.last() {
            // A version 1 cpuset takes no thread before it has CPUs.
            if self.plan.limit == Limit::Cpuset {
                self.limiter.allot(&point.cpu_set, self.group.as_ref())?;
            }
        }
        if let Some(Err(error)) = self.group.as_mut().map(StudyGroup::enter) {
            if self.plan.limit == Limit::Cpuset {
                return Err(LimitError::from(error).into());
            }
            (self.group, self.no_group) = (None, Some(error));
        }
        Ok(())
    }

    /// Why no cgroup tells the tree's CPU time, where none does.
    pub fn without_group(&self) -> Option<&GroupError> {
        self.no_group.as_ref()
    }

    /// Why the kernel's records of exits do not tell it either, where they were needed.
    pub fn without_exits(&self) -> Option<&TaskstatsError> {
        self.account.without_exits()
    }

    /// Learns from the runs that the study already has what their figures showed of the command's numbers.
    pub fn recall(&mut self, runs: &[Run]) {
        self.metrics.recall(runs);
    }

    /// Runs the plan's set-up command, if there is one.
    ///
    /// # Errors
    /// Where it fails.
    pub fn set_up(&mut self) -> Result<(), ExecuteError> {
        self.hook(Hook::Setup, None)
    }

    /// Runs the plan's clean-up command, if there is one.
    ///
    /// # Errors
    /// Where it fails.
    pub fn clean_up(&mut self) -> Result<(), ExecuteError> {
        self.control.begin_cleaning_up();
        self.hook(Hook::Cleanup, None)
    }

    /// How busy the machine was while nothing was measured; absent while no run has been long.
    pub fn quiet(&self) -> Option<Quiet> {
        self.quiet
    }

    /// Others that worked most since this was made, busiest first. Looks once more: to be called before runs are traced,
    /// since the tracer's work is none of theirs.
    pub fn neighbours(&mut self) -> Vec<Neighbour> {
        self.neighbours.look();
        self.neighbours.busiest()
    }

    /// Puts the system back now rather than on drop, and says what could not be.
    pub fn put_back(&mut self) -> Vec<UndoError> {
        self.journal.undo()
    }

    fn hook(&mut self, hook: Hook, point: Option<&Point>) -> Result<(), ExecuteError> {
        let outside = self.group.as_ref().map_or(&[][..], StudyGroup::outside);
        // What a hook leaves running, a server for the command to talk to, is none of the command's tree.
        if let Some(reaper) = hooks::run(hook, &self.plan.hooks, point, &self.environment, outside)? {
            self.control.spared.add(reaper);
        }
        Ok(())
    }
}

impl Executor for ProcessExecutor {
    fn execute(&mut self, trial: &Trial) -> Result<Outcome, ExecuteError> {
        Ok(self.execute_witnessed(trial, &mut Nobody)?.outcome)
    }
}

impl ProcessExecutor {
    /// Makes one run while `witness` watches its process, and nothing of what is done around it.
    ///
    /// # Errors
    /// Where it could not be made at all, [`ExecuteError::Witness`] among that. A witness that fails later spoils only
    /// what it saw: [`Witnessed::watched`].
    pub fn execute_witnessed(
        &mut self,
        trial: &Trial,
        witness: &mut dyn Witness,
    ) -> Result<Witnessed, ExecuteError> {
        let point = &trial.point;
        if self.limiter.allot(&point.cpu_set, self.group.as_ref())? {
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
            .map_err(|source| ExecuteError::Io { action: "read the output of the run before", source })?;

        // What --prepare makes anew may have another size each time.
        let is_made_anew = Hook::Prepare.is_given(&self.plan.hooks);
        let input = self.input.for_run(if is_made_anew { Size::Free } else { Size::Fixed })?;
        if let Some(group) = &mut self.group {
            group.reset_peak();
        }
        self.control.spared.forget_ended();
        self.oom_kills.begin();
        self.account.begin(self.group.as_mut());
        self.control.begin();
        let started = self.start(point, &input, witness);
        let timed_out = self.control.end();
        let (ended, watched) = started?;
        if ended.had_terminal && ended.exit == Exit::Signal(libc::SIGINT) {
            self.control.pass_on_interrupt();
        }
        let mut rusage = ended.rusage;
        let survivors = self.gather_orphans(&mut rusage);
        let (cpu, mut tree) = self.account.end(self.group.as_mut(), &rusage, &self.control.spared.pids());
        tree.killed_for_memory = self.oom_kills.end();
        tree.memory_limit_bytes = self.oom_kills.limit();
        let surroundings = self.watch.after_run(cpu.user_ns + cpu.system_ns, &point.cpu_set);
        if self.quiet.is_none() && ended.elapsed() >= LONG_RUN {
            self.quiet = Some(self.watch.quiet());
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
        let outcome = Outcome { run, output, no_figure, neighbours: self.look_at_neighbours(trial.phase) };
        Ok(Witnessed { outcome, began: ended.began, ended: ended.ended, watched })
    }
}

impl ProcessExecutor {
    /// What has become known of others, where it was time to look: never around traced runs, of which the tracer is one.
    fn look_at_neighbours(&mut self, phase: Phase) -> Option<Vec<Neighbour>> {
        if phase == Phase::Traced || !self.neighbours.look_if_due() {
            return None;
        }
        self.watch.restart();
        Some(self.neighbours.busiest())
    }
}

/// The most memory that this process has had resident: the child's own mark begins there.
fn own_peak() -> Bytes {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the rusage; all-zero bytes would be a valid one too.
    #[allow(unsafe_code)]
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    Bytes::from_kib(usage.ru_maxrss as u64)
}
