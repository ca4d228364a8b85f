// The studies of a directory, to be opened and compared; and what a comparison says.

import { h, section } from "../dom.ts";
import type { ListedStudy } from "../record/ListedStudy.ts";
import type { SaidComparison } from "../record/SaidComparison.ts";
import { table } from "./table.ts";

const address = (study: ListedStudy) => `/study/${encodeURIComponent(study.name)}`;

export function list(studies: ListedStudy[]): HTMLElement[] {
  const newest = studies.toSorted((a, b) => b.created_at_s - a.created_at_s);
  const all = table<ListedStudy>("Studies", [
    { title: "study", text: (s) => s.name, link: address },
    { title: "command", text: (s) => s.command },
    { title: "host", text: (s) => s.host },
    { title: "CPUs", text: (s) => s.cpus.join(", ") },
    { title: "begun", text: (s) => (s.created_at_s ? new Date(1000 * s.created_at_s).toISOString().slice(0, 16).replace("T", " ") : "–"), value: (s) => s.created_at_s },
    { title: "state", text: (s) => s.state },
  ], newest);
  const readable = newest.filter((study) => study.state !== "unreadable");
  const select = (label: string, chosen: number) =>
    h("select", { "aria-label": label }, ...readable.map((study, i) => h("option", { value: study.name, selected: i === chosen }, study.name)));
  const base = select("BASE", Math.min(1, readable.length - 1));
  const now = select("NEW", 0);
  const go = () => location.assign(`/compare?base=${encodeURIComponent(base.value)}&new=${encodeURIComponent(now.value)}`);
  const compare = readable.length > 1 && section("compare", "Compare", h("div", { class: "tools" }, base, " with ", now, h("button", { type: "button", click: go }, "compare")));
  const none = studies.length === 0 && h("p", {}, "No studies here yet: morecores run makes one.");
  return [h("h1", {}, "Studies"), none, studies.length > 0 && section("list", "In this directory", all.element), compare].filter((part) => part !== false);
}

export function comparisonSection(said: SaidComparison): HTMLElement {
  const [first] = said.columns;
  const headers = said.columns.map(([header]) => h("th", { scope: "col", class: "figure" }, header));
  const rows = (first?.[1] ?? []).map((_, row) => h("tr", {}, ...said.columns.map(([, cells]) => h("td", { class: "figure" }, cells[row]))));
  return section(
    "comparison",
    "What changed",
    h("p", { class: "verdict" }, said.answer),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "ratios" }, h("table", {}, h("thead", {}, h("tr", {}, ...headers)), h("tbody", {}, ...rows))),
    said.grown && h("p", {}, said.grown),
    said.unlike.length > 0 && h("ul", {}, ...said.unlike.map((line) => h("li", {}, line))),
    h("p", { class: "quiet" }, said.note),
  );
}
