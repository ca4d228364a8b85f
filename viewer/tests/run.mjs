// Runs one scenario on one page in Debian's chromium, and checks that the page reports no error and
// makes no request to another place.
//
//     node tests/run.mjs SCENARIO PAGE.html|URL
//
// Exit status 0 after a success, 77 without a browser.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import * as scenarios from "./scenarios.mjs";

const [, , scenario, place] = process.argv;
const address = place.startsWith("http:") ? place : `file://${place}`;
const browserPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
if (!browserPath) {
  console.log("there is no chromium");
  process.exit(77);
}
const browser = await chromium.launch({
  executablePath: browserPath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const complaints = [];
try {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  page.setDefaultTimeout(20_000);
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.stack}`));
  page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url()) && !(address.startsWith("http:") && request.url().startsWith(address))) complaints.push(`request: ${request.url()}`); });
  await page.goto(address);
  await page.waitForSelector("main[data-shown]");
  await scenarios[scenario](page);
} catch (error) {
  complaints.push(error.stack ?? String(error));
} finally {
  await browser.close();
}
for (const complaint of complaints) console.log(complaint);
process.exit(complaints.length > 0 ? 1 : 0);
