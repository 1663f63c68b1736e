import assert from "node:assert/strict";
import { test } from "node:test";
import { Positions } from "../src/logic/positions.ts";

test("positions are found in stretches", () => {
  const some = new Positions([[2, 4], [7, 7], [10, 20]]);
  const all = Array.from({ length: 23 }, (_, n) => n);
  assert.deepEqual(all.filter((n) => some.has(n)), [2, 3, 4, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
  assert.equal(some.hasAny(5, 6), false);
  assert.equal(some.hasAny(5, 7), true);
  assert.equal(some.hasAny(0, 100), true);
  assert.equal(new Positions([]).hasAny(0, 100), false);
});
