// A report as somebody gets it: one file, opened from the disk, with no network and no server.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { execFileSync } from "node:child_process";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { DEMO, launch, open, Server, until, violations } from "./harness.mjs";

const binary = process.env.UNSPOOL_BIN ?? "unspool";
const folder = mkdtempSync(join(tmpdir(), "unspool-report-"));
const unspool = (...args) => execFileSync(binary, args, { env: { ...process.env, HOME: folder }, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const at = (name) => join(folder, name);
let browser, opened, page, flow;

const HOSTILE = `<img src=x onerror="window.hit=1"><script>window.hit=2</script></script><!--`;

before(async () => {
  unspool("demo", "--write", at("demo"));
  flow = JSON.parse(unspool("export", at("demo/shop"))).sessions[0];
  unspool("report", DEMO, "--in", at("demo"), "-o", at("shop.html"));
  unspool("report", at("demo"), "-o", at("all.html"));
  const line = (uuid, content) => JSON.stringify({ type: "user", uuid, sessionId: HOSTILE, cwd: HOSTILE, timestamp: "2026-01-02T10:00:00Z", message: { role: "user", content } });
  const key = `sk-ant-${"a1b2c3d4e5".repeat(5)}`;
  writeFileSync(at("hostile.jsonl"), [line("a", HOSTILE), line("b", `with ${key}`)].join("\n"));
  unspool("report", at("hostile.jsonl"), "-o", at("hostile.html"), "--redact");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  opened = await open(browser, "file:", { offline: true });
  page = opened.page;
});

afterEach(async () => {
  const { wrong } = opened;
  await opened.close();
  assert.deepEqual(wrong, []);
});

const url = (name, hash = "") => pathToFileURL(at(name)).href + hash;
const param = (name) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get(name);
const detail = () => page.getByRole("complementary", { name: "Step" });

test("it opens on its session: timeline, tree, numbers", async () => {
  await page.goto(url("shop.html"));
  await page.getByRole("heading", { name: flow.title }).waitFor();
  await page.locator(".tree-row").nth(5).waitFor();
  await page.locator("canvas").first().waitFor();
  await page.getByText("report of").waitFor();
  assert.equal(await page.getByRole("link", { name: "Issues" }).count(), 0);
  assert.equal(await page.getByText("Compare…").count(), 0, "there is nothing to compare with");
});

test("all but its records weighs at most 1.5 MB, and says that nothing may be reached", () => {
  const html = readFileSync(at("shop.html"), "utf8");
  const start = html.indexOf(">", html.indexOf('id="unspool-records"')) + 1;
  const records = html.indexOf("<", start) - start;
  assert.ok(records > 1000);
  assert.ok(html.length - records <= 1_500_000, `${html.length - records} bytes`);
  assert.match(html, /content="default-src 'none'; script-src 'nonce-[0-9a-f]{32}' 'wasm-unsafe-eval'; worker-src blob:;/);
  assert.doesNotMatch(html, /unsafe-inline/);
});

test("the failing step, why it is linked, and its record", async () => {
  await page.goto(url("shop.html"));
  await page.getByRole("heading", { name: flow.title }).waitFor();
  await page.keyboard.press("e");
  await until(() => param("step"), "an error is chosen");
  await detail().getByRole("tab", { name: "Why" }).click();
  await detail().getByRole("heading", { name: "What led to it", level: 3 }).waitFor();
  await detail().getByRole("tab", { name: /Records/ }).click();
  await detail().getByText("claude-code-transcript").first().waitFor();
});

test("every view draws, and the numbers are those of the session", async () => {
  await page.goto(url("shop.html"));
  await page.getByRole("heading", { name: flow.title }).waitFor();
  for (const [key, view] of [["2", "tree"], ["3", "graph"], ["4", "workflow"], ["5", "runs"], ["6", "stats"]]) {
    await page.keyboard.press(key);
    await until(() => param("view") === view, view);
    if (view === "stats") await page.getByRole("heading", { name: /time|agents/i }).first().waitFor();
    else await page.locator({ tree: ".tree-row", runs: ".session-main .run" }[view] ?? ".session-main canvas").first().waitFor();
    assert.equal(await page.locator(".state.wrong").count(), 0, view);
  }
});

test("a query is answered, and a wrong one says where it is wrong", async () => {
  await page.goto(url("shop.html"));
  await page.locator("#search").fill("kind:tool");
  const tools = flow.steps.filter((step) => step.kind === "tool_call").length;
  await page.getByText(`${tools} steps`, { exact: true }).waitFor();
  await page.locator("#search").fill("kind:(");
  await page.getByRole("alert").waitFor();
});

test("what is typed the moment something is asked for stays typed", async () => {
  await page.goto(url("shop.html"));
  const typed = page.evaluate(() => new Promise((resolve) => {
    const replace = history.replaceState.bind(history);
    history.replaceState = (...all) => {
      replace(...all);
      if (!location.hash.includes("q=kind")) return;
      history.replaceState = replace;
      setTimeout(() => {
        const field = document.querySelector("#search");
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, "kind:tool is:error");
        field.dispatchEvent(new Event("input", { bubbles: true }));
        setTimeout(() => resolve(field.value), 1000);
      });
    };
  }));
  await page.locator("#search").fill("kind:tool");
  assert.equal(await typed, "kind:tool is:error");
  await until(() => param("q") === "kind:tool is:error", "it is asked for");
});

test("a link into the report leads there, and back goes back", async () => {
  const step = flow.steps[3].id;
  await page.goto(url("shop.html", `#/sessions/${flow.id}?view=tree&step=${step}`));
  await page.locator(".tree-row.is-selected").waitFor();
  await page.keyboard.press("6");
  await until(() => param("view") === "stats", "stats");
  await page.goBack();
  await until(() => param("view") === "tree", "back at the tree");
  await page.locator(".tree-row.is-selected").waitFor();
});

test("exports are saved from the file itself", async () => {
  await page.goto(url("shop.html"));
  await page.getByRole("heading", { name: flow.title }).waitFor();
  await page.keyboard.press("x");
  assert.equal(await page.getByText("HTML report").count(), 0, "it is one");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("row", { name: /^tree-json/ }).getByRole("button").first().click()]);
  const saved = JSON.parse(readFileSync(await download.path(), "utf8"));
  assert.equal(saved.schema, "unspool.tree/1");
  assert.match(download.suggestedFilename(), /\.tree\.json$/);
});

test("several sessions have a list, and can be compared", async () => {
  await page.goto(url("all.html"));
  await page.getByRole("heading", { name: /sessions/ }).waitFor();
  await page.getByRole("button", { name: flow.title }).click();
  await page.getByRole("heading", { name: flow.title }).waitFor();
  await page.getByText("Compare…").click();
  await page.locator("dialog .palette-list button").first().click();
  await until(() => page.url().includes("#/diff"), "the difference");
  await page.getByRole("link", { name: "Sessions" }).click();
  await page.getByRole("heading", { name: /sessions/ }).waitFor();
});

test("hostile text stays text, and masked secrets are counted", async () => {
  await page.goto(url("hostile.html"));
  await page.locator(".tree-row").first().waitFor();
  await page.getByText("1 secret masked").waitFor();
  await page.getByText("onerror").first().waitFor();
  await page.locator(".tree-row", { hasText: "[redacted:1]" }).click();
  await detail().getByText("[redacted:1]").first().waitFor();
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.evaluate(() => fetch("https://example.com").then(() => "reached", () => "blocked")), "blocked");
  opened.wrong.splice(0, opened.wrong.length, ...opened.wrong.filter((one) => !one.includes("example.com")));
});

test("the page of a server saves a report that opens by itself", async () => {
  const server = await Server.start();
  try {
    for (const [name, text] of server.demo()) await server.put(name, text);
    const { id } = await server.session(DEMO, flow.steps.length);
    const served = await open(browser, server.base);
    await served.page.goto(`${server.base}/sessions/${id}`);
    await served.page.locator(".tree-row").first().waitFor();
    await served.page.keyboard.press("x");
    const row = served.page.getByRole("row", { name: /^HTML report/ });
    const [download] = await Promise.all([served.page.waitForEvent("download"), row.getByText("secrets masked").click()]);
    assert.equal(download.suggestedFilename(), `${id}.html`);
    await download.saveAs(at("saved.html"));
    await served.close();
  } finally {
    await server.stop();
  }
  await page.goto(url("saved.html"));
  await page.getByRole("heading", { name: flow.title }).waitFor();
  await page.getByText("0 secrets masked").waitFor();
  await page.locator(".tree-row").nth(5).waitFor();
});

test("a damaged report says so", async () => {
  const html = readFileSync(at("shop.html"), "utf8");
  const start = html.indexOf(">", html.indexOf('id="unspool-records"')) + 1;
  writeFileSync(at("damaged.html"), html.slice(0, start + 400) + html.slice(start + 800));
  await page.goto(url("damaged.html"));
  await page.getByText("this report cannot be opened").first().waitFor();
});

test("it is accessible", async () => {
  await page.goto(url("shop.html"));
  await page.locator(".tree-row").first().waitFor();
  const other = await open(browser, "file:", { offline: true, bypassCSP: true });
  await other.page.goto(url("all.html"));
  await other.page.getByRole("heading", { name: /sessions/ }).waitFor();
  const told = await violations({ of: other.page });
  await other.close();
  assert.deepEqual(told, []);
});
