import assert from "node:assert/strict";
import { test } from "node:test";
import type { StepDetailDoc } from "../src/api/types.ts";
import { asMarkdown } from "../src/logic/asmarkdown.ts";
import { areaPath, linePath, nearest, spread } from "../src/logic/chart.ts";
import { lineDiff, MAX_DIFF_PAIRS } from "../src/logic/linediff.ts";
import { previews, readable } from "../src/logic/readable.ts";
import { arrowPath } from "../src/logic/runs.ts";

test("a text and what takes its place are lines with signs", () => {
  assert.equal(lineDiff("a\nb\nc", "a\nx\nc"), " a\n-b\n+x\n c");
  assert.equal(lineDiff("", "new"), "+new");
  assert.equal(lineDiff("a\nb\nc\nd", "b\nd\ne"), "-a\n b\n-c\n d\n+e");
  const many = Array.from({ length: Math.sqrt(MAX_DIFF_PAIRS) + 2 }, (_, n) => n);
  const diff = lineDiff(many.map((n) => `old ${n}`).join("\n"), many.map((n) => `new ${n}`).join("\n"));
  assert.equal(diff.split("\n").filter((line) => line.startsWith("-")).length, many.length);
  assert.match(diff, /^@@ too long to align \(max_diff_pairs\)/);
});

test("an edit is a diff with where it is", () => {
  const { parts } = readable({ type: "tool_use", name: "Edit", input: { file_path: "/a/very/long/path/that/nobody/would/call/short/indeed.ts", old_string: "a", new_string: "b", replace_all: false } });
  assert.deepEqual(parts.map(({ sort }) => sort), ["fields", "diff"]);
  assert.equal(parts[1]?.sort === "diff" && parts[1].text, "-a\n+b");
});

test("several edits at once, hunks beside a result and patches are diffs", () => {
  const edits = readable({ input: { file_path: "a", edits: [{ old_string: "1", new_string: "2" }, { old_string: "3", new_string: "4" }] } }).parts;
  assert.equal(edits.filter(({ sort }) => sort === "diff").length, 2);
  const [hunk] = readable({ structuredPatch: [{ oldStart: 1, oldLines: 2, newStart: 1, newLines: 2, lines: ["-a", "+b", " c"] }] }).parts;
  assert.equal(hunk?.sort === "diff" && hunk.text, "@@ -1,2 +1,2 @@\n-a\n+b\n c");
  const [patch] = readable({ input: "*** Begin Patch\n*** Add File: calc.py\n+def add(a, b):\n*** End Patch\n" }).parts;
  assert.equal(patch?.sort, "diff");
});

test("what a call is given as JSON within JSON is read, and pictures in addresses are pictures", () => {
  assert.deepEqual(readable({ arguments: '{"command":"ls"}' }).parts, [{ sort: "fields", path: "arguments", fields: [["command", "ls"]] }]);
  assert.equal(readable({ image_url: { url: "data:image/png;base64,aGVsbG8=" } }).parts[0]?.sort, "image");
  assert.equal(readable({ inlineData: { mimeType: "image/png", data: "aGVsbG8=" } }).parts[0]?.sort, "image");
  assert.notEqual(readable({ url: "data:image/svg+xml;base64,aGVsbG8=" }).parts[0]?.sort, "image");
});

test("commands and what they print keep their columns, words do not", () => {
  const sort = (record: Parameters<typeof readable>[0]) => readable(record).parts[0]?.sort;
  assert.equal(sort({ input: { command: "git commit -m \"$(cat <<'EOF'\n- one\n- two\nEOF\n)\"" } }), "code");
  assert.equal(sort({ stdout: "a    b\nc    d" }), "code");
  assert.equal(sort({ result: "## Found\n- one\n- two" }), "prose");
  assert.equal(sort({ text: "first line\nsecond line" }), "prose");
});

test("what begins with a bracket is prose, unless it is JSON or a part of a program", () => {
  const sort = (text: string) => readable({ text }).parts[0]?.sort;
  for (const prose of ["[Request interrupted by user]", "[1] first point\n[2] second point", "(see above)", "[a link](https://example.org) and more words", "[2026-01-02] it was cold"]) assert.equal(sort(prose), "prose", prose);
  for (const code of ['["one", "two",', "[\n  {", "(function () {", "foo(\n  bar,\n);"]) assert.equal(sort(code), "code", code);
  assert.deepEqual(readable({ content: "[1, 2, 3]" }).parts, [{ sort: "json", path: "content", value: [1, 2, 3] }]);
  const packed = readable({ value: { stringValue: '[{"role": "assistant", "parts": [{"arguments": {"query": "land uplift"}}]}]' } }).parts;
  assert.deepEqual(packed, [{ sort: "fields", path: "value.stringValue.parts.arguments", fields: [["query", "land uplift"]] }]);
  assert.deepEqual(readable({ output: '{"ok":true}' }).parts, [{ sort: "json", path: "output", value: { ok: true } }]);
  assert.equal(readable({ text: "said twice, here", output: '{"text":"said twice, here"}' }).parts.length, 1);
  assert.equal(readable({ output: '{"text":"It went well, and nothing is left to be done."}' }).parts[0]?.sort, "prose");
});

test("colours of terminals are nowhere in what is read", () => {
  const red = "\x1b[31mred\x1b[0m and so on";
  const parts = readable({ input: { command: red, colour: red }, output: red, edit: { old_string: "a", new_string: "b", path: red } }).parts;
  assert.equal(parts.length, 4);
  assert.doesNotMatch(JSON.stringify(parts), /u001b|\[31m/);
  assert.doesNotMatch(previews([{ args: [red, 7] }, { result: `{"n":["${red}"]}` }], "", 100).given, /\x1b/);
});

test("what a step was given and what it gave are told apart", () => {
  const records = [{ message: { content: [{ type: "tool_use", id: "t1", input: { command: "npm test" } }] } }, { message: { content: [{ type: "tool_result", tool_use_id: "t1", content: "38 passed, 1 failed" }] } }];
  assert.deepEqual(previews(records, "t1", 100), { given: "command: npm test", answer: "38 passed, 1 failed" });
  assert.equal(previews(records, "t1", 4).answer, "38 p…");
});

test("a step as Markdown has its facts, and fences that hold what is inside", () => {
  const record = (content: unknown) => ({ id: "r1", format: "x", stream: "a", ordinal: 0, encoding: "utf-8", content: JSON.stringify(content), bytes: 9, bytes_left_out: 0, texts_cut: 0 });
  const doc = { label: "Edit", detail: "src/a.ts", agent: null, buckets: [{ name: "cache_read", tokens: 12, cost_usd: null }], cost_usd: null, edges_in: [], records: [record({ input: { file_path: "a", old_string: "```", new_string: "b" } })], step: { id: "s1", kind: "tool_call", started_at: null, started_at_estimated: false, duration_ms: 5, model: null, is_error: true, error: "no", tool_use_id: null } };
  const text = asMarkdown(doc as unknown as StepDetailDoc);
  assert.match(text, /^\*\*Edit\*\* src\/a\.ts\n\n- step `s1`, tool call\n/);
  assert.match(text, /12 cache read\n- failed: no/);
  assert.match(text, /````diff\n-```\n\+b\n````/);
});

test("lines of a chart stay within it", () => {
  const spots = spread([0, 50, 100], (one) => one / 100, (one) => one / 100, 200, 10);
  assert.deepEqual(spots.map(({ x, y }) => [x, y]), [[0, 10], [100, 5], [200, 0]]);
  assert.equal(linePath(spots), "M0.0 10.0 L100.0 5.0 L200.0 0.0");
  assert.ok(areaPath(spots, 10).endsWith("L200.0 10.0 L0.0 10.0 Z"));
  assert.equal(areaPath(spots.slice(0, 1), 10), "");
  assert.equal(nearest([spots], 95, 6)?.spot.of, 50);
  assert.equal(nearest([[]], 0, 0), undefined);
});

test("arrows of swim-lanes go from the right edge to the left edge", () => {
  const size = { columnPx: 100, rowPx: 20 };
  assert.equal(arrowPath({ lane: 0, column: 0 }, { lane: 2, column: 1 }, size), "M88 10 L94 10 L94 50 L100 50");
  assert.match(arrowPath({ lane: 0, column: 3 }, { lane: 1, column: 1 }, size), /^M388 10 C/);
});
