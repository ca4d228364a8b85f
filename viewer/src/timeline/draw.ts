// The timeline: running threads by command, ready threads above them, against the CPU count; serial
// phases and the critical path below.
//
// Decides the content and the places. The pen knows the surface.

import { plain, scaleOf, truncateText } from "../format.ts";
import type { SerialPhase } from "../record/SerialPhase.ts";
import { type Lanes, means } from "./lanes.ts";
import type { Pen } from "./pen.ts";
import type { Window } from "./window.ts";

/** Height of the timeline, in CSS pixels. */
export const HEIGHT = 296;
/** Width left of the picture for its axis, in pixels. */
export const LEFT = 34;
/** Height below the picture for the axis, the serial phases and the critical path, in pixels. */
const BELOW = 60;
/** Place of the serial phases and of the critical path below the picture, and their heights. */
const PHASES = { top: 24, height: 16 };
const PATH = { top: 46, height: 10 };
const ABOVE = 8;
/** Opacity of the ready threads, which are drawn in ink. */
export const READY_OPACITY = 0.22;

export interface Scene {
  lanes: Lanes;
  cpus: number;
  phases: SerialPhase[];
  hidden: Set<string>;
  colours: Map<string, string>;
}

/** Draws `window` of `scene`; sizes are in CSS pixels. */
export function draw(pen: Pen, scene: Scene, window: Window, width: number, height: number, ink: string): void {
  const columns = Math.max(Math.floor(width - LEFT - 2), 1);
  const bottom = height - BELOW;
  const buffer = new Float64Array(columns);
  const level = new Float64Array(columns);
  const shown = scene.lanes.commands.map(({ lane, name }) => ({ lane, name, colour: scene.colours.get(name) ?? ink })).filter(({ name }) => !scene.hidden.has(name));
  const stacks = shown.map(({ lane, colour }) => ({ values: means(lane, window.from, window.to, columns, buffer).slice(), colour }));
  const ready = means(scene.lanes.ready, window.from, window.to, columns, new Float64Array(columns));
  let most = scene.cpus;
  for (let i = 0; i < columns; i++) most = Math.max(most, stacks.reduce((sum, stack) => sum + stack.values[i]!, 0) + Math.min(ready[i]!, 3 * scene.cpus));
  const scale = (bottom - ABOVE) / (most * 1.04);

  const tops = new Float64Array(columns);
  const heights = new Float64Array(columns);
  const area = (values: Float64Array, colour: string, opacity: number) => {
    for (let i = 0; i < columns; i++) {
      const value = Math.max(values[i]!, 0);
      level[i] = level[i]! + value;
      tops[i] = bottom - level[i]! * scale;
      heights[i] = value * scale;
    }
    pen.columns(LEFT, tops, heights, colour, opacity);
  };
  for (const stack of stacks) area(stack.values, stack.colour, 1);
  area(ready, ink, READY_OPACITY);
  axes(pen, scene, window, { width, bottom, scale, most });
  phases(pen, scene, window, { width, bottom });
  path(pen, scene, window, bottom, columns, ink);
}

/** Commands on the critical path, in their colours; a gap is a wait. */
function path(pen: Pen, scene: Scene, window: Window, bottom: number, columns: number, ink: string): void {
  const top = bottom + PATH.top;
  const tops = new Float64Array(columns).fill(top + PATH.height);
  const heights = new Float64Array(columns);
  for (const { name, path } of scene.lanes.commands) {
    const shares = means(path, window.from, window.to, columns, new Float64Array(columns));
    for (let i = 0; i < columns; i++) {
      heights[i] = Math.max(shares[i]!, 0) * PATH.height;
      tops[i] = tops[i]! - heights[i]!;
    }
    pen.columns(LEFT, tops, heights, scene.colours.get(name) ?? ink, 1);
  }
}

interface Frame {
  width: number;
  bottom: number;
}

function axes(pen: Pen, scene: Scene, window: Window, { width, bottom, scale, most }: Frame & { scale: number; most: number }): void {
  const every = Math.max(1, Math.ceil(most / 8));
  for (let count = 0; count <= most; count += every) pen.text(String(count), LEFT - 6, bottom - count * scale, "end", "middle");
  const y = bottom + 0.5;
  pen.line(LEFT, width, y, false);
  pen.line(LEFT, width, Math.round(bottom - scene.cpus * scale) + 0.5, true);
  const step = niceStep((window.to - window.from) / Math.max(2, Math.floor(width / 110)));
  for (let at = Math.ceil(window.from / step) * step; at <= window.to; at += step) {
    const x = LEFT + ((at - window.from) / (window.to - window.from)) * (width - LEFT);
    const anchor = x > width - 24 ? "end" : x < LEFT + 24 ? "start" : "middle";
    pen.text(axisTime(at / 1e6, step / 1e6), Math.min(x, width - 1), bottom + 5, anchor, "top");
  }
}

function phases(pen: Pen, scene: Scene, window: Window, { width, bottom }: Frame): void {
  const length = window.to - window.from;
  const x = (seconds: number) => LEFT + ((seconds * 1e6 - window.from) / length) * (width - LEFT);
  for (const phase of scene.phases) {
    const from = Math.max(x(phase.start_s), LEFT);
    const to = Math.min(x(phase.start_s + phase.duration_s), width);
    if (to <= LEFT || from >= width) continue;
    pen.box(from, bottom + PHASES.top, Math.max(to - from, 1), PHASES.height, 0.25);
    const room = to - from - 8;
    if (room > 20) pen.text(truncateText(phase.culprit, room, pen.textWidth), from + 4, bottom + PHASES.top + PHASES.height / 2, "start", "middle");
  }
}

/** Text of an instant on the axis, in the unit of its steps. */
export function axisTime(at: number, step: number): string {
  const { symbol, size } = scaleOf("time", step);
  return at === 0 ? "0" : `${plain(at / size)} ${symbol}`;
}

/** Smallest of 1, 2 or 5 times a power of ten that is at least `step`. */
export function niceStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map((times) => times * power).find((nice) => nice >= step) ?? 10 * power;
}
