// The speedup stack: a bar for each CPU count, its parts the speedup and the losses; what was gained is drawn below zero.

import * as Plot from "@observablehq/plot";

import { componentColour } from "../colours.ts";
import { cpus, plain } from "../format.ts";
import type { ComponentName } from "../record/ComponentName.ts";
import type { PageStudy } from "../record/PageStudy.ts";

/** A part of a bar. */
export interface Part {
  key: string;
  name: string;
  cpus: number;
  of: number;
}

/** Below this share of the CPUs, at every count, a loss is in "other". */
const FOLDED = 0.01;

/** The parts of all bars, in the order in which they are drawn from zero: the speedup, then the largest loss at the largest count. */
export function parts(study: PageStudy, components: ComponentName[]): Part[] {
  const stacks = study.view.stack;
  const largest = stacks.at(-1);
  if (!largest) return [];
  const loss = (stack: typeof largest, key: string) => (stack.losses as unknown as Record<string, number | null>)[key] ?? 0;
  const isLarge = (key: string) => stacks.some((stack) => Math.abs(loss(stack, key)) >= FOLDED * stack.cpus);
  const shown = components.filter((c) => isLarge(c.key)).sort((a, b) => loss(largest, b.key) - loss(largest, a.key));
  const folded = components.filter((c) => !isLarge(c.key));
  return stacks.flatMap((stack) => {
    const rest = folded.reduce((sum, c) => sum + loss(stack, c.key), 0);
    const all: Part[] = [
      { key: "speedup", name: "speedup", cpus: stack.speedup * stack.base_cpus, of: stack.cpus },
      ...shown.map((c) => ({ key: c.key, name: c.loss_name, cpus: loss(stack, c.key), of: stack.cpus })),
    ];
    if (folded.length && rest !== 0) all.push({ key: "other", name: "other (each below 1%)", cpus: rest, of: stack.cpus });
    return all;
  });
}

export function stackInWords(all: Part[]): string {
  const most = Math.max(...all.map((part) => part.of));
  const shown = all.filter((part) => part.of === most);
  return `Of ${cpus(most)}: ${shown.map((part) => `${part.name} ${part.cpus.toFixed(2)}`).join(", ")}.`;
}

/** The picture; `choose` is told the key of a part that was clicked. */
export function stack(all: Part[], width: number, choose: (key: string) => void): SVGSVGElement | HTMLElement {
  const counts = [...new Set(all.map((part) => part.of))];
  const keys = [...new Set(all.map((part) => part.key))];
  const picture = Plot.plot({
    width,
    height: Math.max(90, 70 + counts.length * 44),
    marginLeft: 66,
    marginBottom: 44,
    style: { fontSize: "13px", background: "none", overflow: "visible" },
    x: { label: "CPUs →", labelOffset: 38, nice: true, grid: true, tickFormat: plain },
    y: { label: null, type: "band", domain: counts, tickFormat: (count: number) => cpus(count), padding: 0.25 },
    color: { domain: keys, range: keys.map(componentColour) },
    marks: [
      Plot.barX(all, Plot.stackX({ y: "of", x: "cpus", fill: "key", order: keys, insetRight: 1, className: "parts", title: (part: Part) => `${part.name}: ${part.cpus.toFixed(2)} of ${cpus(part.of)}`, tip: true })),
      Plot.ruleX([0]),
    ],
  });
  picture.querySelectorAll<SVGElement>("g[aria-label=bar] rect").forEach((bar, index) => {
    const part = all[index];
    if (part) bar.addEventListener("click", () => choose(part.key));
  });
  return picture;
}
