// Time from opening a page to its first picture and to its timeline, and frames per second while
// the timeline is panned.
//
//     node tests/speed.mjs PAGE.html [STRETCHES]
//
// With a number, the page's last timeline is replaced by one with this number of stretches, of 12
// commands on 64 CPUs. The results are medians of five openings. The browser draws without a GPU.

import { readFile, writeFile, mkdtemp, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const OPENINGS = 5;
const PAN_MS = 3000;

/**
 * Timeline of `count` stretches: each of 64 CPUs runs one command after the other, for about 100 µs
 * each.
 */
function synthetic(count) {
  const lists = Array.from({ length: 13 }, () => ({ starts: [], ends: [] }));
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const clocks = new Float64Array(64);
  for (let i = 0; i < count; i++) {
    const cpu = i % 64;
    const list = lists[Math.floor(random() * 13)];
    const length = 1 + Math.floor(random() * 200);
    list.starts.push(clocks[cpu]);
    clocks[cpu] += length;
    list.ends.push(clocks[cpu]);
    clocks[cpu] += Math.floor(random() * 20);
  }
  const bytes = [];
  const leb128 = (value) => {
    for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
    bytes.push(value);
  };
  for (const { starts, ends } of lists) {
    for (const times of [starts, ends]) {
      let before = 0;
      for (const time of times.sort((a, b) => a - b)) {
        leb128(time - before);
        before = time;
      }
    }
  }
  return { commands: lists.slice(1).map((_, i) => `command${i}`), stretches: lists.map((l) => l.starts.length), data: gzipSync(Uint8Array.from(bytes)).toString("base64") };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const [, , file, count] = process.argv;
const directory = await mkdtemp(join(tmpdir(), "morecores-"));
let html = await readFile(file, "utf8");
if (count) {
  html = html.replace(/(id="data">)(.*?)(<\/script>)/s, (_, before, data, after) => {
    const page = JSON.parse(data);
    const last = page.studies[0].timelines.pop();
    page.studies[0].timelines = [{ ...last, ...synthetic(Number(count)) }];
    return before + JSON.stringify(page).replaceAll("<", "\\u003c") + after;
  });
}
const path = join(directory, "page.html");
await writeFile(path, html);

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
const first = [];
const timeline = [];
const rates = [];
for (let i = 0; i < OPENINGS; i++) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (document.querySelector(".picture svg") && !window.firstPicture) requestAnimationFrame(() => { window.firstPicture ??= performance.now(); });
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(`file://${path}`);
  await page.waitForFunction(() => window.firstPicture);
  first.push(await page.evaluate(() => window.firstPicture));
  const begun = Date.now();
  await page.locator("canvas").last().scrollIntoViewIfNeeded();
  await page.waitForFunction(() => [...document.querySelectorAll(".timeline")].at(-1).dataset.drawn);
  timeline.push((await page.evaluate(() => window.firstPicture)) + (Date.now() - begun));
  rates.push(await page.evaluate(async (ms) => {
    const figure = [...document.querySelectorAll(".timeline")].at(-1);
    const canvas = figure.querySelector("canvas");
    const key = (name) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: name, cancelable: true }));
    key("+");
    key("+");
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    const start = performance.now();
    let frames = 0;
    while (performance.now() - start < ms) {
      key(frames % 40 < 20 ? "ArrowRight" : "ArrowLeft");
      await frame();
      frames += 1;
    }
    return (1000 * frames) / (performance.now() - start);
  }, PAN_MS));
}
await browser.close();
await rm(directory, { recursive: true });
console.log(`${count ? `${count} stretches` : file.split("/").at(-1)}: first picture ${Math.round(median(first))} ms, with the timeline ${Math.round(median(timeline))} ms, panned at ${median(rates).toFixed(0)} frames a second; medians of ${OPENINGS}`);
