// Actions of a reader on a page in a browser. Each scenario throws if a result is wrong.

import assert from "node:assert/strict";
import { AxeBuilder } from "@axe-core/playwright";

/** Scrolls to the end of the page, so that pictures drawn at first sight are drawn. */
async function readAll(page) {
  const height = await page.evaluate(() => document.body.scrollHeight);
  for (let at = 0; at <= height; at += 600) {
    await page.evaluate((y) => scrollTo(0, y), at);
    await page.waitForTimeout(30);
  }
  const timelines = await page.locator(".timeline").count();
  await page.waitForFunction((count) => document.querySelectorAll(".timeline[data-drawn]").length === count, timelines);
}

/** Number of pixels of a canvas that are not empty. */
const painted = (canvas) => canvas.evaluate((c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.reduce((sum, value, i) => sum + (i % 4 === 3 && value > 0 ? 1 : 0), 0));

async function violations(page) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target}: ${n.failureSummary}`).join(" | ")}`);
}

/** Checks that every picture of a traced study is on the page and not empty. */
export async function pictures(page) {
  await readAll(page);
  const pictures = page.locator(".picture");
  assert.equal(await pictures.count(), 3, "the curve, the stack and the bottle graph");
  for (const picture of await pictures.all()) {
    assert.ok(await picture.locator("svg path, svg rect, svg circle").count() > 2, "marks are drawn");
    assert.ok((await picture.getAttribute("aria-label")).length > 20, "and said in words");
  }
  const canvases = await page.locator("canvas").all();
  assert.ok(canvases.length >= 1);
  for (const canvas of canvases) assert.ok((await painted(canvas)) > 5000, "the timeline is drawn");
  assert.ok(await page.locator("table tbody tr").count() > 10, "tables have rows");
  assert.match(await page.locator(".verdict").first().innerText(), /CPU/);
}

/** Checks that the curve can show another quantity, on other axes. */
export async function curve(page) {
  const label = () => page.locator(".picture").first().getAttribute("aria-label");
  const before = await label();
  await page.getByText("elapsed", { exact: true }).first().click();
  const elapsed = await label();
  assert.notEqual(before, elapsed);
  assert.match(elapsed, / s on 1 CPU| ms on 1 CPU/);
  const svg = () => page.locator(".picture svg").first().innerHTML();
  const linear = await svg();
  await page.getByText("logarithmic axes").first().click();
  assert.notEqual(linear, await svg());
}

/**
 * Checks that a component filters the tables and releases them again, in the picture as on its
 * button.
 */
export async function filter(page) {
  const rows = () => page.locator("section[id$=tables] tbody tr:visible").count();
  const all = await rows();
  const part = page.locator(".part:not([data-key=speedup]):not([data-key=other])").first();
  await part.click();
  assert.equal(await part.getAttribute("aria-pressed"), "true");
  assert.ok(await page.locator(".filter").isVisible());
  const some = await rows();
  assert.ok(some < all, `${some} of ${all}`);
  await part.click();
  assert.equal(await rows(), all);
  await page.locator(".picture g[aria-label=bar] rect").nth(1).click();
  assert.equal(await page.locator(".part[aria-pressed=true]").count(), 1);
}

/** Checks that tables are sorted by a click, searched, and copied as CSV. */
export async function tables(page) {
  const table = page.locator(".table", { hasText: "Commands" }).first();
  const names = () => table.locator("tbody th").allInnerTexts();
  const byTime = await names();
  await table.locator("thead button").first().click();
  const byName = await names();
  assert.deepEqual(byName, byName.toSorted((a, b) => a.localeCompare(b)));
  assert.deepEqual(byName.toSorted(), byTime.toSorted());
  assert.equal(await table.locator("thead th").first().getAttribute("aria-sort"), "ascending");
  await table.locator("input[type=search]").fill(byName[0]);
  const found = await names();
  assert.ok(found.length >= 1 && found.every((name, i) => i > 0 || name.includes(byName[0])));
  const csv = await page.evaluate(async (name) => {
    let copied = "";
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copied = text; } }, configurable: true });
    [...document.querySelectorAll(".table")].find((t) => t.innerText.includes(name)).querySelectorAll(".tools button").forEach((b) => b.click());
    await new Promise((done) => setTimeout(done, 50));
    return copied;
  }, "Commands");
  const lines = csv.trimEnd().split("\r\n");
  assert.equal(lines.length, found.length + 1, "what is shown is what is copied");
  assert.match(lines[0], /^command,calls/);
}

/** Checks zoom and pan of the timeline, by keys and buttons. */
export async function timeline(page) {
  await readAll(page);
  const figure = page.locator(".timeline").last();
  const canvas = figure.locator("canvas");
  const where = () => figure.locator("p").innerText();
  const whole = await where();
  const picture = () => canvas.evaluate((c) => c.toDataURL());
  const before = await picture();
  await canvas.focus();
  await page.keyboard.press("+");
  const near = await where();
  assert.notEqual(near, whole);
  await page.waitForTimeout(100);
  assert.notEqual(await picture(), before);
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await where(), near);
  await page.keyboard.press("0");
  assert.equal(await where(), whole);
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 300, box.y + 100);
  await page.mouse.dblclick(box.x + 300, box.y + 100);
  assert.notEqual(await where(), whole);
  // A hidden command makes the painted area smaller.
  await figure.getByRole("button", { name: "the whole run" }).click();
  await page.waitForTimeout(100);
  const all = await picture();
  await figure.locator(".legend input").first().click();
  await page.waitForTimeout(100);
  assert.notEqual(await picture(), all);
}

/**
 * Checks that an accessibility scan finds nothing, in light and in dark, on a wide screen and on a
 * phone. Nothing is wider than the phone.
 */
export async function accessible(page) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await readAll(page);
      assert.deepEqual(await violations(page), [], `${colorScheme}, ${width} pixels`);
      const widest = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(widest <= width, `${widest} pixels on ${width}`);
    }
  }
}

/** Checks that a study whose every text is markup and script is shown as text and runs nothing. */
export async function hostile(page) {
  await readAll(page);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.locator("main img, main script, main iframe, main b").count(), 0, "no text became an element");
  assert.ok((await page.locator("main").innerText()).includes("<img src=x onerror="), "it is shown as it is");
  assert.deepEqual(await violations(page), []);
}

/** Checks a page of several studies: one picture for all of them, and each study below it. */
export async function several(page) {
  await readAll(page);
  assert.ok(await page.locator("article").count() >= 2);
  assert.equal(await page.locator("#together svg").count() >= 1, true);
  assert.equal(await page.locator("nav a").count(), await page.locator("article").count());
  assert.deepEqual(await violations(page), []);
}

/** Checks the page of a suite: tables of then and now, and the studies folded up below them. */
export async function suite(page) {
  assert.match(await page.title(), /then and now/);
  const build = page.locator("section", { hasText: "a parallel build" }).first();
  const rows = await build.locator("tbody tr").allInnerTexts();
  assert.ok(rows.some((row) => row.startsWith("now")) && rows.some((row) => !row.startsWith("now")), "rows of then and rows of now");
  assert.equal(await build.locator("tr.now").count() >= 2, true, "rows of now are marked");
  assert.ok((await build.locator("tr.then").first().innerText()).includes("Pentium"));
  // The summary has a mark for each speedup that its words name, and a line for each row.
  const summary = page.locator("#summary");
  await summary.scrollIntoViewIfNeeded();
  await page.waitForSelector("#summary .picture svg");
  const words = await summary.locator(".picture").getAttribute("aria-label");
  const marks = (name) => summary.locator(`svg .${name} circle`).count();
  const named = (pattern) => (words.match(pattern) ?? []).length;
  assert.ok((await marks("then")) > 0 && (await marks("now")) > 0, "speedups of then and of now");
  assert.deepEqual([await marks("then"), await marks("now")], [named(/[:,] then /g), named(/[:,] now /g)]);
  assert.equal(await summary.locator("tbody tr").count(), named(/;/g) + 1);
  assert.deepEqual(await violations(page), []);
  assert.equal(await page.locator("article:visible").count(), 0);
  await page.getByRole("link", { name: "matmul.study" }).first().click();
  await page.waitForSelector("article:visible .picture svg");
  assert.equal(await page.locator("article:visible").count(), 1);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator("details:not([open])").count(), 0, "all of it is printed");
  await readAll(page);
  assert.deepEqual(await violations(page), []);
}

/** JSON that the first download button returns. */
async function jsonOf(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Download as JSON").first().click()]);
  const stream = await download.createReadStream();
  let text = "";
  for await (const chunk of stream) text += chunk;
  return JSON.parse(text);
}

/** Checks that the data can be downloaded as JSON and that the JSON is the view. */
export async function json(page) {
  assert.equal((await jsonOf(page)).schema, "morecores.view/1");
}

/** Checks that a directory is listed and searched, and that its studies are opened and compared. */
export async function served(page) {
  const rows = () => page.locator("tbody tr").count();
  const all = await rows();
  assert.ok(all >= 2);
  assert.deepEqual(await violations(page), []);
  await page.locator("input[type=search]").fill("matmul.study");
  assert.ok((await rows()) < all);
  await page.locator("tbody a").first().click();
  await page.waitForSelector("main[data-shown] .picture svg");
  assert.match(await page.title(), /matmul/);
  await page.goBack();
  await page.getByRole("link", { name: "then and now" }).click();
  await page.waitForSelector("main[data-shown] #benchmark-0");
  await page.getByRole("link", { name: "matmul.study" }).first().click();
  await page.waitForSelector("main[data-shown] .picture svg");
  await page.goBack();
  await page.goBack();
  await page.waitForSelector("main[data-shown]");
  await page.getByRole("button", { name: "compare" }).click();
  await page.waitForSelector("#comparison");
  assert.match(await page.locator("#comparison .verdict").innerText(), /CPU/);
  assert.ok((await page.locator("#comparison tbody tr").count()) >= 1);
  assert.deepEqual(await violations(page), []);
}

/** Colours of the lines, number of circles and bars, and names in each picture of contentions. */
const drawnLocks = (page) => page.locator(".multiples .picture").evaluateAll((pictures) => pictures.map((picture) => {
  const of = (selector) => [...picture.querySelectorAll(selector)].map((mark) => mark.closest("[stroke]").getAttribute("stroke"));
  return { lines: of("g[aria-label=line] path"), dots: of("g[aria-label=dot] circle").length, bars: of("g[aria-label=rule] line").length, names: [...picture.querySelectorAll("g[aria-label=names] text")].map((name) => name.textContent) };
}));

/**
 * Checks a study of locks: its first statements, and a picture for each contention with a line for
 * each lock.
 */
export async function locks(page) {
  await readAll(page);
  assert.match(await page.title(), /^morecores locks/);
  assert.match(await page.locator("h1").innerText(), /--threads 1,2,4/);
  const sections = await page.locator("main > section h2").allInnerTexts();
  assert.deepEqual(sections, ["Which lock?", "Under contention", "Every figure", "How it was measured"]);
  const answer = page.locator("section").first();
  assert.match(await answer.locator("li").first().innerText(), /^No other thread wants it: /);
  assert.match(await answer.innerText(), /A context switch takes 1.62 µs[^]*Warning: The hypervisor took/);
  const pictures = await drawnLocks(page);
  assert.equal(pictures.length, 3, "a picture for each hold");
  for (const { lines, dots, bars, names } of pictures) {
    assert.equal(new Set(lines).size, 5, "each lock has a colour of its own");
    assert.equal(dots, 15, "a circle for each lock and number of threads");
    assert.ok(bars >= 15, "and an interval");
    assert.deepEqual(names.toSorted(), ["adaptive", "block", "parking-lot", "pthread-normal", "spin"]);
    assert.deepEqual(lines.toSorted(), pictures[0].lines.toSorted(), "the same colours everywhere");
  }
  const dashed = await page.locator(".multiples .picture").first().locator("g[aria-label=line][stroke-dasharray]").count();
  assert.equal(dashed, 2, "the system's are dashed");
  const label = await page.locator(".multiples .picture").nth(1).getAttribute("aria-label");
  // The lock is held for 1 µs, and the time away is 1 µs. A turn of `spin` alone takes 12 ns more.
  assert.match(label, /held for 1 µs, away for 1 µs\. spin: 497 k with 1 thread, 917 k with 2 threads/);
  assert.match(await page.locator("dl").innerText(), /morecores|spin, block, adaptive, parking-lot, pthread-normal/);
  assert.match(await page.locator("dl").innerText(), /10 of 10, shuffled, seed 7/);
}

/**
 * Checks the page of a study on disk. In it `adaptive` has the lock 3000 times in 10 ms for each
 * thread, and `std` 1000 times.
 */
export async function lockReport(page) {
  await readAll(page);
  assert.match(await page.title(), /^morecores locks --lock adaptive,std/);
  assert.match(await page.locator("section").first().locator("li").first().innerText(), /: .*(adaptive|std)/, "advice comes first");
  const labels = await page.locator(".multiples .picture").evaluateAll((all) => all.map((picture) => picture.getAttribute("aria-label")));
  assert.deepEqual(labels, ["0", "1 µs"].map((hold) => `holds a second, held for ${hold}, away for 0. adaptive: 300 k with 1 thread, 600 k with 2 threads; std: 100 k with 1 thread, 200 k with 2 threads.`));
  const table = page.locator(".table", { hasText: "Held for 1 µs" });
  await table.getByRole("button", { name: "holds/s" }).click();
  const rates = await table.locator("tbody td:nth-child(3)").allInnerTexts();
  assert.deepEqual(rates.map((rate) => parseInt(rate)), [600, 300, 200, 100]);
  assert.deepEqual(await violations(page), []);
}

/** Checks that the pointer and keys switch a lock off and on, and that its colours stay. */
export async function lockLegend(page) {
  await readAll(page);
  const all = await drawnLocks(page);
  const button = page.locator(".lock[data-lock=spin]");
  assert.equal(await page.locator(".lock[aria-pressed=true]").count(), 5);
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  for (const [index, { lines, dots, names }] of (await drawnLocks(page)).entries()) {
    assert.equal(dots, 12);
    assert.ok(!names.includes("spin"));
    assert.deepEqual(lines, all[index].lines.slice(1), "the others keep their colours");
  }
  await button.focus();
  await page.keyboard.press("Space");
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  assert.deepEqual(await drawnLocks(page), all);
  await page.getByRole("button", { name: "none" }).click();
  assert.deepEqual((await drawnLocks(page)).map(({ dots }) => dots), [0, 0, 0]);
  assert.match(await page.locator(".multiples .picture").first().getAttribute("aria-label"), /Nothing to show/);
  await page.getByRole("button", { name: "all" }).click();
  assert.deepEqual(await drawnLocks(page), all);
}

/** Checks that the picture shows the chosen quantity, and that its axis names the quantity. */
export async function lockQuantity(page) {
  await readAll(page);
  const axis = () => page.locator(".multiples .picture svg").first().locator("g[aria-label^='y-axis label']").innerHTML();
  const seen = [await axis()];
  for (const [name, on] of [["share of the fastest", "of the fastest"], ["CPUs for locking", "CPUs for locking"], ["luckiest and unluckiest thread", "of an equal share"], ["longest wait", "longest wait"]]) {
    await page.getByText(name, { exact: true }).click();
    const now = await axis();
    assert.ok(now.includes(on), now);
    assert.ok(!seen.includes(now));
    seen.push(now);
  }
  // Waits have no interval, and each lock has a wait of 2 µs with 2 threads.
  assert.match(await page.locator(".multiples .picture").first().getAttribute("aria-label"), /longest wait, held for 0, away for 0\. spin: 1.00 µs with 1 thread, 2.00 µs with 2 threads/);
  await page.getByText("luckiest and unluckiest thread", { exact: true }).click();
  assert.equal((await drawnLocks(page))[0].dots, 30, "two lines for each lock");
}

/** Checks that figures with units are sorted by their size and copied as shown. */
export async function lockTables(page) {
  const table = page.locator(".table", { hasText: "Each lock by itself" });
  const names = () => table.locator("tbody th").allInnerTexts();
  await table.getByRole("button", { name: "hand-over" }).click();
  assert.deepEqual(await names(), ["block", "pthread-normal", "parking-lot", "adaptive", "spin"]);
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } }, configurable: true }));
  await table.getByRole("button", { name: "copy as CSV" }).click();
  assert.equal((await page.evaluate(() => window.copied)).split("\r\n")[1], "block,12.0 ns,5.20 µs");
  await table.locator("input[type=search]").fill("pthread");
  assert.deepEqual(await names(), ["pthread-normal"]);
}

/** Checks a search of `shake`: its conclusion, its first failure, its rates and its sites. */
export async function search(page) {
  await readAll(page);
  assert.match(await page.title(), /^server --selftest/);
  const sections = await page.locator("main > section h2").allInnerTexts();
  assert.deepEqual(sections, ["Does it fail under another order of its threads?", "Rates of failure", "Every figure", "How it was searched"]);
  const answer = await page.locator("section").first().innerText();
  assert.match(answer, /It is not thread-safe[^]*in run 17[^]*waits for `table`, which thread 1 holds[^]*thread 2 in server/);
  const picture = page.locator("section[id$=rates] .picture");
  assert.equal(await picture.locator("g.rates circle, g[aria-label=dot] circle").count(), 3, "a circle for each schedule");
  assert.match(await picture.getAttribute("aria-label"), /1 CPU, threads held: 3 of 30 \(/);
  const table = page.locator(".table", { hasText: "inc dword ptr" }).last();
  assert.match(await table.innerText(), /server\.c:12[^]*race[^]*90[^]*45[^]*11/);
  assert.match(await page.locator("section[id$=how]").innerText(), /30 of 40 sites held[^]*cmp out expected[^]*Helgrind/);
  assert.deepEqual(await violations(page), []);
}

/** Checks the view of locks as JSON. */
export async function lockJson(page) {
  const view = await jsonOf(page);
  assert.equal(view.schema, "morecores.locks-view/1");
  assert.equal(view.points.length, 9);
}

/** Checks a page of one program's study and two of locks: each is in the list and below it. */
export async function both(page) {
  await readAll(page);
  assert.match(await page.title(), /^3 studies/);
  assert.equal(await page.locator("nav a").count(), 3);
  assert.equal(await page.locator("article").count(), 3);
  assert.equal(await page.locator("#together").count(), 0, "one curve is not side by side with anything");
  assert.ok(await page.locator("#study-0-curve svg").count() >= 1);
  // Each study of locks has a legend of its own.
  await page.locator("#locks-1-contentions .lock").first().click();
  assert.deepEqual((await drawnLocks(page)).map(({ dots }) => dots), [15, 15, 15, 12, 12, 12]);
  assert.deepEqual(await violations(page), []);
}

/** Checks that a call is enlarged by a click and by keys, and that the whole comes back. */
export async function calls(page) {
  const section = page.locator("section[id$=calls]");
  await section.scrollIntoViewIfNeeded();
  const box = (name) => section.getByRole("treeitem", { name: new RegExp(`^${name} `) }).first();
  const width = async (name) => (await box(name).boundingBox()).width;
  const whole = (await section.locator(".boxes").boundingBox()).width;
  const before = await width("compute");
  await box("compute").click();
  assert.ok(await width("compute") > 0.99 * whole, "an enlarged call has the whole width");
  assert.match(await section.innerText(), /Enlarged: compute/);
  await page.keyboard.press("Escape");
  assert.equal(await width("compute"), before);
  await section.locator("[tabindex='0']").focus();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("data-level")), "0");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("data-level")), "1");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-selected")), "true");
  assert.deepEqual(await violations(page), []);
}

/** Checks that a part of the stack leads to the function that holds it, by keys alone. */
export async function callsOfLoss(page) {
  await page.locator("button.part[data-key=idle_too_little_work]").focus();
  await page.keyboard.press("Enter");
  const section = page.locator("section[id$=calls]");
  assert.ok(await section.getByRole("radio", { name: /^lost: idle: too little parallel work/ }).isChecked());
  const held = section.getByRole("treeitem", { name: /^parse_input / }).first();
  assert.match(await held.getAttribute("aria-label"), /CPUs lost \(95% interval 0\.\d/);
  const whole = (await section.locator(".boxes").boundingBox()).width;
  assert.ok((await held.boundingBox()).width > whole / 2);
  await held.focus();
  await page.keyboard.press("ArrowUp");
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^main /);
  await page.keyboard.press("Enter");
  assert.match(await section.innerText(), /Enlarged: main/);
  assert.deepEqual(await violations(page), []);
}
