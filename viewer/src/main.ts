// The page: reads its data and puts the parts of each study one below the other.

import { checkbox, choice, h, section } from "./dom.ts";
import { commandColours, componentColour } from "./colours.ts";
import { cpus } from "./format.ts";
import { answer } from "./parts/answer.ts";
import { details, downloadView, footer, METHOD } from "./parts/details.ts";
import { comparisonSection, list } from "./parts/list.ts";
import { points, runs, traced } from "./parts/tables.ts";
import { curve, curveInWords, type Quantity, quantities } from "./pictures/curve.ts";
import { stack, stackInWords } from "./pictures/stack.ts";
import type { Page } from "./record/Page.ts";
import type { PageStudy } from "./record/PageStudy.ts";
import { timelineView } from "./timeline/view.ts";

/** The largest CPU count over the smallest one from which axes are logarithmic; that of the terminal's curve. */
const LOG_FROM = 8;

/** A picture that is drawn anew wherever its place changes its width. */
function responsive(draw: (width: number) => Element, label: () => string): { element: HTMLElement; redraw: () => void } {
  const element = h("div", { class: "picture", role: "img" });
  let last = 0;
  const redraw = () => {
    if (last < 50) return;
    element.setAttribute("aria-label", label());
    const picture = draw(last);
    // The picture as a whole is said in words; names of its parts without a role say nothing (ARIA 1.2, 5.2.8.6).
    for (const part of picture.querySelectorAll("[aria-label]")) {
      part.setAttribute("data-mark", part.getAttribute("aria-label")!);
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    }
    element.replaceChildren(picture);
  };
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry!.contentRect.width);
    if (width === last) return;
    last = width;
    redraw();
  }).observe(element);
  return { element, redraw };
}

function curveSection(id: string, studies: PageStudy[]): HTMLElement {
  let quantity: Quantity = "speedup";
  const counts = studies.flatMap((study) => [...study.view.points, ...(studies.length > 1 ? [] : study.view.prediction?.points ?? [])].map((point) => point.cpus));
  let log = Math.max(...counts) >= LOG_FROM * Math.min(...counts);
  const picture = responsive((width) => curve(studies, { quantity, log, width }), () => curveInWords(studies, quantity));
  return section(
    id,
    studies.length > 1 ? "Speedup, side by side" : "Speedup",
    h("div", { class: "tools" },
      choice("show", quantities(studies[0]!), quantity, (value) => { quantity = value as Quantity; picture.redraw(); }),
      checkbox("logarithmic axes", log, (on) => { log = on; picture.redraw(); })),
    picture.element,
    h("p", { class: "quiet" }, studies.length > 1 ? "Bars: 95% intervals. Small dots: single runs." : "Circles: whole cores; triangles: other kinds of CPU. Bars: 95% intervals. Small dots: single runs. Dashed, with its 90% band: predicted. Dotted: ideal."),
  );
}

function stackSection(id: string, study: PageStudy, chosen: (component: string | null, name: string) => void): HTMLElement | null {
  const all = study.parts;
  if (all.length === 0) return null;
  const keys = [...new Map(all.map((part) => [part.key, part.name]))];
  const buttons = keys.map(([key, name]) => {
    const swatch = h("span", { class: "swatch" });
    swatch.style.background = componentColour(key);
    const figures = all.filter((part) => part.key === key).map((part) => part.cpus.toFixed(2)).join(" · ");
    return h("button", { type: "button", class: "part", "aria-pressed": "false", "data-key": key, click: () => press(key) }, swatch, `${name} `, h("span", { class: "figure" }, figures));
  });
  let pressed: string | null = null;
  const press = (key: string) => {
    pressed = pressed === key || key === "speedup" || key === "other" ? null : key;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.key === pressed));
    chosen(pressed, keys.find(([k]) => k === pressed)?.[1] ?? "");
  };
  const picture = responsive((width) => stack(all, width, press), () => stackInWords(all));
  const counts = [...new Set(all.map((part) => part.of))];
  return section(
    id,
    "Where the CPUs went",
    picture.element,
    h("p", { class: "quiet" }, `In CPUs, of ${counts.join(" · ")}. Choose a part to see what in the tables below it is about.`),
    h("div", { class: "parts" }, ...buttons),
    ...study.said.stack_notes.map((note) => h("p", { class: "quiet" }, note)),
  );
}

function studyParts(study: PageStudy, index: number): HTMLElement[] {
  const id = (name: string) => `study-${index}-${name}`;
  const trace = study.view.traces.filter((t) => t.overhead !== null).at(-1) ?? study.view.traces.at(-1);
  const tables = trace ? traced(study, trace) : null;
  const colours = commandColours(study.timelines.map((timeline) => timeline.commands).reverse());
  const filter = h("p", { class: "filter", "aria-live": "polite", hidden: true });
  const all: (HTMLElement | null)[] = [
    h("header", { id: id("title") }, h("h1", {}, h("code", {}, study.said.command)), h("p", { class: "quiet" }, [study.name, study.view.host.cpu_model, study.view.host.hostname].filter(Boolean).join(" · "))),
    section(id("answer"), "Will more cores help?", answer(study)),
    study.view.points.length > 0 ? curveSection(id("curve"), [study]) : null,
    stackSection(id("stack"), study, (component, name) => {
      tables?.keep(component);
      filter.hidden = component === null;
      filter.textContent = `Tables below: what is about "${name}".`;
    }),
    study.timelines.length > 0
      ? section(id("timeline"), "Over time", ...study.timelines.flatMap((timeline) => {
          const of = study.view.traces.find((t) => t.cpus === timeline.cpus && t.n === timeline.n);
          return [h("h3", {}, `traced on ${cpus(timeline.cpus)}${timeline.n === timeline.cpus ? "" : `, told ${timeline.n}`}`), timelineView(timeline, of, colours)];
        }))
      : null,
    tables && trace ? section(id("tables"), `What ran, on ${cpus(trace.cpus)}`, filter, ...tables.tables.map((t) => t.element)) : null,
    section(id("runs"), "Every figure", points(study).element, runs(study).element, downloadView(study)),
    section(id("how"), "How it was measured", details(study), h("ul", {}, ...METHOD.map((line) => h("li", {}, line)))),
  ];
  return all.filter((part) => part !== null);
}

function show(page: Page): void {
  const main = document.querySelector("main")!;
  if (page.studies.length === 0) {
    document.title = "studies · morecores";
    main.replaceChildren(...list(page.listed), footer(page));
    main.dataset.shown = "true";
    return;
  }
  document.title = page.studies.length === 1 ? `${page.studies[0]!.said.command} · morecores` : `${page.studies.length} studies · morecores`;
  const several = page.studies.length > 1;
  const contents = several
    ? [h("nav", { "aria-label": "studies" }, h("h1", {}, `${page.studies.length} studies`), h("ol", {}, ...page.studies.map((study, i) => h("li", {}, h("a", { href: `#study-${i}-title` }, study.name), ` ${study.said.verdict.split(":")[0]}`)))),
       ...(page.comparison ? [comparisonSection(page.comparison)] : []),
       curveSection("together", page.studies.filter((study) => study.view.points.length > 0))]
    : [];
  main.replaceChildren(...contents, ...page.studies.flatMap((study, index) => {
    const parts = studyParts(study, index);
    if (!several) return parts;
    // The same sections stand below each study: each is called by its study too.
    for (const part of parts.slice(1)) part.setAttribute("aria-labelledby", `study-${index}-title ${part.id}-title`);
    return [h("article", {}, ...parts)];
  }), footer(page));
  main.dataset.shown = "true";
}

show(JSON.parse(document.getElementById("data")!.textContent!) as Page);
