// Colours that readers with any kind of colour vision can tell apart (after Okabe & Ito 2008, and Tol's muted scheme), on light and on
// dark ground. What a colour means is always written too.

const COMPONENTS: Record<string, string> = {
  speedup: "#0072b2",
  user_work: "#56b4e9",
  kernel_work: "#88ccee",
  interrupt: "#44aa99",
  kernel_lock_spin: "#882255",
  other_processes: "#999933",
  tracer: "#aaaaaa",
  steal: "#117733",
  idle_scheduling: "#ddcc77",
  idle_pinned: "#b8860b",
  idle_kernel_lock: "#aa4499",
  idle_user_lock: "#cc79a7",
  idle_disk: "#009e73",
  idle_peer: "#6699cc",
  idle_timer: "#c0a0e0",
  idle_too_little_work: "#e69f00",
  unexplained: "#d55e00",
};

export function componentColour(key: string): string {
  return COMPONENTS[key] ?? "#888888";
}

/** For commands in the order of their CPU time, as many as the timeline tells apart, and for studies side by side. */
const COMMANDS = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
  "#999933", "#882255", "#44aa99", "#aa4499", "#ddcc77", "#888888",
];

export function seriesColour(index: number): string {
  return COMMANDS[index % COMMANDS.length]!;
}

/** A colour for each command of a study, the same in all of its timelines: those of the first have the first ones. */
export function commandColours(timelines: string[][]): Map<string, string> {
  const names = [...new Set(timelines.flat())];
  return new Map(names.map((name, index) => [name, seriesColour(index)]));
}

/** The ground and what is written on it; those of style.css. */
export interface Inks {
  ground: string;
  ink: string;
  quiet: string;
}

export const INKS: Record<"light" | "dark", Inks> = {
  light: { ground: "#fff", ink: "#1c1e21", quiet: "#555c66" },
  dark: { ground: "#14161a", ink: "#e8eaed", quiet: "#a8b0ba" },
};
