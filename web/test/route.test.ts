import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRoute, parseRoute, viewOf, withParams } from "../src/logic/route.ts";

test("an address is the state, and the state an address", () => {
  for (const url of ["/", "/?q=a+b&sort=cost", "/sessions/x12", "/sessions/x12?view=graph&step=s1&from=-20&to=100&q=tool%3ABash+is%3Aerror"]) {
    const [path, search] = url.split("?");
    assert.equal(formatRoute(parseRoute(path ?? "", search ?? "")), url);
  }
});

test("ids that are no ids are kept as they are", () => {
  const route = parseRoute("/sessions/%E0%A4%A", "");
  assert.equal(route.id, "%E0%A4%A");
  assert.equal(parseRoute("/sessions/a%2Fb", "").id, "a/b");
});

test("parameters come and go", () => {
  const route = withParams(parseRoute("/sessions/x", "step=s1&q=a"), { step: undefined, from: 5 });
  assert.equal(formatRoute(route), "/sessions/x?q=a&from=5");
});

test("a view that is not known is the timeline", () => {
  assert.equal(viewOf(parseRoute("/sessions/x", "view=nonsense")), "timeline");
  assert.equal(viewOf(parseRoute("/sessions/x", "view=stats")), "stats");
});
