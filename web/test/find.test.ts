import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueryFieldDoc } from "../src/api/types.ts";
import { around, offersAt, taken, type Values } from "../src/logic/complete.ts";
import { fit, fitting } from "../src/logic/fuzzy.ts";
import { actOf, heard, sheetParts } from "../src/logic/keys.ts";
import { VIEWS } from "../src/logic/route.ts";
import { MOST_RECENT, recency, remembered } from "../src/logic/recent.ts";
import { sparkPath } from "../src/logic/spark.ts";

const names = (typed: string, all: string[]) => fitting(typed, all, (one) => one);

test("letters in order are found, whole words and starts of words first", () => {
  assert.deepEqual(names("sg", ["All sessions", "Show the graph", "Stats"]), ["Show the graph"]);
  assert.deepEqual(names("graph", ["Paragraphs", "Show the graph", "graph"]), ["graph", "Show the graph", "Paragraphs"]);
  assert.equal(fit("xyz", "All sessions"), undefined);
  assert.equal(fit("", "anything"), 0);
  assert.ok((fit("nerr", "Next error") ?? 0) > (fit("nerr", "a long manner of ours") ?? -99));
});

test("equals stay in their order, and what was chosen lately comes first", () => {
  const known = remembered(remembered([], "a"), "b");
  assert.deepEqual(known, ["b", "a"]);
  assert.deepEqual(remembered(known, "a"), ["a", "b"]);
  assert.deepEqual(fitting("", ["x", "a", "b"], (one) => one, (one) => recency(known, one)), ["b", "a", "x"]);
  let many: string[] = [];
  for (let n = 0; n < 100; n += 1) many = remembered(many, String(n));
  assert.equal(many.length, MOST_RECENT);
});

const field = (name: string, takes: string, choices: string[] = [], aliases: string[] = []): QueryFieldDoc => ({ name, aliases, takes, about: name, example: name, choices: choices.map((choice) => ({ name: choice, about: "" })) });
const FIELDS = [field("tool", "text"), field("agent", "text"), field("is", "choice", ["error", "retry"], ["has"]), field("duration", "number", [], ["took"]), field("under", "condition"), field("since", "time")];
const VALUES: Values = new Map([["tool", [{ value: "Bash", steps: 9 }, { value: "BashOutput", steps: 1 }, { value: "web search", steps: 2 }]], ["agent", [{ value: "Explore", steps: 4 }]]]);
const at = (marked: string) => {
  const caret = marked.indexOf("|");
  const text = marked.replace("|", "");
  const offers = offersAt(text, caret, FIELDS, VALUES);
  return { titles: offers.offers.map(({ title }) => title), take: (n: number) => taken(text, offers, offers.offers[n]!) };
};

test("fields are offered, then their values, also behind a relation, a minus and a comma", () => {
  assert.deepEqual(at("t|").titles, ["tool:", "duration>"]);
  assert.deepEqual(at("|").titles, ["tool:", "agent:", "is:", "duration>", "under:", "since:"]);
  assert.deepEqual(at("tool:Ba|").titles, ["Bash", "BashOutput"]);
  assert.deepEqual(at("under:agent:|").titles, ["Explore"]);
  assert.deepEqual(at("x -has:|").titles, ["error", "retry"]);
  assert.deepEqual(at("(tool:Bash,we|)").titles, ["web search"]);
  assert.deepEqual(at("Expl|").titles, ["agent:Explore"]);
  assert.deepEqual(at("duration>|").titles, []);
  assert.deepEqual(at("since:|").titles, []);
  assert.deepEqual(at("is:error|").titles, []);
});

test("an offer takes the place of the word the caret is in", () => {
  assert.deepEqual(at("is:error too|").take(0), { text: "is:error tool:", caret: 14 });
  assert.deepEqual(at("tool:B|as is:error").take(0), { text: "tool:Bash is:error", caret: 9 });
  assert.deepEqual(at("tool:web|").take(0), { text: 'tool:"web search" ', caret: 18 });
  assert.deepEqual(at("(tool:Ba|)").take(0), { text: "(tool:Bash)", caret: 10 });
});

test("what is wrong is cut out by letters, not by units of memory", () => {
  assert.deepEqual(around("🙂 toll:x", 2, 4), ["🙂 ", "toll", ":x"]);
  assert.deepEqual(around("tool:", 5, 0), ["tool:", " ", ""]);
});

test("a picture of activity has a bar for every part in which something began", () => {
  assert.equal(sparkPath([0, 255, 0, 1], 8, 10).split("M").length - 1, 2);
  assert.equal(sparkPath([], 8, 10), "");
  assert.match(sparkPath([255], 10, 10), /^M0 0h9v10/);
});

test("what a key means is what the sheet says", () => {
  assert.equal(actOf("list", "j"), "down");
  assert.equal(actOf("offers", "j"), undefined);
  assert.deepEqual([actOf("timeline", "r"), actOf("graph", "r"), actOf("tree", "*")], ["range", undefined, "openAll"]);
  assert.deepEqual(sheetParts(heard("session", "timeline")).map((part) => part.title), ["The timeline", "The tree", "Offers while typing"]);
  assert.deepEqual(sheetParts(heard("sessions", "timeline")).map((part) => part.title), ["The list of sessions", "Offers while typing"]);
  for (const view of VIEWS) assert.ok(sheetParts(heard("session", view)).every((part) => part.keys.length > 0));
});
