// What a reader does with a page, in a browser; each throws where something is not as it must be.

import assert from "node:assert/strict";
import { AxeBuilder } from "@axe-core/playwright";

/** Comes to the end of the page, so that what is drawn when it is seen is drawn. */
async function readAll(page) {
  const height = await page.evaluate(() => document.body.scrollHeight);
  for (let at = 0; at <= height; at += 600) {
    await page.evaluate((y) => scrollTo(0, y), at);
    await page.waitForTimeout(30);
  }
  const timelines = await page.locator(".timeline").count();
  await page.waitForFunction((count) => document.querySelectorAll(".timeline[data-drawn]").length === count, timelines);
}

/** How many pixels of a canvas are not empty. */
const painted = (canvas) => canvas.evaluate((c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.reduce((sum, value, i) => sum + (i % 4 === 3 && value > 0 ? 1 : 0), 0));

async function violations(page) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target}: ${n.failureSummary}`).join(" | ")}`);
}

/** Every picture of a traced study is there, with something in it. */
export async function pictures(page) {
  await readAll(page);
  const pictures = page.locator(".picture");
  assert.equal(await pictures.count(), 2, "the curve and the stack");
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

/** The curve can show something else, on other axes. */
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

/** A component filters the tables, and lets them go again; in the picture as on its button. */
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

/** Tables are sorted by a click, searched, and copied as CSV. */
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

/** The timeline is looked at nearer and moved, by keys and buttons. */
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
  // Without a command less is painted.
  await figure.getByRole("button", { name: "the whole run" }).click();
  await page.waitForTimeout(100);
  const all = await picture();
  await figure.locator(".legend input").first().click();
  await page.waitForTimeout(100);
  assert.notEqual(await picture(), all);
}

/** Nothing that a scan finds, in light and in dark, wide and on a phone; and nothing wider than the phone. */
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

/** A study whose every text is markup and script is text, and runs nothing. */
export async function hostile(page) {
  await readAll(page);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.locator("main img, main script, main iframe, main b").count(), 0, "no text became an element");
  assert.ok((await page.locator("main").innerText()).includes("<img src=x onerror="), "it is shown as it is");
  assert.deepEqual(await violations(page), []);
}

/** Several studies: one picture together, and each below. */
export async function several(page) {
  await readAll(page);
  assert.ok(await page.locator("article").count() >= 2);
  assert.equal(await page.locator("#together svg").count() >= 1, true);
  assert.equal(await page.locator("nav a").count(), await page.locator("article").count());
  assert.deepEqual(await violations(page), []);
}

/** A suite: tables of then and now, and the studies folded up below them. */
export async function suite(page) {
  assert.match(await page.title(), /then and now/);
  const build = page.locator("section", { hasText: "a parallel build" }).first();
  const rows = await build.locator("tbody tr").allInnerTexts();
  assert.ok(rows.some((row) => row.startsWith("now")) && rows.some((row) => !row.startsWith("now")), "rows of then and rows of now");
  assert.equal(await build.locator("tr.now").count() >= 2, true, "rows of now are marked");
  assert.ok((await build.locator("tr.then").first().innerText()).includes("Pentium"));
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

/** The data can be had as JSON, and is the view. */
export async function json(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Download as JSON").first().click()]);
  const stream = await download.createReadStream();
  let text = "";
  for await (const chunk of stream) text += chunk;
  assert.equal(JSON.parse(text).schema, "morecores.view/1");
}

/** A directory is listed, searched, opened and compared. */
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
