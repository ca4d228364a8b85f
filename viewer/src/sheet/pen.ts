// Draws the timeline into a group of an SVG document.

import type { Pen } from "../timeline/pen.ts";
import { svg, textWidth } from "./svg.ts";

const SIZE = 12;

export function svgPen(group: Element, ink: string): Pen {
  const document = group.ownerDocument;
  const draw = (name: string, attributes: Record<string, string | number>, ...children: string[]) =>
    group.appendChild(svg(document, name, attributes, ...children));
  return {
    columns: (left, tops, heights, colour, opacity) => {
      const d = columnOutlines(left, tops, heights);
      if (d) draw("path", { d, fill: colour, "fill-opacity": opacity });
    },
    line: (from, to, y, dashed) => draw("path", { d: `M${from},${y}H${to}`, fill: "none", stroke: ink, ...(dashed ? { "stroke-dasharray": "4 4" } : {}) }),
    box: (x, y, width, height, opacity) => draw("rect", { x: oneDecimal(x), y: oneDecimal(y), width: oneDecimal(width), height: oneDecimal(height), fill: ink, "fill-opacity": opacity }),
    text: (text, x, y, anchor, baseline) => draw("text", { x: oneDecimal(x), y: oneDecimal(y), dy: baseline === "top" ? "0.8em" : "0.32em", "text-anchor": anchor, "font-size": SIZE, fill: ink }, text),
    textWidth: (text) => textWidth(text, SIZE),
  };
}

function oneDecimal(value: number): number {
  return Number(value.toFixed(1));
}

/** Closed outlines of the columns, one for each stretch of columns that have a height. */
function columnOutlines(left: number, tops: Float64Array, heights: Float64Array): string {
  let d = "";
  let i = 0;
  while (i < tops.length) {
    if (!(heights[i]! > 0)) {
      i += 1;
      continue;
    }
    const from = i;
    while (i < tops.length && heights[i]! > 0) i += 1;
    const topEdge = range(from, i).map((column) => `V${oneDecimal(tops[column]!)}H${left + column + 1}`).join("");
    const bottomEdge = range(from, i).reverse().map((column) => `V${oneDecimal(tops[column]! + heights[column]!)}H${left + column}`).join("");
    d += `M${left + from},${oneDecimal(tops[from]! + heights[from]!)}${topEdge}${bottomEdge}Z`;
  }
  return d;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
