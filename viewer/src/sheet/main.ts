// The entry for drawing without a browser. The engine has the language and no web APIs.

import "./intl.ts";

import { parseHTML } from "linkedom/worker";

import type { Page } from "../record/Page.ts";
import type { PictureOrder } from "../record/PictureOrder.ts";
import { sheet } from "./sheet.ts";

declare global {
  /** Draws the picture that `order` requests from `page`, both JSON, as an SVG file. */
  var sheetOf: (page: string, order: string, stretches: Uint8Array | null) => string;
}

globalThis.sheetOf = (page, order, stretches) => {
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  return sheet(document as unknown as Document, JSON.parse(page) as Page, JSON.parse(order) as PictureOrder, stretches).outerHTML;
};
