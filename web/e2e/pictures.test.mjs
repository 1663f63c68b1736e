// Pictures in records: shown where they were sent, and none of them makes the page ask anybody or run anything.
import assert from "node:assert/strict";
import { test } from "node:test";
import { detail, page, server, testPage, violations } from "./harness.mjs";

const SESSION = "5e55a9e0-0c0a-4b0d-9d3e-00000000face";
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
/** A host that nobody has: whatever asks it is found by the harness. */
const ELSEWHERE = "https://elsewhere.invalid";
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"><image href="${ELSEWHERE}/inside.png"/><script>window.pwned=1</script></svg>`;

const base64 = (media_type, data) => ({ type: "image", source: { type: "base64", media_type, data } });
const HOSTILE = [
  base64("image/svg+xml", Buffer.from(SVG).toString("base64")),
  base64('image/png" onerror="window.pwned=1', PNG),
  base64("image/png", '"><img src=x onerror="window.pwned=1">'),
  base64("text/html", Buffer.from(SVG).toString("base64")),
  { type: "image", source: { type: "url", url: `${ELSEWHERE}/told.png` } },
  { type: "image_url", image_url: { url: `data:image/svg+xml;utf8,${SVG}` } },
  { type: "text", text: `![a picture](${ELSEWHERE}/markdown.png) <img src="${ELSEWHERE}/markup.png"> and some more words` },
];

const uuid = (n) => `face0000-0000-4000-8000-00000000000${n}`;
const line = (n, type, content, more = {}) => ({ type, uuid: uuid(n), parentUuid: n === 1 ? null : uuid(n - 1), sessionId: SESSION, timestamp: `2026-01-01T00:00:0${n}Z`, message: { role: type, content, ...more } });
const call = (n, id) => line(n, "assistant", [{ type: "tool_use", id, name: "Read", input: { file_path: `${id}.png` } }], { id: `msg_face_${n}`, model: "claude-opus-4-7" });
const result = (n, id, content) => line(n, "user", [{ type: "tool_result", tool_use_id: id, content }]);
const LINES = [
  line(1, "user", [{ type: "text", text: "What is on this picture?" }, base64("image/png", PNG)]),
  call(2, "toolu_face_a"),
  result(3, "toolu_face_a", [base64("image/gif", GIF), { type: "text", text: "as it was last week" }]),
  call(4, "toolu_face_b"),
  result(5, "toolu_face_b", HOSTILE),
  call(6, "toolu_face_c"),
  result(7, "toolu_face_c", [base64("image/png", "aGVsbG8=")]),
];

let steps;

testPage({
  prepare: async () => {
    await server.put(`shop/${SESSION}.jsonl`, `${LINES.map((one) => JSON.stringify(one)).join("\n")}\n`);
    const { id } = await server.session(SESSION, 7);
    steps = (await server.json(`/api/v1/sessions/${id}/tree?from=0&to=100`)).rows.filter(({ row }) => row === "step").map((step) => ({ ...step, at: `${server.base}/sessions/${id}?view=tree&step=${step.id}` }));
  },
});

const step = (label, n = 0) => steps.filter((one) => one.label === label)[n];
/** Pictures that are drawn: what they are, and how wide. */
const drawn = () => detail().locator("img").evaluateAll((all) => Promise.all(all.map(async (one) => (await one.decode(), [one.src.slice(0, 15), one.naturalWidth]))));

test("a picture of a message, and one that a tool gave, are shown as pictures", async () => {
  await page.goto(step("user").at);
  await detail().getByText("What is on this picture?").last().waitFor();
  assert.deepEqual(await drawn(), [["data:image/png;", 1]]);
  await page.goto(step("Read").at);
  await detail().getByText("as it was last week").last().waitFor();
  assert.deepEqual(await drawn(), [["data:image/gif;", 1]]);
});

test("a picture that has no room is shown smaller, and at its own size when somebody wants it", async () => {
  const wide = await page.evaluate(() => Object.assign(document.createElement("canvas"), { width: 2_000, height: 40 }).toDataURL("image/png").split(",")[1]);
  await page.route("**/steps/*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll(PNG, wide) });
  });
  await page.goto(step("user").at);
  const width = () => detail().locator("img").evaluate((one) => one.clientWidth);
  await detail().getByRole("button", { name: "Show it at its own size" }).click();
  assert.equal(await width(), 2_000);
  assert.deepEqual(await violations({ within: ".detail" }), []);
  await detail().getByRole("button", { name: "Fit it in" }).click();
  assert.ok((await width()) < 600);
});

test("what only says that it is a picture is told, not drawn, run or asked for", async () => {
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(step("Read", 1).at);
  await detail().getByText(`${ELSEWHERE}/told.png`).waitFor();
  await detail().getByText(`${ELSEWHERE}/markup.png`, { exact: false }).waitFor();
  assert.equal(await detail().getByText("picture, not fetched").count(), 1);
  assert.ok((await detail().getByText("picture, not drawn").count()) >= 3);
  assert.deepEqual(await drawn(), []);
  for (const tab of ["Why", "Records", "What"]) await page.getByRole("tab", { name: tab }).click();
  await detail().getByText(`${ELSEWHERE}/told.png`).waitFor();
  assert.deepEqual(asked.filter((url) => url.includes("elsewhere") || url.startsWith("data:")), []);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
});

test("bytes that are no picture are said to be none", async () => {
  await page.goto(step("Read", 2).at);
  await detail().getByText("The record calls this image/png, but it cannot be drawn.").waitFor();
  assert.equal(await detail().locator("img").count(), 0);
});
