// The classic benchmarks then and now: a line for each part of each benchmark, with the published
// and the measured speedup.
//
// Draws the pairs of the summary and computes no figure.

import * as Plot from "@observablehq/plot";

import { cpus, figure, plain, truncateText } from "../format.ts";
import type { SuiteText } from "../record/SuiteText.ts";
import type { SuiteRow } from "../record/SuiteRow.ts";
import { textWidth } from "../sheet/svg.ts";
import type { Setting } from "./setting.ts";
import { logTicks } from "./ticks.ts";

const BLUE = "#0072b2";
const ORANGE = "#d55e00";

/** Ratio of the largest to the smallest speedup from which the axis is logarithmic. */
const LOG_FROM = 8;

/**
 * Lengths in pixels: size of the texts, height of a line, room for the verdicts, least width of a
 * picture with verdicts, and inset of the axis.
 */
const SIZE = 12;
const LINE = 20;
const VERDICTS = 104;
const WIDE = 520;
const INSET = 10;

/** Meaning of the marks in the picture. */
export const SUITE_KEY =
  "Hollow circles: published speedups over one CPU; full circles: those measured here, with their 95% intervals. Dotted: one CPU. " +
  "Both are on the CPU counts of the table; at the right the verdict.";

interface Line {
  row: SuiteRow;
  verdict: string;
}

/** Rows with the words of their verdicts. */
function lines({ summary, verdicts }: SuiteText): Line[] {
  return summary.rows.map((row, i) => ({ row, verdict: verdicts[i] ?? "" }));
}

function lineInWords({ row, verdict }: Line): string {
  const { then, now, study } = row;
  const interval = now?.ci95 ? ` (95% interval ${figure(now.ci95[0])} to ${figure(now.ci95[1])})` : "";
  const parts = [
    then && `then ${figure(then.speedup)} on ${cpus(then.cpus)} (${[then.machine, then.year].filter(Boolean).join(", ")})`,
    now && `now ${figure(now.speedup)} on ${cpus(now.cpus)}${interval}`,
    verdict,
  ];
  return `${study}: ${parts.filter(Boolean).join(", ")}`;
}

/** Content of the picture in a sentence for each line, for readers who do not see it. */
export function suiteInWords(suite: SuiteText): string {
  return `Speedups then and now. ${lines(suite).map(lineInWords).join("; ")}.`;
}

/** Picture of the suite. */
export function suitePicture(suite: SuiteText, { document, width, ground, interactive }: Setting): SVGSVGElement | HTMLElement {
  const all = lines(suite);
  const then = all.filter(({ row }) => row.then);
  const now = all.filter(({ row }) => row.now);
  const pairs = then.filter(({ row }) => row.now);
  const intervals = now.filter(({ row }) => row.now!.ci95);
  const speedups = all.flatMap(({ row }) => [row.then?.speedup, row.now?.speedup, ...(row.now?.ci95 ?? [])]).filter((speedup) => speedup !== undefined && speedup > 0) as number[];
  const [low, high] = [Math.min(1, ...speedups), Math.max(2, ...speedups)];
  const log = high > LOG_FROM * low;
  const name = ({ row }: Line) => row.study;
  const longest = Math.max(...all.map((line) => textWidth(name(line), SIZE)), 0);
  const marginLeft = Math.ceil(Math.min(longest, width * 0.4)) + 14;
  const marginRight = width >= WIDE ? VERDICTS : 14;
  const length = width - marginLeft - marginRight - 2 * INSET;
  const label = (tick: number) => textWidth(plain(tick), SIZE) + 8;
  const ticks = log ? logTicks(low, high, length, plain, (text) => textWidth(text, SIZE) + 8) : Math.max(2, Math.floor(length / (2 * label(high))));
  const x = { type: log ? ("log" as const) : ("linear" as const), label: `speedup over 1 CPU${log ? ", logarithmic" : ""} →`, labelAnchor: "center" as const, labelOffset: 36, domain: [low, high], inset: INSET, ticks, tickFormat: plain };
  return Plot.plot({
    document,
    width,
    height: all.length * LINE + 60,
    marginLeft,
    marginRight,
    marginTop: 8,
    marginBottom: 46,
    style: { fontSize: `${SIZE}px`, background: "none", overflow: "visible" },
    x,
    y: { type: "point", domain: all.map(name), label: null, tickSize: 0, tickFormat: (study: string) => truncateText(study, marginLeft - 12, (text) => textWidth(text, SIZE)), padding: 0.6 },
    marks: [
      Plot.gridX({ strokeOpacity: 0.12, ticks }),
      Plot.gridY({ strokeOpacity: 0.12 }),
      Plot.ruleX([1], { stroke: "currentColor", strokeOpacity: 0.6, strokeDasharray: "2 4" }),
      Plot.ruleY(pairs, { y: name, x1: ({ row }: Line) => row.then!.speedup, x2: ({ row }: Line) => row.now!.speedup, stroke: "currentColor", strokeOpacity: 0.35 }),
      Plot.ruleY(intervals, { y: name, x1: ({ row }: Line) => Math.max(row.now!.ci95![0], low), x2: ({ row }: Line) => row.now!.ci95![1], stroke: BLUE, strokeWidth: 3, strokeOpacity: 0.6, className: "intervals" }),
      Plot.dot(then, { y: name, x: ({ row }: Line) => row.then!.speedup, r: 5, stroke: ORANGE, strokeWidth: 2, fill: ground, className: "then" }),
      Plot.dot(now, { y: name, x: ({ row }: Line) => row.now!.speedup, r: 3.5, fill: BLUE, className: "now" }),
      width >= WIDE ? Plot.text(all, { y: name, frameAnchor: "right", dx: 10, textAnchor: "start", text: "verdict", fill: "currentColor", className: "verdicts" }) : null,
      interactive ? Plot.tip([...new Set([...then, ...now])], Plot.pointerY({ y: name, x: ({ row }: Line) => (row.now ?? row.then)!.speedup, title: lineInWords })) : null,
    ].filter((mark) => mark !== null),
  });
}
