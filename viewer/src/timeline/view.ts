// The timeline of a traced run with zoom and pan: buttons, keys, wheel and drag.

import { append, h } from "../dom.ts";
import { cpus, time } from "../format.ts";
import type { PageTimeline } from "../record/PageTimeline.ts";
import type { TraceView } from "../record/TraceView.ts";
import { draw, HEIGHT, LEFT, type Scene } from "./draw.ts";
import { decode } from "./lanes.ts";
import { canvasPen } from "./pen.ts";
import { panWindow, type Window, zoomWindow } from "./window.ts";

/** Element of the timeline. The first drawing happens when the element scrolls into view. */
export function timelineView(timeline: PageTimeline, trace: TraceView | undefined, colours: Map<string, string>): HTMLElement {
  const canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": timelineInWords(timeline, trace) });
  const label = h("p", { class: "quiet", "aria-live": "polite" });
  const legend = h("div", { class: "legend" });
  const figure = h("div", { class: "timeline" });
  let scene: Scene | null = null;
  let visible: Window = { from: 0, to: 1 };
  let redrawPending = false;

  const redraw = () => {
    if (redrawPending) return;
    redrawPending = true;
    requestAnimationFrame(() => {
      redrawPending = false;
      const context = canvas.getContext("2d");
      if (!scene || !context) return;
      const width = canvas.clientWidth;
      const ratio = devicePixelRatio || 1;
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(HEIGHT * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(HEIGHT * ratio);
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const ink = getComputedStyle(canvas).color;
      draw(canvasPen(context, width, HEIGHT, ink), scene, visible, width, HEIGHT, ink);
    });
  };
  const showWindow = (to: Window) => {
    visible = to;
    label.textContent = `from ${time(to.from / 1e6)} to ${time(to.to / 1e6)}`;
    redraw();
  };
  const zoom = (factor: number, at = 0.5) => scene && showWindow(zoomWindow(visible, scene.lanes.end, factor, at));
  const pan = (share: number) => scene && showWindow(panWindow(visible, scene.lanes.end, share));
  const showAll = () => scene && showWindow({ from: 0, to: scene.lanes.end });
  const button = (text: string, label: string, click: () => void) => h("button", { type: "button", "aria-label": label, title: label, click }, text);

  canvas.addEventListener("keydown", (event) => {
    const keyActions: Record<string, () => void> = { "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), "0": showAll, Home: showAll };
    const action = keyActions[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
  canvas.addEventListener("wheel", (event) => {
    // Without a modifier key the wheel scrolls the page, as everywhere.
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.ctrlKey) zoom(1.002 ** -event.deltaY, (event.offsetX - LEFT) / (canvas.clientWidth - LEFT));
    else pan((event.deltaY || event.deltaX) / canvas.clientWidth);
  }, { passive: false });
  let dragX: number | null = null;
  canvas.addEventListener("pointerdown", (event) => { dragX = event.clientX; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (dragX === null) return;
    pan((dragX - event.clientX) / (canvas.clientWidth - LEFT));
    dragX = event.clientX;
  });
  for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, () => { dragX = null; });
  canvas.addEventListener("dblclick", (event) => zoom(3, (event.offsetX - LEFT) / (canvas.clientWidth - LEFT)));

  const open = async () => {
    const lanes = await decode(timeline);
    scene = { lanes, cpus: timeline.cpus, phases: trace?.serial_phases ?? [], hidden: new Set(), colours };
    append(legend, lanes.commands.map(({ name }) => {
      const box = h("input", { type: "checkbox", checked: true, change: () => { scene!.hidden[box.checked ? "delete" : "add"](name); redraw(); } });
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = colours.get(name) ?? "";
      return h("label", {}, box, swatch, name);
    }));
    append(legend, [h("span", {}, h("span", { class: "swatch ready" }), "ready, but not running"), h("span", {}, "lowest strip: the critical path")]);
    showAll();
    figure.dataset.drawn = "true";
  };
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    void open();
  }, { rootMargin: "300px" }).observe(canvas);
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  append(figure, [
    h("div", { class: "tools" },
      button("+", "nearer", () => zoom(2)), button("−", "farther", () => zoom(0.5)),
      button("←", "earlier", () => pan(-0.25)), button("→", "later", () => pan(0.25)), button("all", "the whole run", showAll), label),
    canvas,
    legend,
  ]);
  return figure;
}

function timelineInWords(timeline: PageTimeline, trace: TraceView | undefined): string {
  const phases = trace?.serial_phases ?? [];
  const serial = phases.reduce((sum, phase) => sum + phase.duration_s, 0);
  const phaseText = phases.length ? `; ${phases.length} serial phases, ${time(serial)} together, are in the table below` : "";
  return `Running threads over time on ${cpus(timeline.cpus)}, by command: ${timeline.commands.join(", ")}${phaseText}. Keys: plus and minus zoom, arrows pan, 0 shows all.`;
}
