import assert from "node:assert/strict";
import { test } from "node:test";
import { Pieces, readInPieces } from "../src/api/pieces.ts";

const long = (n: number) => ({ id: `n${n}`, text: `said "${n}" \\ and [so] {on}, ${"é👍".repeat(n % 40)}`, inside: [[n, [n]], { a: [] }], none: null });
const DOCUMENTS = [
  {},
  { a: [], b: [[]], c: [[1, 2], [3]], d: { e: [1, [2]], f: "]" }, g: "a,[b]" },
  { name: 'quoted " and \\', nodes: Array.from({ length: 4_000 }, (_, n) => long(n)), between: 7, edges: [1, "two", null, true, 1.5e-7], last: [] },
  { text: "\\".repeat(9), list: ["\\", '\\"', "\\\\\""] },
];

function read(text: string, size: number): unknown {
  const pieces = new Pieces();
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces.end();
}

test("a document read in pieces is the document, wherever it is cut", () => {
  for (const document of [...DOCUMENTS, [1, [2]], "text", 5, null]) {
    for (const text of [JSON.stringify(document), JSON.stringify(document, null, 1)]) {
      for (const size of [1, 7, 4_096, text.length]) assert.deepEqual(read(text, size), document);
    }
  }
});

test("lists keep their names, whatever those are", () => {
  const text = '{"b":[2],"1":[3],"c":[4],"b":[5]}';
  assert.deepEqual(read(text, 3), JSON.parse(text));
});

test("what is no document is refused, wherever it is torn", () => {
  const text = JSON.stringify(DOCUMENTS[1]);
  for (let end = 0; end < text.length; end += 1) assert.throws(() => read(text.slice(0, end), 5), SyntaxError, text.slice(0, end));
  for (const wrong of ['{"a":[1,,2]}', '{"a":[1 2]}', '{"a":[1}', '{"a":[1]]}']) assert.throws(() => read(wrong, 3), SyntaxError, wrong);
});

test("letters of several bytes may be cut, and others have a turn", async () => {
  const document = { nodes: Array.from({ length: 30_000 }, (_, n) => long(n)) };
  const bytes = new TextEncoder().encode(JSON.stringify(document));
  const body = new ReadableStream({
    start(out) {
      for (let at = 0; at < bytes.length; at += 99_991) out.enqueue(bytes.slice(at, at + 99_991));
      out.close();
    },
  });
  let [turns, isOver] = [0, false];
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  assert.deepEqual(await readInPieces(new Response(body)), document);
  isOver = true;
  assert.ok(turns > 5, `${turns} turns`);
});
