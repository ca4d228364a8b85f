// A study of locks: the recommended lock, the price of waits, and the behaviour of each lock under
// contention.

import { lockMark } from "../colours.ts";
import { choice, h, section } from "../dom.ts";
import { CONTENTION_KEY, contention, contentionInWords, contentions, LOCK_QUANTITIES, type LockQuantity } from "../pictures/contention.ts";
import { responsive } from "../pictures/responsive.ts";
import { onPage } from "../pictures/setting.ts";
import type { LockName } from "../record/LockName.ts";
import type { PageLocks } from "../record/PageLocks.ts";
import { svg } from "../sheet/svg.ts";
import { lineList, noticeList, withBoldLead } from "./answer.ts";
import { downloadView, LOCK_METHOD, lockDetails } from "./details.ts";
import { sortableTable } from "./texts.ts";

/** Piece of a lock's line, drawn as in the pictures. */
function swatch(lock: LockName): Element {
  const { colour, isOwn } = lockMark(lock);
  return svg(document, "svg", { width: 28, height: 12, class: "line", "aria-hidden": "true" },
    svg(document, "path", { d: "M0,6H28", stroke: colour, "stroke-width": 2, ...(isOwn ? {} : { "stroke-dasharray": "5 3" }) }),
    svg(document, "circle", { cx: 14, cy: 6, r: 3.5, stroke: colour, "stroke-width": 1.5, fill: isOwn ? colour : "var(--ground)" }));
}

function contentionSection(id: string, { view, cpus }: PageLocks): HTMLElement | null {
  const all = contentions(view);
  if (all.length === 0) return null;
  const order = view.plan.locks;
  const visible = new Set(order);
  let quantity: LockQuantity = "rate";
  const pictures = all.map((item) => ({
    name: item.name,
    ...responsive((width) => contention(item, quantity, visible, order, cpus, onPage(width)), () => contentionInWords(item, quantity, visible)),
  }));
  const redraw = () => pictures.forEach((picture) => picture.redraw());
  const buttons = order.map((lock) => {
    const button: HTMLElement = h("button", { type: "button", class: "lock", "aria-pressed": "true", "data-lock": lock, click: () => press([lock], !visible.has(lock)) }, swatch(lock), lock);
    return button;
  });
  const press = (locks: LockName[], shown: boolean) => {
    for (const lock of locks) visible[shown ? "add" : "delete"](lock);
    for (const button of buttons) button.setAttribute("aria-pressed", String(visible.has(button.dataset.lock as LockName)));
    redraw();
  };
  return section(
    id,
    "Under contention",
    h("div", { class: "tools" }, choice("show", LOCK_QUANTITIES, quantity, (value) => { quantity = value; redraw(); })),
    h("div", { class: "parts", role: "group", "aria-label": "locks that are shown" },
      ...buttons,
      h("button", { type: "button", click: () => press(order, true) }, "all"),
      h("button", { type: "button", click: () => press(order, false) }, "none")),
    h("p", { class: "quiet" }, CONTENTION_KEY),
    h("div", { class: "multiples" }, ...pictures.map(({ name, element }) => h("div", {}, h("h3", {}, name), element))),
  );
}

/** Parts of the page for a study of locks, its header first. */
export function lockParts(study: PageLocks, index: number): HTMLElement[] {
  const id = (name: string) => `locks-${index}-${name}`;
  const { host } = study.view;
  const all: (HTMLElement | null)[] = [
    h("header", { id: id("title") }, h("h1", {}, h("code", {}, study.command)), h("p", { class: "quiet" }, [study.name, host.cpu_model, host.hostname].filter(Boolean).join(" · "))),
    study.advice.length + study.prices.length + study.notices.length > 0
      ? section(id("answer"), "Which lock?", h("div", { class: "answer" },
          study.advice.length > 0 && h("ul", { class: "verdict" }, ...study.advice.map((statement) => h("li", {}, ...withBoldLead(statement)))),
          lineList("What waiting costs here", study.prices),
          noticeList(study.notices)))
      : null,
    contentionSection(id("contentions"), study),
    section(id("figures"), "Every figure", ...study.tables.map((table) => sortableTable(table).element), downloadView(study)),
    section(id("how"), "How it was measured", lockDetails(study), h("ul", {}, ...LOCK_METHOD.map((line) => h("li", {}, line)))),
  ];
  return all.filter((part) => part !== null);
}
