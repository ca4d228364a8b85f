// Tests of the viewer's arithmetic on data with known answers, without a browser.
//
//     node --test tests/unit.mjs

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Module of the viewer, as JavaScript. */
async function load(path) {
  const entry = new URL(`../src/${path}`, import.meta.url).pathname;
  const bundle = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].text).toString("base64")}`);
}

const { countUntil, decode, means, timeUntil } = await load("timeline/lanes.ts");
const { panWindow, zoomWindow } = await load("timeline/window.ts");
const { addedKinds, curveInWords, curveKey, isWideRange, runDots } = await load("pictures/curve.ts");
const { callBoxes, callColour, callersOf, callsInWords, lossLayers, runLayers } = await load("pictures/calls.ts");
const { bottlesInWords, boxes } = await load("pictures/bottles.ts");
const { separatePlaces } = await load("pictures/contention.ts");
const { csvCell } = await load("parts/table.ts");
const { axisTicks, countTicks, logTicks } = await load("pictures/ticks.ts");
const { format, plain } = await load("format.ts");

/** Timeline with one list of stretches and no ready ones, in the page's own format. */
function packed(stretches) {
  const bytes = [];
  for (const side of [0, 1]) {
    let before = 0;
    for (const at of stretches.map((s) => s[side]).sort((a, b) => a - b)) {
      let value = at - before;
      before = at;
      for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
      bytes.push(value);
    }
  }
  return { cpus: 2, n: 2, commands: ["a"], stretches: [stretches.length, 0, 0], data: gzipSync(Uint8Array.from(bytes)).toString("base64") };
}

test("what is decoded is what was packed, beyond 32 bits too", async () => {
  const lanes = await decode(packed([[0, 5], [3, 2 ** 41], [200, 300]]));
  assert.deepEqual([...lanes.commands[0].lane.starts], [0, 3, 200]);
  assert.deepEqual([...lanes.commands[0].lane.ends], [5, 300, 2 ** 41]);
  assert.equal(lanes.end, 2 ** 41);
  assert.equal(countUntil(lanes.commands[0].lane.starts, 3), 2);
});

test("the mean of overlapping stretches is that of counting them at every instant", async () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  const stretches = Array.from({ length: 200 }, () => {
    const from = random(1000);
    return [from, from + random(90)];
  });
  const { commands } = await decode(packed(stretches));
  const { lane } = commands[0];
  const running = (instant) => stretches.filter(([from, to]) => from <= instant && instant < to).length;
  for (const [from, to, columns] of [[0, 1100, 10], [37, 61, 24], [500, 510, 2], [1050, 1200, 3]]) {
    const shown = means(lane, from, to, columns, new Float64Array(columns));
    const width = (to - from) / columns;
    for (let column = 0; column < columns; column++) {
      // Times are whole microseconds, and so are the columns of these windows.
      let sum = 0;
      for (let instant = from + column * width; instant < from + (column + 1) * width; instant++) sum += running(instant);
      assert.ok(Math.abs(shown[column] - sum / width) < 1e-9, `${from} to ${to}, column ${column}`);
    }
  }
  assert.equal(timeUntil(lane, 2000), stretches.reduce((all, [from, to]) => all + to - from, 0));
});

test("a window keeps what is under the pointer, and stays in the run", () => {
  const near = zoomWindow({ from: 0, to: 1000 }, 1000, 4, 0.25);
  assert.deepEqual(near, { from: 187.5, to: 437.5 });
  assert.deepEqual(zoomWindow(near, 1000, 0.01, 0.5), { from: 0, to: 1000 });
  assert.deepEqual(panWindow({ from: 100, to: 200 }, 1000, -5), { from: 0, to: 100 });
  assert.deepEqual(panWindow({ from: 800, to: 900 }, 1000, 5), { from: 900, to: 1000 });
  const nearest = zoomWindow({ from: 100, to: 121 }, 1000, 1000, 0.5);
  assert.equal(nearest.to - nearest.from, 20);
});

test("a cell of CSV is quoted, and no formula", () => {
  assert.deepEqual(['a"b', "a,b", "=1+1", "-5.2", "-x", "two\nlines"].map(csvCell), ['"a""b"', '"a,b"', "'=1+1", "-5.2", "'-x", '"two\nlines"']);
});

test("a count is called by what it adds that is not like the first CPU", () => {
  const kinds = (...adds) => addedKinds({ adds });
  assert.equal(kinds("first", "core"), "whole cores");
  assert.equal(kinds("core"), "whole cores");
  assert.equal(kinds("core", "smt-sibling"), "adds SMT siblings");
  assert.equal(kinds("other-node", "other-package"), "adds cores of another node, cores of another package");
});

test("figures are written as in the report", async () => {
  const examples = JSON.parse(await readFile(new URL("../../fixtures/figures.json", import.meta.url), "utf8"));
  for (const [quantity, value, text] of examples) assert.equal(format(quantity, value), text, `${quantity} ${value}`);
  assert.deepEqual([null, undefined, NaN].map((value) => format("time", value)), ["–", "–", "–"]);
});

test("names are moved apart no further than they must be", () => {
  const moved = (...places) => {
    const all = places.map((at) => ({ at }));
    separatePlaces(all, 10, 0, 100);
    return all.map(({ at }) => at);
  };
  assert.deepEqual(moved(10, 40, 90), [10, 40, 90]);
  assert.deepEqual(moved(10, 12, 13), [10, 20, 30]);
  assert.deepEqual(moved(97, 98, 99), [80, 90, 100]);
  assert.deepEqual(moved(-5, 3), [0, 10]);
});

test("a logarithmic axis has two labels or more, three where there is room, and none on another", () => {
  const ends = [[1, 2], [3, 7], [0.9, 1.4], [200, 900], [1, 1.9], [6.2, 6.9], [1, 8], [1, 1e9], [2e-9, 5e3], [0.011, 0.0112], [999, 1001], [4.1, 4.9], [1e-3, 1e30]];
  for (let decade = -9; decade <= 9; decade += 3) {
    for (let from = 1; from < 10; from += 0.37) {
      for (const ratio of [1.01, 1.1, 1.5, 2, 3.3, 8, 12, 90, 1e4, 1e7]) ends.push([from * 10 ** decade, from * ratio * 10 ** decade]);
    }
  }
  const digits = (value) => Number(value.toExponential(11).split("e")[0]).toString().replace(/[^\d]/g, "").length;
  for (const [low, high] of ends) {
    for (const length of [60, 120, 180, 340]) {
      const ticks = logTicks(low, high, length, plain);
      const what = `${low} to ${high} in ${length} px: ${ticks}`;
      assert.ok(ticks.length >= (length >= 120 ? 3 : 2), what);
      const at = (value) => (Math.log(value / low) / Math.log(high / low)) * length;
      ticks.forEach((tick, i) => {
        assert.ok(tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9), what);
        assert.ok(i === 0 || at(tick) - at(ticks[i - 1]) >= 18 - 1e-6, what);
      });
      assert.equal(new Set(ticks.map(plain)).size, ticks.length, what);
      // Round values: no more digits than needed to tell them apart.
      const least = Math.ceil(-Math.log10(high / low - 1));
      assert.ok(length < 120 || ticks.every((tick) => digits(tick) <= Math.max(least, 0) + 3), what);
    }
  }
});

test("labels of counts keep apart, and their ends stay", () => {
  const counts = Array.from({ length: 128 }, (_, i) => i + 1);
  const at = (count) => (Math.log(count) / Math.log(128)) * 400;
  const room = (count) => 8 * String(count).length + 6;
  const shown = countTicks(counts, at, room);
  assert.deepEqual([shown[0], shown.at(-1)], [1, 128]);
  assert.ok([2, 4, 8, 16, 32, 64].every((count) => shown.includes(count)), `${shown}`);
  shown.slice(1).forEach((count, i) => assert.ok(at(count) - at(shown[i]) >= (room(count) + room(shown[i])) / 2, `${shown}`));
  assert.deepEqual(countTicks([3, 7], (count) => count * 20, room), [3, 7]);
});

test("a single run is drawn at its ratio within the round", () => {
  const run = (cpus, elapsed_s, speedup, succeeded = true) => ({ cpus, elapsed_s, speedup, succeeded, metric: null, further_metrics: [] });
  const runs = [run(2, 10, 1), run(4, 5.5, 1.9), run(4, 5, null), run(4, 1, null, false)];
  const study = { name: "a", runs, view: { points: [{ cpus: 2 }], plan: {} } };
  const values = (quantity) => runDots(study, quantity).map((dot) => dot.value);
  assert.deepEqual(values("speedup"), [1, 1.9]);
  assert.deepEqual(values("efficiency"), [1, 0.95]);
  assert.deepEqual(values("elapsed"), [10, 5.5, 5]);
  assert.ok(!curveKey([study]).includes("hollow"));
  runs[1].disturbed = true;
  assert.deepEqual(runDots(study, "elapsed").map((dot) => dot.disturbed === true), [false, true, false]);
  assert.ok(curveKey([study]).includes("hollow"));
});

test("several values of n on the same CPUs are the axis of the curve", () => {
  const point = (cpus, n, median) => ({ cpus, n, adds: [], elapsed_s: { median, ci95: null }, speedup: { value: 4 / median, ci95: null }, further_metrics: [] });
  const runs = [{ cpus: 2, n: 16, elapsed_s: 2, speedup: 2, succeeded: true, metric: null, further_metrics: [] }];
  const study = (points) => ({ name: "a", runs, view: { points, rankings: [{}], plan: {} } });
  const one = study([point(2, 1, 4), point(2, 16, 2)]);
  assert.equal(curveInWords([one], "elapsed"), "a: 4.00 s with n = 1 on 2 CPUs, 2.00 s with n = 16 on 2 CPUs");
  assert.ok(isWideRange([one]), "sixteen times as many");
  assert.deepEqual(runDots(one, "elapsed", "n").map(({ x, series }) => [x, series]), [[16, "a"]]);
  const grid = study([point(1, 1, 4), point(2, 16, 2)]);
  assert.deepEqual(runDots(grid, "elapsed", "n").map(({ x, series }) => [x, series]), [[16, "a, 2 CPUs"]]);
});

test("a speedup axis is labelled at CPU counts where three of them are on it", () => {
  assert.deepEqual(axisTicks(1, 8, 200, [1, 2, 4, 8, 16], plain), [1, 2, 4, 8]);
  assert.ok(axisTicks(1, 1.9, 200, [1, 2, 4, 8, 16], plain).length >= 3);
});

test("boxes of calls lie below their callers, widest first, and an enlarged call has the whole width", () => {
  const node = (caller, name, cpu, idle) => ({ caller, function: name, module: null, source: null, running: 1, times: [{ component: "kernel_work", seconds: cpu / 4 }, { component: "user_work", seconds: cpu * 3 / 4 }, { component: "idle_too_little_work", seconds: idle }] });
  const nodes = [node(null, "prog", 8, 2), node(0, "main", 6, 2), node(1, "parse", 2, 2), node(1, "sort", 4, 0), node(0, "work", 2, 0)];
  const [cpu, idle] = runLayers(nodes);
  const boxes = (layer, top) => callBoxes(layer, top).map(({ node, level, left, width }) => [nodes[node].function, level, left, width]);
  assert.deepEqual(boxes(cpu, null), [["prog", 0, 0, 1], ["main", 1, 0, 0.75], ["sort", 2, 0, 0.5], ["parse", 2, 0.5, 0.25], ["work", 1, 0.75, 0.25]]);
  assert.deepEqual(boxes(idle, null), [["prog", 0, 0, 1], ["main", 1, 0, 1], ["parse", 2, 0, 1]]);
  assert.deepEqual(boxes(cpu, 1), [["prog", 0, 0, 1], ["main", 1, 0, 1], ["sort", 2, 0, 4 / 6], ["parse", 2, 4 / 6, 2 / 6]]);
  assert.deepEqual(callersOf(nodes, 3), [0, 1]);
  assert.match(callsInWords(cpu), /^main 75.*sort 50/);
  assert.equal(callColour(1, 4), "rgb(213 94 0)");
  assert.equal(callColour(4, 4), "rgb(86 180 233)");
});

test("a call is at least as wide as its callees, which may hold more of a loss than it", () => {
  const call = (caller, name, ...parts) => ({ caller, function: name, module: null, source: null, running: 1, parts: parts.map(([loss, lost_cpus]) => ({ loss, lost_cpus, ci95: [lost_cpus - 0.1, lost_cpus + 0.1] })) });
  const calls = [call(null, "prog", ["user_work", 0.25], ["idle_disk", 0.5]), call(0, "slower", ["user_work", 0.75]), call(0, "faster", ["user_work", -0.5]), call(0, "saves", ["idle_disk", 0.5], ["kernel_work", 0.5])];
  const layers = lossLayers(calls, (loss) => loss.replace("_", " "));
  // The command as a whole has lost nothing to the kernel.
  assert.deepEqual(layers.map(({ key, name }) => [key, name]), [["user_work", "lost: user work"], ["idle_disk", "lost: idle disk"]]);
  assert.deepEqual(layers[0].widths, [0.75, 0.75, 0, 0]);
  assert.deepEqual(layers[1].widths, [0.5, 0, 0, 0.5]);
  assert.match(layers[0].inWords(2), /^.0\.50 CPUs lost \(95% interval .0\.60 to .0\.40\)$/);
  assert.match(layers[1].inWords(1), /no notable part/);
});

test("the boxes of a bottle graph stand on each other, widest first, and their area is CPU time", () => {
  const row = (thread, tid, threads, cpu_s, criticality_s) => ({ command: "prog", thread, tid, threads, cpu_s, criticality_s, path_s: null });
  const trace = { cpus: 2, threads: [row("main", 7, 1, 5, 4), row("worker", 8, 1, 4, 2), row(null, null, 9, 1, 0.5), row("idle", 9, 1, 0, 0)] };
  const drawn = boxes(trace).map(({ row, from, to, width }) => [row.thread, from, to, width]);
  assert.deepEqual(drawn, [["worker", 0, 2, 2], [null, 2, 2.5, 2], ["main", 2.5, 6.5, 1.25]]);
  assert.match(bottlesInWords(trace), /worker \(8\): 31% of the time, .* 9 others of prog.* main \(7\): 62% of the time/);
});
