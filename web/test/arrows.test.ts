import assert from "node:assert/strict";
import { test } from "node:test";
import { arrowAt, arrowShown, curveOf, seenPiece, sortOf } from "../src/logic/arrows.ts";
import { placeLanes } from "../src/logic/lanes.ts";

const lane = (depth: number) => ({ agents: [], depth, rows: 1 });
const { lanes } = placeLanes([lane(0), lane(1)], new Set());
const scale = { from: 0, to: 1000, width: 1000 };
const SIGHT = { width: 1000, top: 0, bottom: 500 };
const end = (at: number, at_ns: number) => ({ lane: at, row: 0, at_ns });

test("an arrow's sort is that of its kind, and an error is one whatever its kind", () => {
  assert.equal(sortOf({ relation: "tool_result", is_error: false }), "tool");
  assert.equal(sortOf({ relation: "content_reuse", is_error: false }), "other");
  assert.equal(sortOf({ relation: "subagent_return", is_error: true }), "error");
  const shown = { tool: true, spawn: false, return: true, other: true, error: true };
  assert.equal(arrowShown({ relation: "subagent_spawn", is_error: false, confidence: 1 }, shown, 0), false);
  assert.equal(arrowShown({ relation: "calls", is_error: false, confidence: 0.8 }, shown, 0.85), false);
  assert.equal(arrowShown({ relation: "calls", is_error: false, confidence: 0.85 }, shown, 0.85), true);
});

test("the nearest arrow is hit", () => {
  const arrows = [{ from: end(0, 100), to: end(1, 300) }, { from: end(0, 600), to: end(1, 800) }];
  const curve = curveOf(arrows[1]!, lanes, scale)!;
  assert.equal(arrowAt(arrows, lanes, scale, (curve.x0 + curve.x1) / 2, (curve.y0 + curve.y1) / 2), arrows[1]);
  assert.equal(arrowAt(arrows, lanes, scale, 450, 5), undefined);
});

test("of a long curve, the piece in sight is where the curve is", () => {
  const curve = { x0: -50_000, y0: 0, x1: 90_000, y1: 100, bend0: 50, bend1: -50 };
  const { points, hasEnd } = seenPiece(curve, SIGHT)!;
  const at = (t: number, [a, b, c, d]: number[]) => (1 - t) ** 3 * a! + 3 * (1 - t) ** 2 * t * b! + 3 * (1 - t) * t * t * c! + t ** 3 * d!;
  const [xs, ys] = [[points[0], points[2], points[4], points[6]], [points[1], points[3], points[5], points[7]]];
  assert.ok(Math.abs(points[0] + 40) < 1 && Math.abs(points[6] - 1040) < 1 && !hasEnd, String(points));
  for (const t of [0, 0.3, 0.7, 1]) {
    const [x, y] = [at(t, xs), at(t, ys)];
    // The share of the whole curve at which it is there.
    let [low, high] = [0, 1];
    for (let n = 0; n < 60; n += 1) {
      const middle = (low + high) / 2;
      if (at(middle, [-50_000, -50_000, 90_000, 90_000]) < x) low = middle;
      else high = middle;
    }
    assert.ok(Math.abs(at(low, [0, 50, 50, 100]) - y) < 0.01, `${t}: ${y}`);
  }
  assert.equal(seenPiece({ ...curve, x1: -45_000 }, SIGHT), undefined);
  const steep = seenPiece({ x0: 100, y0: 0, x1: 300, y1: 50_000, bend0: 25_000, bend1: -25_000 }, { width: 1000, top: 10_000, bottom: 10_400 })!;
  assert.ok(Math.abs(steep.points[1] - 9_960) < 1 && Math.abs(steep.points[7] - 10_440) < 1 && !steep.hasEnd, String(steep.points));
  assert.equal(seenPiece({ ...curve, x0: 10, x1: 20 }, SIGHT)?.hasEnd, true);
});
