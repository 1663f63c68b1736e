// What the proxy could not record is told wherever somebody is; what the client asked for itself is hidden, counted, and shown when asked for.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { launch, open, Server, until, violations } from "./harness.mjs";

const LIMIT = 4_000;
let server, proxy, upstream, browser;

/** An API that answers every request at once. */
function startUpstream() {
  const answer = (asked) => ({ id: `msg_${Math.random().toString(36).slice(2)}`, type: "message", role: "assistant", model: "claude-sonnet-4-5", content: [{ type: "text", text: asked.includes("quota") ? "#" : "Done." }], stop_reason: "end_turn", usage: { input_tokens: 9, output_tokens: 2 } });
  const one = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => response.setHeader("content-type", "application/json").end(JSON.stringify(request.url.includes("count_tokens") ? { input_tokens: 9 } : answer(body))));
  });
  return new Promise((resolve) => one.listen(0, "127.0.0.1", () => resolve(one)));
}

async function ask(session, messages, more = {}, path = "/v1/messages") {
  const headers = { "content-type": "application/json", "x-claude-code-session-id": session };
  const response = await fetch(proxy + path, { method: "POST", headers, body: JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 100, messages, ...more }) });
  assert.equal(response.status, 200);
  return response.json();
}

const user = (content) => ({ role: "user", content });
const lost = async () => Object.values((await server.json("/api/v1/health")).proxy.lost).reduce((sum, one) => sum + one, 0);

before(async () => {
  upstream = await startUpstream();
  server = await Server.start("--proxy-listen", "127.0.0.1:0", "--upstream", `api=http://127.0.0.1:${upstream.address().port}`, "--max-recorded-body-bytes", String(LIMIT));
  proxy = `http://${(await server.json("/api/v1/health")).proxy.address}`;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  upstream?.close();
});

/** A page of its own, in which nothing may go wrong. */
async function at(path, use) {
  const { page, wrong, close } = await open(browser, server.base);
  try {
    await page.goto(server.base + path);
    await use(page);
    assert.deepEqual(wrong, []);
  } finally {
    await close();
  }
}

const notices = (page) => page.getByRole("status", { name: "Notices" });

test("what could not be recorded is told where somebody is, as it happens, until it is put away", async () => {
  await at("/", async (page) => {
    await page.getByText("live", { exact: true }).waitFor();
    assert.equal((await notices(page).innerText()).trim(), "");
    await ask("loss", [user("x".repeat(2 * LIMIT))]);
    await until(async () => (await lost()) === 1, "the loss is counted");
    await notices(page).getByText("1 exchange was not recorded, or not whole").first().waitFor();
    assert.deepEqual(await violations({ of: page }), []);
    // The counts by reason are a key away.
    await notices(page).locator("summary").focus();
    await page.keyboard.press("Enter");
    const row = notices(page).getByRole("row", { name: /max_recorded_body_bytes/ });
    await row.waitFor();
    assert.equal((await row.locator("td").first().innerText()).trim(), "1");
    assert.deepEqual(await violations({ of: page }), []);
    await page.goto(`${server.base}/usage`);
    await notices(page).getByText("1 exchange was not recorded").first().waitFor();
    const { sessions } = await server.json("/api/v1/sessions?native_id=loss");
    await page.goto(`${server.base}/sessions/${sessions[0].id}?view=tree`);
    await notices(page).getByText("1 exchange was not recorded").first().waitFor();
    await notices(page).getByRole("button", { name: "Dismiss" }).press("Enter");
    await until(async () => (await notices(page).innerText()).trim() === "", "it is gone");
    await page.goto(`${server.base}/issues`);
    await page.getByRole("heading", { name: "What the server says" }).waitFor();
    await page.getByRole("region", { name: "What the server says" }).getByText("1 exchange was not recorded").waitFor();
    assert.equal((await notices(page).innerText()).trim(), "", "what was put away is remembered");
    // It says something else: it is told again, by the live stream.
    await ask("loss", [user("y".repeat(2 * LIMIT))]);
    await notices(page).getByText("2 exchanges were not recorded, or not whole").first().waitFor();
  });
});

test("timeline, graph and workflow hide what the client asked for itself, count it, and show it when asked to", async () => {
  await ask("own", [user("quota")], { max_tokens: 1 });
  await ask("own", [user("Fix it")], { system: "You help.", tools: [{ name: "Bash", input_schema: {} }] });
  await ask("own", [user("Fix it")], {}, "/v1/messages/count_tokens");
  await ask("own", [user("Fix it"), { role: "assistant", content: "Done." }, user("Your task is to create a detailed summary of the conversation so far.")], { system: "You help.", tools: [{ name: "Bash", input_schema: {} }] });
  const { id } = await until(async () => {
    const found = (await server.json("/api/v1/sessions?native_id=own")).sessions[0];
    const told = found && (await server.json(`/api/v1/query?q=request:compaction&session=${found.id}`)).sessions[0]?.steps;
    return told?.length === 1 && (await server.json(`/api/v1/sessions/${found.id}/timeline`)).internal_steps === 2 && found;
  }, "four requests");
  await at(`/sessions/${id}`, async (page) => {
    const canvas = page.getByLabel(/^Timeline: /);
    const own = page.getByLabel(/client's own/);
    await page.getByText("(2 hidden)").waitFor();
    const bars = (await canvas.getAttribute("aria-label")).match(/\d+/)[0];
    await own.check();
    await until(async () => (await canvas.getAttribute("aria-label")).startsWith(`Timeline: ${Number(bars) + 2} steps`), "two bars more");
    assert.equal(new URL(page.url()).searchParams.get("full"), "true");
    await page.reload();
    await page.getByText("(2)", { exact: true }).waitFor();
    assert.ok(await own.isChecked(), "the address says so");
    // A compaction is told from other model calls.
    await page.getByRole("treegrid").getByText("compaction", { exact: true }).first().click();
    await page.getByRole("complementary", { name: "Step" }).getByRole("button", { name: "compaction" }).waitFor();
    await page.getByRole("button", { name: "Open internal quota" }).click();
    await page.getByRole("treegrid").getByText("quota", { exact: true }).first().waitFor();
    assert.deepEqual(await violations({ of: page }), []);
    for (const view of ["graph", "workflow"]) {
      await page.goto(`${server.base}/sessions/${id}?view=${view}`);
      await page.getByText("(2 hidden)").waitFor();
      const nodes = async () => Number((await page.getByText(/\d+ nodes?, \d+ edges?$/).innerText()).match(/\d+/)[0]);
      const usual = await nodes();
      await own.check();
      await page.getByText("(2)", { exact: true }).waitFor();
      await until(async () => (await nodes()) > usual, `more nodes in the ${view}`);
    }
  });
});
