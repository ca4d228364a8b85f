//! Turns the texts of `morecores run` into the plan of a new study, or into the changes to that of
//! a resumed one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use morecores_machine::{counts, placement::CpuOrder};
use morecores_statistics::StoppingRule;
use morecores_study::topology::Topology;
use morecores_study::trace::{TraceHeader, TraceSource};
use morecores_study::{
    Axis, Bytes, Cache, Command, Goal, Header, Hooks, LockHolds, Nanos, Plan, Point, Scaling, Stop,
    TraceMode, default_success,
};

use super::metrics::Metrics;
use super::quota::quota_axis;
use super::texts::{duration, number_list, percent, size, success, time_limit, worth};
use super::{LEAST_RUNS, NewStudy, clock_seed, command, cpu_order, environment, input, points, predict};
use crate::args::RunArgs;

/// Default time for the whole study: about as long as users wait for an answer without having been
/// asked.
const DEFAULT_TIME: Nanos = Nanos::from_millis(5 * 60 * 1000);
/// Default limit for kept input: an amount that fits most temporary directories.
const DEFAULT_INPUT_LIMIT: &str = "1G";

/// Rule of a search for the best value of `{n}`. A choice: a difference of 2% is seldom worth more
/// runs, and a quarter of 12 rounds is three runs of each value.
const SEARCH: StoppingRule = StoppingRule { precision: 0.02, min_runs: 2, max_runs: 12 };

/// Options of `morecores run` for a new study.
#[derive(Debug)]
pub(crate) struct RunOptions {
    pub(crate) command: Command,
    pub(crate) plan: Plan,
    /// Size limit for input that can be read only once.
    pub(crate) input_limit: Bytes,
    /// Notes for the user before the study begins.
    pub(crate) notes: Vec<String>,
    pub(crate) study: NewStudy,
}

/// Options that may differ when a study is resumed.
#[derive(Debug)]
pub(crate) struct ResumeOptions {
    pub(crate) study: PathBuf,
    /// Input, if given again.
    pub(crate) input: Option<PathBuf>,
    /// Size limit for input that can be read only once.
    pub(crate) input_limit: Bytes,
    /// Command, if given again.
    command: Option<Command>,
    runs: Option<u32>,
    min_runs: Option<u32>,
    precision: Option<Option<f64>>,
    keep_disturbed: bool,
    /// Time limit and budget, if `--max-time` was given.
    time: Option<(Option<Nanos>, Option<Nanos>)>,
    trace: Option<TraceMode>,
    success: Option<BTreeSet<u8>>,
    ignore_failure: bool,
    traced_runs: Option<u32>,
    syscalls: bool,
    locks: LockHolds,
    debuginfod: bool,
    incremental: bool,
    /// Text of `--predict`.
    predict: Option<String>,
    worth: Option<f64>,
}

impl RunOptions {
    /// Reads the arguments, for a machine with `topology`.
    pub(crate) fn new(args: &RunArgs, topology: &Topology) -> Result<Self> {
        let command = command(&args.command, args.shell, "run")?;
        predict::check_no_list(args.predict.as_deref(), &args.command)?;
        let (placement, order) = cpu_order(args.cpu_list.as_deref(), args.placement, topology)?;
        let (axes, points) = swept_points(args, topology, &order)?;
        let largest = points.last().map_or(1, |point| point.cpus);
        let is_search = args.tune.is_some();
        ensure!(
            !is_search || points.iter().any(|point| point.n != points[0].n),
            "--tune n has only one value of n: give several, such as --n 1-8"
        );
        let rule = if is_search {
            SEARCH
        } else if points.len() > 1 {
            StoppingRule::DEFAULT_OF_SPEEDUPS
        } else {
            StoppingRule::DEFAULT
        };
        let stop = stop(args, rule)?;
        let is_default = args.precision.is_none() && args.runs.is_none();
        let goal = if is_search {
            Goal::Tune
        } else if is_default && points.len() > 1 {
            Goal::Answer
        } else {
            Goal::Precision
        };
        let predicted =
            args.predict.as_deref().map_or(Ok(Vec::new()), |text| predict::targets(text, largest))?;
        let metrics = Metrics::new(args)?;
        let plan = Plan {
            points,
            axes,
            limit: args.limit,
            placement,
            seed: args.seed.unwrap_or_else(clock_seed),
            warmup: args.warmup.unwrap_or(if args.cold { 0 } else { 1 }),
            stop,
            goal,
            scaling: if args.weak { Scaling::Weak } else { Scaling::Strong },
            keep_disturbed: args.keep_disturbed,
            cache: if args.cold { Cache::Cold { remount: args.remount.clone() } } else { Cache::Warm },
            hooks: Hooks {
                setup: args.setup.clone(),
                prepare: args.prepare.clone(),
                cleanup: args.cleanup.clone(),
            },
            timeout: args.timeout.as_deref().map(|text| duration("--timeout", text)).transpose()?,
            metric: metrics.metric,
            further_metrics: metrics.further,
            decimal_mark: metrics.decimal_mark,
            thread_env: args.thread_env,
            env: environment::variables(&args.env)?,
            success: success(args.success.as_deref())?.unwrap_or_else(default_success),
            ignore_failure: args.ignore_failure,
            incremental: args.incremental,
            keep_survivors: args.keep,
            input: input(args.input.as_deref()),
            output: args.output.clone(),
            trace: args.trace.unwrap_or_default(),
            requested_traced_runs: args.traced_runs,
            syscalls: args.syscalls,
            locks: args.locks,
            predict: predicted,
            worth: worth(&args.answer.worth)?,
        };
        let needs_n = [("--expect-n", args.expect_n), ("--n", args.n.is_some()), ("--weak", args.weak)];
        if let Some((option, _)) = needs_n.into_iter().find(|(_, is_given)| *is_given) {
            ensure!(
                plan.tells_n(&command),
                "{{n}} is nowhere in the command or its environment, and {option} was given: put {{n}} where the \
                 command takes its thread or job count"
            );
        }
        ensure!(
            !args.weak || Plan { thread_env: false, ..plan.clone() }.tells_n(&command),
            "--weak needs {{n}} in the command where its work grows; --thread-env tells the threads alone"
        );
        check_trace_options(args.syscalls, args.locks, args.debuginfod, plan.trace)?;
        check_predict(&plan.predict, plan.trace)?;
        let study = NewStudy::for_command(args.out.as_deref(), &command);
        let input_limit = input_limit(args.input_limit.as_deref())?;
        let notes = environment::notes(&args.env, &plan);
        Ok(Self { command, plan, input_limit, notes, study })
    }
}

impl ResumeOptions {
    /// Reads the arguments of `--resume`.
    pub(crate) fn new(args: &RunArgs) -> Result<Self> {
        let command =
            if args.command.is_empty() { None } else { Some(command(&args.command, args.shell, "run")?) };
        let Some(study) = args.out.clone() else { bail!("--resume needs the study: name it with -o") };
        let stop = stop(args, StoppingRule::DEFAULT)?;
        Ok(Self {
            study,
            input: args.input.clone(),
            input_limit: input_limit(args.input_limit.as_deref())?,
            command,
            runs: args.runs,
            min_runs: args.min_runs,
            success: success(args.success.as_deref())?,
            ignore_failure: args.ignore_failure,
            // A default value must not override the study's own.
            precision: args.precision.is_some().then_some(stop.precision),
            keep_disturbed: args.keep_disturbed,
            time: args.max_time.is_some().then_some((stop.max_time, stop.budget)),
            trace: args.trace,
            traced_runs: args.traced_runs,
            syscalls: args.syscalls,
            locks: args.locks,
            debuginfod: args.debuginfod,
            incremental: args.incremental,
            predict: args.predict.clone(),
            worth: worth(&args.answer.worth)?,
        })
    }

    /// Checks that the study is of the command given again, if any, and can be resumed as
    /// requested.
    pub(crate) fn check(&self, header: &Header) -> Result<()> {
        ensure!(
            self.command.as_ref().is_none_or(|command| *command == header.subject),
            "{} is a study of another command: leave out the command, or name another study with -o",
            self.study.display()
        );
        let trace = self.trace.unwrap_or(header.plan.trace);
        check_trace_options(self.syscalls, self.locks, self.debuginfod, trace)?;
        check_predict(&self.predicted(&header.plan)?, trace)
    }

    /// Predicted CPU counts: those requested now, or else those of the study's plan.
    fn predicted(&self, plan: &Plan) -> Result<Vec<u32>> {
        let largest = plan.points.last().map_or(1, |point| point.cpus);
        match &self.predict {
            Some(text) => predict::targets(text, largest),
            None => Ok(plan.predict.clone()),
        }
    }

    /// Notes on the options of a trace that change nothing: existing traces are not made again.
    pub(crate) fn trace_notes(&self, traces: &[TraceHeader]) -> Vec<String> {
        let is_without_calls = |trace: &TraceHeader| trace.facts.source != TraceSource::BpfWithSystemCalls;
        let is_without_holds = |trace: &TraceHeader| trace.facts.lock_uses.is_none();
        let changes_nothing = [
            ("--syscalls", self.syscalls && traces.iter().any(is_without_calls)),
            ("--locks exact", self.locks.are_exact() && traces.iter().any(is_without_holds)),
            // A trace gets its names right after its run.
            ("--debuginfod", self.debuginfod && !traces.is_empty()),
        ];
        let options = changes_nothing.into_iter().filter(|(_, applies)| *applies);
        let note = |(option, _)| {
            format!("{option} applies to the missing traces; the traces of the study stay unchanged")
        };
        options.map(note).collect()
    }

    /// Changes a recorded plan as the user asked.
    pub(crate) fn adjust(&self, plan: &mut Plan) {
        plan.trace = self.trace.unwrap_or(plan.trace);
        plan.syscalls |= self.syscalls;
        plan.locks = if self.locks.are_exact() { self.locks } else { plan.locks };
        plan.requested_traced_runs = self.traced_runs.or(plan.requested_traced_runs);
        plan.ignore_failure |= self.ignore_failure;
        if let Some(success) = &self.success {
            plan.success = success.clone();
        }
        plan.incremental |= self.incremental;
        plan.keep_disturbed |= self.keep_disturbed;
        plan.worth = self.worth.or(plan.worth);
        // `check` has already parsed the list, so this cannot fail.
        plan.predict = self.predicted(plan).unwrap_or_default();
        let stop = &mut plan.stop;
        stop.max_runs = self.runs.unwrap_or(stop.max_runs);
        stop.min_runs = self.min_runs.unwrap_or(stop.min_runs).min(stop.max_runs);
        if let Some(precision) = self.precision {
            stop.precision = precision;
            // A search has its own use for the precision.
            plan.goal = if plan.goal == Goal::Tune { Goal::Tune } else { Goal::Precision };
        }
        (stop.max_time, stop.budget) = self.time.unwrap_or((stop.max_time, stop.budget));
    }
}

fn input_limit(text: Option<&str>) -> Result<Bytes> {
    size("--input-limit", text.unwrap_or(DEFAULT_INPUT_LIMIT))
}

fn swept_points(args: &RunArgs, topology: &Topology, order: &CpuOrder) -> Result<(Vec<Axis>, Vec<Point>)> {
    let most = topology.usable.default_count().min(order.steps().len());
    let n = args.n.as_deref().map(|text| number_list("--n", "values of n", text)).transpose()?;
    let counts = match &args.cpus {
        Some(text) => {
            counts::parse_counts(text, topology).map_err(predict::explain_missing_cpus).context("--cpus")?
        }
        // The question is about another axis.
        None if args.quota.is_some() => vec![topology.usable.cpus.len().min(order.steps().len())],
        None if n.is_some() => vec![most],
        None => counts::default_counts(order, most),
    };
    let most = counts.last().map_or(1, |count| *count as u32);
    let axes: Vec<Axis> =
        quota_axis(args.quota.as_deref(), args.limit, topology, most)?.into_iter().collect();
    ensure!(
        axes.is_empty() || counts.len() == 1,
        "--quota limits the time of one number of CPUs: leave out --cpus for all, or give one count"
    );
    let points = points(order, &counts, &n.unwrap_or_default(), &axes)?;
    Ok((axes, points))
}

/// Rules for the end of the sweep: those given, and for the others those of `rule`.
fn stop(args: &RunArgs, rule: StoppingRule) -> Result<Stop> {
    let given = args.precision.as_deref().map(|text| percent("--precision", text)).transpose()?;
    let precision = given.unwrap_or(rule.precision);
    let max_runs = args.runs.unwrap_or((rule.max_runs as u32).max(args.min_runs.unwrap_or(0)));
    ensure!(max_runs > 0, "--runs 0 measures nothing: give at least 1, and {LEAST_RUNS} for an interval");
    let min_runs = args.min_runs.unwrap_or(LEAST_RUNS.min(max_runs));
    ensure!(min_runs <= max_runs, "--min-runs {min_runs} is above --runs {max_runs}");
    let (max_time, budget) = match args.max_time.as_deref() {
        None => (None, Some(DEFAULT_TIME)),
        Some(text) => (time_limit("--max-time", text)?, None),
    };
    Ok(Stop { precision: (precision > 0.0).then_some(precision), min_runs, max_runs, max_time, budget })
}

/// Refuses the options of a trace without a trace.
fn check_trace_options(syscalls: bool, locks: LockHolds, debuginfod: bool, trace: TraceMode) -> Result<()> {
    let options =
        [("--syscalls", syscalls), ("--locks exact", locks.are_exact()), ("--debuginfod", debuginfod)];
    for (option, is_given) in options {
        ensure!(
            !is_given || trace != TraceMode::Off,
            "{option} needs a trace, but --trace off makes none: leave out {option}, or give --trace auto"
        );
    }
    Ok(())
}

fn check_predict(predicted: &[u32], trace: TraceMode) -> Result<()> {
    ensure!(
        predicted.is_empty() || trace != TraceMode::Off,
        "--predict needs traces, but --trace off makes none: leave out one of them"
    );
    Ok(())
}
