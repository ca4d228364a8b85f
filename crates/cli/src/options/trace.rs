//! Turns the texts of `morecores trace` into a plan of one run, which is traced and not timed.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use morecores_machine::{counts, placement::CpuOrder};
use morecores_study::topology::Topology;
use morecores_study::{
    Axis, Cache, Command, Goal, Hooks, Placement, Plan, Point, Scaling, Stop, TraceMode, default_success,
};

use super::quota::quota_axis;
use super::texts::{duration, success};
use super::{command, cpu_order, environment, input, points};
use crate::args::TraceArgs;

/// Options of `morecores trace`.
#[derive(Debug)]
pub(crate) struct TraceOptions {
    pub(crate) command: Command,
    /// Plan with one point, and no runs but the traced one.
    pub(crate) plan: Plan,
    /// Notes for the user before the run.
    pub(crate) notes: Vec<String>,
    /// Path of the study that keeps the trace; none for a temporary trace.
    pub(crate) study: Option<PathBuf>,
}

impl TraceOptions {
    /// Reads the arguments, for a machine with `topology`.
    pub(crate) fn new(args: &TraceArgs, topology: &Topology) -> Result<Self> {
        let command = command(&args.command, args.shell, "trace")?;
        let (placement, order) = cpu_order(args.cpu_list.as_deref(), Placement::CoresFirst, topology)?;
        let (axes, points) = traced_points(args, topology, &order)?;
        let plan = Plan {
            points,
            axes,
            limit: args.limit,
            placement,
            // The seed is unused: nothing is shuffled or resampled.
            seed: 0,
            warmup: 0,
            stop: Stop { precision: None, min_runs: 0, max_runs: 0, max_time: None, budget: None },
            goal: Goal::Precision,
            scaling: Scaling::Strong,
            keep_disturbed: false,
            cache: Cache::Warm,
            hooks: Hooks { prepare: args.prepare.clone(), ..Hooks::default() },
            timeout: args.timeout.as_deref().map(|text| duration("--timeout", text)).transpose()?,
            metric: None,
            further_metrics: Vec::new(),
            decimal_mark: None,
            thread_env: args.thread_env,
            env: environment::variables(&args.env)?,
            success: success(args.success.as_deref())?.unwrap_or_else(default_success),
            ignore_failure: false,
            incremental: false,
            keep_survivors: args.keep,
            input: input(args.input.as_deref()),
            output: args.output.clone(),
            trace: TraceMode::Auto,
            requested_traced_runs: Some(1),
            syscalls: args.syscalls,
            locks: args.locks,
            predict: Vec::new(),
            worth: None,
        };
        let notes = environment::notes(&args.env, &plan);
        Ok(Self { command, plan, notes, study: args.out.clone() })
    }
}

/// Points of the plan: a single one, with its further axes.
fn traced_points(args: &TraceArgs, topology: &Topology, order: &CpuOrder) -> Result<(Vec<Axis>, Vec<Point>)> {
    let count = match &args.cpus {
        // A quota below that of an enclosing cgroup takes no CPU away.
        None if args.quota.is_some() => topology.usable.cpus.len().min(order.steps().len()),
        None => topology.usable.count.min(order.steps().len()),
        Some(text) => match counts::parse_counts(text, topology).context("--cpus")?.as_slice() {
            [count] => *count,
            _ => bail!("--cpus {text}: one run has one CPU count; `morecores run` traces several"),
        },
    };
    ensure!(args.n != Some(0), "-n 0: the value of {{n}} is at least 1");
    let axis = quota_axis(args.quota.as_deref(), args.limit, topology, count as u32)?;
    ensure!(
        axis.iter().all(|axis| axis.values.len() == 1),
        "--quota: one run has one quota; `morecores run` traces several"
    );
    let axes: Vec<Axis> = axis.into_iter().collect();
    let points = points(order, &[count], args.n.as_slice(), &axes)?;
    Ok((axes, points))
}
