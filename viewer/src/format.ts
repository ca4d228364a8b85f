// Figures as text, by the rules of the terminal's report: three significant digits, and a unit that
// keeps the figure short.

const UNITS: [string, number][] = [["ns", 1e-9], ["µs", 1e-6], ["ms", 1e-3], ["s", 1]];

const RATES: [string, number][] = [[" G", 1e9], [" M", 1e6], [" k", 1e3]];

/** Number with three significant digits and no exponent. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value) * 1.0005));
  const places = Math.min(Math.max(2 - magnitude, 0), 3);
  const text = value.toFixed(places);
  return Number(text) === 0 ? (0).toFixed(places) : text;
}

/** Number with up to six significant digits, for an axis. */
export function plain(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** Unit for times of this size, and its length in seconds. */
export function timeUnit(seconds: number): [string, number] {
  const fitting = UNITS.filter(([, length]) => seconds >= length);
  return fitting.at(-1) ?? UNITS[0]!;
}

export function time(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const [symbol, length] = timeUnit(Math.abs(seconds));
  return `${figure(seconds / length)} ${symbol}`;
}

/** Duration from a setting: `0`, `100 ns`, `1 µs`. */
export function nanos(ns: number): string {
  if (ns === 0) return "0";
  const [symbol, length] = timeUnit(ns * 1.0000001e-9);
  return `${plain(ns / (length * 1e9))} ${symbol}`;
}

/** Rate per second, with a prefix: `3.20 M`, `64.0 k`. */
export function rate(per_s: number): string {
  const [symbol, size] = RATES.find(([, size]) => per_s >= size) ?? ["", 1];
  return `${figure(per_s / size)}${symbol}`;
}

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value > 0 && value < 0.005) return "<0.01%";
  const size = Math.abs(value);
  return `${value.toFixed(size === 0 || size >= 9.95 ? 0 : size < 0.995 ? 2 : 1)}%`;
}

/** Value with its interval: `1.93 (1.91 to 1.95)`. */
export function withInterval(value: number, interval: [number, number] | null | undefined, format: (v: number) => string = figure): string {
  return interval ? `${format(value)} (${format(interval[0])} to ${format(interval[1])})` : format(value);
}

export function cpus(count: number): string {
  return count === 1 ? "1 CPU" : `${count} CPUs`;
}

/** Amount of data with a binary unit: `24.5 MiB`. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let index = 0;
  while (value >= 999.5 && index + 1 < units.length) {
    value /= 1024;
    index += 1;
  }
  return `${figure(value)} ${units[index]}`;
}

/** Cuts `text` to fit into `room` and marks the cut with an ellipsis. */
export function truncateText(text: string, room: number, textWidth: (text: string) => number): string {
  if (textWidth(text) <= room) return text;
  let end = text.length;
  while (end > 0 && textWidth(`${text.slice(0, end)}…`) > room) end -= 1;
  return end > 0 ? `${text.slice(0, end)}…` : "";
}
