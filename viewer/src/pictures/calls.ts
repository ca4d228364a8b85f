// The calls of a run as an icicle: each box is a function below its caller, as wide as its time.
// Its colour shows how many threads ran meanwhile.

import { choice, h } from "../dom.ts";
import { cpus, percent, time } from "../format.ts";
import type { CallNode } from "../record/CallNode.ts";

/** Quantity that decides the width of the boxes. */
export type CallQuantity = "cpu_s" | "idle_s";

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

/** Callees of each node; under the key `null` those of no node. */
function calleesByCaller(nodes: CallNode[]): Map<number | null, number[]> {
  const callees = new Map<number | null, number[]>();
  nodes.forEach(({ caller }, index) => callees.set(caller, [...(callees.get(caller) ?? []), index]));
  return callees;
}

/** Callers of a node, the outermost first. */
export function callersOf(nodes: CallNode[], node: number | null): number[] {
  const caller = node === null ? null : nodes[node]!.caller;
  return caller === null ? [] : [...callersOf(nodes, caller), caller];
}

/**
 * Boxes of the callees of `top`, which itself and its callers have the whole width; of all nodes if
 * `top` is null.
 */
export function callBoxes(nodes: CallNode[], quantity: CallQuantity, top: number | null): CallBox[] {
  const callees = calleesByCaller(nodes);
  const boxes: CallBox[] = [];
  const above = top === null ? [] : [...callersOf(nodes, top), top];
  above.forEach((node, level) => boxes.push({ node, level, left: 0, width: 1 }));
  const place = (caller: number | null, level: number, left: number, width: number, whole: number) => {
    const inside = [...(callees.get(caller) ?? [])].sort((a, b) => nodes[b]![quantity] - nodes[a]![quantity]);
    let at = left;
    for (const node of inside) {
      const part = whole > 0 ? (nodes[node]![quantity] / whole) * width : 0;
      if (part < LEAST_WIDTH) continue;
      boxes.push({ node, level, left: at, width: part });
      place(node, level + 1, at, part, nodes[node]![quantity]);
      at += part;
    }
  };
  const roots = callees.get(null) ?? [];
  const whole = top === null ? roots.reduce((sum, node) => sum + nodes[node]![quantity], 0) : nodes[top]![quantity];
  place(top, above.length, 0, 1, whole);
  return boxes;
}

/** Colour of a box for this mean number of running threads on `count` CPUs. */
export function callColour(running: number, count: number): string {
  const part = count > 1 ? Math.min(1, Math.max(0, (running - 1) / (count - 1))) : 1;
  return `rgb(${ALONE.map((alone, i) => Math.round(alone + (TOGETHER[i]! - alone) * part)).join(" ")})`;
}

/** Content of the picture in words: the functions with the most time below the first division. */
export function callsInWords(nodes: CallNode[], quantity: CallQuantity): string {
  const whole = nodes.filter(({ caller }) => caller === null).reduce((sum, node) => sum + node[quantity], 0);
  const inner = nodes.filter(({ caller }) => caller !== null).sort((a, b) => b[quantity] - a[quantity]).slice(0, 5);
  return inner.map((node) => `${node.function} ${percent(whole > 0 ? node[quantity] / whole : 0)}`).join(", ");
}

export interface CallsHandle {
  element: HTMLElement;
  /** Shows the quantity that a component of the stack is about. */
  show: (component: string | null) => void;
}

/** Picture of the calls of a run on `count` CPUs, with a choice of its quantity. */
export function calls(nodes: CallNode[], count: number): CallsHandle {
  let quantity: CallQuantity = "cpu_s";
  let top: number | null = null;
  const boxes = h("div", { class: "boxes", role: "tree" });
  const place = h("p", { class: "quiet", "aria-live": "polite" });
  const options: [CallQuantity, string][] = [["cpu_s", "CPU time"], ["idle_s", "idle time of other CPUs meanwhile"]];
  const tools = h("div", { class: "tools" });
  const describe = ({ function: name, source, module, cpu_s, idle_s, running }: CallNode) =>
    `${name} (${source ?? module ?? "command"}): ${time(cpu_s)} of CPU time, ${time(idle_s)} idle on other CPUs, ${running.toFixed(1)} threads running`;
  const focus = (node: number) => boxes.querySelector<HTMLElement>(`[data-node="${node}"]`)?.focus();
  const zoom = (node: number | null) => {
    top = node === top ? nodes[node!]!.caller : node;
    draw();
    if (node !== null) focus(node);
  };
  const draw = () => {
    const all = callBoxes(nodes, quantity, top);
    boxes.style.height = `${ROW_PX * (1 + Math.max(0, ...all.map(({ level }) => level)))}px`;
    boxes.setAttribute("aria-label", `Calls: ${callsInWords(nodes, quantity)}`);
    place.textContent = top === null ? "Choose a box to enlarge it; the arrow keys go to callers, callees and neighbours." : `Enlarged: ${describe(nodes[top]!)}. Choose it again, or press Escape, for the whole.`;
    boxes.replaceChildren(...all.map(({ node, level, left, width }, index) => {
      const call = nodes[node]!;
      const box = h("button", {
        type: "button", role: "treeitem", "data-node": node, "data-level": level, "aria-level": level + 1, "aria-selected": String(node === top), "aria-label": describe(call), title: describe(call),
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
    const all = callBoxes(nodes, quantity, top);
    const at = all.findIndex(({ node }) => node === Number(current.dataset.node));
    const row = all.filter(({ level }) => level === all[at]!.level);
    const inRow = row.indexOf(all[at]!);
    const target: Record<string, number | undefined> = {
      ArrowUp: nodes[all[at]!.node]!.caller ?? undefined,
      ArrowDown: all.find(({ node }) => nodes[node]!.caller === all[at]!.node)?.node,
      ArrowLeft: row[inRow - 1]?.node,
      ArrowRight: row[inRow + 1]?.node,
    };
    if (!(event.key in target)) return;
    event.preventDefault();
    const next = target[event.key];
    if (next !== undefined) focus(next);
  });
  const drawTools = () => tools.replaceChildren(choice("width", options, quantity, (value) => { quantity = value; draw(); }));
  drawTools();
  draw();
  const key = `Each box is a function below its caller. Orange: one thread ran; blue: ${cpus(count)} ran a thread each.`;
  return {
    element: h("div", { class: "calls" }, tools, boxes, h("p", { class: "quiet" }, key), place),
    show: (component) => {
      quantity = component === "idle_too_little_work" ? "idle_s" : "cpu_s";
      drawTools();
      draw();
    },
  };
}
