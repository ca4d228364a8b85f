// Locks under contention: figures against the number of threads, with a line for each lock. Each
// length of hold and of time away from the lock has a picture of its own.
//
// Draws the figures of the view and computes none.

import * as Plot from "@observablehq/plot";

import { lockMark } from "../colours.ts";
import { figure, nanos, percent, plain, rate, time } from "../format.ts";
import type { LockName } from "../record/LockName.ts";
import type { LockPoint } from "../record/LockPoint.ts";
import type { LockResult } from "../record/LockResult.ts";
import type { LocksView } from "../record/LocksView.ts";
import { svg, textWidth } from "../sheet/svg.ts";
import type { Setting } from "./setting.ts";
import { countTicks, logTicks } from "./ticks.ts";

export type LockQuantity = "rate" | "share" | "locking" | "luck" | "wait";

interface QuantityView {
  /** Label of the axis. */
  label: string;
  /** Whether the axis is logarithmic if all values are positive. */
  log: boolean;
  format: (value: number) => string;
  /** Lines of one lock: the name, value and interval of each. */
  lines: (result: LockResult) => [string, number | null, [number, number] | null][];
  /** Place and text of a line across the picture. */
  mark?: [number, string];
}

const QUANTITY_VIEWS: Record<LockQuantity, QuantityView> = {
  rate: { label: "holds a second", log: true, format: rate, lines: ({ per_s }) => [["", per_s.value, per_s.ci95]] },
  share: { label: "of the fastest", log: false, format: percent, lines: ({ of_fastest }) => [["", of_fastest.value, of_fastest.ci95]] },
  locking: { label: "CPUs for locking", log: false, format: figure, lines: ({ burned_cpus }) => [["", burned_cpus.value, burned_cpus.ci95]] },
  luck: { label: "of an equal share", log: false, format: figure, lines: ({ luckiest, unluckiest }) => [["luckiest", luckiest, null], ["unluckiest", unluckiest, null]], mark: [1, "fair"] },
  wait: { label: "longest wait", log: true, format: (ns) => time(ns / 1e9), lines: ({ longest_wait_ns }) => [["", longest_wait_ns, null]] },
};

export const LOCK_QUANTITIES: [LockQuantity, string][] = [
  ["rate", "holds a second"],
  ["share", "share of the fastest"],
  ["locking", "CPUs for locking"],
  ["luck", "luckiest and unluckiest thread"],
  ["wait", "longest wait"],
];

/** Meaning of the marks in the pictures. */
export const CONTENTION_KEY =
  "Solid lines with full circles: morecores' own locks; dashed lines with hollow circles: the system's. Bars: 95% intervals. " +
  "Circles of the same number of threads stand side by side. A name stands at the end of its line; of two lines of a lock, the luckiest thread's has the name. Each picture has a scale of its own.";

interface DrawnPoint {
  lock: LockName;
  line: string;
  threads: number;
  value: number;
  interval: [number, number] | null;
}

/** Points of one picture: equal hold time and time away, by number of threads. */
export interface Contention {
  name: string;
  points: LockPoint[];
}

export function contentions({ points }: LocksView): Contention[] {
  const all: Contention[] = [];
  for (const point of points) {
    const { hold_ns, think_ns } = point;
    const same = all.find(({ points: [first] }) => first?.hold_ns === hold_ns && first.think_ns === think_ns);
    if (same) same.points.push(point);
    else all.push({ name: `held for ${nanos(hold_ns)}, away for ${nanos(think_ns)}`, points: [point] });
  }
  return all;
}

function drawnPoints(points: LockPoint[], quantity: LockQuantity, visible: Set<LockName>): DrawnPoint[] {
  return points.flatMap(({ threads, results }) =>
    results.filter(({ lock }) => visible.has(lock)).flatMap((result) =>
      QUANTITY_VIEWS[quantity].lines(result).flatMap(([line, value, interval]) => (value === null ? [] : [{ lock: result.lock, line, threads, value, interval }]))));
}

const threadsText = (count: number) => (count === 1 ? "1 thread" : `${count} threads`);

/** Content of the picture in a sentence, for readers who do not see it. */
export function contentionInWords({ name, points }: Contention, quantity: LockQuantity, visible: Set<LockName>): string {
  const { label, format } = QUANTITY_VIEWS[quantity];
  const all = drawnPoints(points, quantity, visible);
  const lines = [...new Set(all.map(({ lock, line }) => `${lock} ${line}`.trim()))].map((line) => {
    const values = all.filter((d) => `${d.lock} ${d.line}`.trim() === line).map((d) => `${format(d.value)} with ${threadsText(d.threads)}`);
    return `${line}: ${values.join(", ")}`;
  });
  return `${label}, ${name}. ${lines.join("; ") || "Nothing to show"}.`;
}

/**
 * Lengths in pixels: height of a picture, room for the names of lines, distance between the circles
 * of two locks, and least distance between names.
 */
const HEIGHT = 250;
const NAMES_WIDTH = 104;
const LOCK_DISTANCE = 2.5;
const NAME_DISTANCE = 13;
/** Margins around the axes, the inset of the counts and the size of the texts. */
const [LEFT, TOP, BOTTOM, INSET, SIZE] = [62, 26, 40, 16, 12];
/** Width in pixels below which the names stand only in the legend. */
const MIN_NAMED_WIDTH = 250;

/** Picture of one contention. `cpus` is the number of CPUs to which its threads are pinned. */
export function contention({ points }: Contention, quantity: LockQuantity, visible: Set<LockName>, order: LockName[], cpus: number, { document, width, ground, interactive }: Setting): SVGSVGElement | HTMLElement {
  const { label, format, mark, ...view } = QUANTITY_VIEWS[quantity];
  const all = drawnPoints(points, quantity, visible);
  const counts = [...new Set(points.map((point) => point.threads))].sort((a, b) => a - b);
  const [least, most] = [counts[0] ?? 1, counts.at(-1) ?? 1];
  const log = view.log && all.length > 0 && all.every((d) => d.value > 0);
  const ends = all.flatMap((d) => [d.value, ...(d.interval ?? [])]).filter((value) => !log || value > 0);
  const [low, high] = log ? [Math.min(...ends) / 1.25, Math.max(...ends) * 1.25] : [Math.min(0, ...ends), Math.max(...ends, mark?.[0] ?? 0, 1e-9) * 1.04];
  const hasNames = width >= MIN_NAMED_WIDTH;
  const marginRight = hasNames ? NAMES_WIDTH : 14;
  const tickFormat = quantity === "locking" || quantity === "luck" ? plain : format;
  const ticks = log ? logTicks(low, high, HEIGHT - TOP - BOTTOM, tickFormat) : 5;
  const domain = least === most ? [least / 2, least * 2] : [least, most];
  const place = (count: number) => (Math.log(count / domain[0]!) / Math.log(domain[1]! / domain[0]!)) * (width - LEFT - marginRight - 2 * INSET);
  const shownCounts = countTicks(counts, place, (count) => textWidth(String(count), SIZE) + 6);
  const shift = (lock: LockName) => (order.indexOf(lock) - (order.length - 1) / 2) * Math.min(LOCK_DISTANCE, 24 / order.length);
  const floor = (value: number) => Math.max(value, low);
  const locks = order.filter((lock) => all.some((d) => d.lock === lock));
  const marks = locks.flatMap((lock): Plot.Markish[] => {
    const own = all.filter((d) => d.lock === lock);
    const { colour, isOwn } = lockMark(lock);
    const channels = { x: "threads", y: "value", dx: shift(lock) };
    return [
      Plot.line(own, { ...channels, z: "line", stroke: colour, strokeWidth: isOwn ? 2 : 1.75, strokeDasharray: isOwn ? undefined : "5 3" }),
      Plot.ruleX(own.filter((d) => d.interval), { x: "threads", dx: shift(lock), y1: (d: DrawnPoint) => floor(d.interval![0]), y2: (d: DrawnPoint) => floor(d.interval![1]), stroke: colour, strokeWidth: 2 }),
      Plot.dot(own, { ...channels, r: 3.5, stroke: colour, strokeWidth: 1.5, fill: isOwn ? colour : ground }),
    ];
  });
  const title = (d: DrawnPoint) => `${d.lock}${d.line && `, ${d.line}`}\n${threadsText(d.threads)}: ${format(d.value)}${d.interval ? `\n95% interval ${format(d.interval[0])} to ${format(d.interval[1])}` : ""}`;
  return Plot.plot({
    document,
    width,
    height: HEIGHT,
    marginLeft: LEFT,
    marginRight,
    marginTop: TOP,
    marginBottom: BOTTOM,
    style: { fontSize: `${SIZE}px`, background: "none", overflow: "visible" },
    x: { type: "log", label: "threads →", labelAnchor: "center", labelOffset: 34, ticks: shownCounts, tickFormat: (d: number) => String(d), domain, inset: INSET },
    y: { type: log ? "log" : "linear", label: `↑ ${label}`, domain: [low, high], ticks, tickFormat },
    marks: [
      Plot.gridY({ strokeOpacity: 0.15, ticks }),
      cpus > least && cpus < most ? Plot.ruleX([cpus], { stroke: "currentColor", strokeOpacity: 0.5, strokeDasharray: "2 4" }) : null,
      cpus > least && cpus < most ? Plot.text([cpus], { x: (d: number) => d, frameAnchor: "top", dy: -12, text: () => `${cpus} CPUs`, fill: "currentColor", fillOpacity: 0.75 }) : null,
      mark ? Plot.ruleY([mark[0]], { stroke: "currentColor", strokeOpacity: 0.5 }) : null,
      mark && hasNames ? Plot.text([mark[0]], { y: (d: number) => d, frameAnchor: "left", dx: 3, dy: -7, textAnchor: "start", text: () => mark[1], fill: "currentColor", fillOpacity: 0.75 }) : null,
      ...marks,
      // One tip for all circles: with a tip for each lock, several tips would show at once.
      interactive ? Plot.tip(all, Plot.pointer({ x: "threads", y: "value", title })) : null,
      hasNames ? names(locks, all, shift, document) : null,
    ].filter((mark) => mark !== null),
  });
}

/**
 * Draws the name of each line at its end. Names move apart if the ends are close, and a thin line
 * joins each name to its end.
 */
function names(locks: LockName[], all: DrawnPoint[], shift: (lock: LockName) => number, document: Document): Plot.RenderFunction {
  return (_, scales, __, { height, marginBottom, marginTop, width, marginRight }) => {
    const y = scales.y as unknown as (value: number) => number;
    const x = scales.x as unknown as (value: number) => number;
    const group = svg(document, "g", { "aria-label": "names", "font-size": 11, "text-anchor": "start" });
    const last = locks.flatMap((lock) => {
      const own = all.filter((d) => d.lock === lock);
      const end = own.filter((d) => d.line === own[0]!.line).at(-1)!;
      return [{ lock, from: x(end.threads) + shift(lock), end: y(end.value), at: y(end.value) }];
    }).sort((a, b) => a.at - b.at);
    separatePlaces(last, NAME_DISTANCE, marginTop, height - marginBottom);
    for (const { lock, from, end, at } of last) {
      const { colour } = lockMark(lock);
      const left = width - marginRight + 8;
      group.appendChild(svg(document, "path", { d: `M${from + 5},${end}L${left - 2},${at}`, fill: "none", stroke: colour, "stroke-opacity": 0.5 }));
      group.appendChild(svg(document, "text", { x: left, y: at, dy: "0.32em", fill: "currentColor" }, lock));
    }
    return group as SVGElement;
  };
}

/**
 * Moves places, in ascending order, until neighbours are `distance` apart and all are between `top`
 * and `bottom`, if they fit.
 */
export function separatePlaces(places: { at: number }[], distance: number, top: number, bottom: number): void {
  for (let i = 0, least = top; i < places.length; i++, least = places[i - 1]!.at + distance) places[i]!.at = Math.max(places[i]!.at, least);
  for (let i = places.length - 1, most = bottom; i >= 0; i--, most = places[i + 1]!.at - distance) places[i]!.at = Math.min(places[i]!.at, most);
}
