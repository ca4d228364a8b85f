// The speedup curve: the measured points with intervals and every run, and the prediction with its
// band. It runs over the CPU counts; where several values of n were measured on the same CPUs, over
// these, with one line for each CPU count; where several CPU quotas were, over them, with one line
// for each value of n.
//
// Draws the figures of the view. The only arithmetic is the efficiency of one run.

import * as Plot from "@observablehq/plot";

import { seriesColour } from "../colours.ts";
import { cpus, figure, percent, plain, time } from "../format.ts";
import type { CpuKind } from "../record/CpuKind.ts";
import type { PageStudy } from "../record/PageStudy.ts";
import type { PointView } from "../record/PointView.ts";
import { textWidth } from "../sheet/svg.ts";
import type { Setting } from "./setting.ts";
import { axisTicks, countTicks } from "./ticks.ts";

export type Quantity = "speedup" | "elapsed" | "efficiency" | "metric" | FurtherMetric;

/** Further metric by its name. No decision depends on it. */
type FurtherMetric = { further: string };

export interface CurveOptions {
  quantity: Quantity;
  log: boolean;
}

/**
 * Ratio of the largest to the smallest CPU count from which axes are logarithmic, as for the
 * terminal's curve.
 */
const LOG_FROM = 8;

/**
 * Lengths in pixels: margins around the axes, insets from their ends, and the size of the texts.
 */
const [LEFT, RIGHT, TOP, BOTTOM, INSET_X, INSET_Y, SIZE] = [52, 20, 28, 44, 14, 8, 13];

const BLUE = "#0072b2";
const ORANGE = "#d55e00";

/** Horizontal axis: what the points of the curve differ in. */
type Over = "cpus" | "n" | "quota";

/** Cell of a point or of a run. */
type Cell = { cpus: number; n: number; axes?: Record<string, boolean | number | string> };

interface MeasuredPoint {
  x: number;
  cpus: number;
  value: number;
  interval: [number, number] | null;
  /** Whether the count adds whole cores of the first kind alone. */
  whole: boolean;
  kind: string;
  series: string;
}

interface Dot {
  x: number;
  value: number;
  series: string;
  /** Whether the figures leave the run out, because others disturbed its round. */
  disturbed: boolean;
}

interface PredictionPoint {
  x: number;
  value: number | null;
  band: [number, number];
}

/** Axis of the curve of these studies. */
function overOf(studies: PageStudy[]): Over {
  if (studies.every(({ view }) => view.quota)) return "quota";
  return studies.every(({ view }) => (view.rankings?.length ?? 0) > 0) ? "n" : "cpus";
}

/** Number of CPUs whose time the cell may use: those of its quota, or all of its own. */
const cpuTime = ({ cpus: count, axes }: Cell) => Math.min(count, Number(axes?.["quota_percent"] ?? 100 * count) / 100);

/** Place on the axis. */
const xOf = (cell: Cell, over: Over) => (over === "n" ? cell.n : over === "quota" ? cpuTime(cell) : cell.cpus);

/**
 * Place on the axis, and line. The lines of several CPU counts or values of n have names of their
 * own.
 */
function placeOf(study: PageStudy, cell: Cell, over: Over): { x: number; series: string } {
  const { points } = study.view;
  const line = over === "n" && points.some((point) => point.cpus !== cell.cpus) ? `, ${cpus(cell.cpus)}`
    : over === "quota" && points.some((point) => point.n !== cell.n) ? `, n = ${cell.n}`
    : "";
  return { x: xOf(cell, over), series: study.name + line };
}

/** Whether the work grows with n: the speedup is scaled, and the ideal elapsed time is flat. */
export const isWeak = ({ view }: PageStudy) => view.plan.scaling === "weak";

/** Quantities of a study; the metric only if the study has one. */
export function quantities(study: PageStudy): [Quantity, string][] {
  const metric = study.view.points.find((point) => point.metric)?.metric;
  const all: [Quantity, string][] = [["speedup", isWeak(study) ? "scaled speedup" : "speedup"], ["elapsed", "elapsed"], ["efficiency", "efficiency"]];
  if (metric) all.push(["metric", metric.name ?? metric.unit ?? "metric"]);
  const further = study.view.plan.further_metrics ?? [];
  return [...all, ...further.map(({ name }): [Quantity, string] => [{ further: name }, name])];
}

/** Place of a further metric in the plan; -1 if the study has no metric of this name. */
function furtherMetricIndex(study: PageStudy, quantity: FurtherMetric): number {
  return (study.view.plan.further_metrics ?? []).findIndex(({ name }) => quantity.further === name);
}

function isFurther(quantity: Quantity): quantity is FurtherMetric {
  return typeof quantity === "object";
}

/** Name of each kind of CPU; null if the kind is like the first CPU. */
const KINDS: Record<CpuKind, string | null> = {
  first: null,
  core: null,
  "smt-sibling": "SMT siblings",
  "other-node": "cores of another node",
  "other-package": "cores of another package",
  "other-core-type": "cores of another type",
};

/** Names of the kinds that a count adds and that are not like the first CPU. */
const otherKinds = (point: PointView) => point.adds.map((kind) => KINDS[kind]).filter((kind) => kind !== null);

/** Kinds of CPU that a count adds, in words. */
export function addedKinds(point: PointView): string {
  const other = otherKinds(point);
  return other.length > 0 ? `adds ${other.join(", ")}` : "whole cores";
}

function measuredPoints(study: PageStudy, quantity: Quantity, over: Over): MeasuredPoint[] {
  return study.view.points.map((point) => {
    const further = isFurther(quantity) ? point.further_metrics[furtherMetricIndex(study, quantity)] : undefined;
    const [value, interval] = isFurther(quantity) ? [further?.median ?? NaN, further?.ci95 ?? null] : {
      speedup: [point.speedup.value, point.speedup.ci95],
      elapsed: [point.elapsed_s.median, point.elapsed_s.ci95],
      efficiency: [point.efficiency, point.efficiency_ci95],
      metric: [point.metric?.median ?? NaN, point.metric?.ci95 ?? null],
    }[quantity] as [number, [number, number] | null];
    return { ...placeOf(study, point, over), cpus: point.cpus, value, interval, whole: otherKinds(point).length === 0, kind: addedKinds(point) };
  });
}

/** Single runs. The speedup of a run is its ratio to the base's run of the same round. */
export function runDots(study: PageStudy, quantity: Quantity, over: Over = "cpus"): Dot[] {
  const base = study.view.points[0] ? cpuTime(study.view.points[0]) : NaN;
  return study.runs
    .filter((run) => run.succeeded)
    .map((run) => {
      const speedup = run.speedup ?? NaN;
      const shown = isFurther(quantity) ? run.further_metrics[furtherMetricIndex(study, quantity)] ?? NaN : {
        speedup,
        elapsed: run.elapsed_s,
        efficiency: (speedup * base) / cpuTime(run),
        metric: run.metric ?? NaN,
      }[quantity];
      return { ...placeOf(study, run, over), value: shown, disturbed: run.disturbed };
    })
    .filter((dot) => Number.isFinite(dot.value));
}

/** Prediction, starting at the largest measured count. */
function predictedPoints(study: PageStudy, quantity: Quantity): PredictionPoint[] {
  const prediction = study.view.prediction;
  const last = study.view.points.at(-1);
  const base = study.view.points[0]?.cpus ?? 1;
  if (!prediction || !last || quantity === "metric" || isFurther(quantity)) return [];
  const start = measuredPoints(study, quantity, "cpus").at(-1)!;
  const points = prediction.points.flatMap((point): PredictionPoint[] => {
    if (quantity === "speedup") return [{ x: point.cpus, value: point.speedup, band: point.band90 }];
    if (quantity === "efficiency") {
      const efficiency = (speedup: number) => (speedup * base) / point.cpus;
      return [{ x: point.cpus, value: point.speedup === null ? null : efficiency(point.speedup), band: [efficiency(point.band90[0]), efficiency(point.band90[1])] }];
    }
    return point.elapsed_band90_s ? [{ x: point.cpus, value: point.elapsed_s, band: point.elapsed_band90_s }] : [];
  });
  return points.length ? [{ x: last.cpus, value: start.value, band: start.interval ?? [start.value, start.value] }, ...points] : [];
}

/** Content of the picture in a sentence, for readers who do not see it. */
export function curveInWords(studies: PageStudy[], quantity: Quantity): string {
  const format = quantity === "elapsed" ? time : quantity === "efficiency" ? percent : figure;
  const over = overOf(studies);
  return studies
    .map((study) => {
      const points = measuredPoints(study, quantity, over).map((point) => `${format(point.value)} ${placeInWords(point, over)}`);
      return `${study.name}: ${points.join(", ")}`;
    })
    .join("; ");
}

/** Place of a point in words. */
function placeInWords(point: { x: number; cpus: number }, over: Over): string {
  if (over === "quota") return `with a limit of ${cpus(point.x)}`;
  return over === "n" ? `with n = ${point.x} on ${cpus(point.cpus)}` : `on ${cpus(point.x)}`;
}

const LABELS: Record<Exclude<Quantity, FurtherMetric>, string> = { speedup: "speedup", elapsed: "elapsed (s)", efficiency: "efficiency", metric: "metric" };

/** Whether the range of the horizontal axis of these studies makes logarithmic axes the default. */
export function isWideRange(studies: PageStudy[]): boolean {
  const over = overOf(studies);
  const predicted = (study: PageStudy) => (studies.length > 1 || over !== "cpus" ? [] : study.view.prediction?.points ?? []);
  const counts = studies.flatMap((study) => [...study.view.points.map((point) => xOf(point, over)), ...predicted(study).map((point) => point.cpus)]);
  return Math.max(...counts) >= LOG_FROM * Math.min(...counts);
}

/** Meaning of the marks in the picture. */
export function curveKey(studies: PageStudy[]): string {
  const runs = studies.some((study) => study.runs.some((run) => run.disturbed))
    ? "Small dots: single runs; hollow: disturbed by others, in no figure."
    : "Small dots: single runs.";
  return studies.length > 1 || overOf(studies) !== "cpus"
    ? `Bars: 95% intervals. ${runs}`
    : `Circles: whole cores; triangles: other kinds of CPU. Bars: 95% intervals. ${runs} Dashed, with its 90% band: predicted. Dotted: ideal.`;
}

/** Picture of the curve. With several lines there is no prediction and no ideal. */
export function curve(studies: PageStudy[], options: CurveOptions, { document, width, ground, interactive }: Setting): SVGSVGElement | HTMLElement {
  const { quantity, log } = options;
  const over = overOf(studies);
  const points = studies.flatMap((study) => measuredPoints(study, quantity, over));
  const lines = [...new Set(points.map((point) => point.series))];
  const isOne = lines.length === 1;
  const one = studies.length === 1 && over === "cpus" ? studies[0] : undefined;
  const prediction = one ? predictedPoints(one, quantity) : [];
  const most = Math.max(...points.map((point) => point.x), ...prediction.map((point) => point.x), over === "cpus" ? 2 : 0);
  const least = Math.min(...points.map((point) => point.x));
  const counts = [...new Set([...points, ...prediction].map((point) => point.x))].sort((a, b) => a - b);
  const ideal = over === "n" ? [] : idealLine(over === "quota" && isOne ? studies[0] : one, quantity, least, most);
  const stroke = isOne ? BLUE : "series";
  const dots = studies.flatMap((study) => runDots(study, quantity, over));
  const height = Math.min(Math.max(width * 0.55, 240), 420);
  const values = [
    ...points.flatMap((point) => [point.value, ...(point.interval ?? [])]),
    ...dots.map((dot) => dot.value),
    ...prediction.flatMap((point) => [point.value ?? point.band[0], ...point.band]),
    ...ideal.map((point) => point.value),
  ].filter((value) => value > 0);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const range: [number, number] = lowest < highest ? [lowest, highest] : [lowest / 1.1, highest * 1.1];
  const ticks = log ? axisTicks(range[0], range[1], height - TOP - BOTTOM - 2 * INSET_Y, quantity === "speedup" ? counts : [], plain) : undefined;
  const first = least === most ? least - 1 || 0.5 : least;
  const scale = log ? Math.log : (count: number) => count;
  const place = (count: number) => ((scale(count) - scale(first)) / (scale(most) - scale(first))) * (width - LEFT - RIGHT - 2 * INSET_X);
  const shownCounts = countTicks(counts, place, (count) => textWidth(String(count), SIZE) + 6);
  const marks: Plot.Markish[] = [
    Plot.gridY({ strokeOpacity: 0.15, ticks }),
    ideal.length ? Plot.line(ideal, { x: "x", y: "value", stroke: "currentColor", strokeDasharray: "2 4", strokeOpacity: 0.6 }) : null,
    ideal.length ? Plot.text([ideal.at(-1)!], { x: "x", y: "value", text: () => "ideal", dx: -4, dy: -6, textAnchor: "end", fillOpacity: 0.75, fill: "currentColor" }) : null,
    prediction.length ? Plot.areaY(prediction, { x: "x", y1: (d: PredictionPoint) => d.band[0], y2: (d: PredictionPoint) => d.band[1], fill: ORANGE, fillOpacity: 0.18 }) : null,
    prediction.length ? Plot.line(prediction.filter((d) => d.value !== null), { x: "x", y: "value", stroke: ORANGE, strokeWidth: 1.5, strokeDasharray: "6 3" }) : null,
    prediction.length ? Plot.dot(prediction.slice(1).filter((d) => d.value !== null), { x: "x", y: "value", stroke: ORANGE, fill: ground, symbol: "diamond", r: 4, title: (d: PredictionPoint) => `predicted on ${cpus(d.x)}: ${figure(d.value)}, 90% band ${figure(d.band[0])} to ${figure(d.band[1])}`, tip: interactive }) : null,
    Plot.dot(dots.filter((dot) => !dot.disturbed), { x: "x", y: "value", r: 1.8, fill: isOne ? "currentColor" : "series", fillOpacity: 0.35, stroke: null, dx: 6 }),
    Plot.dot(dots.filter((dot) => dot.disturbed), { x: "x", y: "value", r: 1.8, fill: "none", stroke: isOne ? "currentColor" : "series", strokeOpacity: 0.35, dx: 6 }),
    Plot.line(points, { x: "x", y: "value", stroke, z: "series", strokeWidth: 2 }),
    Plot.ruleX(points.filter((point) => point.interval), { x: "x", y1: (d: MeasuredPoint) => d.interval![0], y2: (d: MeasuredPoint) => d.interval![1], stroke, strokeWidth: 2 }),
    Plot.dot(points, {
      x: "x", y: "value", fill: stroke, r: 4, symbol: (d: MeasuredPoint) => (d.whole || over !== "cpus" ? "circle" : "triangle"),
      title: (d: MeasuredPoint) => `${isOne ? "" : `${d.series}\n`}${over === "n" ? `n = ${d.x}` : over === "quota" ? `limit of ${cpus(d.x)}` : `${cpus(d.x)} (${d.kind})`}: ${figure(d.value)}${d.interval ? `\n95% interval ${figure(d.interval[0])} to ${figure(d.interval[1])}` : "\nno interval: fewer than six runs"}`,
      tip: interactive,
    }),
    // A picture without a legend names its lines at their ends.
    isOne || interactive ? null : Plot.text(lines.map((line) => points.findLast((point) => point.series === line)!), {
      x: "x", y: "value", text: (d: MeasuredPoint) => lineName(d.series, studies), fill: stroke, dx: -10, dy: 18, textAnchor: "end",
    }),
  ].filter((mark) => mark !== null);
  return Plot.plot({
    document,
    width,
    height,
    marginLeft: LEFT,
    marginRight: RIGHT,
    marginTop: TOP,
    marginBottom: BOTTOM,
    style: { fontSize: `${SIZE}px`, background: "none", overflow: "visible" },
    x: { type: log ? "log" : "linear", label: { n: "n →", quota: "limit (CPUs) →", cpus: "CPUs →" }[over], labelOffset: 38, ticks: shownCounts, tickFormat: (d: number) => String(d), domain: [first, most], inset: INSET_X },
    y: { type: log ? "log" : "linear", label: `↑ ${quantityName(studies, quantity)}`, zero: !log, nice: !log, ...(log ? { domain: range } : {}), insetTop: INSET_Y, insetBottom: log ? INSET_Y : 0, ticks, tickFormat: plain },
    color: isOne ? undefined : { legend: interactive, domain: lines, range: lines.map((_, i) => seriesColour(i)) },
    symbol: { range: ["circle", "triangle"], domain: ["circle", "triangle"] },
    marks,
  });
}

function quantityName(studies: PageStudy[], quantity: Quantity): string {
  if (isFurther(quantity)) return quantity.further;
  return quantity === "speedup" && studies.every(isWeak) ? "scaled speedup" : LABELS[quantity];
}

/** Name of a line; without that of the study where there is only one. */
function lineName(series: string, studies: PageStudy[]): string {
  const only = studies.length === 1 ? studies[0]!.name + ", " : "";
  return series.startsWith(only) ? series.slice(only.length) : series;
}

function idealLine(study: PageStudy | undefined, quantity: Quantity, least: number, most: number): { x: number; value: number }[] {
  const base = study?.view.points[0];
  if (quantity === "metric" || isFurther(quantity) || (quantity === "elapsed" && !base)) return [];
  return Array.from({ length: 33 }, (_, i) => least * (most / least) ** (i / 32)).map((count) => ({
    x: count,
    value: quantity === "speedup" ? count / least : quantity === "efficiency" ? 1 : isWeak(study!) ? base!.elapsed_s.median : (base!.elapsed_s.median * least) / count,
  }));
}
