// The answer in words: what the verdict says, where the lost CPUs went, what to expect on bigger machines, what spoils it.

import { h } from "../dom.ts";
import type { PageStudy } from "../record/PageStudy.ts";

export function answer(study: PageStudy): HTMLElement {
  const { verdict, causes, prediction, notices } = study.said;
  const colon = verdict.indexOf(":");
  const lead = colon > 0 ? verdict.slice(0, colon + 1) : "";
  const list = (title: string, lines: string[]) =>
    lines.length > 0 && h("div", {}, h("h3", {}, title), h("ul", {}, ...lines.map((line) => h("li", {}, line))));
  return h(
    "div",
    { class: "answer" },
    h("p", { class: "verdict" }, lead && h("strong", {}, lead), verdict.slice(lead.length)),
    list("Where the lost CPUs went", causes),
    list("On larger machines", prediction),
    notices.length > 0 &&
      h("div", {}, h("h3", {}, "What to know of these figures"), h("ul", { class: "notices" }, ...notices.map((notice) => h("li", { class: notice.severity }, h("strong", {}, notice.severity === "note" ? "Note: " : "Warning: "), notice.text)))),
  );
}
