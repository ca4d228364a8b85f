// The answer in words: the verdict, the causes of lost CPUs, the prediction for larger machines,
// and the influences that spoil the figures.

import { h } from "../dom.ts";
import type { PageStudy } from "../record/PageStudy.ts";
import type { NoticeText } from "../record/NoticeText.ts";
import type { Statement } from "../record/Statement.ts";

/** Lines under a heading; nothing if there are no lines. */
export function lineList(title: string, lines: string[]): HTMLElement | false {
  return lines.length > 0 && h("div", {}, h("h3", {}, title), h("ul", {}, ...lines.map((line) => h("li", {}, line))));
}

/** Notices that a reader of the figures needs; nothing if there are none. */
export function noticeList(notices: NoticeText[]): HTMLElement | false {
  return notices.length > 0 &&
    h("div", {}, h("h3", {}, "What to know of these figures"), h("ul", { class: "notices" }, ...notices.map((notice) => h("li", { class: notice.severity }, h("strong", {}, notice.severity === "note" ? "Note: " : "Warning: "), notice.text))));
}

/** Statement whose first words stand out. */
export function withBoldLead({ lead, rest }: Statement): (HTMLElement | string)[] {
  return lead === "" ? [rest] : [h("strong", {}, `${lead}:`), ` ${rest}`];
}

/** Short form of a statement: its first words if it has some. */
export function shortAnswer({ lead, rest }: Statement): string {
  return lead || rest;
}

export function answerBlock(study: PageStudy): HTMLElement {
  const { verdict, causes, prediction, notices } = study.text;
  return h(
    "div",
    { class: "answer" },
    h("p", { class: `verdict ${study.view.verdict.answer}` }, ...withBoldLead(verdict)),
    lineList("Where the lost CPUs went", causes),
    lineList("On larger machines", prediction),
    noticeList(notices),
  );
}
