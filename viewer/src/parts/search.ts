// A search for failures that depend on the order of threads: its conclusion, the rates of failure,
// and the tables of its runs and sites.

import { h, section } from "../dom.ts";
import { RATES_KEY, ratesInWords, ratesPicture } from "../pictures/rates.ts";
import { responsive } from "../pictures/responsive.ts";
import { onPage } from "../pictures/setting.ts";
import type { PageSearch } from "../record/PageSearch.ts";
import { lineList } from "./answer.ts";
import { sortableTable } from "./texts.ts";

/** Parts of the page for a search, its header first. */
export function searchParts(search: PageSearch, index: number): HTMLElement[] {
  const id = (name: string) => `search-${index}-${name}`;
  const [failure, ...details] = search.failure;
  const picture = responsive((width) => ratesPicture(search.rates, onPage(width)), () => ratesInWords(search.rates));
  const all: (HTMLElement | null)[] = [
    h("header", { id: id("title") }, h("h1", {}, h("code", {}, search.command)), h("p", { class: "quiet" }, search.name)),
    section(id("answer"), "Does it fail under another order of its threads?", h("div", { class: "answer" },
      h("p", { class: "verdict" }, search.verdict),
      failure !== undefined && h("p", {}, failure),
      details.length > 0 && h("ul", {}, ...details.map((line) => h("li", {}, line))),
      lineList("Stacks at the first failure, innermost function first", search.stacks))),
    section(id("rates"), "Rates of failure", picture.element, h("p", { class: "quiet" }, RATES_KEY)),
    section(id("figures"), "Every figure", ...search.tables.map((table) => sortableTable(table).element)),
    section(id("how"), "How it was searched", h("ul", {}, ...search.notes.map((note) => h("li", {}, note)))),
  ];
  return all.filter((part) => part !== null);
}
