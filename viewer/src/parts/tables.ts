// The tables of a study, and the components of the stack that each row is about.

import { h } from "../dom.ts";
import { cpus, figure, percent, time } from "../format.ts";
import { cpuSeconds, idleInWaits, othersIdleSeconds } from "../times.ts";
import { addedKinds } from "../pictures/curve.ts";
import type { GainKind } from "../record/GainKind.ts";
import type { IdleCause } from "../record/IdleCause.ts";
import type { CodeSite } from "../record/CodeSite.ts";
import type { Component } from "../record/Component.ts";
import type { LockMode } from "../record/LockMode.ts";
import type { RuntimeLock } from "../record/RuntimeLock.ts";
import type { PageStudy } from "../record/PageStudy.ts";
import type { TraceView } from "../record/TraceView.ts";
import type { UserLockView } from "../record/UserLockView.ts";
import { type Column, table, type TableHandle } from "./table.ts";
import { sortableTable } from "./texts.ts";

/** Row with the keys of the components that the row is about. */
interface TaggedRow {
  about: Component[];
}

const RUNTIME_LOCKS: Record<RuntimeLock, string> = { python_gil: "Python's global lock (GIL)", malloc_arena: "malloc's arenas" };

const HELD_AS: Record<LockMode, string> = { mutex: "mutex", read: "reader", write: "writer" };

const LOCKS: Component[] = ["kernel_lock_spin", "idle_kernel_lock"];

function column<Row>(title: string, text: (row: Row) => string, value?: (row: Row) => number | null): Column<Row> {
  return value ? { title, text, value } : { title, text };
}

/**
 * Table of the measured points, with the kinds of CPU that each adds, which only the page shows.
 */
export function pointTable(study: PageStudy): HTMLElement[] {
  const kinds = study.view.points.map(addedKinds);
  const { element } = sortableTable(study.points, [column("CPUs added", (row) => kinds[row] ?? "–")]);
  return [element, ...study.point_notes.map((note) => h("p", { class: "quiet" }, note))];
}

export function runTable(study: PageStudy): TableHandle {
  type Row = PageStudy["runs"][number];
  const hasMetric = study.runs.some((run) => run.metric !== null);
  return table<Row>("Every timed run", [
    column("round", (r) => String(r.round), (r) => r.round),
    column("CPUs", (r) => String(r.cpus), (r) => r.cpus),
    column("elapsed (s)", (r) => String(r.elapsed_s), (r) => r.elapsed_s),
    column("user (s)", (r) => String(r.user_s), (r) => r.user_s),
    column("system (s)", (r) => String(r.system_s), (r) => r.system_s),
    ...(hasMetric ? [column<Row>(study.view.plan.metric?.name ?? "metric", (r) => String(r.metric ?? "–"), (r) => r.metric)] : []),
    ...(study.view.plan.further_metrics ?? []).map(({ name }, i) => column<Row>(name, (r) => String(r.further_metrics[i] ?? "–"), (r) => r.further_metrics[i] ?? null)),
    column("result", (r) => (r.succeeded ? r.disturbed ? "disturbed by others, in no figure" : "ok" : "failed, in no figure")),
  ], study.runs);
}

/**
 * Tables of one traced run, and the what-if ranking. `keep` shows only the rows about a component.
 */
export function traceTables(study: PageStudy, trace: TraceView): { tables: TableHandle[]; keep: (component: string | null) => void } {
  const tag = <T extends object>(row: T, about: Component[]): T & TaggedRow => ({ ...row, about });
  const work: Component[] = ["user_work", "kernel_work"];
  const culprits = new Set(trace.culprits.map((culprit) => culprit.name));
  const commands = trace.commands.map((c) => tag(c, culprits.has(c.name) ? [...work, "idle_too_little_work"] : work));
  type Command = (typeof commands)[number];
  const locks = trace.locks.map((lock) => tag(lock, LOCKS));
  type Lock = (typeof locks)[number];
  const userLocks = trace.user_locks.map((lock) => tag(lock, ["idle_user_lock"]));
  type UserLock = (typeof userLocks)[number];
  const lockHolds = (trace.lock_holds ?? []).map((lock) => tag(lock, ["idle_user_lock"]));
  type LockHolds = (typeof lockHolds)[number];
  const waits = trace.waits.map((wait) => tag(wait, wait.kind === "mutex" || wait.kind === "read_write_lock" ? ["idle_user_lock"] : ["idle_too_little_work"]));
  type Wait = (typeof waits)[number];
  const regions = trace.openmp.flatMap((row) => row.regions.map((region) => tag({ ...region, command: row.command }, ["user_work", "idle_too_little_work"])));
  type OpenMpRegion = (typeof regions)[number];
  const phases = trace.serial_phases.map((phase) => tag(phase, ["idle_too_little_work", ...idleComponent(phase.cause)]));
  type Phase = (typeof phases)[number];
  const culpritRows = trace.culprits.map((culprit) => tag(culprit, ["idle_too_little_work"]));
  type Culprit = (typeof culpritRows)[number];
  const stack = study.view.stack.find((one) => one.cpus === trace.cpus && one.n === trace.n);
  const functionLosses = (stack?.functions ?? []).filter((f) => f.ci95[0] > 0).map((f) => tag(f, [f.loss]));
  type FunctionLoss = (typeof functionLosses)[number];
  const functions = trace.functions.map((f) => tag(f, f.times.map((one) => one.component)));
  type Function = (typeof functions)[number];
  const others = trace.others.map(([name, seconds]) => tag({ name, seconds }, ["other_processes", "idle_scheduling"]));
  type Other = (typeof others)[number];
  const gains = study.gains.map((gain) => tag(gain, relatedComponents(gain.kind)));
  type Gain = (typeof gains)[number];

  const all: TableHandle[] = [];
  const add = <Row,>(name: string, columns: Column<Row>[], rows: Row[]) => { if (rows.length) all.push(table(name, columns, rows)); };
  add<Command>("Commands", [
    column("command", (c) => c.name),
    column("calls", (c) => String(c.calls), (c) => c.calls),
    column("CPU time", (c) => time(c.cpu_s), (c) => c.cpu_s),
    column("share", (c) => percent(c.cpu_ratio), (c) => c.cpu_ratio),
    column("kernel ratio", (c) => percent(c.kernel_ratio), (c) => c.kernel_ratio),
    column("waiting ratio", (c) => percent(c.waiting_ratio), (c) => c.waiting_ratio),
  ], commands);
  add<Culprit>("Who ran while CPUs were idle for lack of work", [
    column("command", (c) => c.name),
    column("idle CPU time", (c) => time(c.lost_cpus), (c) => c.lost_cpus),
    column("the others waited in", (c) => c.waiting_in ?? "–"),
  ], culpritRows);
  add<FunctionLoss>("Functions that hold the losses", [
    column("function", (f) => f.function),
    column("source", (f) => f.source ?? f.module ?? "–"),
    column("command", (f) => f.command),
    column("CPUs lost", (f) => figure(f.lost_cpus), (f) => f.lost_cpus),
    column("95% interval", (f) => range(f.ci95, figure)),
  ], functionLosses);
  add<Function>("Functions of this run", [
    column("function", (f) => f.function),
    column("source", (f) => f.source ?? f.module ?? "–"),
    column("command", (f) => f.command),
    column("CPU time", (f) => time(cpuSeconds(f.times)), (f) => cpuSeconds(f.times)),
    column("others idle meanwhile", (f) => time(othersIdleSeconds(f.times)), (f) => othersIdleSeconds(f.times)),
    column("idle while it waited", (f) => time(idleInWaits(f.times)), (f) => idleInWaits(f.times)),
  ], functions);
  add<Phase>("Serial phases", [
    column("culprit", (p) => p.culprit),
    column("start", (p) => time(p.start_s), (p) => p.start_s),
    column("duration", (p) => time(p.duration_s), (p) => p.duration_s),
  ], phases);
  add<UserLock>("Locks of the command", [
    column("lock", (l) => l.runtime ? RUNTIME_LOCKS[l.runtime] : l.name ?? "(no variable)"),
    column("waited in", (l) => place(l.sites)),
    column("released in", (l) => place(l.holders)),
    column("held by", mainOwner),
    column("command", (l) => l.command),
    column("waits", (l) => String(l.waits), (l) => l.waits),
    column("waited", (l) => time(l.wait_s), (l) => l.wait_s),
    column("held meanwhile", (l) => time(l.held_s), (l) => l.held_s),
    column("longest", (l) => time(l.max_wait_s), (l) => l.max_wait_s),
  ], userLocks);
  add<LockHolds>("All holds of the command's locks", [
    column("lock", (l) => l.name ?? "(no variable)"),
    column("held as", (l) => HELD_AS[l.mode]),
    column("taken in", (l) => place(l.sites)),
    column("source", (l) => l.sites[0]?.source ?? l.sites[0]?.module ?? "–"),
    column("command", (l) => l.command),
    column("holds", (l) => String(l.holds), (l) => l.holds),
    column("held", (l) => time(l.held_s), (l) => l.held_s),
    column("of the run", (l) => percent(l.held_s / trace.elapsed_s), (l) => l.held_s / trace.elapsed_s),
    column("longest", (l) => time(l.max_hold_s), (l) => l.max_hold_s),
  ], lockHolds);
  add<OpenMpRegion>("OpenMP's parallel regions", [
    column("opened in", (r) => r.caller),
    column("code", (r) => r.function ?? "–"),
    column("source", (r) => r.source ?? r.module ?? "–"),
    column("command", (r) => r.command),
    column("threads wait", (r) => time(r.waited_s), (r) => r.waited_s),
    column("standard error", (r) => time(r.waited_error_s), (r) => r.waited_error_s),
  ], regions);
  add<Wait>("Waits of all threads", [
    column("waits in", (w) => place([w])),
    column("for", (w) => w.kind?.replaceAll("_", " ") ?? w.call ?? "–"),
    column("source", (w) => w.source ?? w.module ?? "–"),
    column("command", (w) => w.command),
    column("waits", (w) => String(Math.round(w.count)), (w) => w.count),
    column("waited", (w) => time(w.seconds), (w) => w.seconds),
    column("standard error", (w) => time(w.seconds_error), (w) => w.seconds_error),
  ], waits);
  add<Lock>("Kernel locks", [
    column("lock", (l) => l.symbol),
    column("kind", (l) => l.kind),
    column("caller", (l) => l.caller ?? "–"),
    column("waits", (l) => String(l.count), (l) => l.count),
    column("waited", (l) => time(l.wait_s), (l) => l.wait_s),
    column("of that spinning", (l) => time(l.spin_s), (l) => l.spin_s),
    column("longest", (l) => time(l.max_wait_s), (l) => l.max_wait_s),
  ], locks);
  add<Other>("Other processes on these CPUs", [
    column("process", (o) => o.name),
    column("CPU time", (o) => time(o.seconds), (o) => o.seconds),
  ], others);
  const counts = gains[0]?.points ?? [];
  add<Gain>("Time saved by removing a wait or speeding up a command (by replay)", [
    column("without, or faster", (g) => g.change),
    ...counts.flatMap((point, i) => [
      column<Gain>(`saved on ${cpus(point.cpus)}`, (g) => time(g.points[i]?.saved_s), (g) => g.points[i]?.saved_s ?? null),
      column<Gain>("90% band", (g) => range(g.points[i]?.saved_band90_s, time)),
      column<Gain>(`CPUs gained of ${point.cpus}`, (g) => figure(g.points[i]?.gained_cpus), (g) => g.points[i]?.gained_cpus ?? null),
      column<Gain>("90% band", (g) => range(g.points[i]?.gained_cpus_band90, figure)),
    ]),
  ], gains);
  return {
    tables: all,
    keep: (component) => all.forEach(({ keep }) => keep(component === null ? null : (row) => (row as TaggedRow).about.some((key) => key === component))),
  };
}

/** Place with the most time, and its caller. */
function place([first]: CodeSite[]): string {
  return first ? `${first.function}${first.caller === null ? "" : ` (${first.caller})`}` : "–";
}

/** Threads that held a lock longest while others waited, with their share. */
function mainOwner(lock: UserLockView): string {
  const [first] = lock.owners;
  return first && lock.held_s > 0 ? `${first.thread} ${Math.round(100 * first.held_s / lock.held_s)}%` : "–";
}

/** Band by its ends. */
function range(band: [number, number] | undefined, write: (value: number) => string): string {
  return band ? `${write(band[0])} to ${write(band[1])}` : "–";
}

/** Component with the idle time that such an event ended. */
function idleComponent(cause: IdleCause | null): Component[] {
  return cause === null || cause === "unknown" ? [] : [`idle_${cause}`];
}

/** Components that a change in the what-if ranking is about. */
function relatedComponents(kind: GainKind): Component[] {
  switch (kind) {
    case "disk":
      return ["idle_disk"];
    case "serial":
      return ["idle_too_little_work"];
    case "command":
      return ["user_work", "kernel_work", "idle_too_little_work"];
    case "lock":
      return [...LOCKS, "idle_user_lock"];
  }
}
