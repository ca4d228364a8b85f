// The entry for drawing without a browser: evaluated by an engine that has the language and nothing around it.

import "./intl.ts";

import { parseHTML } from "linkedom/worker";

import type { Page } from "../record/Page.ts";
import type { PictureOrder } from "../record/PictureOrder.ts";
import { sheet } from "./sheet.ts";

declare global {
  /** Draws what `order` asks for of `page`, both JSON, as an SVG file. */
  var sheetOf: (page: string, order: string, stretches: Uint8Array | null) => string;
}

globalThis.sheetOf = (page, order, stretches) => {
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  return sheet(document as unknown as Document, JSON.parse(page) as Page, JSON.parse(order) as PictureOrder, stretches).outerHTML;
};
