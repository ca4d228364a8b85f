// Colours that readers with any kind of colour vision can tell apart, on light and on dark ground
// (after Okabe & Ito 2008, and Tol's muted scheme). The meaning of a colour also appears in words.
// The colours of components arrive with the page (crates/report/src/component.rs).

import type { LockName } from "./record/LockName.ts";

/**
 * Colours of commands in the order of their CPU time, one for each command that the timeline tells
 * apart. Also the colours of studies side by side.
 */
const COMMANDS = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
  "#999933", "#882255", "#44aa99", "#aa4499", "#ddcc77", "#888888",
];

export function seriesColour(index: number): string {
  return COMMANDS[index % COMMANDS.length]!;
}

/**
 * Colour of each command of a study, equal in all of its timelines. The commands of the first
 * timeline have the first colours.
 */
export function commandColours(timelines: string[][]): Map<string, string> {
  const names = [...new Set(timelines.flat())];
  return new Map(names.map((name, index) => [name, seriesColour(index)]));
}

/**
 * Colour of a lock, and whether the lock is one of morecores' own. Own locks have solid lines,
 * those of the system dashed lines.
 */
export interface LockMark {
  colour: string;
  isOwn: boolean;
}

const LOCKS: Record<LockName, LockMark> = {
  spin: { colour: "#d55e00", isOwn: true },
  "spin-backoff": { colour: "#e69f00", isOwn: true },
  sleep: { colour: "#999933", isOwn: true },
  block: { colour: "#0072b2", isOwn: true },
  adaptive: { colour: "#009e73", isOwn: true },
  ticket: { colour: "#cc79a7", isOwn: true },
  mcs: { colour: "#aa4499", isOwn: true },
  std: { colour: "#56b4e9", isOwn: false },
  "parking-lot": { colour: "#44aa99", isOwn: false },
  "pthread-normal": { colour: "#5566cc", isOwn: false },
  "pthread-adaptive": { colour: "#3a8f4c", isOwn: false },
  "pthread-spin": { colour: "#b8860b", isOwn: false },
  "c11-spin": { colour: "#cc6677", isOwn: false },
  kernel: { colour: "#888888", isOwn: false },
};

export function lockMark(lock: LockName): LockMark {
  return LOCKS[lock];
}

/** Colours of the ground and of the text on it, equal to those in style.css. */
export interface Inks {
  ground: string;
  ink: string;
  quiet: string;
}

export const INKS: Record<"light" | "dark", Inks> = {
  light: { ground: "#fff", ink: "#1c1e21", quiet: "#555c66" },
  dark: { ground: "#14161a", ink: "#e8eaed", quiet: "#a8b0ba" },
};
