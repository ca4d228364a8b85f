// How a study was made: host, plan, method, and all of it as JSON.

import { download, h } from "../dom.ts";
import { bytes } from "../format.ts";
import type { Page } from "../record/Page.ts";
import type { PageStudy } from "../record/PageStudy.ts";

export function details(study: PageStudy): HTMLElement {
  const { host, plan, tool, closing } = study.view;
  const facts: [string, string][] = [
    ["host", host.hostname],
    ["processor", host.cpu_model],
    ["usable CPUs", `${host.topology.usable.cpus}`],
    ["memory", bytes(host.memory_bytes)],
    ["system", `${host.os}, Linux ${host.kernel}, ${host.arch}`],
    ["hypervisor", host.hypervisor ?? "none seen"],
    ["clock", [host.clocksource, host.frequency.governor && `governor ${host.frequency.governor}`, host.frequency.boost !== null && `boost ${host.frequency.boost ? "on" : "off"}`].filter(Boolean).join(", ") || "–"],
    ["held to its CPUs by", plan.limit],
    ["CPU counts", plan.points.map((point) => `${point.cpus} (${point.cpu_set})`).join(", ")],
    ["order", `shuffled rounds, seed ${plan.seed}`],
    ["runs", `${plan.stop.min_runs} to ${plan.stop.max_runs} of each${plan.stop.precision === null ? "" : `, until each median is known to ${plan.stop.precision * 100}%`}; ${plan.warmup} to warm up`],
    ["page cache", plan.cache.kind === "warm" ? "as the run before left it" : "dropped before each run"],
    ["prepare", plan.hooks.prepare ?? "–"],
    ["user and system time", [...new Set(study.view.points.map((point) => `${point.kernel_ratio_estimator}`))].join(", ")],
    ["ended", closing ? `${closing.reason}`.replaceAll("_", " ") : "not yet"],
    ["morecores", tool],
  ];
  return h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export const METHOD = [
  "A figure is the median over runs; behind it, in brackets, its 95% interval by exact order statistics, or none with fewer than six runs.",
  "Timed runs are never traced: the stack, the timeline and the tables below it are of one more run of each count.",
  "A speedup stack divides the CPUs of each count into the speedup and what was lost, so that they add up to the count; a negative loss is drawn below zero.",
  "A prediction has a 90% band and is withheld where the data cannot bear one.",
  "Formulas, sources and limits: docs/methods.md of morecores.",
];

/** The page's data without the timelines, whose form is the page's own. */
export function downloadView(study: PageStudy): HTMLElement {
  const name = `${study.name.replace(/[^\w.-]+/g, "_")}.json`;
  return h("button", { type: "button", click: () => download(name, "application/json", `${JSON.stringify(study.view, null, 2)}\n`) }, "Download as JSON");
}

export function footer(page: Page): HTMLElement {
  return h("footer", {}, `morecores ${page.tool}. This page needs no network and sends nothing.`);
}
