import assert from "node:assert/strict";
import { test } from "node:test";
import { EventReader } from "../src/api/live.ts";
import { markdown, spans } from "../src/logic/markdown.ts";
import { diffLines, MAX_PARTS, readable, placeName } from "../src/logic/readable.ts";
import { bucketWords, count, duration, knownCost, money, plural, sessionCost, sessionTokens, shortPath } from "../src/logic/words.ts";

test("markdown is blocks, and what it is not stays text", () => {
  const sorts = markdown("# Title\n\nwords *here*\n- one\n  - two\n> said\n```ts\nconst a = 1;\n```\n---\n<b>x</b>").map(({ sort }) => sort);
  assert.deepEqual(sorts, ["heading", "paragraph", "item", "item", "quote", "code", "rule", "paragraph"]);
  assert.deepEqual(spans("<script>x</script>"), [{ sort: "text", text: "<script>x</script>" }]);
});

test("only web addresses become links", () => {
  assert.equal(spans("[a](https://example.org)")[0]?.sort, "link");
  assert.ok(spans("[a](javascript:alert(1))").every(({ sort }) => sort === "text"));
});

test("a fence that never ends takes the rest", () => {
  assert.deepEqual(markdown("```\na\nb"), [{ sort: "code", language: "", text: "a\nb" }]);
});

test("of a record, what a person reads is picked, and ids are not", () => {
  const { parts } = readable({ uuid: "d0d0d0d0-0000-4000-8000-000000000011", signature: "A".repeat(400), message: { content: [{ type: "text", text: "Hello you" }] } });
  assert.deepEqual(parts.map((part) => part.sort === "prose" && part.text), ["Hello you"]);
});

test("of a message with several calls, the one in question is shown", () => {
  const call = (id: string, command: string) => ({ type: "tool_use", id, name: "Bash", input: { command } });
  const { parts } = readable({ message: { content: [call("toolu_1", "ls"), call("toolu_2", "pwd")] } }, "toolu_2");
  assert.deepEqual(parts, [{ sort: "fields", path: "message.content.1.input", fields: [["command", "pwd"]] }]);
});

test("pictures are pictures only when they are", () => {
  const picture = (media_type: string, data: string) => readable({ source: { type: "base64", media_type, data } }).parts[0]?.sort;
  assert.equal(picture("image/png", "aGVsbG8="), "image");
  assert.notEqual(picture("image/svg+xml", "aGVsbG8="), "image");
  assert.notEqual(picture("image/png", '"><script>'), "image");
});

test("a picture that is not drawn is told: one of another sort, and one that lies elsewhere", () => {
  const told = (record: Parameters<typeof readable>[0]) => readable(record).parts.map((part) => part.sort === "fields" && part.fields);
  assert.deepEqual(told({ source: { type: "base64", media_type: "image/svg+xml", data: "aGVsbG8=" } }), [[["picture, not drawn", "image/svg+xml"]]]);
  assert.deepEqual(told({ url: "data:image/svg+xml;utf8,<svg onload=alert(1)>" }), [[["picture, not drawn", "image/svg+xml"]]]);
  const there = [[["picture, not fetched", "https://there.test/a.png"]]];
  assert.deepEqual(told([{ type: "image", source: { type: "url", url: "https://there.test/a.png" } }]), there);
  assert.deepEqual(told([{ type: "image_url", image_url: { url: "https://there.test/a.png" } }]), there);
  assert.deepEqual(told([{ type: "input_image", image_url: "https://there.test/a.png" }]), there);
});

test("what a terminal is told about colours is not shown as letters", () => {
  const [part] = readable({ stdout: "\x1b[1mone\x1b[22m \x1b[38;5;9mtwo\x1b[0m \x1b]0;title\x07three [1m stays" }).parts;
  assert.equal(part?.sort === "code" && part.text, "one two three [1m stays");
});

test("many texts are counted when they are left out", () => {
  const { parts, more } = readable(Array.from({ length: MAX_PARTS + 3 }, (_, n) => `line one of ${n}\nline two`));
  assert.deepEqual([parts.length, more], [MAX_PARTS, 3]);
});

test("lines of a diff are told apart", () => {
  assert.deepEqual(diffLines("@@ -1 +1 @@\n-a\n+b\n c").map(({ sort }) => sort), ["place", "removed", "added", "same"]);
});

test("numbers in words", () => {
  assert.deepEqual([0, 0.5, 12, 1200, 61_000, 3_700_000, 90_000_000, null].map(duration), ["0 ms", "500 µs", "12 ms", "1.2 s", "1m 01s", "1h 01m", "1d 01h", "–"]);
  assert.deepEqual([0, 1234, 22_900, 279_000, 7_400_000, null].map(count), ["0", "1,234", "22.9k", "279k", "7.4M", "–"]);
  assert.deepEqual([0, 0.0016, 0.31, 120.4, undefined].map(money), ["$0", "$0.0016", "$0.31", "$120", "–"]);
  assert.equal(plural(1, "step"), "1 step");
  assert.equal(shortPath("/home/sam/code/shop"), "…/code/shop");
});

test("what nobody counted is not nothing", () => {
  const line = (total: number, uncounted_calls: number) => ({ tokens: total > 0 ? { total } : null, uncounted_calls, cost_usd: 0 });
  assert.deepEqual([line(0, 3), line(5, 3), line(5, 0), line(0, 0)].map(sessionTokens), ["–", "5+", "5", "–"]);
  assert.deepEqual([line(0, 3), line(0, 0)].map(sessionCost), ["–", "–"]);
});

test("events are read wherever the stream breaks off", () => {
  const text = 'id: 7\nevent: change\ndata: {"a":\ndata: 1}\n\n: keep alive\n\nevent: ready\ndata: {}\n\n';
  for (let cut = 0; cut <= text.length; cut += 1) {
    const reader = new EventReader();
    const events = [...reader.push(text.slice(0, cut)), ...reader.push(text.slice(cut))];
    assert.deepEqual(events, [{ name: "change", id: "7", data: '{"a":\n1}' }, { name: "ready", id: "", data: "{}" }]);
  }
});

test("a cost of which something is missing says so", () => {
  assert.equal(knownCost(0.5, 0), "$0.50");
  assert.equal(knownCost(0.5, 2), "$0.50+");
  assert.equal(knownCost(0, 2), "–");
  assert.equal(knownCost(null, 2), "–");
});

test("where a text stands is told in the names that say something", () => {
  assert.equal(placeName("message.content.0.input.question"), "input › question");
  assert.equal(placeName("message.content.0.input.allowedPrompts[2].prompt"), "input › allowedPrompts › prompt");
  assert.equal(placeName("message.content.0.content"), "content");
  assert.equal(placeName("toolUseResult.stdout"), "toolUseResult › stdout");
});

test("tokens whose price nobody knows cost nothing that could be told, not nothing", () => {
  assert.equal(bucketWords({ tokens: 100, cost_usd: 0 }, 3), "100");
  assert.equal(bucketWords({ tokens: 100, cost_usd: null }, 0), "100");
  assert.equal(bucketWords({ tokens: 100, cost_usd: 0.5 }, 3), "100 $0.50+");
  assert.equal(bucketWords({ tokens: 100, cost_usd: 0.5 }, 0), "100 $0.50");
});
