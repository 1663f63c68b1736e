import assert from "node:assert/strict";
import { test } from "node:test";
import type { UsageWindowDoc } from "../src/api/types.ts";
import { momentOf } from "../src/logic/filters.ts";
import { barParts, callersOf, longest, shortKey } from "../src/logic/usage.ts";

const usage = (input: number, output: number) => ({ input, cache_read: 0, cache_write: 0, cache_write_long: 0, output, reasoning: 0 });
const window = (key: string | null, started_at: string, told: UsageWindowDoc["usage"] = null): UsageWindowDoc => ({ key, started_at, ends_at: "", open: false, calls: 1, errors: 0, usage: told, uncounted_calls: 0, cost_usd: null, unpriced_calls: 0, models: [] });

test("windows stand by caller, in the order they came; those without a key are of one caller", () => {
  const callers = callersOf([window("masked:b", "4"), window(null, "3"), window("masked:a", "2"), window("masked:b", "1"), window(null, "0")]);
  assert.deepEqual(callers.map(({ key, windows }) => [key, windows.map((one) => one.started_at)]), [["masked:b", ["4", "1"]], [undefined, ["3", "0"]], ["masked:a", ["2"]]]);
  assert.equal(shortKey("masked:b"), "b");
});

test("the window with the most tokens has the longest bar; one that says nothing has no length", () => {
  const windows = [window("a", "2", usage(30, 10)), window("a", "1", usage(5, 5)), window("a", "0")];
  assert.equal(longest(windows), 40);
  assert.deepEqual(barParts(usage(30, 10), 40), [{ name: "input", percent: 75 }, { name: "output", percent: 25 }]);
  assert.deepEqual(barParts(usage(5, 0), 40), [{ name: "input", percent: 12.5 }]);
  assert.equal(longest([window("a", "0")]), 0);
  assert.deepEqual(barParts(usage(0, 0), 0), []);
});

test("a word for a moment is a moment; others stay", () => {
  assert.equal(momentOf("day", Date.parse("2026-01-02T10:00:00Z")), "2026-01-01T10:00:00.000Z");
  assert.equal(momentOf("2026-01-02T10:00:00Z", 0), "2026-01-02T10:00:00Z");
});
