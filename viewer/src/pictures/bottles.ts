// The bottle graph of a traced run: a box for each thread, as high as its criticality and as wide
// as the mean number of threads that ran while it did, so that its area is its CPU time. The widest
// boxes are at the bottom (Du Bois et al., OOPSLA 2013).
//
// Draws the threads of a view and computes no figure beyond their widths.

import * as Plot from "@observablehq/plot";

import { cpus, figure, percent, plain, time, truncateText } from "../format.ts";
import type { PageStudy } from "../record/PageStudy.ts";
import type { ThreadView } from "../record/ThreadView.ts";
import type { TraceView } from "../record/TraceView.ts";
import { textWidth } from "../sheet/svg.ts";
import type { Setting } from "./setting.ts";

/** Lengths in pixels: size of the texts, height of the picture, least height of a labelled box. */
const SIZE = 12;
const HEIGHT = 320;
const LEAST_LABELLED = 14;

const MARGINS = { left: 56, right: 14, top: 8, bottom: 46 };

interface Box {
  row: ThreadView;
  /** Beginning and end on the vertical axis, in seconds. */
  from: number;
  to: number;
  /** Mean number of threads that ran while this one did, itself included. */
  width: number;
}

export const BOTTLES_KEY =
  "Height: the thread's share of the time in which anything ran. Width: threads that ran at the same time, itself included. " +
  "Area: its CPU time. The narrow neck is what more CPUs cannot make faster.";

/** Traced run with the details on the page: the one on the most measured CPUs. */
export function shownTrace({ view }: PageStudy): TraceView | undefined {
  return view.traces.filter((trace) => trace.overhead !== null).at(-1) ?? view.traces.at(-1);
}

export function threadName({ thread, tid, threads, command }: ThreadView): string {
  return thread === null ? `${threads} others of ${command}` : `${thread} (${tid})`;
}

/** Boxes from the bottom to the top, the widest first. */
export function boxes(trace: TraceView): Box[] {
  const rows = trace.threads.filter((row) => row.criticality_s > 0);
  const wide = rows.map((row) => ({ row, width: row.cpu_s / row.criticality_s })).sort((a, b) => b.width - a.width);
  let from = 0;
  return wide.map(({ row, width }) => {
    const box = { row, width, from, to: from + row.criticality_s };
    from = box.to;
    return box;
  });
}

function boxInWords({ row, width }: Box, whole: number): string {
  return `${threadName(row)}: ${percent(row.criticality_s / whole)} of the time, ${figure(width)} threads at a time, ${time(row.cpu_s)} of CPU time`;
}

/** Content of the picture in words, for readers who do not see it. */
export function bottlesInWords(trace: TraceView): string {
  const all = boxes(trace);
  const whole = all.at(-1)?.to ?? 0;
  return `Threads by criticality. ${all.map((box) => boxInWords(box, whole)).join("; ")}.`;
}

/** Picture of the threads of a traced run. */
export function bottles(trace: TraceView, { document, width, ground, interactive }: Setting): SVGSVGElement | HTMLElement {
  const all = boxes(trace);
  const whole = all.at(-1)?.to ?? 0;
  const widest = Math.max(trace.cpus, ...all.map((box) => box.width));
  const scale = (width - MARGINS.left - MARGINS.right) / widest;
  const height = (HEIGHT - MARGINS.top - MARGINS.bottom) / (whole || 1);
  const labelled = all.filter((box) => (box.to - box.from) * height >= LEAST_LABELLED);
  const label = (box: Box) => truncateText(threadName(box.row), width - MARGINS.left - MARGINS.right, (text) => textWidth(text, SIZE));
  const labelFits = (box: Box) => textWidth(threadName(box.row), SIZE) + 8 <= box.width * scale;
  return Plot.plot({
    document,
    width,
    height: HEIGHT,
    marginLeft: MARGINS.left,
    marginRight: MARGINS.right,
    marginTop: MARGINS.top,
    marginBottom: MARGINS.bottom,
    style: { fontSize: `${SIZE}px`, background: "none", overflow: "visible" },
    x: { label: `threads at a time (traced on ${cpus(trace.cpus)})`, labelAnchor: "center", labelOffset: 36, domain: [-widest / 2, widest / 2], ticks: [-trace.cpus / 2, 0, trace.cpus / 2], tickFormat: (x: number) => plain(2 * Math.abs(x)) },
    y: { label: "↑ seconds", domain: [0, whole], ticks: 5 },
    marks: [
      Plot.ruleX([-trace.cpus / 2, trace.cpus / 2], { stroke: "currentColor", strokeOpacity: 0.6, strokeDasharray: "2 4" }),
      Plot.rect(all, { x1: (box: Box) => -box.width / 2, x2: (box: Box) => box.width / 2, y1: "from", y2: "to", fill: "#56b4e9", fillOpacity: 0.75, stroke: ground, strokeWidth: 1, className: "boxes" }),
      Plot.text(labelled.filter(labelFits), { x: 0, y: (box: Box) => (box.from + box.to) / 2, text: label, fill: "black", className: "names" }),
      Plot.text(labelled.filter((box) => !labelFits(box)), { x: (box: Box) => box.width / 2, y: (box: Box) => (box.from + box.to) / 2, text: label, textAnchor: "start", dx: 4, fill: "currentColor", className: "names" }),
      interactive ? Plot.tip(all, Plot.pointer({ x: 0, y: (box: Box) => (box.from + box.to) / 2, title: (box: Box) => boxInWords(box, whole) })) : null,
    ].filter((mark) => mark !== null),
  });
}
