// Stretches of a traced run, as the page carries them, and their mean overlap between two instants.

import type { PageTimeline } from "../record/PageTimeline.ts";

/**
 * One list of stretches: starts and ends, each ascending, in microseconds, with their running sums.
 */
export interface Lane {
  starts: Float64Array;
  ends: Float64Array;
  startSums: Float64Array;
  endSums: Float64Array;
}

export interface Lanes {
  commands: { name: string; lane: Lane; path: Lane }[];
  ready: Lane;
  /** End of the run, in microseconds. */
  end: number;
}

/** Decodes the data that `PageTimeline` describes. */
export async function decode(timeline: PageTimeline): Promise<Lanes> {
  const packed = Uint8Array.from(atob(timeline.data), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return unpackLanes(timeline, new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** Decodes the bytes after decompression. */
export function unpackLanes(timeline: PageTimeline, bytes: Uint8Array): Lanes {
  let at = 0;
  const list = (count: number): [Float64Array, Float64Array] => {
    const values = new Float64Array(count);
    const sums = new Float64Array(count + 1);
    let value = 0;
    for (let i = 0; i < count; i++) {
      // LEB128. The code multiplies instead of shifting, because differences may exceed 32 bits.
      let scale = 1;
      for (;;) {
        const byte = bytes[at++]!;
        value += (byte & 127) * scale;
        if (byte < 128) break;
        scale *= 128;
      }
      values[i] = value;
      sums[i + 1] = sums[i]! + value;
    }
    return [values, sums];
  };
  const lanes = timeline.stretches.map((count): Lane => {
    const [starts, startSums] = list(count);
    const [ends, endSums] = list(count);
    return { starts, ends, startSums, endSums };
  });
  const count = timeline.commands.length;
  const ready = lanes[count]!;
  const end = lanes.reduce((last, lane) => Math.max(last, lane.ends.at(-1) ?? 0), 0);
  return { commands: timeline.commands.map((name, i) => ({ name, lane: lanes[i]!, path: lanes[count + 1 + i]! })), ready, end };
}

/** Number of `times` at or before `instant`. */
export function countUntil(times: Float64Array, instant: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Time spent in all stretches up to an instant. Each stretch counts from its start to its end or to
 * the instant.
 */
export function timeUntil(lane: Lane, instant: number): number {
  const started = countUntil(lane.starts, instant);
  const ended = countUntil(lane.ends, instant);
  return started * instant - lane.startSums[started]! - (ended * instant - lane.endSums[ended]!);
}

/** Mean number of stretches that overlap in each of `columns` equal parts of `from` to `to`. */
export function means(lane: Lane, from: number, to: number, columns: number, into: Float64Array): Float64Array {
  const step = (to - from) / columns;
  let before = timeUntil(lane, from);
  for (let i = 0; i < columns; i++) {
    const after = timeUntil(lane, from + (i + 1) * step);
    into[i] = (after - before) / step;
    before = after;
  }
  return into;
}
