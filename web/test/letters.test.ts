import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf } from "../src/api/letters.ts";

/** What `unspool-report` writes (`letters.rs` has the same pairs). */
const WRITTEN: [number[], string][] = [
  [[], ""],
  [[0], "!!"],
  [[255], "zz"],
  [[1, 2], "!BT"],
  [[0, 0, 0, 0], "!!!!!"],
  [[255, 255, 255, 255], "{=^1!"],
  [[1, 2, 3, 4, 5], "!BTE/#Z"],
  [[80, 75, 3, 4, 250, 251, 252], "@mRtvya[4"],
];

test("letters of a report are the bytes that were written", () => {
  for (const [bytes, letters] of WRITTEN) assert.deepEqual([...bytesOf(letters)], bytes, letters);
});
