// Lists: sessions by every filter, what was odd, files that are dropped, what can be typed, and the palette.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { browser, filesBelow, open, page, param, Server, server, testPage, until, violations } from "./harness.mjs";

const ODD = "0dd00000-0000-4000-8000-000000000001";
let shop, odd;

const line = (fields) => JSON.stringify(fields);
const user = (uuid, at, content, more = {}) => line({ type: "user", sessionId: ODD, uuid, timestamp: `2026-11-15T20:0${at}:00Z`, cwd: "/home/sam/odd", message: { role: "user", content }, ...more });

/** A session with a call that was never answered for, a result nobody asked for, a type nobody knows and a line that is torn. */
function oddSession() {
  const call = { type: "tool_use", id: "toolu_odd", name: "Agent", input: { description: "Look around", subagent_type: "Explore", prompt: "Look around" } };
  return [
    user("o1", 0, "Something odd happens here"),
    line({ type: "assistant", sessionId: ODD, uuid: "o2", parentUuid: "o1", timestamp: "2026-11-15T20:01:00Z", message: { id: "msg_odd", role: "assistant", model: "claude-opus-4-7", content: [call], usage: { input_tokens: 10, output_tokens: 5 } } }),
    user("o3", 2, [{ type: "tool_result", tool_use_id: "toolu_gone", content: "what?" }], { parentUuid: "o2" }),
    line({ type: "mystery-type", sessionId: ODD, uuid: "o4", parentUuid: "o3", timestamp: "2026-11-15T20:03:00Z" }),
    '{"torn',
  ].join("\n");
}

/** A session of its own that one hook event tells of. */
const hook = (name, at = 1_763_000_000) => `${line({ hook_event_name: "UserPromptSubmit", ts: at, session_id: name, prompt: `Prompt of ${name}`, cwd: "/home/sam/hooked" })}\n`;

testPage({
  async prepare() {
    server.demo();
    for (const path of filesBelow(`${server.folder}/demo`)) await server.put(path.slice(server.folder.length + 6), readFileSync(path));
    await server.put("odd.jsonl", oddSession());
    await server.put("newer.json", '{"schema": "unspool.flow/99", "sessions": []}');
    await server.session("5e55a9e0-0c0a-4b0d-9d3e-0000000000d0", 41);
    odd = await server.session(ODD, 4);
    [shop] = (await server.json("/api/v1/sessions?title=checkout")).sessions;
  },
});

const shownIds = () => page.locator(".list .row-title").evaluateAll((all) => all.map((one) => one.getAttribute("href").split("/").pop()));
const ids = async (query) => (await server.json(`/api/v1/sessions?${query}`)).sessions.map(({ id }) => id);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

test("every filter offers what there is and leaves what it says", async () => {
  const { facets } = await server.json("/api/v1/facets");
  const all = await ids("");
  for (const [label, name] of [["Status", "status"], ["Written by", "format"], ["Agent", "agent"], ["Model", "model"], ["Project", "cwd"]]) {
    const { value, sessions } = facets.find((facet) => facet.name === name).values.at(-1);
    await page.goto(server.base);
    const pick = page.getByLabel(label, { exact: true });
    await until(async () => (await pick.locator(`option[value="${value}"]`).textContent().catch(() => "")).endsWith(`(${sessions})`), `${label} offers ${value}`);
    await pick.selectOption(value);
    await until(() => param(name) === value, `${name} is in the address`);
    const meant = await ids(`${name}=${encodeURIComponent(value)}`);
    await until(async () => same(await shownIds(), meant), `${name}=${value}`);
    assert.equal(meant.length, sessions);
  }
  for (const [label, query] of [["with errors", "errors=true"], ["issues", "issues=true"], ["incomplete", "gaps=true"]]) {
    await page.goto(server.base);
    await page.getByLabel(label, { exact: true }).check();
    const meant = await ids(query);
    assert.ok(meant.length > 0 && meant.length < all.length, query);
    await until(async () => same(await shownIds(), meant), query);
  }
  await page.goto(server.base);
  await page.getByLabel("Cost", { exact: true }).selectOption("0.1");
  const dear = await ids("min_cost=0.1");
  assert.ok(dear.length > 0 && dear.length < all.length);
  await until(async () => same(await shownIds(), dear), "cost");
  await page.getByRole("button", { name: "Clear", exact: true }).click();
  await until(async () => same(await shownIds(), all), "all again");
});

test("every order is that of the server, also the other way round", async () => {
  for (const [head, sort] of [["Took", "duration"], ["Sub-agents", "subagents"], ["Issues", "issues"], ["Cost", "cost"]]) {
    await page.goto(server.base);
    await page.getByRole("button", { name: head, exact: true }).click();
    const down = await ids(`sort=${sort}`);
    await until(async () => same(await shownIds(), down), sort);
    await page.getByRole("button", { name: `${head} ↓`, exact: true }).click();
    await until(async () => same(await shownIds(), down.toReversed()), `${sort} ascending`);
  }
});

test("filters and order are in the address, and come back from it", async () => {
  const query = "?agent=Explore&errors=true&min_cost=0.2&sort=steps&order=asc&since=2020-01-01T00%3A00%3A00Z";
  await page.goto(server.base + query);
  const meant = await ids(query.slice(1));
  assert.ok(meant.length > 0);
  for (const look of [() => {}, () => page.reload()]) {
    await look();
    await until(async () => same(await shownIds(), meant), "the sessions of the address");
    assert.equal(await page.getByLabel("Agent", { exact: true }).inputValue(), "Explore");
    assert.equal(await page.getByLabel("Cost", { exact: true }).inputValue(), "0.2");
    assert.ok(await page.getByLabel("with errors").isChecked());
    await page.getByRole("button", { name: "Steps ↑" }).waitFor();
  }
  await page.locator(".list .row-title").first().click();
  await page.locator(".session-head h1").waitFor();
  await page.goBack();
  await until(async () => same(await shownIds(), meant), "the way back");
});

test("a line has its activity, and a mark when something is missing", async () => {
  await page.goto(server.base);
  const row = page.locator(".session-row", { has: page.locator(`a[href="/sessions/${odd.id}"]`) });
  const path = await row.locator(".spark path").getAttribute("d");
  assert.equal(path.split("M").length - 1, odd.activity.filter((share) => share > 0).length);
  assert.match(await row.locator(".gaps").getAttribute("aria-label"), /call is not among the records read/);
  const whole = page.locator(".session-row", { has: page.locator(`a[href="/sessions/${shop.id}"]`) });
  await whole.waitFor();
  assert.equal(await whole.locator(".gaps").count(), 0);
});

test("the badge leads to the issues of the session, and those to the step", async () => {
  await page.goto(server.base);
  await page.getByRole("link", { name: `${odd.issues} issues` }).click();
  await until(() => param("session") === odd.id, "the issues of the session");
  await page.locator(".chip", { hasText: odd.title }).waitFor();
  assert.equal(await page.locator(".sample").count(), odd.issues);
  await page.locator(".edge", { hasText: "spawn unlinked" }).getByRole("button", { name: "record", exact: true }).click();
  await until(() => param("step") !== null, "the step is chosen");
  await page.getByRole("complementary", { name: "Step" }).getByText("Agent").first().waitFor();
});

test("what is odd in records of no session is listed by source, with the record", async () => {
  await page.goto(`${server.base}/issues`);
  const issue = page.locator(".edge", { hasText: "schema unknown" });
  await issue.getByText("1 in records of no session").waitFor();
  const href = await issue.getByRole("link", { name: "record" }).getAttribute("href");
  assert.equal(await (await fetch(server.base + href)).text(), '{"schema": "unspool.flow/99", "sessions": []}');
  await page.getByRole("rowheader", { name: "upload" }).getByRole("button").click();
  await until(() => param("source") === "upload", "only that source");
  await page.getByLabel("Issue", { exact: true }).selectOption("schema_unknown");
  await until(async () => (await page.locator(".edge").count()) === 1, "only that issue");
  await page.getByRole("button", { name: /No longer only issue/ }).click();
  await until(async () => (await page.locator(".edge").count()) > 1, "all again");
  await page.getByLabel("also what only informs").check();
  await page.locator(".edge .tag", { hasText: "info" }).first().waitFor();
  assert.equal(await page.locator(".issues .edges").first().evaluate((list) => list.scrollHeight > list.clientHeight + 1), false, "the page scrolls, not a box in it");
});

/** Drops a file as a browser does. */
async function drop(name, text, on = page) {
  const data = await on.evaluateHandle(([file, content]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([content], file));
    return transfer;
  }, [name, text]);
  await on.dispatchEvent("body", "dragover", { dataTransfer: data });
  await on.locator(".drop-veil").waitFor();
  await on.dispatchEvent("body", "drop", { dataTransfer: data });
}

test("a file that is dropped opens, also on a session; one that nobody knows says so", async () => {
  await page.goto(server.base);
  await page.locator(".list").waitFor();
  await drop("given.jsonl", hook("dropped-1"));
  await page.locator(".session-head h1", { hasText: "Prompt of dropped-1" }).waitFor();
  await page.locator(".uploads", { hasText: "read as" }).waitFor();
  await drop("again.jsonl", hook("dropped-2"));
  await page.locator(".session-head h1", { hasText: "Prompt of dropped-2" }).waitFor();
  await drop("odd.bin", "no format has this");
  await page.locator(".uploads .errors").waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  assert.equal(await page.locator(".uploads").count(), 0);
});

test("a server with nothing says what to do next, and a dropped file opens there, too", async () => {
  const empty = await Server.start();
  try {
    const own = await open(browser, empty.base);
    const { page } = own;
    await page.goto(empty.base);
    const start = page.getByRole("region", { name: "What to do next" });
    await start.getByText(`unspool hooks install --server ${new URL(empty.base).host}`).waitFor();
    await start.getByText("unspool otel-env").waitFor();
    await start.getByText("--no-watch").waitFor();
    assert.equal(await start.getByRole("button", { name: "Copy" }).count(), 3);
    assert.deepEqual(await violations({ of: page }), []);
    await drop("first.jsonl", hook("the-first"), page);
    await page.locator(".session-head h1", { hasText: "Prompt of the-first" }).waitFor();
    assert.deepEqual(own.wrong, []);
    await own.close();
  } finally {
    await empty.stop();
  }
});

test("fields and values are offered, and taken by keys", async () => {
  await page.goto(`${server.base}/sessions/${shop.id}`);
  const box = page.getByRole("combobox", { name: "Filter steps" });
  const current = () => page.locator(".offers li.current code").textContent();
  await box.click();
  assert.equal(await box.getAttribute("aria-expanded"), "false");
  await page.keyboard.type("ag");
  await until(async () => (await box.getAttribute("aria-expanded")) === "true", "offers are open");
  assert.equal(await current(), "agent:");
  await page.keyboard.press("Tab");
  assert.equal(await box.inputValue(), "agent:");
  const { fields } = await server.json(`/api/v1/sessions/${shop.id}/values`);
  const agents = fields.find(({ field }) => field === "agent").values.map(({ value }) => value);
  await until(async () => same(await page.locator(".offers li code").allTextContents(), agents), "the agents of this session");
  await page.keyboard.press("ArrowDown");
  assert.equal(await current(), agents[1]);
  assert.equal(await box.getAttribute("aria-activedescendant"), "query-offer-1");
  await page.keyboard.press("Enter");
  assert.equal(await box.inputValue(), `agent:${agents[1]} `);
  await until(() => param("q")?.trim() === `agent:${agents[1]}`, "the query is in the address");
  await page.locator(".filter-note", { hasText: /\d+ steps/ }).waitFor();
  await page.keyboard.type("is:er");
  await until(async () => (await current().catch(() => "")) === "error", "a mark is offered");
  assert.deepEqual(await violations({ within: ".filter" }), []);
  await page.keyboard.press("Escape");
  await page.getByRole("listbox", { name: "What can be typed" }).waitFor({ state: "detached" });
  await page.locator(".hint", { hasText: "knows no `er`" }).waitFor();
  assert.equal(await box.inputValue(), `agent:${agents[1]} is:er`);
});

test("what is wrong in a query is underlined where it stands, with a hint", async () => {
  await page.goto(`${server.base}/sessions/${shop.id}?q=${encodeURIComponent("🙂 or toll:Bash")}`);
  await page.locator(".underline u", { hasText: /^toll$/ }).waitFor();
  await page.locator(".filter-note.errors", { hasText: "did you mean `tool`?" }).waitFor();
  const [mark, box] = await Promise.all([page.locator(".underline u").boundingBox(), page.getByLabel("Filter steps").boundingBox()]);
  assert.ok(mark.x > box.x + 20 && mark.x + mark.width < box.x + box.width, `${mark.x} in ${box.x}`);
});

test("what is typed right behind the key that opens the palette is in it", async () => {
  await page.goto(server.base);
  await page.locator(".session-row .row-title").first().waitFor();
  const focused = await page.evaluate(async () => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
    // Before the browser has another turn, in which the next key could come.
    for (let n = 0; n < 20; n += 1) await null;
    return document.activeElement?.getAttribute("aria-label");
  });
  assert.equal(focused, "Find anything");
  await page.keyboard.type("bash");
  assert.equal(await page.getByLabel("Find anything").last().inputValue(), "bash");
});

test("the palette finds an agent by some letters, and what was chosen lately comes first", async () => {
  const { agents } = await server.json(`/api/v1/sessions/${shop.id}/values`);
  const agent = agents.find(({ name }) => name === "Read pricing history");
  await page.goto(`${server.base}/sessions/${shop.id}`);
  await page.locator(".session-head h1").waitFor();
  const find = async (text) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find anything" }).fill(text);
  };
  await find("rdpric");
  await page.getByRole("option", { name: /agent Explore: Read pricing history/ }).waitFor();
  await page.keyboard.press("Enter");
  await until(() => param("step") === agent.first_step, "the agent's first step");
  await page.keyboard.press("Control+k");
  await page.locator(".palette-list li").first().getByText("Read pricing history").waitFor();
  await page.keyboard.press("Escape");
  await find("thgraph");
  await page.locator(".palette-list li.current", { hasText: "Show the graph" }).waitFor();
  await page.keyboard.press("Enter");
  await until(() => param("view") === "graph", "a command by some letters");
  await find("tool:Bash");
  await page.getByRole("option", { name: /step Bash/ }).first().waitFor();
});

test("a finding is found by its words", async () => {
  const [row] = (await server.json("/api/v1/sessions?title=handbook")).sessions;
  const { sessions: [{ findings: [finding] }] } = await server.json(`/api/v1/sessions/${row.id}/findings`);
  await page.goto(`${server.base}/sessions/${row.id}`);
  await page.locator(".session-head h1").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find anything" }).fill(finding.title.slice(0, 12));
  await page.getByRole("option", { name: finding.title }).first().click();
  await until(() => param("step") === finding.step_ids[0], "the first step of the finding");
});

test("the sheet has every key of commands, lists and offers", async () => {
  const sheet = page.getByRole("dialog", { name: "Keys" });
  const seen = new Set();
  for (const [address, headings] of [[server.base, ["The list of sessions"]], [`${server.base}/sessions/${shop.id}`, ["The timeline", "The tree"]], [`${server.base}/sessions/${shop.id}?view=graph`, ["The graph"]]]) {
    await page.goto(address);
    await page.locator(".list, canvas").first().waitFor();
    await page.keyboard.press("?");
    for (const heading of ["Everywhere here", "Offers while typing", ...headings]) await sheet.getByRole("heading", { name: heading }).waitFor();
    for (const title of await sheet.locator("dd").allTextContents()) seen.add(title);
  }
  assert.ok(seen.size > 45, `${seen.size}`);
});

test("while somebody reads further down, nothing moves; a button says what came", async () => {
  const names = Array.from({ length: 60 }, (_, n) => `many-${n}`);
  await server.put("many.jsonl", names.map((name, n) => hook(name, 1_764_000_000 + n)).join(""));
  await server.session("many-59", 1);
  await page.goto(server.base);
  await page.getByText("Prompt of many-59").waitFor();
  await page.locator(".list").evaluate((list) => list.scrollTo(0, 1000));
  await until(async () => !(await page.getByText("Prompt of many-59").isVisible()), "further down");
  const place = async () => (await page.getByRole("link", { name: "Prompt of many-30", exact: true }).boundingBox()).y;
  const before = await place();
  await server.put("later.jsonl", hook("later-1", 1_765_000_000));
  await page.getByRole("button", { name: "1 new session: show" }).waitFor();
  assert.equal(await place(), before);
  await page.getByRole("button", { name: "1 new session: show" }).click();
  await until(async () => (await shownIds()).length > 0 && (await server.session("later-1", 1)) !== undefined, "it is in the list");
});

test("by keys: down, what was odd, and back to the same line", async () => {
  await page.goto(`${server.base}/?issues=true`);
  await page.getByRole("link", { name: odd.title }).waitFor();
  await page.locator(".list").focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await page.keyboard.press("i");
  await until(() => param("session") !== null, "issues of that session");
  await page.goBack();
  await page.locator(".session-row.current").waitFor();
});

test("a list that cannot be had says so and can be tried again; one that is there stays", async () => {
  let isBroken = true;
  await page.route("**/api/v1/sessions?*", (route) => (isBroken ? route.abort() : route.continue()));
  await page.goto(server.base);
  await page.getByRole("alert").getByText("the server cannot be reached").waitFor();
  isBroken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: shop.title }).waitFor();
  isBroken = true;
  await page.getByRole("button", { name: "Steps" }).click();
  await page.getByText("What is shown may be old").waitFor();
  assert.ok((await shownIds()).length > 0);
});
