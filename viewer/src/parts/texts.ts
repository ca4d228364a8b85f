// Tables that arrive with their texts: the result of a comparison, and the classic benchmarks then
// and now.

import { h, section } from "../dom.ts";
import { responsive } from "../pictures/responsive.ts";
import { onPage } from "../pictures/setting.ts";
import { SUITE_KEY, suiteInWords, suitePicture } from "../pictures/suite.ts";
import type { BenchmarkText } from "../record/BenchmarkText.ts";
import type { PageColumn } from "../record/PageColumn.ts";
import type { PageTable } from "../record/PageTable.ts";
import type { ComparisonText } from "../record/ComparisonText.ts";
import type { SuiteText } from "../record/SuiteText.ts";
import { withBoldLead } from "./answer.ts";
import { type Column, table, type TableHandle } from "./table.ts";

function cellTable(label: string, { columns, now }: PageTable): HTMLElement {
  const kind = (column: PageColumn) => (column.figures ? "figure" : "name");
  const headers = columns.map((column) => h("th", { scope: "col", class: kind(column) }, column.header));
  const row = (index: number) => h("tr", { class: now[index] ? "now" : "then" }, ...columns.map((column) => h("td", { class: kind(column) }, column.cells[index]?.text)));
  const rows = now.map((_, index) => row(index));
  return h("div", { class: "scroll whole", tabindex: 0, role: "group", "aria-label": label }, h("table", {}, h("thead", {}, h("tr", {}, ...headers)), h("tbody", {}, ...rows)));
}

/**
 * Table that can be sorted, searched and copied. Figures are sorted by value, names by their
 * letters. Further columns take the number of their row.
 */
export function sortableTable({ title, columns, now }: PageTable, further: Column<number>[] = []): TableHandle {
  const sortable = columns.map(({ header, figures, cells, csv_name }): Column<number> => {
    const value = (row: number) => cells[row]?.value ?? null;
    const text = (row: number) => cells[row]?.text ?? "";
    if (csv_name !== null) return { title: header, text, value, csvName: csv_name };
    return figures ? { title: header, text, order: value } : { title: header, text };
  });
  const handle = table(title, [...sortable, ...further], now.map((_, index) => index));
  handle.element.classList.add("names-wide");
  return handle;
}

export function comparisonSection(comparison: ComparisonText): HTMLElement {
  return section(
    "comparison",
    "What changed",
    comparison.warning && h("ul", { class: "notices" }, h("li", { class: "serious" }, h("strong", {}, "Warning: "), comparison.warning)),
    h("p", { class: "verdict" }, ...withBoldLead(comparison.answer)),
    cellTable("ratios", comparison.table),
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
    ...benchmark.tables.map((table, i) => cellTable(`${benchmark.title}: ${table.columns[0]?.header ?? i}`, table)),
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
    cellTable("summary", suite.table),
    h("ul", { class: "quiet" }, ...suite.notes.map((note) => h("li", {}, note))),
    picture.element,
    h("p", { class: "quiet" }, SUITE_KEY),
  );
}
