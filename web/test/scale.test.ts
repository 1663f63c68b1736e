import assert from "node:assert/strict";
import { test } from "node:test";
import { centred, drawnLength, foldsOf, markText, marks, moved, reached, toTime, toX, whole, zoomed } from "../src/logic/scale.ts";

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

// Ten seconds of work, two days of nothing that are drawn as two seconds, ten seconds of work.
const DAYS = 172_800e9;
const FOLDS = foldsOf([{ from_ns: 10e9, to_ns: 10e9 + DAYS, folded_ns: 2e9 }]);
const FOLDED = { ...whole(20e9 + DAYS, FOLDS), width: 1000, folds: FOLDS };

test("a gap that is folded takes as little room as it is drawn with", () => {
  const px = (from: number, to: number) => toX(FOLDED, to) - toX(FOLDED, from);
  assert.ok(Math.abs(px(0, 10e9) - px(10e9 + DAYS, 20e9 + DAYS)) < 1e-6, "what happened keeps its length");
  assert.ok(Math.abs(px(10e9, 10e9 + DAYS) * 5 - px(0, 10e9)) < 1e-6);
  for (const x of [0, 400, 480, 500, 520, 700, 1000]) assert.ok(Math.abs(toX(FOLDED, toTime(FOLDED, x)) - x) < 1e-6, `${x}`);
});

test("zooming and moving over a folded gap keeps what is at the pointer, and what is drawn stays as long", () => {
  for (const x of [100, 500, 900]) {
    const window = zoomed(FOLDED, x, 0.3, 20e9 + DAYS);
    assert.ok(Math.abs(toTime({ ...window, width: 1000, folds: FOLDS }, x) - toTime(FOLDED, x)) / DAYS < 1e-9, `${x}`);
  }
  const near = { from: 4e9, to: 9e9, width: 1000, folds: FOLDS };
  const next = moved(near, -1000, 20e9 + DAYS);
  assert.ok(next.to > DAYS && Math.abs(drawnLength(next, FOLDS) - 5e9) < 1e3);
  const around = centred(near, 15e9 + DAYS, 20e9 + DAYS);
  assert.ok(Math.abs(toX({ ...around, width: 1000, folds: FOLDS }, 15e9 + DAYS) - 500) < 1);
  assert.ok(reached(near, 1, FOLDS).to > DAYS);
});

test("no mark stands in a folded gap, and none on another", () => {
  const { at } = marks(FOLDED, 90);
  assert.ok(at.some((one) => one < 10e9) && at.some((one) => one >= 10e9 + DAYS) && at.length < 14);
  assert.ok(at.every((one) => one <= 10e9 || one >= 10e9 + DAYS));
  assert.ok(at.every((one, n) => n === 0 || toX(FOLDED, one) - toX(FOLDED, at[n - 1] ?? 0) >= 80));
});
