// A picture of the upper part of a page, for the README.
//
//     node picture.mjs PAGE.html FILE.png

import { chromium } from "playwright-core";

const [, , page, output] = process.argv;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const tab = await (await browser.newContext({ viewport: { width: 960, height: 900 } })).newPage();
await tab.goto(`file://${page}`);
// The timeline is drawn as it comes into sight.
await tab.locator("section[id$=timeline]").scrollIntoViewIfNeeded();
await tab.waitForSelector(".timeline[data-drawn]");
const end = await tab.locator("section[id$=timeline] .timeline").first().boundingBox();
const top = await tab.evaluate(() => scrollY);
await tab.evaluate(() => scrollTo(0, 0));
await tab.waitForTimeout(300);
await tab.screenshot({ path: output, fullPage: true, clip: { x: 0, y: 0, width: 960, height: Math.ceil(end.y + end.height + top) } });
await browser.close();
