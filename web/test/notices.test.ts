import assert from "node:assert/strict";
import { test } from "node:test";
import type { HealthDoc } from "../src/api/types.ts";
import { dueIn, inShort, isNews, LOOK_PAUSE_MS, markOf, NOTHING_TOLD, toldBy } from "../src/logic/notices.ts";

const LOST = "2 exchanges were not recorded, or not whole: max_recorded_body_bytes 2";
const went = { bytes: 0, messages: 0, unread: 0 };
const proxy = (lost: Record<string, number>, still_packed = 0): HealthDoc["proxy"] => ({ address: null, routes: [], exchanges: 9, held_bytes: 0, spooled_bytes: 0, lost, still_packed, sockets: { open: 0, opened: 0, up: went, down: went } });

test("what the server says is told with the reasons that count", () => {
  const told = toldBy({ notices: [LOST], proxy: proxy({ max_recording_bytes: 0, max_recorded_body_bytes: 2 }) });
  assert.deepEqual(told.words, [LOST]);
  assert.deepEqual(told.reasons.map(({ name, count }) => [name, count]), [["max_recorded_body_bytes", 2]]);
  assert.notEqual(told.reasons[0]?.about, "");
  assert.deepEqual(toldBy({ notices: [] }), NOTHING_TOLD);
});

test("what does not work comes first, and everything is told", () => {
  const told = toldBy({ notices: ["the log was mended"], problem: "disk full", index_problem: "broken", proxy: proxy({}, 1) });
  assert.deepEqual(told.words, ["Records are kept, but nothing new is shown: disk full", "the log was mended", "1 body is kept packed", "Words do not find what is new: broken"]);
  assert.deepEqual(told.reasons.map(({ name, count }) => [name, count]), [["max_unpacked_recording_bytes", 1]]);
  assert.equal(inShort(told), "Records are kept, but nothing new is shown: disk full, and 3 notices more");
});

test("what is refused is told once, first, and not as kept", () => {
  const refused = "what is sent is refused: no space left";
  assert.deepEqual(toldBy({ notices: ["the log was mended", refused], problem: refused }).words, [refused, "the log was mended"]);
});

test("what was put away stays away until it says something else", () => {
  const told = toldBy({ notices: [LOST] });
  assert.ok(isNews(told, ""));
  assert.ok(!isNews(told, markOf(told)));
  assert.ok(isNews(toldBy({ notices: [LOST.replace("2 exchanges", "3 exchanges")] }), markOf(told)));
  assert.ok(!isNews(NOTHING_TOLD, markOf(told)), "nothing is no news");
});

test("it is looked at at once, and then not too often", () => {
  assert.equal(dueIn(undefined, 5), 0);
  assert.equal(dueIn(1_000, 1_000), LOOK_PAUSE_MS);
  assert.equal(dueIn(1_000, 4_000), LOOK_PAUSE_MS - 3_000);
  assert.equal(dueIn(1_000, 1_000 + 2 * LOOK_PAUSE_MS), 0);
  assert.equal(dueIn(9_999_999, 0), LOOK_PAUSE_MS, "a clock that was set back");
});
