// The calls of a run, or those that hold a loss, as an icicle: each box is a function below its
// caller, as wide as its time or its part of the loss. Its colour shows how many threads ran
// meanwhile.

import { choice, h } from "../dom.ts";
import { cpus, cpuShare, percent, time } from "../format.ts";
import { cpuSeconds, othersIdleSeconds } from "../times.ts";
import type { CallLoss } from "../record/CallLoss.ts";
import type { CallNode } from "../record/CallNode.ts";
import type { Component } from "../record/Component.ts";

/** A call, wherever its widths come from. */
type Call = Pick<CallNode, "caller" | "function" | "source" | "module" | "running">;

/** One quantity of the picture: calls with the width of each, in any unit, and in words. */
export interface CallLayer {
  key: string;
  name: string;
  calls: Call[];
  widths: number[];
  inWords: (call: number) => string;
}

/** Box of a call: its place from the left and its width, as parts of the picture's width. */
export interface CallBox {
  node: number;
  level: number;
  left: number;
  width: number;
}

/** Width below which a box is left out: two pixels of a picture of 1,000. */
const LEAST_WIDTH = 0.002;
const ROW_PX = 22;
/** Colours for one running thread, and for one on each CPU. */
const ALONE = [213, 94, 0];
const TOGETHER = [86, 180, 233];
const CPU_TIME = "cpu_time";
const OTHERS_IDLE = "others_idle";

/** Layers of a traced run: its CPU time, and the idle time of other CPUs meanwhile. */
export function runLayers(calls: CallNode[]): CallLayer[] {
  const layer = (key: string, name: string, seconds: (times: CallNode["times"]) => number): CallLayer => ({
    key,
    name,
    calls,
    widths: calls.map(({ times }) => seconds(times)),
    inWords: (call) => {
      const { times, running } = calls[call]!;
      return `${time(cpuSeconds(times))} of CPU time, ${time(othersIdleSeconds(times))} idle on other CPUs, ${running.toFixed(1)} threads running`;
    },
  });
  return [
    layer(CPU_TIME, "CPU time", cpuSeconds),
    layer(OTHERS_IDLE, "idle time of other CPUs meanwhile", othersIdleSeconds),
  ].filter(({ widths }) => widths.some((width) => width > 0));
}

/**
 * A layer for each loss of which a whole command surely holds a part: elsewhere work may only have
 * moved from one caller to another. A call is as wide as its own part, or as its callees where
 * these hold more: a callee that became faster makes its caller's part smaller than theirs.
 */
export function lossLayers(calls: CallLoss[], nameOf: (loss: Component) => string): CallLayer[] {
  const losses = new Set(calls.filter(({ caller }) => caller === null).flatMap(({ parts }) => parts.filter(({ ci95 }) => ci95[0] > 0).map(({ loss }) => loss)));
  return [...losses].map((loss) => {
    const part = (call: CallLoss) => call.parts.find((one) => one.loss === loss);
    const widths = calls.map((call) => Math.max(0, part(call)?.lost_cpus ?? 0));
    const below = calls.map(() => 0);
    for (let at = calls.length - 1; at >= 0; at--) {
      widths[at] = Math.max(widths[at]!, below[at]!);
      const { caller } = calls[at]!;
      if (caller !== null) below[caller]! += widths[at]!;
    }
    const inWords = (call: number) => {
      const held = part(calls[call]!);
      return held ? `${cpuShare(held.lost_cpus)} CPUs lost (95% interval ${cpuShare(held.ci95[0])} to ${cpuShare(held.ci95[1])})` : "no notable part of the loss itself";
    };
    return { key: loss, name: `lost: ${nameOf(loss)}`, calls, widths, inWords };
  });
}

/** Callees of each call; under the key `null` those of no call. */
function calleesByCaller(calls: Call[]): Map<number | null, number[]> {
  const callees = new Map<number | null, number[]>();
  calls.forEach(({ caller }, index) => callees.set(caller, [...(callees.get(caller) ?? []), index]));
  return callees;
}

/** Callers of a call, the outermost first. */
export function callersOf(calls: Call[], call: number | null): number[] {
  const caller = call === null ? null : calls[call]!.caller;
  return caller === null ? [] : [...callersOf(calls, caller), caller];
}

/**
 * Boxes of the callees of `top`, which itself and its callers have the whole width; of all calls if
 * `top` is null.
 */
export function callBoxes({ calls, widths }: Pick<CallLayer, "calls" | "widths">, top: number | null): CallBox[] {
  const callees = calleesByCaller(calls);
  const boxes: CallBox[] = [];
  const above = top === null ? [] : [...callersOf(calls, top), top];
  above.forEach((node, level) => boxes.push({ node, level, left: 0, width: 1 }));
  const place = (caller: number | null, level: number, left: number, width: number, whole: number) => {
    const inside = [...(callees.get(caller) ?? [])].sort((a, b) => widths[b]! - widths[a]!);
    let at = left;
    for (const node of inside) {
      const part = whole > 0 ? (widths[node]! / whole) * width : 0;
      if (part < LEAST_WIDTH) continue;
      boxes.push({ node, level, left: at, width: part });
      place(node, level + 1, at, part, widths[node]!);
      at += part;
    }
  };
  const roots = callees.get(null) ?? [];
  const whole = top === null ? roots.reduce((sum, node) => sum + widths[node]!, 0) : widths[top]!;
  place(top, above.length, 0, 1, whole);
  return boxes;
}

/** Colour of a box for this mean number of running threads on `count` CPUs. */
export function callColour(running: number, count: number): string {
  const part = count > 1 ? Math.min(1, Math.max(0, (running - 1) / (count - 1))) : 1;
  return `rgb(${ALONE.map((alone, i) => Math.round(alone + (TOGETHER[i]! - alone) * part)).join(" ")})`;
}

/** Content of a layer in words: the widest functions below the commands. */
export function callsInWords({ calls, widths }: Pick<CallLayer, "calls" | "widths">): string {
  const indices = calls.map((_, index) => index);
  const whole = indices.filter((index) => calls[index]!.caller === null).reduce((sum, index) => sum + widths[index]!, 0);
  const inner = indices.filter((index) => calls[index]!.caller !== null).sort((a, b) => widths[b]! - widths[a]!).slice(0, 5);
  return inner.map((index) => `${calls[index]!.function} ${percent(whole > 0 ? widths[index]! / whole : 0)}`).join(", ");
}

export interface CallsHandle {
  element: HTMLElement;
  /** Shows the layer of a component of the stack; that of the CPU time if it has none. */
  show: (component: string | null) => void;
}

/** Picture of calls on `count` CPUs, with a choice of its layers. There is at least one. */
export function calls(layers: CallLayer[], count: number): CallsHandle {
  let layer = layers[0]!;
  let top: number | null = null;
  const boxes = h("div", { class: "boxes", role: "tree" });
  const place = h("p", { class: "quiet", "aria-live": "polite" });
  const tools = h("div", { class: "tools" });
  const describe = (call: number) => {
    const { function: name, source, module } = layer.calls[call]!;
    return `${name} (${source ?? module ?? "command"}): ${layer.inWords(call)}`;
  };
  const focus = (node: number) => boxes.querySelector<HTMLElement>(`[data-node="${node}"]`)?.focus();
  const zoom = (node: number | null) => {
    top = node === top ? layer.calls[node!]!.caller : node;
    draw();
    if (node !== null) focus(node);
  };
  const draw = () => {
    const all = callBoxes(layer, top);
    boxes.style.height = `${ROW_PX * (1 + Math.max(0, ...all.map(({ level }) => level)))}px`;
    boxes.setAttribute("aria-label", `Calls, ${layer.name}: ${callsInWords(layer)}`);
    place.textContent = top === null ? "Choose a box to enlarge it; the arrow keys go to callers, callees and neighbours." : `Enlarged: ${describe(top)}. Choose it again, or press Escape, for the whole.`;
    boxes.replaceChildren(...all.map(({ node, level, left, width }, index) => {
      const call = layer.calls[node]!;
      const box = h("button", {
        type: "button", role: "treeitem", "data-node": node, "data-level": level, "aria-level": level + 1, "aria-selected": String(node === top), "aria-label": describe(node), title: describe(node),
        tabindex: index === Math.max(0, all.findIndex((one) => one.node === top)) ? 0 : -1,
        click: () => zoom(node),
      }, call.function);
      Object.assign(box.style, { left: `${left * 100}%`, width: `${width * 100}%`, top: `${level * ROW_PX}px`, height: `${ROW_PX - 1}px`, background: callColour(call.running, count) });
      return box;
    }));
  };
  boxes.addEventListener("keydown", (event) => {
    const current = (event.target as HTMLElement).closest<HTMLElement>("[data-node]");
    if (!current) return;
    if (event.key === "Escape") { zoom(null); return; }
    const all = callBoxes(layer, top);
    const at = all.findIndex(({ node }) => node === Number(current.dataset.node));
    const row = all.filter(({ level }) => level === all[at]!.level);
    const inRow = row.indexOf(all[at]!);
    const target: Record<string, number | undefined> = {
      ArrowUp: layer.calls[all[at]!.node]!.caller ?? undefined,
      ArrowDown: all.find(({ node }) => layer.calls[node]!.caller === all[at]!.node)?.node,
      ArrowLeft: row[inRow - 1]?.node,
      ArrowRight: row[inRow + 1]?.node,
    };
    if (!(event.key in target)) return;
    event.preventDefault();
    const next = target[event.key];
    if (next !== undefined) focus(next);
  });
  const select = (key: string) => {
    layer = layers.find((one) => one.key === key) ?? layers[0]!;
    top = null;
    draw();
  };
  const options = layers.map(({ key, name }): [string, string] => [key, name]);
  const drawTools = () => tools.replaceChildren(choice("width", options, layer.key, select));
  drawTools();
  draw();
  const key = `Each box is a function below its caller. Orange: one thread ran; blue: ${cpus(count)} ran a thread each.`;
  return {
    element: h("div", { class: "calls" }, tools, boxes, h("p", { class: "quiet" }, key), place),
    show: (component) => {
      const isKnown = layers.some((one) => one.key === component);
      select(isKnown ? component! : component === "idle_too_little_work" ? OTHERS_IDLE : CPU_TIME);
      drawTools();
    },
  };
}
