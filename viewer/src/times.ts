// Sums over the times that code holds.

import type { CodeTimes } from "./record/CodeTimes.ts";
import type { Component } from "./record/Component.ts";

function sum(times: CodeTimes, isSummed: (component: Component) => boolean): number {
  return times.reduce((seconds, time) => seconds + (isSummed(time.component) ? time.seconds : 0), 0);
}

const isWork = (component: Component) => component === "user_work" || component === "kernel_work";
const isAlone = (component: Component) => component === "idle_too_little_work";

/** CPU time in seconds, in user mode and in the kernel. */
export const cpuSeconds = (times: CodeTimes): number => sum(times, isWork);

/** CPU-seconds for which other CPUs were idle for lack of parallel work while the code ran. */
export const othersIdleSeconds = (times: CodeTimes): number => sum(times, isAlone);

/** CPU-seconds for which CPUs were idle because threads waited in the code. */
export const idleInWaits = (times: CodeTimes): number => sum(times, (component) => !isWork(component) && !isAlone(component));
