// The timeline on a canvas: running threads by command, ready ones above them, against the CPU count; serial phases below.

import { plain, unitOf } from "../format.ts";
import type { SerialPhase } from "../record/SerialPhase.ts";
import { type Lanes, means } from "./lanes.ts";
import type { Window } from "./window.ts";

/** Pixels left of the picture, for its axis. */
export const LEFT = 34;
/** Pixels below it: the axis of time, and the serial phases. */
const BELOW = 44;
const ABOVE = 8;

export interface Scene {
  lanes: Lanes;
  cpus: number;
  phases: SerialPhase[];
  hidden: Set<string>;
  colours: Map<string, string>;
}

/** Draws `window` of `scene`; sizes are in CSS pixels. */
export function draw(context: CanvasRenderingContext2D, scene: Scene, window: Window, width: number, height: number, ink: string): void {
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

  context.clearRect(0, 0, width, height);
  const area = (values: Float64Array, colour: string) => {
    context.fillStyle = colour;
    for (let i = 0; i < columns; i++) {
      const value = values[i]!;
      if (value <= 0) continue;
      const top = level[i]! + value;
      context.fillRect(LEFT + i, bottom - top * scale, 1, value * scale + 0.5);
      level[i] = top;
    }
  };
  for (const stack of stacks) area(stack.values, stack.colour);
  context.globalAlpha = 0.22;
  area(ready, ink);
  context.globalAlpha = 1;
  axes(context, scene, window, { width, bottom, scale, most, ink });
  phases(context, scene, window, { width, bottom, ink });
}

interface Frame {
  width: number;
  bottom: number;
  ink: string;
}

function axes(context: CanvasRenderingContext2D, scene: Scene, window: Window, frame: Frame & { scale: number; most: number }): void {
  const { width, bottom, scale, most, ink } = frame;
  context.fillStyle = ink;
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(most / 8));
  for (let count = 0; count <= most; count += every) context.fillText(String(count), LEFT - 6, bottom - count * scale);
  context.beginPath();
  context.moveTo(LEFT, bottom + 0.5);
  context.lineTo(width, bottom + 0.5);
  context.stroke();
  context.setLineDash([4, 4]);
  context.beginPath();
  const line = Math.round(bottom - scene.cpus * scale) + 0.5;
  context.moveTo(LEFT, line);
  context.lineTo(width, line);
  context.stroke();
  context.setLineDash([]);
  context.textBaseline = "top";
  const step = niceStep((window.to - window.from) / Math.max(2, Math.floor(width / 110)));
  for (let at = Math.ceil(window.from / step) * step; at <= window.to; at += step) {
    const x = LEFT + ((at - window.from) / (window.to - window.from)) * (width - LEFT);
    context.textAlign = x > width - 24 ? "right" : x < LEFT + 24 ? "left" : "center";
    context.fillText(axisTime(at / 1e6, step / 1e6), Math.min(x, width - 1), bottom + 5);
  }
}

function phases(context: CanvasRenderingContext2D, scene: Scene, window: Window, { width, bottom, ink }: Frame): void {
  const length = window.to - window.from;
  const x = (seconds: number) => LEFT + ((seconds * 1e6 - window.from) / length) * (width - LEFT);
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const phase of scene.phases) {
    const from = Math.max(x(phase.start_s), LEFT);
    const to = Math.min(x(phase.start_s + phase.duration_s), width);
    if (to <= LEFT || from >= width) continue;
    context.globalAlpha = 0.25;
    context.fillStyle = ink;
    context.fillRect(from, bottom + 24, Math.max(to - from, 1), 16);
    context.globalAlpha = 1;
    const room = to - from - 8;
    if (room > 20) context.fillText(cut(context, phase.culprit, room), from + 4, bottom + 32);
  }
}

function cut(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 0 && context.measureText(`${text.slice(0, end)}…`).width > room) end -= 1;
  return end > 0 ? `${text.slice(0, end)}…` : "";
}

/** An instant on the axis, in the unit of its steps. */
export function axisTime(at: number, step: number): string {
  const [symbol, length] = unitOf(Math.max(step, 1e-9));
  return at === 0 ? "0" : `${plain(at / length)} ${symbol}`;
}

/** 1, 2 or 5 times a power of ten, at least `step`. */
export function niceStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map((times) => times * power).find((nice) => nice >= step) ?? 10 * power;
}
