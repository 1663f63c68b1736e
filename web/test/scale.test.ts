import assert from "node:assert/strict";
import { test } from "node:test";
import { markText, marks, moved, toTime, toX, whole, zoomed } from "../src/logic/scale.ts";

const SPAN = 60e9;
const SCALE = { from: 10e9, to: 30e9, width: 1000 };

test("what is at the pointer stays there when zooming", () => {
  for (const factor of [0.5, 0.9, 1.1]) {
    const before = toTime(SCALE, 300);
    const after = toTime({ ...zoomed(SCALE, 300, factor, SPAN), width: 1000 }, 300);
    assert.ok(Math.abs(before - after) < 1, `${factor}`);
  }
});

test("the window never leaves the whole", () => {
  const all = whole(SPAN);
  for (const [x, factor] of [[0, 50], [1000, 50], [500, 1e9]] as const) {
    const { from, to } = zoomed(SCALE, x, factor, SPAN);
    assert.ok(from >= all.from - 1 && to <= all.to + 1);
  }
  for (const dx of [-1e9, 1e9]) {
    const { from, to } = moved(SCALE, dx, SPAN);
    assert.ok(from >= all.from - 1 && to <= all.to + 1);
    assert.ok(Math.abs(to - from - 20e9) < 1, "moving does not zoom");
  }
});

test("zooming in ends somewhere", () => {
  let window = { from: SCALE.from, to: SCALE.to };
  for (let n = 0; n < 200; n += 1) window = zoomed({ ...window, width: 1000 }, 500, 0.5, SPAN);
  assert.ok(window.to - window.from >= 999);
});

test("places and moments are each other's way back", () => {
  for (const x of [0, 1, 999]) assert.ok(Math.abs(toX(SCALE, toTime(SCALE, x)) - x) < 1e-6);
});

test("marks are apart and say where they are", () => {
  const { step, at } = marks(SCALE, 90);
  assert.ok(at.length > 2 && at.length < 12);
  assert.ok((step / 20e9) * 1000 >= 90);
  assert.equal(markText(0, 5e9), "0");
  assert.equal(markText(90e9, 30e9), "1m 30s");
  assert.equal(markText(3600e9, 600e9), "1h");
  assert.equal(markText(250e6, 50e6), "250 ms");
  assert.equal(markText(1250e6, 50e6), "1.25 s");
  assert.equal(markText(5e3, 1e3), "5 µs");
});

test("a session without length can be looked at", () => {
  const { from, to } = whole(0);
  assert.ok(to > from);
});
