// Draws the timeline into a group of an SVG document.

import type { Pen } from "../timeline/pen.ts";
import { svg, widthOf } from "./svg.ts";

const SIZE = 12;

export function svgPen(group: Element, ink: string): Pen {
  const document = group.ownerDocument;
  const draw = (name: string, attributes: Record<string, string | number>, ...children: string[]) =>
    group.appendChild(svg(document, name, attributes, ...children));
  return {
    columns: (left, tops, heights, colour, opacity) => {
      const d = outline(left, tops, heights);
      if (d) draw("path", { d, fill: colour, "fill-opacity": opacity });
    },
    line: (from, to, y, dashed) => draw("path", { d: `M${from},${y}H${to}`, fill: "none", stroke: ink, ...(dashed ? { "stroke-dasharray": "4 4" } : {}) }),
    box: (x, y, width, height, opacity) => draw("rect", { x: short(x), y: short(y), width: short(width), height: short(height), fill: ink, "fill-opacity": opacity }),
    text: (text, x, y, anchor, baseline) => draw("text", { x: short(x), y: short(y), dy: baseline === "top" ? "0.8em" : "0.32em", "text-anchor": anchor, "font-size": SIZE, fill: ink }, text),
    widthOf: (text) => widthOf(text, SIZE),
  };
}

function short(value: number): number {
  return Number(value.toFixed(1));
}

/** Closed outlines of the columns, one for each stretch of columns that have a height. */
function outline(left: number, tops: Float64Array, heights: Float64Array): string {
  let d = "";
  let i = 0;
  while (i < tops.length) {
    if (!(heights[i]! > 0)) {
      i += 1;
      continue;
    }
    const from = i;
    while (i < tops.length && heights[i]! > 0) i += 1;
    const there = range(from, i).map((column) => `V${short(tops[column]!)}H${left + column + 1}`).join("");
    const back = range(from, i).reverse().map((column) => `V${short(tops[column]! + heights[column]!)}H${left + column}`).join("");
    d += `M${left + from},${short(tops[from]! + heights[from]!)}${there}${back}Z`;
  }
  return d;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
