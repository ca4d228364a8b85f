// Labels of axes: values that are easy to read, at least two of them, without overlap.

/** Least room for a label on an upright axis, in pixels. */
export const LINE_ROOM = 18;

/** Preferred minimum of labels. Two labels would show only the ends of the axis. */
const PREFERRED_LABELS = 3;

/** Multiples of a power of ten that are labelled, coarse to fine. */
const MANTISSAS = [[1], [1, 5], [1, 2, 5], [1, 2, 3, 5, 7], [1, 1.5, 2, 3, 5, 7], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]];

/** Steps between even labels, as multiples of a power of ten. */
const STEPS = [1, 2, 5];

/** Removes the errors of binary fractions. */
const roundBinary = (value: number) => Number(value.toPrecision(12));

/** Whether a value is on the axis, its ends included. */
const isWithin = (low: number, high: number) => (value: number) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);

/** Values at these multiples of each `every`-th power of ten, from `low` to `high`. */
function atPowers(low: number, high: number, mantissas: number[], every: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((power) => power % every === 0);
  return powers.flatMap((power) => mantissas.map((mantissa) => roundBinary(mantissa * 10 ** power))).filter(isWithin(low, high));
}

/** Multiples of `step` from `low` to `high`. */
function atSteps(low: number, high: number, step: number): number[] {
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => roundBinary((first + i) * step)).filter(isWithin(low, high));
}

/** Sets of labels for a logarithmic axis, coarse to fine. */
function candidates(low: number, high: number): number[][] {
  const decades = Math.ceil(Math.log10(high / low));
  const sparse = Array.from({ length: Math.max(decades - 1, 0) }, (_, i) => atPowers(low, high, [1], decades - i));
  const dense = MANTISSAS.map((mantissas) => atPowers(low, high, mantissas, 1));
  const size = Math.floor(Math.log10(high - low));
  const even = [0, -1, -2].flatMap((power) => [...STEPS].reverse().map((step) => atSteps(low, high, step * 10 ** (size + power))));
  return [...sparse, ...dense, ...even];
}

/**
 * Whether labels on a logarithmic axis of `length` pixels differ and do not overlap. `room` returns
 * the room of a label in pixels.
 */
function fits(ticks: number[], low: number, high: number, length: number, room: (label: string) => number, label: (value: number) => string): boolean {
  const position = (value: number) => (Math.log(value / low) / Math.log(high / low)) * length;
  const labels = ticks.map(label);
  const hasRoom = (i: number) => position(ticks[i]!) - position(ticks[i - 1]!) >= (room(labels[i]!) + room(labels[i - 1]!)) / 2;
  return new Set(labels).size === labels.length && ticks.every((_, i) => i === 0 || hasRoom(i));
}

/**
 * Values of the labels on a logarithmic axis from `low` to `high` of `length` pixels. The values
 * are as round as three labels allow, otherwise two values. The ends get the labels if no round
 * values fit.
 */
export function logTicks(low: number, high: number, length: number, label: (value: number) => string, room: (label: string) => number = () => LINE_ROOM): number[] {
  if (!(low > 0 && high > low && Number.isFinite(high))) return [low];
  const all = candidates(low, high);
  const fitsAxis = (ticks: number[]) => fits(ticks, low, high, length, room, label);
  const isEnough = (ticks: number[]) => ticks.length >= PREFERRED_LABELS && fitsAxis(ticks);
  // If the values stand too close, every second or every third of them remains.
  const thinned = all.flatMap((ticks) => [2, 3].map((every) => ticks.filter((_, i) => i % every === 0)));
  const best = all.find(isEnough) ?? thinned.find(isEnough) ?? all.find((ticks) => ticks.length === 2 && fitsAxis(ticks));
  return best ?? (fits([low, high], low, high, length, room, label) ? [low, high] : [high]);
}

/** Values of the labels as from `logTicks`; `preferred` values if three of them are on the axis. */
export function axisTicks(low: number, high: number, length: number, preferred: number[], label: (value: number) => string): number[] {
  const preferredOnAxis = preferred.filter(isWithin(low, high));
  const position = (value: number) => (Math.log(value / low) / Math.log(high / low)) * length;
  const shown = preferredOnAxis.length >= PREFERRED_LABELS ? countTicks(preferredOnAxis, position, () => LINE_ROOM) : [];
  return shown.length >= PREFERRED_LABELS ? shown : logTicks(low, high, length, label);
}

/**
 * Labels of counts on an axis, without overlap. The ends stay, then powers of two, then the others.
 */
export function countTicks(counts: number[], position: (count: number) => number, room: (count: number) => number): number[] {
  const isPower = (count: number) => Number.isInteger(Math.log2(count));
  const ends = [counts[0]!, counts.at(-1)!];
  const order = [...new Set([...ends, ...counts.filter(isPower), ...counts])];
  const kept: number[] = [];
  for (const count of order) {
    if (kept.every((other) => Math.abs(position(count) - position(other)) >= (room(count) + room(other)) / 2)) kept.push(count);
  }
  return kept.sort((a, b) => a - b);
}
