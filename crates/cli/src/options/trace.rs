//! Turns the texts of `morecores trace` into a plan of one run, which is traced and not timed.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use morecores_machine::{counts, placement::CpuOrder};
use morecores_study::topology::Topology;
use morecores_study::{
    Cache, Command, Coordinates, Hooks, Placement, Plan, Point, Stop, TraceMode, default_success,
};

use super::texts::success;
use super::{command, duration, environment, input};
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
        let placement = args.cpu_list.is_none().then_some(Placement::CoresFirst);
        let plan = Plan {
            points: vec![point(args, topology)?],
            limit: args.limit,
            placement,
            // The seed is unused: nothing is shuffled or resampled.
            seed: 0,
            warmup: 0,
            stop: Stop { precision: None, min_runs: 0, max_runs: 0, max_time: None, budget: None },
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
            syscalls: args.syscalls,
            predict: Vec::new(),
        };
        let notes = environment::notes(&args.env, &plan);
        Ok(Self { command, plan, notes, study: args.study.clone() })
    }
}

fn point(args: &TraceArgs, topology: &Topology) -> Result<Point> {
    let order = match &args.cpu_list {
        Some(list) => CpuOrder::from_list(topology, list).context("--cpu-list")?,
        None => CpuOrder::from_policy(topology, &topology.usable.cpus, Placement::CoresFirst),
    };
    let most = topology.usable.count.min(order.steps().len());
    let count = match &args.cpus {
        None => most,
        Some(text) => match counts::parse_counts(text, topology).context("--cpus")?.as_slice() {
            [count] => *count,
            _ => bail!("--cpus {text}: one run has one CPU count; `morecores run` traces several"),
        },
    };
    ensure!(
        count <= order.steps().len(),
        "--cpus asks for {count} CPUs, but --cpu-list has only {}",
        order.steps().len()
    );
    let cpus = u32::try_from(count).context("--cpus")?;
    let n = args.n.unwrap_or(cpus);
    ensure!(n > 0, "-n 0: the value of {{n}} is at least 1");
    Ok(Point {
        cpus,
        n,
        axes: Coordinates::new(),
        cpu_set: order.cpus(count),
        adds: order.kinds_added(0, count),
    })
}
