// The visible part of a run: zoom and pan, never beyond the run, never below the resolution.

export interface Window {
  from: number;
  to: number;
}

/** Shortest visible part, in microseconds. The times are whole microseconds. */
const MIN_LENGTH = 20;

function clampWindow(window: Window, end: number): Window {
  const length = Math.min(Math.max(window.to - window.from, Math.min(MIN_LENGTH, end)), end);
  const from = Math.min(Math.max(window.from, 0), end - length);
  return { from, to: from + length };
}

/**
 * Zooms in by `factor` (out if below 1). The point at the share `at` of the width stays in place.
 */
export function zoomWindow(window: Window, end: number, factor: number, at: number): Window {
  const fixed = window.from + at * (window.to - window.from);
  const length = Math.max((window.to - window.from) / factor, Math.min(MIN_LENGTH, end));
  return clampWindow({ from: fixed - at * length, to: fixed + (1 - at) * length }, end);
}

/** Moves the window by a share of its width. */
export function panWindow(window: Window, end: number, share: number): Window {
  const by = share * (window.to - window.from);
  return clampWindow({ from: window.from + by, to: window.to + by }, end);
}
