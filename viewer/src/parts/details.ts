// Details of how a study was measured: host, plan, method, and all of them as JSON.

import { download, h } from "../dom.ts";
import { bytes, nanos, percent } from "../format.ts";
import type { Host } from "../record/Host.ts";
import type { Page } from "../record/Page.ts";
import type { PageLocks } from "../record/PageLocks.ts";
import type { PageStudy } from "../record/PageStudy.ts";
import type { Plan } from "../record/Plan.ts";
import type { StopReason } from "../record/StopReason.ts";

type Fact = [string, string];

const factList = (facts: Fact[]) => h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

function hostFacts(host: Host): Fact[] {
  return [
    ["host", host.hostname],
    ["processor", host.cpu_model],
    ["usable CPUs", `${host.topology.usable.cpus}`],
    ["memory", bytes(host.memory_bytes)],
    ["system", `${host.os}, Linux ${host.kernel}, ${host.arch}`],
    ["hypervisor", host.hypervisor ?? "none seen"],
    ["clock", [host.clocksource, host.frequency.governor && `governor ${host.frequency.governor}`, host.frequency.boost !== null && `boost ${host.frequency.boost ? "on" : "off"}`].filter(Boolean).join(", ") || "–"],
  ];
}

const ENDINGS: Record<StopReason, string> = {
  precise: "precise",
  runs_exhausted: "runs exhausted",
  time_exhausted: "time exhausted",
  run_failed: "run failed",
  already_done: "already done",
  interrupted: "interrupted",
};

/** Knowledge that ends the runs early, as a clause; empty if the number of runs is fixed. */
function goal(plan: Plan): string {
  const { precision } = plan.stop;
  if (precision === null) {
    return "";
  }
  return plan.goal === "answer" ? ", until the answer stands" : `, until the speedup is known to ${percent(precision)}`;
}

export function studyDetails(study: PageStudy): HTMLElement {
  const { host, plan, tool, closing } = study.view;
  return factList([
    ...hostFacts(host),
    ["held to its CPUs by", plan.limit],
    ["CPU counts", plan.points.map((point) => `${point.cpus} (${point.cpu_set})`).join(", ")],
    ["order", `shuffled rounds, seed ${plan.seed}`],
    ["runs", `${plan.stop.min_runs} to ${plan.stop.max_runs} of each${goal(plan)}; ${plan.warmup} to warm up`],
    ["page cache", plan.cache.kind === "warm" ? "as the run before left it" : "dropped before each run"],
    ["prepare", plan.hooks.prepare ?? "–"],
    ["user and system time", [...new Set(study.view.points.map((point) => `${point.kernel_ratio_estimator}`))].join(", ")],
    ["ended", closing ? ENDINGS[closing.reason] : "not yet"],
    ["morecores", tool],
  ]);
}

export function lockDetails({ view }: PageLocks): HTMLElement {
  const { host, plan, rounds, whole, steal } = view;
  const durations = (times: number[]) => times.map(nanos).join(", ");
  return factList([
    ...hostFacts(host),
    ["locks", plan.locks.join(", ")],
    ["threads", `${plan.threads.join(", ")}, pinned in turn to CPUs ${plan.cpus}`],
    ["hold", durations(plan.holds)],
    ["time between holds", plan.thinks.map((think) => (think === "hold" ? "as long as the hold" : nanos(think.fixed))).join(", ")],
    ["rounds", `${rounds} of ${plan.rounds}, shuffled, seed ${plan.seed}${whole ? "" : "; the plan is not complete"}`],
    ["one measurement", `${nanos(plan.window_ns)}; ${nanos(plan.watched_ns)} with every wait timed, in the first ${plan.watched_rounds === 1 ? "round" : `${plan.watched_rounds} rounds`}`],
    ["taken by the hypervisor", steal === null ? "not known" : percent(steal)],
  ]);
}

export const METHOD = [
  "A figure is the median over runs; the 95% interval behind it is by exact order statistics.",
  "Timed runs are never traced: the stack, the timeline and the tables below it show one more run of each count.",
  "A speedup stack divides the CPUs of each count into the speedup and what was lost, so that they add up to the count; a negative loss is drawn below zero.",
  "A prediction has a 90% band. There is no prediction where the data do not suffice for a band.",
  "Formulas, sources and limits: docs/methods of morecores.",
];

export const LOCK_METHOD = [
  "A figure is the median over rounds. Its bar in a picture is its 95% interval; too few rounds have no interval.",
  "Each cell is measured by a process of its own, with its threads pinned, and cells are shuffled within each round.",
  "A share of the fastest compares rates of the same round, so that a slow round does not change it.",
  "Waits are timed in runs of their own. Reading the clock slows these runs, so their rates are not used.",
  "CPUs for locking are CPUs that were busy outside the holds and the time between holds.",
  "Formulas, sources and limits: docs/methods/locks.md of morecores.",
];

/**
 * Button that saves a view as a file. The view of a study has no timelines, because their format is
 * the page's own.
 */
export function downloadView({ name, view }: { name: string; view: object }): HTMLElement {
  const file = `${name.replace(/[^\w.-]+/g, "_")}.json`;
  return h("button", { type: "button", click: () => download(file, "application/json", `${JSON.stringify(view, null, 2)}\n`) }, "Download as JSON");
}

export function footer(page: Page): HTMLElement {
  return h("footer", {}, `morecores ${page.tool}. This page needs no network and sends nothing.`);
}
