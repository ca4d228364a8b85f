// The part of a run that is looked at: zoom and pan, never beyond the run, never nearer than can be told apart.

export interface Window {
  from: number;
  to: number;
}

/** The shortest part that can be looked at, in microseconds: the times are whole ones. */
const NEAREST = 20;

function within(window: Window, end: number): Window {
  const length = Math.min(Math.max(window.to - window.from, Math.min(NEAREST, end)), end);
  const from = Math.min(Math.max(window.from, 0), end - length);
  return { from, to: from + length };
}

/** Nearer by `factor` (farther below 1), so that what is at the share `at` of the width stays there. */
export function zoomed(window: Window, end: number, factor: number, at: number): Window {
  const fixed = window.from + at * (window.to - window.from);
  const length = Math.max((window.to - window.from) / factor, Math.min(NEAREST, end));
  return within({ from: fixed - at * length, to: fixed + (1 - at) * length }, end);
}

/** Moved by a share of the width. */
export function moved(window: Window, end: number, share: number): Window {
  const by = share * (window.to - window.from);
  return within({ from: window.from + by, to: window.to + by }, end);
}
