// The speedup stack: a bar for each CPU count, split into the speedup and the losses. Gains are
// drawn below zero.

import * as Plot from "@observablehq/plot";

import { cpus, cpuShare, plain } from "../format.ts";
import type { StackPart } from "../record/StackPart.ts";
import type { Setting } from "./setting.ts";

export function stackInWords(all: StackPart[]): string {
  const most = Math.max(...all.map((part) => part.bar_cpus));
  const shown = all.filter((part) => part.bar_cpus === most);
  return `Of ${cpus(most)}: ${shown.map((part) => `${part.name} ${cpuShare(part.cpus)}`).join(", ")}.`;
}

/**
 * Legend: each part once, in the order of the bars, with its CPUs on each count. The legend
 * explains the picture's colours.
 */
export function stackLegend(all: StackPart[]): { key: string; name: string; colour: string; figures: string }[] {
  const parts = new Map(all.map((part) => [part.key, part]));
  return [...parts].map(([key, { name, colour }]) => ({ key, name, colour, figures: all.filter((part) => part.key === key).map((part) => cpuShare(part.cpus)).join(" · ") }));
}

/** Sentence that names the CPU counts to which the figures belong. */
export function stackKey(all: StackPart[]): string {
  return `In CPUs, of ${[...new Set(all.map((part) => part.bar_cpus))].join(" · ")}.`;
}

/** Picture of the stack. `choose` receives the key of a part that the reader clicks. */
export function stack(all: StackPart[], { document, width, interactive }: Setting, choose: (key: string) => void = () => {}): SVGSVGElement | HTMLElement {
  const counts = [...new Set(all.map((part) => part.bar_cpus))];
  const colours = new Map(all.map((part) => [part.key, part.colour]));
  const keys = [...colours.keys()];
  const picture = Plot.plot({
    document,
    width,
    height: Math.max(90, 70 + counts.length * 44),
    marginLeft: 66,
    marginBottom: 44,
    style: { fontSize: "13px", background: "none", overflow: "visible" },
    x: { label: "CPUs →", labelOffset: 38, nice: true, grid: true, tickFormat: plain },
    y: { label: null, type: "band", domain: counts, tickFormat: (count: number) => cpus(count), padding: 0.25 },
    color: { domain: keys, range: [...colours.values()] },
    marks: [
      Plot.barX(all, Plot.stackX({ y: "bar_cpus", x: "cpus", fill: "key", order: keys, insetRight: 1, className: "parts", title: (part: StackPart) => `${part.name}: ${cpuShare(part.cpus)} of ${cpus(part.bar_cpus)}`, tip: interactive })),
      Plot.ruleX([0]),
    ],
  });
  picture.querySelectorAll<SVGElement>("g[aria-label=bar] rect").forEach((bar, index) => {
    const part = all[index];
    if (part) bar.addEventListener("click", () => choose(part.key));
  });
  return picture;
}
