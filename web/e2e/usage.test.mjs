// Usage: tokens by caller, window and model, out of recorded traffic.
import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, open, page, param, Server, server, testPage, until, violations } from "./harness.mjs";

const HOUR_MS = 3_600_000;

/** An exchange as the proxy records it, some hours ago. */
function exchange(n, key, hoursAgo, model, usage) {
  const at = (ms) => new Date(Date.now() - hoursAgo * HOUR_MS + ms).toISOString();
  const request = { timestamp: at(0), method: "POST", path: "/v1/messages", headers: [["x-api-key", `masked:${key}`]], body: { model, messages: [{ role: "user", content: `Question ${n}` }] } };
  const body = { id: `msg_usage_${n}`, model, content: [{ type: "text", text: `Answer ${n}` }], stop_reason: "end_turn", usage };
  return JSON.stringify({ unspool: "exchange", exchange: `usage-${n}`, upstream: "anthropic", request, response: { timestamp: at(900), status: 200, headers: [["request-id", `req_usage_${n}`]], head_ms: 100, body } });
}

const traffic = () => [
  exchange(1, "aaaa1111", 9, "claude-sonnet-4-5", { input_tokens: 100, output_tokens: 20 }),
  exchange(2, "aaaa1111", 2, "claude-sonnet-4-5", { input_tokens: 300, output_tokens: 40, cache_read_input_tokens: 5000 }),
  exchange(3, "aaaa1111", 1.2, "no-such-model", { input_tokens: 7, output_tokens: 8 }),
  exchange(4, "bbbb2222", 1.5, "claude-sonnet-4-5", { input_tokens: 11, output_tokens: 12 }),
].join("\n");

const counted = (of) => until(async () => {
  const { windows } = await of.json("/api/v1/usage");
  return windows.length === 3 && windows;
}, "three windows");

testPage({
  async prepare() {
    await server.put("proxy.jsonl", traffic());
    await counted(server);
  },
});

const tables = () => page.locator(".usage-table");
const cells = (row) => row.locator("th, td").evaluateAll((all) => all.map((one) => one.innerText.trim()));

test("a caller has its windows, newest first, and a window its models", async () => {
  await page.goto(server.base);
  await page.getByRole("link", { name: "Usage" }).click();
  await tables().nth(1).waitFor();
  assert.equal(new URL(page.url()).pathname, "/usage");
  const [first, second] = [tables().filter({ hasText: "aaaa1111" }), tables().filter({ hasText: "bbbb2222" })];
  assert.equal(await tables().count(), 2);
  const windows = first.locator(".usage-window");
  assert.equal(await windows.count(), 2);
  const [newest, oldest] = [await cells(windows.first()), await cells(windows.last())];
  assert.match(newest[0], / – .* open$/);
  assert.deepEqual(newest.slice(1, 8), ["2", "0", "307", "5,000", "0", "48", "0"]);
  assert.match(newest[8], /^\$.*\+$/, "one of two models has no price");
  assert.doesNotMatch(oldest[0], /open/);
  assert.deepEqual(oldest.slice(1, 8), ["1", "0", "100", "0", "0", "20", "0"]);
  const models = await Promise.all((await first.locator("tbody").first().locator(".usage-model").all()).map(cells));
  assert.deepEqual(models.map((one) => one.slice(0, 7)), [["claude-sonnet-4-5", "1", "0", "300", "5,000", "0", "40"], ["no-such-model", "1", "0", "7", "0", "0", "8"]]);
  assert.equal(models[1][8], "–", "what has no price has no cost");
  assert.deepEqual((await cells(second.locator(".usage-window"))).slice(1, 4), ["1", "0", "11"]);
  const lengthOf = (row) => row.locator(".usage-bar span").evaluateAll((all) => all.reduce((sum, one) => sum + one.getBoundingClientRect().width, 0));
  assert.ok(await lengthOf(windows.first()) > 10 * await lengthOf(windows.last()));
  await page.getByText("4 sessions looked into").waitFor();
});

test("the length of a window and since when are in the address", async () => {
  await page.goto(`${server.base}/usage?hours=24`);
  await page.getByText("lasts 24 hours").waitFor();
  assert.equal(await tables().filter({ hasText: "aaaa1111" }).locator(".usage-window").count(), 1);
  await page.getByLabel("Length of a window").selectOption("1");
  await page.getByText("lasts 1 hour.").waitFor();
  assert.equal(param("hours"), "1");
  await page.goto(`${server.base}/usage?since=hour`);
  await page.getByText("No model call in this time").waitFor();
  await page.goto(`${server.base}/usage?hours=none`);
  await page.getByRole("alert").waitFor();
});

test("keys and the palette lead there, and anybody can use it", async () => {
  await page.goto(server.base);
  await page.locator(".list").focus();
  await page.keyboard.press("u");
  await tables().first().waitFor();
  await page.goBack();
  await page.keyboard.press("Control+k");
  await page.getByLabel("Find anything").last().fill("usage");
  await page.getByRole("option", { name: /Usage/ }).first().click();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await tables().first().waitFor();
    assert.deepEqual(await violations(), [], colorScheme);
  }
});

test("where nothing is, it says how to get something, and shows it when it comes", async () => {
  const empty = await Server.start();
  const { page: there, wrong, close } = await open(browser, empty.base);
  try {
    await there.goto(`${empty.base}/usage`);
    await there.getByText(`unspool run --server ${new URL(empty.base).host} -- claude`).waitFor();
    assert.deepEqual(await violations({ of: there }), []);
    await empty.put("proxy.jsonl", traffic());
    await there.locator(".usage-window").nth(2).waitFor();
    assert.deepEqual(wrong, []);
  } finally {
    await close();
    await empty.stop();
  }
});
