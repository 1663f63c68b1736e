// How the main views look, in both themes, with the demo: nothing overlaps, is cut, tiny or pale; and they look as they did.
//
// Pictures are compared only where they were taken: the same Chromium with the same fonts. `UPDATE_SCREENS=1` takes them anew.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { DEMO, launch, open, Server, violations } from "./harness.mjs";

const FOLDER = new URL("./screens/", import.meta.url);
const ABOUT = new URL("about.json", FOLDER);
const isUpdating = process.env.UPDATE_SCREENS === "1";
/** Of all pixels, so many may be different: letters are not drawn the same way twice. */
const MOST_DIFFERENT = 0.002;
/** The largest picture that is kept, in bytes. */
const MAX_BYTES = 60_000;
/** A picture with fewer colours shows nothing. */
const FEWEST_COLOURS = 12;
const LEAST_FONT_PX = 10;
const QUIET_MS = 400;
/** Letters are drawn a little differently each time; a colour that is further away is another one. */
const FAR = 60;

let server, browser, demo, failing, about;

/** What this browser draws with. */
async function drawnWith() {
  const { page, close } = await open(browser, "about:");
  const fonts = await page.evaluate(() => {
    const ctx = document.createElement("canvas").getContext("2d");
    return ["13px sans-serif", "600 16px system-ui", "12px monospace"].map((font) => {
      ctx.font = font;
      return Math.round(ctx.measureText("Fix checkout total, 5m 16s · $0.31").width * 100) / 100;
    });
  });
  await close();
  return { chromium: browser.version(), fonts };
}

before(async () => {
  server = await Server.start();
  browser = await launch();
  for (const [name, text] of server.demo()) await server.put(name, text);
  demo = await server.session(DEMO, 41);
  failing = (await server.json(`/api/v1/query?q=is:error&session=${demo.id}`)).sessions[0].steps[0];
  about = await drawnWith();
  mkdirSync(FOLDER, { recursive: true });
  if (isUpdating) writeFileSync(ABOUT, `${JSON.stringify(about, null, 2)}\n`);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const VIEWS = [
  ["sessions", () => "/", ".session-row .row-title"],
  ["timeline", () => `/sessions/${demo.id}`, ".tree-row.step"],
  ["tree", () => `/sessions/${demo.id}?view=tree&step=${failing.id}`, ".tree-row.is-selected"],
  ["graph", () => `/sessions/${demo.id}?view=graph&level=agent`, "canvas"],
  ["workflow", () => `/sessions/${demo.id}?view=workflow`, "canvas"],
  ["runs", () => `/sessions/${demo.id}?view=runs`, ".chip"],
  ["stats", () => `/sessions/${demo.id}?view=stats`, ".growth-line"],
  ["detail", () => `/sessions/${demo.id}?view=runs&run=1&step=${failing.id}`, ".detail .part"],
];

const picture = async (page) => (await page.screenshot()).toString("base64");

async function shown(path, seen, options) {
  const opened = await open(browser, server.base, { reducedMotion: "reduce", timezoneId: "UTC", locale: "en-GB", ...options });
  const { page } = opened;
  const asked = new Set();
  page.on("request", (request) => request.url().includes("/api/v1/live") || asked.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => asked.delete(request));
  await page.goto(server.base + path);
  await page.locator(seen).first().waitFor();
  await page.locator(".live.on").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
  await page.mouse.move(2, 2);
  // Nothing is on its way but the stream of changes, which never ends, and nothing has moved for a while.
  for (let [last, now] = ["", await picture(page)]; asked.size > 0 || last !== now; ) {
    await page.waitForTimeout(QUIET_MS);
    [last, now] = [now, await picture(page)];
  }
  return opened;
}

/** What is wrong with how things lie: in words, so that a failure says what. Runs in the page. */
function faults(leastFontPx) {
  const found = [];
  const room = document.documentElement;
  if (room.scrollWidth > room.clientWidth + 1 || room.scrollHeight > room.clientHeight + 1) found.push(`the page scrolls: ${room.scrollWidth}×${room.scrollHeight} in ${room.clientWidth}×${room.clientHeight}`);
  /** The part of a box that is not cut off by boxes around it. */
  const visible = (rect, element) => {
    let { left, top, right, bottom } = rect;
    for (let around = element; around && around !== document.body; around = around.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(around);
      if (overflowX === "visible" && overflowY === "visible") continue;
      const box = around.getBoundingClientRect();
      [left, top, right, bottom] = [Math.max(left, box.left), Math.max(top, box.top), Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : undefined;
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!element || node.textContent.trim() === "" || element.closest("option, svg, script, style, details:not([open]) > :not(summary)")) continue;
    const style = getComputedStyle(element);
    if (style.visibility !== "visible" || !element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = visible(rect, element);
      if (box) texts.push({ box, element, text: node.textContent.trim().slice(0, 40) });
    }
    if (Number.parseFloat(style.fontSize) * (element.currentCSSZoom ?? 1) < leastFontPx) found.push(`too small: “${node.textContent.trim().slice(0, 40)}” ${style.fontSize}`);
  }
  const isSticky = (element) => element.closest(".tools") !== null;
  texts.forEach((a, n) => {
    for (const b of texts.slice(n + 1)) {
      const [wide, high] = [Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top)];
      if (wide > 3 && high > 5 && !a.element.contains(b.element) && !b.element.contains(a.element) && !isSticky(a.element) && !isSticky(b.element)) found.push(`“${a.text}” lies over “${b.text}”`);
    }
  });
  for (const button of document.querySelectorAll("button, a.small, summary, [role=tab]")) {
    if (!button.checkVisibility() || getComputedStyle(button).textOverflow === "ellipsis" || button.matches(".chip")) continue;
    if (button.scrollWidth > button.clientWidth + 2 && getComputedStyle(button).display !== "inline") found.push(`cut: “${button.textContent.trim().slice(0, 40)}”`);
  }
  return found;
}

/** Runs in a page of its own, which knows how to read pictures: colours of one, and how much of it differs from another. */
async function compared([now, before, farthest]) {
  const pixels = async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const ctx = canvas.getContext("2d");
    ctx.drawImage(image, 0, 0);
    return ctx.getImageData(0, 0, image.width, image.height);
  };
  const a = await pixels(now);
  const colours = new Set();
  for (let at = 0; at < a.data.length; at += 4 * 7) colours.add((a.data[at] << 16) | (a.data[at + 1] << 8) | a.data[at + 2]);
  if (!before) return { colours: colours.size };
  const b = await pixels(before);
  if (a.width !== b.width || a.height !== b.height) return { colours: colours.size, different: 1 };
  let different = 0;
  for (let at = 0; at < a.data.length; at += 4) {
    const far = Math.max(Math.abs(a.data[at] - b.data[at]), Math.abs(a.data[at + 1] - b.data[at + 1]), Math.abs(a.data[at + 2] - b.data[at + 2]));
    if (far > farthest) different += 1;
  }
  return { colours: colours.size, different: different / (a.data.length / 4) };
}

/** Less than half as large, in few colours: what is kept of a picture, so that the folder stays small. */
async function small(data) {
  const image = new Image();
  image.src = `data:image/png;base64,${data}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width * 0.45, height: image.height * 0.45 });
  const ctx = canvas.getContext("2d");
  ctx.drawImage(image, 0, 0, canvas.width, canvas.height);
  const all = ctx.getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < all.data.length; at += 1) if (at % 4 < 3) all.data[at] = Math.round(all.data[at] / 51) * 51;
  ctx.putImageData(all, 0, 0);
  return canvas.toDataURL("image/png").split(",")[1];
}

async function elsewhere(what, given) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const answer = await page.evaluate(what, given);
  await context.close();
  return answer;
}

for (const [name, path, seen] of VIEWS) {
  for (const colorScheme of ["light", "dark"]) {
    test(`${name}, ${colorScheme}`, async (t) => {
      const { page, wrong, close } = await shown(path(), seen, { colorScheme });
      assert.deepEqual(await page.evaluate(faults, LEAST_FONT_PX), []);
      assert.deepEqual(await violations({ of: page, rules: ["color-contrast"] }), []);
      const now = await elsewhere(small, await picture(page));
      await close();
      assert.deepEqual(wrong, []);
      const file = new URL(`${name}-${colorScheme}.png`, FOLDER);
      const bytes = Buffer.from(now, "base64");
      if (isUpdating) {
        assert.ok(bytes.length <= MAX_BYTES, `${file.pathname} would have ${bytes.length} bytes`);
        writeFileSync(file, bytes);
      }
      const kept = existsSync(ABOUT) ? readFileSync(ABOUT, "utf8") : "";
      const isSame = kept !== "" && JSON.stringify(JSON.parse(kept)) === JSON.stringify(about);
      const { colours, different } = await elsewhere(compared, [now, isSame && existsSync(file) ? readFileSync(file).toString("base64") : undefined, FAR]);
      assert.ok(colours >= FEWEST_COLOURS, `${colours} colours: nothing is shown`);
      if (different === undefined) return t.diagnostic(`not compared: the pictures are of another Chromium or of other fonts than ${JSON.stringify(about)}`);
      assert.ok(different <= MOST_DIFFERENT, `${(different * 100).toFixed(2)} % of the picture differ; look at it, then UPDATE_SCREENS=1`);
    });
  }
}

test("a fault would be found: text over text, tiny letters, a page that scrolls, a button that is cut, another picture", async () => {
  const { page, close } = await shown("/", ".session-row .row-title");
  const before = (await page.screenshot()).toString("base64");
  assert.deepEqual(await page.evaluate(faults, LEAST_FONT_PX), []);
  await page.evaluate(() => {
    const add = (tag, text, style) => Object.assign(document.body.appendChild(document.createElement(tag)), { textContent: text }).setAttribute("style", "") ?? Object.assign(document.body.lastElementChild.style, style);
    add("p", "over the first title", { position: "fixed", left: "20px", top: "10px", zIndex: 9 });
    add("p", "tiny", { position: "fixed", left: "700px", top: "600px", fontSize: "6px" });
    add("button", "a button whose words have no room", { position: "fixed", left: "900px", top: "500px", width: "40px", overflow: "hidden", whiteSpace: "nowrap" });
    add("p", "wide", { width: "3000px" });
  });
  const found = await page.evaluate(faults, LEAST_FONT_PX);
  for (const word of ["lies over", "too small", "cut: “a button", "the page scrolls"]) assert.ok(found.some((one) => one.includes(word)), `${word}: ${found.join("; ")}`);
  await page.goto(`${server.base}/issues`);
  await page.locator("table").first().waitFor();
  const other = (await page.screenshot()).toString("base64");
  const { different } = await elsewhere(compared, [other, before, FAR]);
  assert.ok(different > MOST_DIFFERENT, `${different}`);
  assert.equal((await elsewhere(compared, [before, before, FAR])).different, 0);
  await close();
});

test("on a 4K screen and on a small one nothing is cut, tiny or out of reach", async () => {
  for (const viewport of [{ width: 3840, height: 2160 }, { width: 1280, height: 720 }]) {
    for (const [name, path, seen] of VIEWS) {
      const { page, close } = await shown(path(), seen, { viewport });
      assert.deepEqual(await page.evaluate(faults, viewport.width > 3000 ? 14 : LEAST_FONT_PX), [], `${name} ${viewport.width}`);
      await close();
    }
  }
});

test("on a 4K screen a click still meets what it points at", async () => {
  const { page, close } = await shown(`/sessions/${demo.id}?view=workflow`, "canvas", { viewport: { width: 3840, height: 2160 } });
  const graph = await server.json(`/api/v1/sessions/${demo.id}/graph?view=workflow`);
  const node = graph.nodes.find((one) => one.step_ids.length > 2);
  const place = await page.locator("canvas").evaluate((canvas, { graph: drawn, rect }) => {
    const box = canvas.getBoundingClientRect();
    const zoom = box.width / canvas.clientWidth;
    return { box: { x: box.x, y: box.y }, zoom, width: canvas.clientWidth, height: canvas.clientHeight, drawn: [drawn.width, drawn.height], rect };
  }, { graph: { width: graph.width, height: graph.height }, rect: node.place });
  const { fitted } = await import("../src/logic/camera.ts");
  const camera = fitted(graph, place.width, place.height);
  await page.mouse.click(place.box.x + (camera.x + (node.place.x + node.place.width / 2) * camera.zoom) * place.zoom, place.box.y + (camera.y + (node.place.y + node.place.height / 2) * camera.zoom) * place.zoom);
  await page.waitForFunction((id) => new URL(location.href).searchParams.get("step") === id, node.step_ids[0]);
  await close();
});
