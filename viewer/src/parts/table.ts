// A table of names and figures: sortable by every column, searchable, copyable as CSV.

import { download, h } from "../dom.ts";

export interface Column<Row> {
  title: string;
  /** Text of the cell. */
  text: (row: Row) => string;
  /** Value for sorting and for the CSV; the text if absent. */
  value?: (row: Row) => number | null;
  /** Value for sorting a figure that the CSV has as text. */
  order?: (row: Row) => number | null;
  /** Name of the column in the CSV; the title if absent. */
  csvName?: string;
  /** Address of the link in the cell. */
  link?: (row: Row) => string;
}

/**
 * Cell of CSV (RFC 4180). An apostrophe precedes a text that a spreadsheet would take for a
 * formula.
 */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export interface TableHandle {
  element: HTMLElement;
  /** Shows only the rows that pass the test; all rows if the test is null. */
  keep: (test: ((row: unknown) => boolean) | null) => void;
}

export function table<Row>(name: string, columns: Column<Row>[], rows: Row[]): TableHandle {
  const sortValue = (column: Column<Row>) => column.value ?? column.order;
  const kind = (column: Column<Row>) => (sortValue(column) ? "figure" : "name");
  let rowFilter: ((row: Row) => boolean) | null = null;
  let sorting: { column: number; up: boolean } | null = null;
  let searchText = "";
  const body = h("tbody");
  const rowCount = h("p", { class: "quiet", "aria-live": "polite" });
  const visibleRows = () => {
    const found = rows.filter((row) => (!rowFilter || rowFilter(row)) && columns.some((column) => column.text(row).toLowerCase().includes(searchText)));
    if (!sorting) return found;
    const { column, up } = sorting;
    const { text } = columns[column]!;
    const value = sortValue(columns[column]!);
    const order = (a: Row, b: Row) => (value ? (value(a) ?? -Infinity) - (value(b) ?? -Infinity) : text(a).localeCompare(text(b)));
    return found.toSorted((a, b) => (up ? order(a, b) : order(b, a)));
  };
  const draw = () => {
    const found = visibleRows();
    body.replaceChildren(
      ...found.map((row) =>
        h("tr", {}, ...columns.map((column, i) => h(i === 0 ? "th" : "td", { class: kind(column), ...(i === 0 ? { scope: "row" } : {}) }, column.link ? h("a", { href: column.link(row) }, column.text(row)) : column.text(row)))),
      ),
    );
    rowCount.textContent = found.length === rows.length ? "" : `${found.length} of ${rows.length} rows`;
  };
  const headers = columns.map((column, index) => {
    const cell: HTMLTableCellElement = h(
      "th",
      { scope: "col", class: kind(column), "aria-sort": "none" },
      h("button", {
        type: "button",
        click: () => {
          const up: boolean = sorting?.column === index ? !sorting.up : !sortValue(column);
          sorting = { column: index, up };
          headers.forEach((header) => header.setAttribute("aria-sort", "none"));
          cell.setAttribute("aria-sort", up ? "ascending" : "descending");
          draw();
        },
      }, column.title),
    );
    return cell;
  });
  const csv = () => {
    const line = (cells: string[]) => cells.map(csvCell).join(",");
    const cell = (column: Column<Row>, row: Row) => (column.value ? String(column.value(row) ?? "") : column.text(row));
    return [line(columns.map((c) => c.csvName ?? c.title)), ...visibleRows().map((row) => line(columns.map((c) => cell(c, row))))].join("\r\n") + "\r\n";
  };
  const search = h("input", { type: "search", placeholder: "search", "aria-label": `search ${name}`, input: () => { searchText = search.value.toLowerCase(); draw(); } });
  const copy = h("button", {
    type: "button",
    click: () => {
      const text = csv();
      // Some browsers deny the clipboard to a page from the disk. The text is then saved as a file.
      navigator.clipboard?.writeText(text).then(() => { copy.textContent = "copied"; }, () => download(`${name}.csv`, "text/csv", text)) ?? download(`${name}.csv`, "text/csv", text);
    },
  }, "copy as CSV");
  draw();
  const element = h(
    "div",
    { class: "table" },
    h("div", { class: "tools" }, h("h3", {}, name), search, copy, rowCount),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": name }, h("table", {}, h("thead", {}, h("tr", {}, ...headers)), body)),
  );
  return { element, keep: (test) => { rowFilter = test as typeof rowFilter; draw(); element.hidden = test !== null && rows.every((row) => !test(row)); } };
}
