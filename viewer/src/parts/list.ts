// The studies and searches of a directory, with links to open and compare them.

import { h, section } from "../dom.ts";
import type { ListedStudy } from "../record/ListedStudy.ts";
import { table } from "./table.ts";

/** Address of the named study on a server. */
export const studyAddress = (name: string) => `/study/${encodeURIComponent(name)}`;

export function studyList(studies: ListedStudy[]): HTMLElement[] {
  const newest = studies.toSorted((a, b) => b.created_at_s - a.created_at_s);
  const all = table<ListedStudy>("Studies", [
    { title: "study", text: (s) => s.name, link: (s) => studyAddress(s.name) },
    { title: "command", text: (s) => s.command },
    { title: "host", text: (s) => s.host },
    { title: "CPUs", text: (s) => s.cpus.join(", "), order: (s) => Math.max(0, ...s.cpus) },
    { title: "begun", text: (s) => (s.created_at_s ? new Date(1000 * s.created_at_s).toISOString().slice(0, 16).replace("T", " ") : "–"), value: (s) => s.created_at_s },
    { title: "state", text: (s) => s.state },
  ], newest);
  const comparable = newest.filter((study) => study.comparable);
  const select = (label: string, chosen: number) =>
    h("select", { "aria-label": label }, ...comparable.map((study, i) => h("option", { value: study.name, selected: i === chosen }, study.name)));
  const base = select("BASE", Math.min(1, comparable.length - 1));
  const newer = select("NEW", 0);
  const openComparison = () => location.assign(`/compare?base=${encodeURIComponent(base.value)}&new=${encodeURIComponent(newer.value)}`);
  const compare = comparable.length > 1 && section("compare", "Compare", h("div", { class: "tools" }, base, " with ", newer, h("button", { type: "button", click: openComparison }, "compare")));
  const emptyNote = studies.length === 0 && h("p", {}, "No studies here yet: morecores run makes one.");
  const suiteLink = studies.some((study) => study.benchmark !== null) && h("p", {}, h("a", { href: "/suite" }, "The classic benchmarks, then and now"));
  return [h("h1", {}, "Studies"), emptyNote, suiteLink, studies.length > 0 && section("list", "In this directory", all.element), compare].filter((part) => part !== false);
}
