// What must not happen: data that runs, and data without a token.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { DEMO, launch, open, Server, until } from "./harness.mjs";

let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

const MARKUP = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>[x](javascript:window.pwned=1)`;

/** The demo with markup wherever a person or model wrote. */
function hostile([name, text]) {
  const spoil = (value, key) => {
    if (typeof value === "string") return ["text", "content", "prompt", "command", "description", "customTitle", "aiTitle", "summary", "title", "subagent_type", "name"].includes(key) && !/^[0-9a-f-]{36}$/.test(value) ? `${value} ${MARKUP}` : value;
    if (Array.isArray(value)) return value.map((one) => spoil(one, key));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([inner, one]) => [inner, spoil(one, inner)]));
    return value;
  };
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return [name, `${lines.map((line) => JSON.stringify(spoil(JSON.parse(line), ""))).join("\n")}\n`];
}

test("what records say is never run, in any view", async () => {
  const server = await Server.start();
  try {
    for (const [name, text] of server.demo().map(hostile)) await server.put(name, text);
    const { id } = await server.session(DEMO, 20);
    const { page, wrong, close } = await open(browser, server.base);
    await page.goto(server.base);
    await page.locator(".session-row .row-title", { hasText: "<img src=x" }).first().waitFor();
    const steps = (await server.json(`/api/v1/sessions/${id}/tree?from=0&to=100`)).rows.filter(({ row }) => row === "step");
    for (const view of ["", "?view=tree", "?view=graph", "?view=workflow", "?view=runs", "?view=runs&run=1", "?view=stats"]) {
      await page.goto(`${server.base}/sessions/${id}${view}`);
      await page.locator("h1", { hasText: "<img src=x" }).waitFor();
      await page.locator("canvas, .tree-row, .chip, .stats").first().waitFor();
    }
    await page.goto(`${server.base}/sessions/${id}?view=tree`);
    for (const step of steps.slice(0, 12)) {
      await page.goto(`${server.base}/sessions/${id}?view=tree&step=${step.id}`);
      for (const tab of ["Why", "Records", "What"]) await page.getByRole("tab", { name: tab }).click();
    }
    await page.locator(".detail", { hasText: "<script>" }).waitFor();
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator("#app img[src=x], #app script, a[href^=javascript]").count(), 0);
    assert.deepEqual(wrong, []);
    await close();
  } finally {
    await server.stop();
  }
});

function tokenOf(server, scope) {
  const said = server.unspool("token", "create", "--scope", scope, "--name", scope, "--data-dir", `${server.folder}/data`);
  return said.split(/\s+/).find((word) => word.length > 30);
}

test("a server that wants a token is given one", async () => {
  const server = await Server.start("--require-token");
  try {
    const { page, close } = await open(browser, server.base);
    await page.goto(server.base);
    await page.getByRole("dialog", { name: "Token" }).waitFor();
    await page.getByLabel("Token", { exact: true }).last().fill(tokenOf(server, "read"));
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByText("Nothing here yet").waitFor();
    await page.locator(".live.on").waitFor();
    // A browser sends no token when a link is followed; what is saved is had all the same.
    const giving = tokenOf(server, "ingest");
    for (const [name, text] of server.demo()) assert.ok((await fetch(`${server.base}/v1/ingest?name=${encodeURIComponent(name)}`, { method: "POST", body: text, headers: { authorization: `Bearer ${giving}` } })).ok);
    await page.locator(".session-row .row-title", { hasText: "coupons" }).click();
    await page.locator(".tree-row.step").first().click();
    await page.getByRole("tab", { name: "Records" }).click();
    const saved = async (click) => {
      const [download] = await Promise.all([page.waitForEvent("download"), click()]);
      return readFileSync(await download.path(), "utf8");
    };
    for (const name of ["Open raw", "Save"]) assert.equal(JSON.parse(await saved(() => page.getByRole("button", { name, exact: true }).first().click())).sessionId, DEMO);
    await page.keyboard.press("x");
    const flow = page.getByRole("row", { name: /^json / }).getByRole("button", { name: "flow", exact: true });
    assert.equal(JSON.parse(await saved(() => flow.click())).schema, "unspool.flow/1");
    await close();
  } finally {
    await server.stop();
  }
});

test("a stream that breaks is told, and nothing is lost", async () => {
  const server = await Server.start();
  try {
    const { page, close } = await open(browser, server.base);
    await page.goto(server.base);
    await page.locator(".live.on").waitFor();
    let isBroken = true;
    await page.route("**/api/v1/live*", (route) => (isBroken ? route.abort() : route.continue()));
    await page.reload();
    await page.locator(".live.off").waitFor();
    isBroken = false;
    await page.locator(".live.on").waitFor();
    for (const [name, text] of server.demo()) await server.put(name, text);
    await page.locator(".session-row .row-title", { hasText: "coupons" }).waitFor();
    await close();
  } finally {
    await server.stop();
  }
});

test("what the server does not answer while one looks holds nothing else up, is told, and is asked for once more", async () => {
  const server = await Server.start();
  try {
    const [first, ...others] = server.demo().sort(([a], [b]) => a.length - b.length);
    await server.put(...first);
    const { id, steps } = await server.session(DEMO, 1);
    const { page, wrong, close } = await open(browser, server.base);
    await page.clock.install();
    await page.goto(`${server.base}/sessions/${id}`);
    await page.locator(".tree-row.step").first().waitFor();
    await page.locator(".live.on").waitFor();
    let hung = 0;
    await page.route("**/timeline?*", () => void (hung += 1));
    for (const file of others) await server.put(...file);
    await server.session(DEMO, steps + 1);
    await until(() => hung > 0, "the timeline is looked at again");
    await page.clock.runFor(31_000);
    await page.locator(".live.off", { hasText: "slow" }).waitFor();
    assert.match(await page.locator(".live.off").getAttribute("title"), /1 view .*max_look_again_ms/);
    const now = (await server.json(`/api/v1/sessions/${id}/numbers`)).totals.steps;
    await page.locator(".fact", { hasText: "steps" }).getByText(String(now), { exact: true }).waitFor();
    await page.unroute("**/timeline?*");
    await page.clock.runFor(6_000);
    await page.locator(".live.on").waitFor();
    assert.deepEqual(wrong, []);
    await close();
  } finally {
    await server.stop();
  }
});
