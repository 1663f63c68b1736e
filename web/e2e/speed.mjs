// How fast the page is, in Chromium. In: UNSPOOL_BIN, and names of parts to measure (all of them if none is named). Out: figures beside what is wanted.
// It asserts nothing: a machine that has other work measures that, too.
import { feedFiles, feedSteps, goOn, manyAgents, manySessions, manySteps } from "./big.mjs";
import { launch, open, Server } from "./harness.mjs";
import { records, SESSION } from "./records.mjs";

const FRAMES = 120;
const ID = (n) => `5e55a9e0-0c0a-4b0d-9d3e-00000000be${n}`;
const say = (name, text, wanted = "") => console.log(`${name.padEnd(44)} ${text}${wanted && `   (wanted: ${wanted})`}`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function settled(server, native, steps) {
  const end = Date.now() + 600_000;
  for (;;) {
    const { sessions } = await server.json(`/api/v1/sessions?native_id=${native}`);
    if (sessions[0]?.steps >= steps) return sessions[0];
    if (Date.now() > end) throw new Error(`only ${sessions[0]?.steps} steps after ten minutes`);
    await pause(500);
  }
}

function figures(deltas) {
  const sorted = [...deltas].sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1];
  const dropped = deltas.filter((delta) => delta > 25).length;
  return `median ${median.toFixed(1)} ms (${Math.round(1000 / median)} fps), p95 ${sorted[Math.floor(sorted.length * 0.95)].toFixed(1)} ms, longest ${sorted.at(-1).toFixed(1)} ms, ${dropped} of ${deltas.length} over 25 ms`;
}

/** Does something every frame and says how long the frames were. */
async function frames(page, work, count = FRAMES) {
  return figures(await page.evaluate(async ([source, count]) => {
    const act = new Function(`return (${source})`)();
    const deltas = [];
    let last = await new Promise(requestAnimationFrame);
    for (let n = 0; n < count; n += 1) {
      act(n);
      const now = await new Promise(requestAnimationFrame);
      deltas.push(now - last);
      last = now;
    }
    return deltas;
  }, [work, count]));
}

/** Milliseconds from the address to something on the page, as the page's own clock has it. */
async function opened(page, url, ready) {
  await page.goto("about:blank");
  await page.goto(url, { waitUntil: "commit" });
  return page.evaluate(async (source) => {
    const is = new Function(`return (${source})`)();
    while (!is()) await new Promise(requestAnimationFrame);
    return performance.now();
  }, ready);
}

/** The best and the middle of several. */
async function several(times, measure) {
  const all = [];
  for (let n = 0; n < times; n += 1) all.push(await measure(n));
  all.sort((a, b) => a - b);
  return `best ${all[0].toFixed(0)} ms, median ${all[all.length >> 1].toFixed(0)} ms of ${times}`;
}

const wheel = (selector, event) => `(n) => { const c = document.querySelector('${selector} canvas'); const r = c.getBoundingClientRect(); c.dispatchEvent(new WheelEvent('wheel', { ...(${event})(n), clientX: r.left + r.width / 2, clientY: r.top + r.height / 2, cancelable: true })); }`;
const drag = (selector, dx, dy) => `(n) => { const c = document.querySelector('${selector} canvas'); const r = c.getBoundingClientRect(); c.setPointerCapture = () => {}; const x = r.left + r.width / 2; const y = r.top + r.height / 2; const at = (type, k) => c.dispatchEvent(new PointerEvent(type, { clientX: x + k * ${dx}, clientY: y + k * ${dy}, button: 0, buttons: 1, pointerId: 1, bubbles: true })); const k = n % 60 < 30 ? n % 30 : 30 - (n % 30); if (n === 0) at('pointerdown', 0); at('pointermove', k); if (n === ${FRAMES - 1}) at('pointerup', k); }`;
const HAS_BARS = "() => document.querySelector('.tree-row.step') && document.querySelector('.timeline canvas')?.width > 300";

async function answers(server, id, paths) {
  for (const path of paths) {
    const took = [];
    let size = 0;
    for (let n = 0; n < 3; n += 1) {
      const start = performance.now();
      size = (await (await fetch(`${server.base}/api/v1/sessions/${id}${path}`, { headers: { "accept-encoding": "identity" } })).arrayBuffer()).byteLength;
      took.push(performance.now() - start);
    }
    say(`  answer ${path.slice(0, 34)}`, `${Math.min(...took).toFixed(0)} ms, ${(size / 1e6).toFixed(2)} MB`);
  }
}

async function steps(server, browser) {
  const began = Date.now();
  await feedSteps(server, ID(1), manySteps(ID(1), 1, 100_000));
  const session = await settled(server, ID(1), 100_000);
  say("100,000 steps taken in and linked", `${((Date.now() - began) / 1000).toFixed(1)} s`);
  const { page, close } = await open(browser, server.base, { viewport: { width: 1600, height: 900 }, bypassCSP: true });
  const url = `${server.base}/sessions/${session.id}`;
  const { sessions: [hits] } = await server.json(`/api/v1/query?q=is:error&session=${session.id}&limit=9`);
  const step = hits.steps[1].id;
  await answers(server, session.id, ["/line", "/timeline?px=1000", "/tree?from=0&to=200", "/path/strip", "/trouble", "/range", `/steps/${step}`, `/chain?of=${step}`]);
  say("first useful paint", await several(5, () => opened(page, url, HAS_BARS)), "1500 ms");
  say("a deep link to a step, with its detail", await several(5, () => opened(page, `${url}?step=${step}`, "() => document.querySelector('.detail .failed-box')")), "1500 ms");
  await page.goto(url);
  await page.locator(".split-legend b").first().waitFor({ timeout: 120_000 });
  say("timeline, zooming in and out", await frames(page, wheel(".timeline", "(n) => ({ deltaY: n % 60 < 30 ? -120 : 120 })")), "50 fps, none over 100 ms");
  await frames(page, wheel(".timeline", "() => ({ deltaY: -600 })"), 4);
  await pause(800);
  say("timeline, moving", await frames(page, wheel(".timeline", "(n) => ({ deltaX: n % 60 < 30 ? 40 : -40, shiftKey: true })")), "50 fps, none over 100 ms");
  say("timeline, dragging", await frames(page, drag(".timeline", 8, 0)), "50 fps, none over 100 ms");
  await frames(page, wheel(".timeline", "() => ({ deltaY: -600 })"), 3);
  await pause(800);
  say("timeline, moving, with many arrows", await frames(page, wheel(".timeline", "(n) => ({ deltaX: n % 60 < 30 ? 40 : -40, shiftKey: true })")), "50 fps, none over 100 ms");
  await page.getByRole("button", { name: "Open all" }).click();
  await page.waitForFunction((steps) => Number(document.querySelector(".tree .list")?.getAttribute("aria-rowcount")) >= steps / 2, session.steps);
  say("tree, scrolling", await frames(page, "(n) => { document.querySelector('.tree .list').scrollTop += n * 40; }"), "50 fps");
  say("choosing a step lights all views", await several(9, (n) => chosen(page, n)), "100 ms");
  await heap(page);
  await close();
}

/** Chooses a row that can be seen; milliseconds until its row, its chain and its detail are shown. */
async function chosen(page, n) {
  await page.keyboard.press("Escape");
  await page.locator(".tree-row.step").nth(3 + n).waitFor();
  await pause(300);
  return page.evaluate(async (n) => {
    const rows = [...document.querySelectorAll(".tree-row.step")];
    const row = rows[3 + n];
    const start = performance.now();
    row.click();
    const detail = () => document.querySelector(".detail .facts");
    while (!(document.querySelector(".tree-row.is-selected") && document.querySelector(".tree-row.is-chain") && detail())) await new Promise(requestAnimationFrame);
    return performance.now() - start;
  }, n);
}

async function heap(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  say("heap", `${(usedSize / 1e6).toFixed(0)} MB`, "400 MB");
}

async function graph(server, browser) {
  await feedSteps(server, ID(2), manySteps(ID(2), 2, 10_000, 40));
  const session = await settled(server, ID(2), 10_000);
  const { page, close } = await open(browser, server.base, { viewport: { width: 1600, height: 900 }, bypassCSP: true });
  say("a graph of 10,000 nodes is shown", await several(3, () => opened(page, `${server.base}/sessions/${session.id}?view=graph`, "() => document.querySelector('.graph canvas')?.width > 300")));
  await pause(1000);
  say("graph, dragging, near", await frames(page, drag(".graph", 0, 12)), "40 fps");
  await frames(page, wheel(".graph", "() => ({ deltaY: 400 })"), 3);
  await pause(500);
  say("graph, dragging, from afar", await frames(page, drag(".graph", 2, 6)), "40 fps");
  await frames(page, wheel(".graph", "() => ({ deltaY: 600 })"), 4);
  await pause(500);
  await page.evaluate(() => {
    const { prototype } = CanvasRenderingContext2D;
    const fill = prototype.fillRect;
    window.filled = 0;
    prototype.fillRect = function (...place) {
      window.filled += 1;
      return fill.apply(this, place);
    };
  });
  await frames(page, wheel(".graph", "() => ({ deltaX: 1, shiftKey: true })"), 1);
  say("  nodes in sight", String(await page.evaluate(() => window.filled)));
  say("graph, dragging, from very far", await frames(page, drag(".graph", 1, 3)), "40 fps");
  say("graph, zooming", await frames(page, wheel(".graph", "(n) => ({ deltaY: n % 60 < 30 ? -60 : 60 })")), "40 fps");
  await heap(page);
  await close();
}

async function lanes(server, browser) {
  await feedFiles(server, manyAgents(ID(3), 3, 2_000));
  const session = await settled(server, ID(3), 14_000);
  const { page, close } = await open(browser, server.base, { viewport: { width: 1600, height: 900 }, bypassCSP: true });
  say("2,000 agents are shown", await several(3, () => opened(page, `${server.base}/sessions/${session.id}`, HAS_BARS)), "1500 ms");
  await page.locator(".split-legend b").first().waitFor({ timeout: 120_000 });
  const { lanes: all, arrows } = await server.json(`/api/v1/sessions/${session.id}/timeline?px=1000`);
  say("  agents, lanes, arrows", `${session.agents}, ${all.length}, ${arrows.length}`);
  say("many lanes, scrolling", await frames(page, wheel(".timeline", "(n) => ({ deltaY: n % 60 < 30 ? 120 : -120, altKey: true })")), "50 fps");
  say("many lanes, zooming in and out", await frames(page, wheel(".timeline", "(n) => ({ deltaY: n % 60 < 30 ? -120 : 120 })")), "50 fps, none over 100 ms");
  say("many lanes, dragging", await frames(page, drag(".timeline", 8, 5)), "50 fps, none over 100 ms");
  await close();
}

async function live(server, browser) {
  const stop = await goOn(server, "live_1", 200);
  const session = await settled(server, "live_1", 50);
  const { page, close } = await open(browser, server.base, { viewport: { width: 1600, height: 900 }, bypassCSP: true });
  for (const [view, query] of [["timeline and tree", ""], ["graph", "?view=graph"]]) {
    await page.goto(`${server.base}/sessions/${session.id}${query}`);
    await page.locator("canvas").first().waitFor();
    await pause(1000);
    say(`live, ${view}`, await frames(page, "() => {}", 600), "none dropped");
  }
  const { sent, perSecond } = await stop();
  say("  events", `${sent}, ${perSecond} a second`);
  await close();
}

async function list(server, browser) {
  const began = Date.now();
  await feedFiles(server, manySessions(10_000));
  while ((await server.json("/api/v1/sessions?limit=1")).matching < 10_000) await pause(500);
  // What is measured is the page, not the page beside a server that takes in words.
  while ((await server.json("/api/v1/health")).index_lag_ms > 0) await pause(500);
  say("10,000 sessions taken in", `${((Date.now() - began) / 1000).toFixed(1)} s`);
  const { page, close } = await open(browser, server.base, { viewport: { width: 1600, height: 900 }, bypassCSP: true });
  say("the list is shown", await several(3, () => opened(page, server.base, "() => document.querySelector('.session-row .row-title')")));
  say("list, scrolling", await frames(page, "(n) => { document.querySelector('.list').scrollTop += n * 60; }"), "50 fps");
  await close();
}

/** What the machine leaves of a page that does nothing: frames that are late here are not the page's. */
async function rest(browser) {
  const page = await browser.newPage();
  say("an empty page at rest", await frames(page, "() => {}"));
  await page.close();
}

const PARTS = { steps, graph, lanes, live, list };
const named = process.argv.slice(2);
const browser = await launch();
try {
  for (const [name, measure] of Object.entries(PARTS)) {
    if (named.length > 0 && !named.includes(name)) continue;
    const server = await Server.start();
    try {
      await rest(browser);
      await measure(server, browser);
    } finally {
      await server.stop();
    }
  }
} finally {
  await browser.close();
}
