// The timeline by hand: a range that is marked, the strip on top, the critical path, gaps, what a filter leaves out, and its keys.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { alphaOf, inkOn } from "../src/logic/light.ts";
import { GUTTER_PX, MAP_PX, RULER_PX } from "../src/logic/lanes.ts";
import { drawnAt, momentAt } from "../src/logic/scale.ts";
import { demo, failing, page, param, picture, putDemo, server, session, testPage, until, violations } from "./harness.mjs";
import { barPlace, momentPlace, timelineCanvas, timelinePlaces } from "./places.mjs";

const NATIVE = "9a900000-0000-4000-8000-000000000001";
let paused;

/** Work for a minute, two days of waiting for a person, a failed command, an hour of waiting, the end. */
function pausedSession() {
  const lines = [];
  let at = Date.parse("2026-10-01T10:00:00Z");
  const add = (ms, type, message) => {
    at += ms;
    const n = lines.length;
    lines.push(JSON.stringify({ type, uuid: `9a900000-0000-4000-8000-1000000000${String(n).padStart(2, "0")}`, parentUuid: n === 0 ? null : JSON.parse(lines[n - 1]).uuid, sessionId: NATIVE, timestamp: new Date(at).toISOString(), message }));
  };
  const call = (n) => ({ id: `msg_pause_${n}`, role: "assistant", model: "claude-opus-4-7", content: [{ type: "tool_use", id: `toolu_pause_${n}`, name: "Bash", input: { command: `make ${n}` } }], usage: { input_tokens: 100, output_tokens: 10 } });
  const result = (n, isError = false) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: `toolu_pause_${n}`, content: isError ? "it broke" : "made", is_error: isError }] });
  add(0, "user", { role: "user", content: "Begin" });
  for (let n = 0; n < 4; n += 1) {
    add(5_000, "assistant", call(n));
    add(10_000, "user", result(n));
  }
  add(172_800_000, "user", { role: "user", content: "Go on" });
  add(5_000, "assistant", call(8));
  add(10_000, "user", result(8, true));
  add(3_600_000, "user", { role: "user", content: "And now?" });
  add(4_000, "assistant", { id: "msg_pause_9", role: "assistant", model: "claude-opus-4-7", content: [{ type: "text", text: "The end" }] });
  return `${lines.join("\n")}\n`;
}

testPage({
  options: { viewport: { width: 1600, height: 1000 } },
  async prepare() {
    await putDemo();
    await server.put(`shop/${NATIVE}.jsonl`, pausedSession());
    paused = await server.session(NATIVE, 10);
  },
});

const range = () => page.getByRole("group", { name: "Range" });

/** Drags along a height of the canvas. */
async function drag(from, to, y, { shift = false } = {}) {
  if (shift) await page.keyboard.down("Shift");
  await page.mouse.move(from, y);
  await page.mouse.down();
  await page.mouse.move((from + to) / 2, y, { steps: 3 });
  await page.mouse.move(to, y, { steps: 3 });
  await page.mouse.up();
  if (shift) await page.keyboard.up("Shift");
}

test("a range is marked with Shift or on the ruler, has sums, is filtered by, zoomed to and cleared", async () => {
  await page.goto(session());
  const { data: { span_ns: span }, box } = await timelinePlaces();
  const plain = await picture();
  const [from, to] = [await momentPlace(span * 0.25), await momentPlace(span * 0.75)];
  await drag(from, to, box.y + box.height - 30, { shift: true });
  await range().getByRole("status").getByText(/\d+ steps? of \d+ agents? began in it/).waitFor();
  assert.notEqual(await picture(), plain);
  const [begin, end] = param("range").split("..").map(Number);
  assert.ok(Math.abs(begin - (span * 0.25) / 1e6) < span / 1e8 && Math.abs(end - (span * 0.75) / 1e6) < span / 1e8, `${begin} ${end}`);
  const told = await server.json(`/api/v1/sessions/${demo.id}/range?from_ns=${Math.floor(begin * 1e6)}&to_ns=${Math.ceil(end * 1e6)}`);
  assert.match(await range().getByRole("status").textContent(), new RegExp(`^${told.totals.steps} steps of ${told.agents} agent`));
  assert.equal(param("from"), null, "marking does not zoom");
  await page.reload();
  await range().getByRole("button", { name: "Filter by it" }).click();
  await until(() => param("q") === told.query, "the filter");
  await page.locator(".filter-note", { hasText: `${told.totals.steps} steps` }).waitFor();
  await page.locator(".tree-row.is-dim").first().waitFor();
  await page.goto(session());
  await drag(await momentPlace(span * 0.5), await momentPlace(span * 0.6), box.y + MAP_PX + RULER_PX / 2);
  await range().getByRole("button", { name: "Zoom to it" }).click();
  await until(() => param("from") !== null && param("range") === null, "the zoom");
  assert.ok(Math.abs(Number(param("from")) - (span * 0.5) / 1e6) < span / 1e8);
  await page.goto(session(`?range=1000..2000&step=${failing.id}`));
  await range().waitFor();
  await page.keyboard.press("Escape");
  await range().waitFor({ state: "detached" });
  assert.equal(param("step"), failing.id, "the first Escape clears the range only");
  await page.keyboard.press("Escape");
  await until(() => param("step") === null, "the second one the step");
});

test("a range by keyboard: what is shown is marked", async () => {
  await page.goto(session());
  await timelineCanvas().focus();
  for (const key of ["+", "+", "ArrowRight", "r"]) await page.keyboard.press(key);
  await range().getByRole("status").waitFor();
  const [from, to] = param("range").split("..").map(Number);
  await until(() => param("from") !== null, "the zoom is in the address");
  assert.ok(Math.abs(from - Number(param("from"))) <= 1 && Math.abs(to - Number(param("to"))) <= 1);
});

test("dragging moves, and does not mark", async () => {
  await page.goto(session());
  await timelineCanvas().focus();
  for (const key of ["+", "+", "+"]) await page.keyboard.press(key);
  await until(() => param("from") !== null, "the zoom is in the address");
  const before = Number(param("from"));
  const { box } = await timelinePlaces();
  await drag(box.x + 700, box.x + 600, box.y + box.height - 20);
  await until(() => Number(param("from")) > before, "it moved");
  assert.equal(param("range"), null);
});

test("the strip on top moves the window", async () => {
  await page.goto(session());
  const { data: { span_ns: span }, scale: { folds }, box } = await timelinePlaces();
  await timelineCanvas().focus();
  for (let n = 0; n < 6; n += 1) await page.keyboard.press("+");
  await until(() => param("from") !== null, "the zoom is in the address");
  const middle = () => (Number(param("from")) + Number(param("to"))) / 2;
  const x = (share) => box.x + GUTTER_PX + (box.width - GUTTER_PX) * share;
  await drag(x(0.5), x(0.8), box.y + MAP_PX / 2);
  await until(() => Math.abs(middle() - momentAt(folds, 0.8 * drawnAt(folds, span)) / 1e6) < (0.03 * span) / 1e6, "the window is where the pointer went");
  assert.equal(param("range"), null);
});

for (const view of ["timeline", "graph"]) test(`the critical path is underlined in the ${view}, and hidden when nobody wants it`, async () => {
  const heard = Promise.all([page.waitForResponse(/\/path\/strip/), page.waitForResponse(new RegExp(`/${view}\\?`))]);
  await page.goto(session(`?view=${view}`));
  await heard;
  const shown = await picture();
  await page.getByLabel("critical path").uncheck();
  const hidden = await picture();
  assert.notEqual(hidden, shown);
  const { on_path: on } = await server.json(`/api/v1/sessions/${demo.id}/path/strip`);
  assert.ok(on.length > 0);
  const again = Promise.all([page.waitForResponse(/\/path\/strip/), page.waitForResponse(new RegExp(`/${view}\\?`))]);
  await page.reload();
  assert.equal(await page.getByLabel("critical path").isChecked(), false);
  await again;
  await page.getByLabel("critical path").check();
  assert.equal(await picture(), shown);
});

test("gaps are hatched, say whether a person was waited for, and are folded unless somebody wants them as long as they were", async () => {
  await page.goto(session("", paused.id));
  const { data, box } = await timelinePlaces(paused.id);
  assert.deepEqual(data.idle.map((gap) => gap.waits_for_person), [true, true]);
  const after = data.bars.find((bar) => bar.errors > 0);
  const folded = await momentPlace(after.from_ns, paused.id);
  assert.ok(folded < box.x + GUTTER_PX + (box.width - GUTTER_PX) * 0.85, "what came after two days is not at the edge");
  const { x, y } = await barPlace(after.step_id, paused.id);
  await page.mouse.click(x, y);
  await until(() => param("step") === after.step_id, "the bar is where it is drawn");
  await page.keyboard.press("Escape");
  await page.mouse.move(5, 5);
  const short = await picture();
  await page.getByLabel("fold gaps").uncheck();
  assert.notEqual(await picture(), short);
  const words = async () => {
    await page.keyboard.press("x");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "timeline as SVG" }).click()]);
    await page.keyboard.press("Escape");
    return readFileSync(await download.path(), "utf8");
  };
  const whole = await words();
  assert.ok(whole.includes("waiting for a person 2d"), "the gap is named");
  await page.getByLabel("fold gaps").check();
  assert.equal(await picture(), short);
});

test("what a filter leaves out can still be read", async () => {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const view of ["timeline", "tree", "runs", "graph"]) {
      await page.goto(session(`?view=${view}&q=tool:Bash`));
      await page.locator(".filter-note", { hasText: /\d+ steps/ }).waitFor();
      await page.locator(view === "graph" ? "canvas" : ".is-dim").first().waitFor();
      assert.deepEqual(await violations(), [], `${view} ${colorScheme}`);
    }
    await page.goto(session("?view=tree&q=tool:Bash"));
    await page.getByRole("button", { name: /Replay/ }).click();
    await page.getByLabel("Speed").selectOption("1");
    await page.getByLabel("Moment").fill("1000");
    await page.locator(".tree-row.is-later").first().waitFor();
    assert.deepEqual(await violations({ within: ".tree" }), [], `replay ${colorScheme}`);
  }
});

const part = (hex, at) => parseInt(hex.slice(at, at + 2), 16);
const channels = (hex) => [1, 3, 5].map((at) => part(hex, at));
const luminance = (colour) => {
  const [r, g, b] = colour.map((one) => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
};

test("words on bars are legible, however those are lit", async () => {
  const schema = await server.json("/api/v1/schema");
  for (const theme of ["light", "dark"]) {
    const paper = channels(schema[theme].paper);
    for (const colour of [...schema.looks, ...schema.agent_colours].map((one) => channels(one[theme]))) {
      for (const [light, hasChain] of [["plain", false], ["plain", true], ["dim", false]]) {
        const alpha = alphaOf(light, hasChain);
        const fill = colour.map((one, n) => one * alpha + paper[n] * (1 - alpha));
        const ink = channels(schema[theme][inkOn(alpha)]);
        assert.ok(contrast(fill, ink) >= 4.5, `${theme} ${light} ${colour}: ${contrast(fill, ink).toFixed(2)}`);
      }
    }
  }
});

test("the sheet of keys lists those of the view one is in", async () => {
  const parts = async (address) => {
    await page.goto(address);
    await page.locator("canvas, .list, .stats").first().waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    return page.getByRole("dialog", { name: "Keys" }).locator("h3").allTextContents();
  };
  assert.deepEqual(await parts(session()), ["The timeline", "The tree", "Offers while typing", "Everywhere here"]);
  assert.deepEqual(await parts(session("?view=graph")), ["The graph", "Offers while typing", "Everywhere here"]);
  assert.deepEqual(await parts(server.base), ["The list of sessions", "Offers while typing", "Everywhere here"]);
  assert.equal(await page.getByText("Play or pause").count(), 0, "what cannot be done here is not listed");
});
