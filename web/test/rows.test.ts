import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneDoc, SessionLineDoc, TimelineDoc } from "../src/api/types.ts";
import { barAt, boxOf, laneDetail, laneName, placeLanes } from "../src/logic/lanes.ts";
import { appended, changed, changedAll, NO_PAGE } from "../src/logic/pages.ts";
import { blocksOf, mostSeen, Reveal, scrollTo, seenRows } from "../src/logic/rows.ts";

test("only rows near the window exist", () => {
  assert.deepEqual(seenRows(0, 100, 10, 1000, 2), { first: 0, end: 12 });
  assert.deepEqual(seenRows(5000, 100, 10, 1000, 2), { first: 498, end: 512 });
  assert.deepEqual(seenRows(9990, 100, 10, 1000, 2), { first: 997, end: 1000 });
  assert.deepEqual(seenRows(500, 100, 10, 3, 2), { first: 3, end: 3 });
});

test("there are never more rows than can exist at most, wherever the list is", () => {
  for (const height of [0, 7, 100, 101, 109]) {
    for (let top = 0; top < 40; top += 1.5) {
      const { first, end } = seenRows(top, height, 10, 1000, 2);
      assert.ok(end - first <= mostSeen(height, 10, 2), `${height} ${top}`);
    }
  }
  assert.equal(mostSeen(100, 10, 2), 15);
});

test("a row that can be seen does not move the list", () => {
  assert.equal(scrollTo(5, 0, 100, 10), 0);
  assert.ok(scrollTo(50, 0, 100, 10) > 400);
  assert.ok(scrollTo(5, 400, 100, 10) <= 50);
});

test("where a chosen row lies depends on the height of the list, not on its height while it was chosen", () => {
  const put = (...heights: number[]) => {
    const reveal = new Reveal();
    let top = reveal.to(50, 0, heights[0] ?? 0, 10);
    reveal.isAt(top);
    for (const height of heights.slice(1)) reveal.isAt((top = reveal.resized(top, height, 10)));
    return top;
  };
  assert.notEqual(put(100), put(300));
  assert.equal(put(100, 300), put(300));
  assert.equal(put(300, 20, 100), put(100));
  assert.equal(put(600, 100), put(100), "what could be seen at first can be seen later");
});

test("another height moves no list that somebody scrolled since", () => {
  const reveal = new Reveal();
  reveal.isAt(reveal.to(50, 0, 100, 10));
  assert.equal(reveal.resized(120, 300, 10), 120);
  reveal.isAt(120);
  assert.equal(reveal.resized(120, 80, 10), 120);
});

test("blocks hold all rows of a window", () => {
  assert.deepEqual(blocksOf({ first: 190, end: 410 }, 200), [0, 1, 2]);
  assert.deepEqual(blocksOf({ first: 0, end: 0 }, 200), []);
});

const row = (id: string, steps: number) => ({ id, steps }) as SessionLineDoc;

test("pages are put together without doubles, and rows change in their place", () => {
  const page = appended(appended(NO_PAGE, [row("a", 1), row("b", 1)], "next", 3, 0), [row("b", 1), row("c", 1)], null, 3, 0);
  assert.deepEqual(page.rows.map(({ id }) => id), ["a", "b", "c"]);
  const after = changed(page, "b", row("b", 9));
  assert.deepEqual(after?.rows.map(({ steps }) => steps), [1, 9, 1]);
  assert.equal(page.rows[1]?.steps, 1, "the old page stays as it was");
  assert.deepEqual(changed(page, "a", null)?.rows.map(({ id }) => id), ["b", "c"]);
  assert.equal(changed(page, "z", row("z", 1)), undefined);
});

const lane = (rows: number, label = "main"): LaneDoc => ({ agents: [{ id: "a", label }], depth: 0, rows });

test("lanes lie below each other, and a bar is found where it is drawn", () => {
  const { lanes, height } = placeLanes([lane(2), lane(1), lane(1)], new Set([1]));
  lanes.slice(1).forEach((placed, n) => assert.equal(placed.top, (lanes[n]?.top ?? 0) + (lanes[n]?.height ?? 0)));
  assert.equal(height, (lanes[2]?.top ?? 0) + (lanes[2]?.height ?? 0));
  const scale = { from: 0, to: 1000, width: 1000 };
  const bar = (at: number, laneNumber: number, rowNumber: number, length: number) => ({ lane: laneNumber, row: rowNumber, from_ns: at, to_ns: at + length, step_id: `s${at}`, count: 1, errors: 0, look: "tool", label: "", detail: "", pending: false });
  const timeline = { bars: [bar(100, 0, 0, 500), bar(200, 0, 0, 10), bar(300, 2, 0, 50)] } as TimelineDoc;
  for (const one of timeline.bars) {
    const box = boxOf(one, lanes, scale);
    assert.ok(box);
    assert.equal(barAt(timeline, lanes, scale, box.x + box.width / 2, box.y + 2)?.step_id, one === timeline.bars[0] ? "s100" : one.step_id);
  }
  assert.equal(barAt(timeline, lanes, scale, 205, 6)?.step_id, "s200", "the narrower of two is meant");
  assert.equal(barAt(timeline, lanes, scale, 900, 6), undefined);
});

test("a lane is called by its agents, each name once", () => {
  const lane = (...labels: string[]) => ({ agents: labels.map((label, n) => ({ id: `a${n}`, label, detail: `for ${n}`, status: "completed", colour: 0 })), depth: 1, rows: 1, errors: 0 });
  assert.equal(laneName(lane("Explore", "Explore", "Plan")), "Explore ×2, Plan");
  assert.equal(laneName(lane("internal", "main")), "main, internal");
  assert.equal(laneName(lane("a", "b", "c", "d")), "a, b, c…");
  assert.deepEqual([laneDetail(lane("Explore")), laneDetail(lane("Explore", "Plan"))], ["for 0", "for 0 · for 1"]);
});

test("news of many sessions is shown at once, and what the list does not have is counted", () => {
  const page = appended(NO_PAGE, [row("a", 1), row("b", 1)], null, 2, 0);
  const { page: next, unknown } = changedAll(page, new Map([["a", row("a", 5)], ["b", null], ["c", row("c", 1)], ["d", null]]));
  assert.deepEqual(next.rows.map(({ id, steps }) => [id, steps]), [["a", 5]]);
  assert.deepEqual([next.matching, unknown], [1, 1]);
});
