// One picture of the page on its own: its title, the picture, the meaning of its colours and marks,
// and the machine of its study.

import { commandColours, type Inks, INKS, seriesColour } from "../colours.ts";
import { cpus, truncateText } from "../format.ts";
import { BOTTLES_KEY, bottles, shownTrace } from "../pictures/bottles.ts";
import { curve, curveKey, isWideRange, quantities } from "../pictures/curve.ts";
import type { Setting } from "../pictures/setting.ts";
import { stack, stackKey, stackLegend } from "../pictures/stack.ts";
import { SUITE_KEY, suitePicture } from "../pictures/suite.ts";
import type { Page } from "../record/Page.ts";
import type { PictureOrder } from "../record/PictureOrder.ts";
import { draw, HEIGHT, READY_OPACITY } from "../timeline/draw.ts";
import { unpackLanes } from "../timeline/lanes.ts";
import { svgPen } from "./pen.ts";
import { svg, textWidth, wrapText } from "./svg.ts";

/** Margin around the sheet and sizes of the texts, in pixels. */
const MARGIN = 16;
const TITLE_SIZE = 17;
const LEGEND_SIZE = 13;
const NOTE_SIZE = 12;
const LINE_HEIGHT = 1.45;
const FONT = "system-ui, 'DejaVu Sans', sans-serif";

interface Swatch {
  colour: string;
  opacity?: number;
  text: string;
}

interface Content {
  title: string;
  picture: Element;
  height: number;
  legend: Swatch[];
  notes: string[];
}

/**
 * Draws the requested picture of the studies of `page`. `stretches` are the uncompressed stretches
 * of the first timeline.
 */
export function sheet(document: Document, page: Page, order: PictureOrder, stretches: Uint8Array | null): Element {
  const inks = INKS[order.dark ? "dark" : "light"];
  const innerWidth = order.width - 2 * MARGIN;
  const content = pictureContent(page, order, { document, width: innerWidth, ground: inks.ground, interactive: false }, inks, stretches);
  const root = svg(document, "svg", { xmlns: "http://www.w3.org/2000/svg", width: order.width, "font-family": FONT, color: inks.ink, fill: inks.ink });
  let y = MARGIN;
  const line = (text: string, x: number, size: number, fill: string, weight = "normal") =>
    root.appendChild(svg(document, "text", { x, y: y + size, "font-size": size, "font-weight": weight, fill }, text));
  const title = truncateText(content.title, innerWidth, (text) => textWidth(text, TITLE_SIZE) * 1.1);
  root.appendChild(svg(document, "rect", { width: "100%", height: "100%", fill: inks.ground }));
  root.appendChild(svg(document, "title", {}, content.title));
  line(title, MARGIN, TITLE_SIZE, inks.ink, "bold");
  y += TITLE_SIZE * LINE_HEIGHT + 4;
  content.picture.setAttribute("x", String(MARGIN));
  content.picture.setAttribute("y", String(y));
  root.appendChild(content.picture);
  y += content.height + 8;
  let x = MARGIN;
  for (const { colour, opacity, text } of content.legend) {
    const label = truncateText(text, innerWidth - 18, (part) => textWidth(part, LEGEND_SIZE));
    const width = 18 + textWidth(label, LEGEND_SIZE) + 14;
    if (x > MARGIN && x + width > order.width - MARGIN) {
      x = MARGIN;
      y += LEGEND_SIZE * LINE_HEIGHT;
    }
    root.appendChild(svg(document, "rect", { x, y: y + 2, width: 12, height: 12, rx: 2, fill: colour, "fill-opacity": opacity ?? 1 }));
    line(label, x + 18, LEGEND_SIZE, inks.ink);
    x += width;
  }
  if (content.legend.length > 0) y += LEGEND_SIZE * LINE_HEIGHT + 6;
  for (const note of content.notes.flatMap((note) => wrapText(note, innerWidth, NOTE_SIZE))) {
    line(note, MARGIN, NOTE_SIZE, inks.quiet);
    y += NOTE_SIZE * LINE_HEIGHT;
  }
  const height = Math.ceil(y + MARGIN - 4);
  root.setAttribute("height", String(height));
  root.setAttribute("viewBox", `0 0 ${order.width} ${height}`);
  return root;
}

function pictureContent({ studies, suite }: Page, order: PictureOrder, setting: Setting, inks: Inks, stretches: Uint8Array | null): Content {
  if (order.picture === "suite") {
    const { machine } = suite!.summary;
    return { title: "The classic SMP benchmarks: speedups then and now", ...withoutStyle(suitePicture(suite!, setting)), legend: [], notes: [SUITE_KEY, ...(machine ? [`now: ${machine}`] : [])] };
  }
  const study = studies[0]!;
  const title = study.text.command;
  const machines = [...new Set(studies.map((study) => [study.view.host.cpu_model, study.view.host.hostname].filter(Boolean).join(" · ")))];
  switch (order.picture) {
    case "stack": {
      const legend = stackLegend(study.parts).map(({ name, colour, figures }) => ({ colour, text: `${name} ${figures}` }));
      return { title: `${title}: where the CPUs went`, ...withoutStyle(stack(study.parts, setting)), legend, notes: [stackKey(study.parts), ...study.text.stack_notes, ...machines] };
    }
    case "bottles": {
      const trace = shownTrace(study)!;
      return { title: `${title}: threads by criticality`, ...withoutStyle(bottles(trace, setting)), legend: [], notes: [BOTTLES_KEY, ...machines] };
    }
    case "timeline": {
      const timeline = study.timelines[0]!;
      const trace = study.view.traces.find((t) => t.cpus === timeline.cpus && t.n === timeline.n);
      const colours = commandColours(study.timelines.map((t) => t.commands));
      const lanes = unpackLanes(timeline, stretches!);
      const group = svg(setting.document, "svg", { width: setting.width, height: HEIGHT, "font-family": FONT });
      draw(svgPen(group, inks.ink), { lanes, cpus: timeline.cpus, phases: trace?.serial_phases ?? [], hidden: new Set(), colours }, { from: 0, to: lanes.end }, setting.width, HEIGHT, inks.ink);
      const legend = [...timeline.commands.map((name): Swatch => ({ colour: colours.get(name)!, text: name })), { colour: inks.ink, opacity: READY_OPACITY, text: "ready, but not running" }];
      const givenCount = timeline.n === timeline.cpus ? "" : `, {n} = ${timeline.n}`;
      return { title: `${title}: over time`, picture: group, height: HEIGHT, legend, notes: [`Threads over time, traced on ${cpus(timeline.cpus)}${givenCount}. Dashed: the CPUs. Below: serial phases, and the commands on the critical path.`, ...machines] };
    }
    default: {
      const quantity = order.picture;
      const name = quantities(study).find(([key]) => key === quantity)?.[1] ?? quantity;
      const picture = curve(studies, { quantity, log: order.axes ? order.axes === "log" : isWideRange(studies) }, setting);
      const legend = studies.length > 1 ? studies.map((study, i) => ({ colour: seriesColour(i), text: study.name })) : [];
      return { title: studies.length > 1 ? name : `${title}: ${name}`, ...withoutStyle(picture), legend, notes: [curveKey(studies), ...machines] };
    }
  }
}

/** Picture from Plot without the parts that only a browser understands. */
function withoutStyle(picture: Element): { picture: Element; height: number } {
  picture.querySelector("style")?.remove();
  picture.removeAttribute("class");
  picture.removeAttribute("style");
  picture.setAttribute("font-size", "13");
  picture.setAttribute("overflow", "visible");
  picture.setAttribute("font-family", FONT);
  return { picture, height: Number(picture.getAttribute("height")) };
}
