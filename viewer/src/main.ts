// The page: reads its data and shows the parts of each study one below the other.

import { checkbox, choice, h, section } from "./dom.ts";
import { commandColours } from "./colours.ts";
import { cpus } from "./format.ts";
import { answerBlock, shortAnswer } from "./parts/answer.ts";
import { downloadView, footer, METHOD, studyDetails } from "./parts/details.ts";
import { studyAddress, studyList } from "./parts/list.ts";
import { lockParts } from "./parts/locks.ts";
import { searchParts } from "./parts/search.ts";
import { benchmarkSection, comparisonSection, sortableTable, suiteSection } from "./parts/texts.ts";
import { pointTable, runTable, traceTables } from "./parts/tables.ts";
import { BOTTLES_KEY, bottles, bottlesInWords, shownTrace } from "./pictures/bottles.ts";
import { calls, lossLayers, runLayers } from "./pictures/calls.ts";
import { curve, curveInWords, curveKey, isWeak, isWideRange, type Quantity, quantities } from "./pictures/curve.ts";
import { responsive } from "./pictures/responsive.ts";
import { onPage } from "./pictures/setting.ts";
import { stack, stackInWords, stackKey, stackLegend } from "./pictures/stack.ts";
import type { Page } from "./record/Page.ts";
import type { PageLocks } from "./record/PageLocks.ts";
import type { PageSearch } from "./record/PageSearch.ts";
import type { PageStudy } from "./record/PageStudy.ts";
import type { TraceView } from "./record/TraceView.ts";
import { timelineView } from "./timeline/view.ts";

/**
 * Question that a study answers: of several CPU quotas, which is enough; of several values of n,
 * which is best; of work that grows with n, whether the CPUs keep up.
 */
function questionOf(study: PageStudy): string {
  const { view } = study;
  if (isWeak(study)) return "Does it keep up when the work grows?";
  if (view.quota) return "Which CPU limit is enough?";
  const hasOneCount = view.points.every((point) => point.cpus === view.points[0]?.cpus);
  return hasOneCount && (view.rankings?.length ?? 0) > 0 ? "Which n is best?" : "Will more cores help?";
}

function curveSection(id: string, studies: PageStudy[]): HTMLElement {
  // Of work that grows, the flat ideal shows most.
  let quantity: Quantity = studies.every(isWeak) ? "elapsed" : "speedup";
  let log = isWideRange(studies);
  const picture = responsive((width) => curve(studies, { quantity, log }, onPage(width)), () => curveInWords(studies, quantity));
  return section(
    id,
    studies.length > 1 ? "Speedup, side by side" : "Speedup",
    h("div", { class: "tools" },
      choice("show", quantities(studies[0]!), quantity, (value) => { quantity = value; picture.redraw(); }),
      checkbox("logarithmic axes", log, (on) => { log = on; picture.redraw(); })),
    picture.element,
    h("p", { class: "quiet" }, curveKey(studies)),
  );
}

function stackSection(id: string, study: PageStudy, onChoice: (component: string | null, name: string) => void): HTMLElement | null {
  const all = study.parts;
  if (all.length === 0) return null;
  const legend = stackLegend(all);
  const buttons = legend.map(({ key, name, colour, figures }) => {
    const swatch = h("span", { class: "swatch" });
    swatch.style.background = colour;
    return h("button", { type: "button", class: "part", "aria-pressed": "false", "data-key": key, click: () => press(key) }, swatch, `${name} `, h("span", { class: "figure" }, figures));
  });
  let pressed: string | null = null;
  const press = (key: string) => {
    pressed = pressed === key || key === "speedup" || key === "other" ? null : key;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.key === pressed));
    onChoice(pressed, legend.find((part) => part.key === pressed)?.name ?? "");
  };
  const picture = responsive((width) => stack(all, onPage(width), press), () => stackInWords(all));
  return section(
    id,
    "Where the CPUs went",
    picture.element,
    h("p", { class: "quiet" }, `${stackKey(all)} Choose a part to see what in the tables below it is about.`),
    h("div", { class: "parts" }, ...buttons),
    ...study.text.stack_notes.map((note) => h("p", { class: "quiet" }, note)),
  );
}

/** The efficiencies, the critical path, and the threads by criticality. */
function structureSection(id: string, study: PageStudy, trace: TraceView | undefined): HTMLElement | null {
  if (study.structure.length === 0) return null;
  const hasThreads = trace?.threads.some((thread) => thread.criticality_s > 0) ?? false;
  // The notes are about the efficiencies, which are the first table.
  const [first, ...others] = study.structure.map((table) => sortableTable(table).element);
  const picture = trace && hasThreads ? responsive((width) => bottles(trace, onPage(width)), () => bottlesInWords(trace)) : null;
  return section(
    id,
    "What decided the elapsed time",
    first ?? null,
    ...study.structure_notes.map((note) => h("p", { class: "quiet" }, note)),
    ...others,
    picture && h("h3", {}, "Threads by criticality (bottle graph)"),
    picture?.element ?? null,
    picture && h("p", { class: "quiet" }, BOTTLES_KEY),
  );
}

function studyParts(study: PageStudy, index: number): HTMLElement[] {
  const id = (name: string) => `study-${index}-${name}`;
  const trace = shownTrace(study);
  const tables = trace ? traceTables(study, trace) : null;
  const stacked = study.view.stack.find((one) => one.cpus === trace?.cpus && one.n === trace.n);
  const partName = (key: string) => study.parts.find((part) => part.key === key)?.name ?? key.replaceAll("_", " ");
  const layers = trace ? [...runLayers(trace.call_tree), ...lossLayers(stacked?.calls ?? [], partName)] : [];
  const callPicture = trace && layers.length > 0 ? calls(layers, trace.cpus) : null;
  const colours = commandColours(study.timelines.map((timeline) => timeline.commands));
  const filter = h("p", { class: "filter", "aria-live": "polite", hidden: true });
  const all: (HTMLElement | null)[] = [
    h("header", { id: id("title") }, h("h1", {}, h("code", {}, study.text.command)), h("p", { class: "quiet" }, [study.name, study.view.host.cpu_model, study.view.host.hostname].filter(Boolean).join(" · "))),
    section(id("answer"), questionOf(study), answerBlock(study)),
    study.view.points.length > 0 ? curveSection(id("curve"), [study]) : null,
    stackSection(id("stack"), study, (component, name) => {
      tables?.keep(component);
      callPicture?.show(component);
      filter.hidden = component === null;
      filter.textContent = `Tables below: what is about "${name}".`;
    }),
    study.timelines.length > 0
      ? section(id("timeline"), "Over time", ...study.timelines.flatMap((timeline) => {
          const trace = study.view.traces.find((t) => t.cpus === timeline.cpus && t.n === timeline.n);
          return [h("h3", {}, `traced on ${cpus(timeline.cpus)}${timeline.n === timeline.cpus ? "" : `, {n} = ${timeline.n}`}`), timelineView(timeline, trace, colours)];
        }))
      : null,
    structureSection(id("structure"), study, trace),
    callPicture && trace ? section(id("calls"), `Which code holds the time, on ${cpus(trace.cpus)}`, callPicture.element) : null,
    tables && trace ? section(id("tables"), `What ran, on ${cpus(trace.cpus)}`, filter, ...tables.tables.map((t) => t.element)) : null,
    section(id("runs"), "Every figure", ...pointTable(study), runTable(study).element, downloadView(study)),
    section(id("how"), "How it was measured", studyDetails(study), h("ul", {}, ...METHOD.map((line) => h("li", {}, line)))),
  ];
  return all.filter((part) => part !== null);
}

/** Opens the study that the address names, if this study is folded up, and scrolls to it. */
function unfold(): void {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (!folded || folded.open) return;
  folded.open = true;
  target.scrollIntoView();
}

/**
 * Page of the classic benchmarks then and now. The studies follow, folded up, if the page holds
 * them.
 */
function suite(page: Page): HTMLElement[] {
  const index = new Map(page.studies.map((study, i) => [study.name, i]));
  const address = (name: string) => (index.has(name) ? `#study-${index.get(name)}` : studyAddress(name));
  window.addEventListener("hashchange", unfold);
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((folded) => { folded.open = true; }));
  return [
    h("header", {}, h("h1", {}, "The classic SMP benchmarks, then and now")),
    h("nav", { "aria-label": "benchmarks" }, h("ul", { class: "columns" }, ...page.benchmarks.map((benchmark, i) => h("li", {}, h("a", { href: `#benchmark-${i}` }, benchmark.title))),
      page.suite && h("li", {}, h("a", { href: "#summary" }, "Summary: speedups then and now")))),
    ...page.benchmarks.map((benchmark, i) => benchmarkSection(benchmark, i, address)),
    ...(page.suite ? [suiteSection(page.suite)] : []),
    ...page.studies.map((study, i) =>
      h("details", {}, h("summary", { id: `study-${i}` }, h("strong", {}, study.name), ` ${shortAnswer(study.text.verdict)}`), studyArticle(study, i))),
    ...page.locks.map(lockArticle),
  ];
}

/** Article of one of several studies. The header, its first part, also labels the other parts. */
function article([header, ...parts]: HTMLElement[]): HTMLElement {
  for (const part of parts) part.setAttribute("aria-labelledby", `${header!.id} ${part.id}-title`);
  return h("article", {}, header, ...parts);
}

const studyArticle = (study: PageStudy, index: number) => article(studyParts(study, index));
const lockArticle = (study: PageLocks, index: number) => article(lockParts(study, index));
const searchArticle = (search: PageSearch, index: number) => article(searchParts(search, index));

/** Number of parts of a page that can stand alone. */
const articleCount = (page: Page) => page.studies.length + page.locks.length + page.searches.length;
const studyCount = (page: Page) => `${articleCount(page)} studies`;

function sideBySide(page: Page): HTMLElement[] {
  const withCurve = page.studies.filter((study) => study.view.points.length > 0);
  return [
    h("nav", { "aria-label": "studies" }, h("h1", {}, studyCount(page)), h("ol", {},
      ...page.studies.map((study, i) => h("li", {}, h("a", { href: `#study-${i}-title` }, study.name), ` ${shortAnswer(study.text.verdict)}`)),
      ...page.locks.map((study, i) => h("li", {}, h("a", { href: `#locks-${i}-title` }, study.name), " locks")),
      ...page.searches.map((search, i) => h("li", {}, h("a", { href: `#search-${i}-title` }, search.name), ` ${search.verdict}`)))),
    ...(page.comparison ? [comparisonSection(page.comparison)] : []),
    ...(page.studies.length > 1 ? [curveSection("together", withCurve)] : []),
    ...page.studies.map(studyArticle),
    ...page.locks.map(lockArticle),
    ...page.searches.map(searchArticle),
  ];
}

/** Title and parts of the page, by the kind of its content. */
function pageContents(page: Page): [string, HTMLElement[]] {
  const [study] = page.studies;
  const [locks] = page.locks;
  const [search] = page.searches;
  if (page.benchmarks.length > 0) return ["then and now", suite(page)];
  if (articleCount(page) > 1) return [studyCount(page), sideBySide(page)];
  if (study) return [study.text.command, studyParts(study, 0)];
  if (locks) return [locks.command, lockParts(locks, 0)];
  if (search) return [search.command, searchParts(search, 0)];
  return ["studies", studyList(page.listed)];
}

function show(page: Page): void {
  const [title, parts] = pageContents(page);
  const main = document.querySelector("main")!;
  document.title = `${title} · morecores`;
  main.replaceChildren(...parts, footer(page));
  main.dataset.shown = "true";
  unfold();
}

show(JSON.parse(document.getElementById("data")!.textContent!) as Page);
