// Tables that arrive as text: the result of a comparison, and the classic benchmarks then and now.

import { h, section } from "../dom.ts";
import { responsive } from "../pictures/responsive.ts";
import { onPage } from "../pictures/setting.ts";
import { SUITE_KEY, suiteInWords, suitePicture } from "../pictures/suite.ts";
import type { BenchmarkText } from "../record/BenchmarkText.ts";
import type { TextColumn } from "../record/TextColumn.ts";
import type { ComparisonText } from "../record/ComparisonText.ts";
import type { SuiteText } from "../record/SuiteText.ts";
import type { TextTable } from "../record/TextTable.ts";
import { type Column, table, type TableHandle } from "./table.ts";

/** Units of the figures in a table, in units without a prefix; seconds for times. */
const UNITS: Record<string, number> = { ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, k: 1e3, M: 1e6, G: 1e9, "%": 0.01 };

function textTable(label: string, { columns, now }: TextTable): HTMLElement {
  const kind = (column: TextColumn) => (column.figures ? "figure" : "name");
  const headers = columns.map((column) => h("th", { scope: "col", class: kind(column) }, column.header));
  const row = (index: number) => h("tr", { class: now[index] ? "now" : "then" }, ...columns.map((column) => h("td", { class: kind(column) }, column.cells[index])));
  const rows = (columns[0]?.cells ?? []).map((_, index) => row(index));
  return h("div", { class: "scroll whole", tabindex: 0, role: "group", "aria-label": label }, h("table", {}, h("thead", {}, h("tr", {}, ...headers)), h("tbody", {}, ...rows)));
}

/** First number of a text, in the unit behind it; null if the text has no number. */
export function firstNumber(text: string): number | null {
  const [, number, unit] = /^[^\d]*?(-?\d[\d.]*)\s*(ns|µs|ms|s\b|[kMG]\b|%)?/u.exec(text) ?? [];
  return number === undefined ? null : Number(number) * (UNITS[unit ?? ""] ?? 1);
}

/**
 * Table that can be sorted, searched and copied. Figures are sorted by size, names by their
 * letters.
 */
export function sortableTable(title: string, { columns }: TextTable): TableHandle {
  const rows = (columns[0]?.cells ?? []).map((_, index) => index);
  const sortable = columns.map(({ header, figures, cells }): Column<number> => {
    const text = (row: number) => cells[row] ?? "";
    return { title: header, text, ...(figures ? { order: (row) => firstNumber(text(row)) } : {}) };
  });
  const handle = table(title, sortable, rows);
  handle.element.classList.add("said");
  return handle;
}

export function comparisonSection(comparison: ComparisonText): HTMLElement {
  const columns = comparison.columns.map(([header, cells]): TextColumn => ({ header, cells, figures: true }));
  return section(
    "comparison",
    "What changed",
    comparison.warning && h("ul", { class: "notices" }, h("li", { class: "serious" }, h("strong", {}, "Warning: "), comparison.warning)),
    h("p", { class: "verdict" }, comparison.answer),
    textTable("ratios", { columns, now: [] }),
    comparison.grown && h("p", {}, comparison.grown),
    comparison.unlike.length > 0 && h("ul", {}, ...comparison.unlike.map((line) => h("li", {}, line))),
    h("p", { class: "quiet" }, comparison.note),
  );
}

/**
 * Published and measured figures of a benchmark. `address` returns the address of the named study.
 */
export function benchmarkSection(benchmark: BenchmarkText, index: number, address: (study: string) => string): HTMLElement {
  return section(
    `benchmark-${index}`,
    benchmark.title,
    ...benchmark.tables.map((table, i) => textTable(`${benchmark.title}: ${table.columns[0]?.header ?? i}`, table)),
    benchmark.notes.length > 0 && h("ul", { class: "quiet" }, ...benchmark.notes.map((note) => h("li", {}, note))),
    benchmark.studies.length > 0 && h("p", {}, "Studies of now: ", ...benchmark.studies.flatMap((study, i) => [i > 0 && ", ", h("a", { href: address(study) }, study)])),
  );
}

/** All benchmarks in one table and one picture. */
export function suiteSection(suite: SuiteText): HTMLElement {
  const picture = responsive((width) => suitePicture(suite, onPage(width)), () => suiteInWords(suite));
  return section(
    "summary",
    "Summary: speedups then and now",
    textTable("summary", suite.table),
    h("ul", { class: "quiet" }, ...suite.notes.map((note) => h("li", {}, note))),
    picture.element,
    h("p", { class: "quiet" }, SUITE_KEY),
  );
}
