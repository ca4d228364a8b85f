// Rates of failure: a line for each condition, with the interval of its rate.
//
// Draws the rates of a search and computes only the share of the failed runs.

import * as Plot from "@observablehq/plot";

import { percent, truncateText } from "../format.ts";
import type { PageRate } from "../record/PageRate.ts";
import { textWidth } from "../sheet/svg.ts";
import type { Setting } from "./setting.ts";

const ORANGE = "#d55e00";
const BLUE = "#0072b2";

/** Lengths in pixels: size of the texts, height of a line, and inset of the axis. */
const SIZE = 12;
const LINE = 24;
const INSET = 10;

/** Meaning of the marks in the picture. */
export const RATES_KEY = "Circles: share of the runs that failed; lines: its 95% interval, which holds at any time of the search. Hollow: no run failed.";

const share = ({ runs, failed }: PageRate) => (runs === 0 ? 0 : failed / runs);

/** Content of the picture in words, for readers who do not see it. */
export function ratesInWords(rates: PageRate[]): string {
  return `Failed runs. ${rates.map(({ name, text }) => `${name}: ${text}`).join("; ")}.`;
}

/** Picture of the rates. */
export function ratesPicture(rates: PageRate[], { document, width, ground, interactive }: Setting): SVGSVGElement | HTMLElement {
  const name = (rate: PageRate) => rate.name;
  const longest = Math.max(...rates.map((rate) => textWidth(rate.name, SIZE)), 0);
  const marginLeft = Math.ceil(Math.min(longest, width * 0.4)) + 14;
  const high = Math.max(...rates.map(({ interval }) => interval[1]), 0.01);
  const words = (rate: PageRate) => `${rate.name}: ${rate.text}`;
  return Plot.plot({
    document,
    width,
    height: rates.length * LINE + 60,
    marginLeft,
    marginRight: 20,
    marginTop: 8,
    marginBottom: 46,
    style: { fontSize: `${SIZE}px`, background: "none", overflow: "visible" },
    x: { label: "failed runs →", labelAnchor: "center", labelOffset: 36, domain: [0, Math.min(1, high)], inset: INSET, ticks: Math.max(2, Math.floor((width - marginLeft) / 90)), tickFormat: percent },
    y: { type: "point", domain: rates.map(name), label: null, tickSize: 0, tickFormat: (text: string) => truncateText(text, marginLeft - 12, (part) => textWidth(part, SIZE)), padding: 0.6 },
    marks: [
      Plot.gridX({ strokeOpacity: 0.12 }),
      Plot.gridY({ strokeOpacity: 0.12 }),
      Plot.ruleY(rates, { y: name, x1: (rate: PageRate) => rate.interval[0], x2: (rate: PageRate) => rate.interval[1], stroke: BLUE, strokeWidth: 3, strokeOpacity: 0.6, className: "intervals" }),
      Plot.dot(rates, { y: name, x: share, r: 4, stroke: ORANGE, strokeWidth: 2, fill: (rate: PageRate) => (rate.failed > 0 ? ORANGE : ground), className: "rates" }),
      interactive ? Plot.tip(rates, Plot.pointerY({ y: name, x: share, title: words })) : null,
    ].filter((mark) => mark !== null),
  });
}
