// Figures as text, by the table of units that all reports share (crates/study/src/quantity.rs).

import type { Quantity } from "./record/Quantity.ts";
import { type Scale, UNITS } from "./record/units.ts";

/** Text for a figure that does not exist. */
const ABSENT = "–";

/** Scale that suits a figure. */
export function scaleOf(quantity: Quantity, value: number): Scale {
  const { scales } = UNITS[quantity];
  return scales.findLast(({ from }) => from <= Math.abs(value)) ?? scales[0]!;
}

/** Decimal places for three significant digits; whole numbers are not rounded. */
function significantPlaces(value: number): number {
  const magnitude = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value) * 1.0005));
  return Math.min(Math.max(2 - magnitude, 0), 3);
}

/** Rounds to `places`. A tie goes to the even digit; `toFixed` alone rounds it away from zero. */
function round(value: number, places: number): string {
  const isTie = /50{24}$/.test(value.toFixed(places + 25));
  const text = value.toFixed(places);
  const even = isTie && Number(text.at(-1)) % 2 === 1 ? (value * (1 - 1e-9)).toFixed(places) : text;
  return Number(even) === 0 ? (0).toFixed(places) : even;
}

/** Figure in the unit that suits it. */
export function format(quantity: Quantity, value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return ABSENT;
  const { gap, trimmed, marks_least } = UNITS[quantity];
  const { symbol, size, places } = scaleOf(quantity, value);
  const scaled = value / size;
  const decimals = places ?? significantPlaces(scaled);
  let text = round(scaled, decimals);
  if (marks_least && value > 0 && Number(text) === 0) text = `<${round(10 ** -decimals, decimals)}`;
  if (trimmed && decimals > 0) text = text.replace(/\.?0+$/, "");
  return symbol === "" ? text : `${text}${gap}${symbol}`;
}

type Format = (value: number | null | undefined) => string;

const formatter = (quantity: Quantity): Format => (value) => format(quantity, value);

export const figure = formatter("number");
export const time = formatter("time");
export const nanos = formatter("planned-time");
export const rate = formatter("rate");
export const percent = formatter("share");
export const bytes = formatter("data");
export const cpuShare = formatter("cpus");

/** Number with up to six significant digits, for an axis. */
export function plain(value: number): string {
  return String(Number(value.toPrecision(6)));
}

export function cpus(count: number): string {
  return count === 1 ? "1 CPU" : `${count} CPUs`;
}

/** Cuts `text` to fit into `room` and marks the cut with an ellipsis. */
export function truncateText(text: string, room: number, textWidth: (text: string) => number): string {
  if (textWidth(text) <= room) return text;
  let end = text.length;
  while (end > 0 && textWidth(`${text.slice(0, end)}…`) > room) end -= 1;
  return end > 0 ? `${text.slice(0, end)}…` : "";
}
