// The numbers of a session, its runs, its tree by keyboard, a step whole, preferences: as a person uses them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fitted } from "../src/logic/camera.ts";
import { demo, detail, failing, page, param, putDemo, server, session, testPage, until, violations } from "./harness.mjs";

const BIG = "b16b00b5-0000-4000-8000-000000000010";
let big;

/** A session whose one call printed more than ten megabytes, then edited a file and was compacted. */
function bigSession() {
  const lines = [];
  let parent = null;
  const add = (fields) => {
    const n = String(lines.length + 1).padStart(2, "0");
    const uuid = `b16b00b5-0000-4000-8000-0000000001${n}`;
    lines.push(JSON.stringify({ parentUuid: parent, isSidechain: false, userType: "external", cwd: "/home/sam/shop", sessionId: BIG, version: "2.1.0", uuid, timestamp: `2026-10-12T10:00:${n}.000Z`, ...fields }));
    parent = uuid;
  };
  const model = (id, content, usage) => add({ type: "assistant", message: { id, type: "message", role: "assistant", model: "claude-opus-4-7", content, usage } });
  const output = Array.from({ length: 220_000 }, (_, n) => `line ${n}: the quick brown fox jumps over the lazy dog`).join("\n");
  add({ type: "user", message: { role: "user", content: "Print the big log" } });
  model("msg_big1", [{ type: "tool_use", id: "toolu_big1", name: "Bash", input: { command: "cat big.log" } }], { input_tokens: 100, output_tokens: 20 });
  add({ type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_big1", content: output }] } });
  model("msg_big2", [{ type: "tool_use", id: "toolu_big2", name: "Edit", input: { file_path: "/home/sam/shop/cart.ts", old_string: "total = round(total)\nreturn total", new_string: "return total" } }], { input_tokens: 90_000, output_tokens: 20 });
  add({ type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_big2", content: "The file was changed." }] } });
  add({ type: "system", subtype: "compact_boundary", content: "Conversation compacted", compactMetadata: { trigger: "manual", preTokens: 90_100 } });
  add({ type: "user", message: { role: "user", content: "And now a short one" } });
  model("msg_big3", [{ type: "text", text: "Done: **cart.ts** is shorter." }], { input_tokens: 2_000, output_tokens: 5 });
  return lines.join("\n");
}

testPage({
  options: { permissions: ["clipboard-read", "clipboard-write"] },
  async prepare() {
    await putDemo();
    await server.put("shop/big.jsonl", bigSession());
    big = await server.session(BIG, 6);
  },
});

const step = async (query, id) => (await server.json(`/api/v1/query?q=${encodeURIComponent(query)}&session=${id}`)).sessions[0].steps[0].id;

test("the head tells state, time, tokens and cost by bucket, and what it rests on", async () => {
  const { totals, buckets, completeness } = await server.json(`/api/v1/sessions/${demo.id}/numbers`);
  await page.goto(session());
  await page.locator(".session-head .status").waitFor();
  await page.getByRole("img", { name: /^Time: model/ }).waitFor();
  const tokens = page.getByRole("img", { name: /^Tokens:/ });
  const told = await tokens.getAttribute("aria-label");
  for (const { name, tokens: n } of buckets) if (n > 0) assert.ok(told.includes(name.replace("_", " ")), name);
  assert.ok(totals.cost_usd > 0 && told.includes("$"));
  const gaps = page.locator(".session-head .gaps");
  assert.match(await gaps.locator("summary").textContent(), new RegExp(`${completeness.inferred} inferred · ${completeness.estimated} estimated`));
  await gaps.locator("summary").click();
  await gaps.getByText("begins estimated").waitFor();
  await gaps.getByRole("button", { name: "show them" }).last().click();
  assert.equal(param("q"), "is:estimated");
  await gaps.locator("summary").click();
  await gaps.locator("summary").click();
  await gaps.getByRole("button", { name: "Issues of all sessions" }).click();
  await until(() => new URL(page.url()).pathname === "/issues", "the issues");
});

test("runs are swim-lanes; one is looked at alone, with its records and files", async () => {
  const { runs } = await server.json(`/api/v1/sessions/${demo.id}/runs`);
  await page.goto(session("?view=runs"));
  await page.locator(".run").nth(runs.length - 1).waitFor();
  assert.equal(await page.locator(".run").count(), runs.length);
  assert.equal(await page.locator(".run").first().locator(".swim-name").count(), runs[0].lanes.length);
  assert.equal(await page.locator(".run").first().locator(".chip").count(), runs[0].steps.length);
  assert.equal(await page.locator(".run").first().locator("path.way-subagent_spawn").count(), runs[0].arrows.filter(({ kind }) => kind === "subagent_spawn").length);
  const links = await page.locator(".run-tools").first().locator("a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  const [d2, thoughts] = await Promise.all(links.map((link) => fetch(server.base + link)));
  assert.match(await d2.text(), /->/);
  assert.equal((await thoughts.json()).runs.length, 1);
  await page.locator(".run-title").first().click();
  await until(() => param("run") === "1", "one run");
  const row = page.locator(".alone .tree-row.step", { hasText: failing.name }).first();
  await page.locator(".alone .chip.failed").first().click();
  assert.equal(await page.evaluate(() => new URLSearchParams(location.search).get("step")), failing.id);
  await row.waitFor();
  await page.locator(".alone .tree-row.is-selected .link").click();
  await detail().getByText("claude-code-transcript").first().waitFor();
  await page.getByRole("button", { name: "Run after" }).click();
  await until(() => param("run") === "2", "the next run");
  let letGo;
  const held = new Promise((resolve) => (letGo = resolve));
  await page.route("**/runs?*", async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  assert.equal(await page.getByLabel("Part of the first").locator("option:checked").textContent(), "one run");
  letGo();
  // Which run it is comes with an answer of its own.
  await until(async () => (await page.getByLabel("Part of the first").inputValue()) === "1", "the run before");
  await page.getByLabel("Part of the first").selectOption("2");
  await page.getByText("Nothing differs.").waitFor();
});

test("tables sort, lead to steps, and have what the server counted", async () => {
  const { tools, models } = await server.json(`/api/v1/sessions/${demo.id}/numbers`);
  await page.goto(session("?view=stats"));
  const table = page.getByRole("table", { name: "Tools" });
  await table.waitFor();
  const names = () => table.getByRole("rowheader").allTextContents();
  assert.deepEqual(await names(), tools.rows.map(({ name }) => name));
  await table.getByRole("button", { name: "p90" }).click();
  const slowest = tools.rows.toSorted((a, b) => b.p90_ms - a.p90_ms)[0].name;
  assert.equal((await names())[0], slowest);
  assert.equal(await table.locator("th[aria-sort=descending]").textContent(), "p90 ▾");
  await table.getByRole("button", { name: "tool" }).click();
  assert.deepEqual(await names(), tools.rows.map(({ name }) => name).toSorted((a, b) => a.localeCompare(b)));
  assert.deepEqual((await page.getByRole("table", { name: "Models" }).getByRole("rowheader").allTextContents()).toSorted(), models.rows.map(({ name }) => name).toSorted());
  await table.getByRole("button", { name: "Bash" }).click();
  assert.equal(param("q"), 'tool:"Bash"');
  await page.locator(".filter-note", { hasText: /\d+ step/ }).waitFor();
});

test("contexts grow, are compacted, and lead to their calls", async () => {
  await page.goto(session("?view=stats", big.id));
  const { context } = await server.json(`/api/v1/sessions/${big.id}/numbers`);
  assert.equal(context.agents[0].compactions.length, 1);
  await page.getByRole("img", { name: /Tokens in the context/ }).waitFor();
  assert.equal(await page.locator(".growth-cut").count(), 1);
  await page.locator(".growth-agents").getByRole("button", { name: /^compaction/ }).click();
  await until(() => param("step") === context.agents[0].compactions[0].step_id, "the compaction is chosen");
  await page.locator(".growth-agents li").first().getByRole("button").first().click();
  const peak = context.agents[0].points.find(({ tokens }) => tokens === context.agents[0].peak_tokens);
  await until(() => param("step") === peak.step_id, "the fullest call is chosen");
});

test("the tree opens what did most of the work, filters by agent and lights the way up", async () => {
  await page.goto(session("?view=tree"));
  await page.getByRole("button", { name: /^Open Explore/ }).first().waitFor();
  assert.equal(await page.getByRole("button", { name: /^Close Explore/ }).count(), 0);
  await page.getByRole("button", { name: "Open all" }).click();
  await page.getByRole("button", { name: /^Close Explore/ }).first().waitFor();
  await page.getByRole("button", { name: "Busiest" }).click();
  await until(async () => (await page.getByRole("button", { name: /^Close Explore/ }).count()) === 0, "closed again");
  const inner = await step("agent:test-runner tool:Bash", demo.id);
  await page.goto(session(`?view=tree&step=${inner}`));
  await page.locator(".tree-row.is-selected").waitFor();
  await page.locator(".tree-row.agent.is-above", { hasText: "test-runner" }).waitFor();
  await page.locator(".tree-row.agent.is-above", { hasText: "main" }).waitFor();
  await page.getByLabel("Agent", { exact: true }).selectOption({ label: "test-runner (1)" });
  await until(async () => (await page.locator(".tree-row.agent").count()) === 1, "one agent");
  assert.match(await page.locator(".tree-row.agent").textContent(), /test-runner.*4 steps.*tok/);
  await page.getByLabel("only errors and what led to them").check();
  await until(() => param("errors") === "true", "the address says so");
  await page.reload();
  await until(async () => (await page.getByLabel("Agent", { exact: true }).inputValue()) === "test-runner", "the agent is the one of the address");
  assert.equal(await page.getByLabel("only errors and what led to them").isChecked(), true);
  await page.goBack();
  await until(async () => !(await page.getByLabel("only errors and what led to them").isChecked()), "the way back");
  assert.equal(param("agent"), "test-runner");
});

test("the tools of the tree take one line, however agents are called", async () => {
  await page.route("**/timeline?*", async (route) => {
    const response = await route.fetch();
    const doc = await response.json();
    for (const { agents } of doc.lanes) for (const agent of agents) agent.detail = "a task that somebody described with very many words";
    await route.fulfill({ response, json: doc });
  });
  await page.goto(session("?view=tree"));
  await page.getByLabel("Agent").locator("option", { hasText: "very many words" }).first().waitFor({ state: "attached" });
  const tops = await page.locator(".tree .tools > *").evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().height > 0).map((one) => one.getBoundingClientRect()).map(({ top, height }) => top + height / 2));
  assert.ok(Math.max(...tops) - Math.min(...tops) < 10, `${tops}`);
});

test("the tree by keyboard is a treegrid", async () => {
  await page.goto(session("?view=tree"));
  const grid = page.getByRole("treegrid", { name: "Steps" });
  await grid.locator(".tree-row.step").first().waitFor();
  await grid.focus();
  const active = () => grid.getAttribute("aria-activedescendant");
  await page.keyboard.press("Home");
  await until(async () => (await active()) === "tree-0", "the first row");
  await page.keyboard.press("ArrowLeft");
  await until(async () => (await page.locator(".tree-row.step").count()) === 0, "the main agent is closed");
  await page.keyboard.press("ArrowRight");
  await grid.locator(".tree-row.step").first().waitFor();
  await page.keyboard.press("ArrowRight");
  await until(() => param("step") !== null, "the first step is chosen");
  const first = param("step");
  await page.keyboard.press("ArrowDown");
  await until(() => param("step") !== first, "the next");
  await page.keyboard.press("ArrowLeft");
  await until(async () => (await active()) === "tree-0", "the agent around it");
  await page.keyboard.press("*");
  await page.getByRole("button", { name: /^Close Explore/ }).first().waitFor();
  assert.ok(Number(await grid.getAttribute("aria-rowcount")) >= demo.steps);
  assert.equal(await grid.locator('[role="row"][aria-level="1"][aria-expanded="true"]').count(), 1);
});

test("keys go on from where they led, also while a chosen step is looked for", async () => {
  await page.goto(session("?view=tree"));
  const grid = page.getByRole("treegrid", { name: "Steps" });
  await grid.locator(".tree-row.step").first().waitFor();
  await grid.focus();
  await page.keyboard.press("Home");
  const held = [];
  await page.route("**/tree?*find=*", (route) => void held.push(route));
  await page.keyboard.press("ArrowDown");
  await until(() => held.length > 0, "the step is looked for");
  await page.keyboard.press("ArrowLeft");
  const active = () => grid.getAttribute("aria-activedescendant");
  await until(async () => (await active()) === "tree-0", "the agent around it");
  const heard = page.waitForResponse(/find=/);
  await Promise.all(held.map((route) => route.continue()));
  await heard;
  await page.locator(".tree-row.agent.is-above").first().waitFor();
  assert.equal(await active(), "tree-0");
});

test("an edit is a diff; ids and Markdown are copied; raw opens", async () => {
  await page.goto(session(`?view=tree&step=${await step("tool:Edit", big.id)}`, big.id));
  await detail().locator(".diff-removed", { hasText: "total = round(total)" }).waitFor();
  await detail().getByText("/home/sam/shop/cart.ts").first().waitFor();
  await detail().getByRole("button", { name: "Copy Markdown" }).click();
  const copied = await until(() => page.evaluate(() => navigator.clipboard.readText()), "the clipboard");
  assert.match(copied, /^\*\*Edit\*\*[^]*```diff\n-total = round\(total\)/);
  await detail().getByRole("button", { name: "Copy id" }).click();
  await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === param("step"), "the id");
  await detail().getByRole("tab", { name: /Records/ }).click();
  await detail().getByRole("button", { name: "with what was made of it" }).first().click();
  await detail().locator(".beside .fields", { hasText: "toolu_big2" }).first().waitFor();
  const raw = await detail().getByRole("link", { name: "Open raw" }).first().getAttribute("href");
  const answer = await fetch(server.base + raw);
  assert.match(answer.headers.get("content-type"), /^text\/plain/);
  assert.ok((await answer.text()).includes("toolu_big2"));
});

test("why a step is linked: rule, confidence and evidence", async () => {
  const { edges_in: [edge] } = await server.json(`/api/v1/sessions/${demo.id}/steps/${failing.id}`);
  await page.goto(session(`?view=tree&step=${failing.id}`));
  await detail().getByRole("tab", { name: "Why" }).click();
  await detail().getByText(`rule ${edge.rule} · confidence ${edge.confidence}`).first().waitFor();
  await detail().getByText(edge.evidence[0].slice(0, 9)).first().waitFor();
  const call = await step("kind:model_call", demo.id);
  const { why_counted: why } = await server.json(`/api/v1/sessions/${demo.id}/steps/${call}`);
  await page.goto(session(`?view=tree&step=${call}`));
  await detail().getByText("Why these tokens are counted").click();
  await detail().getByText(why[0]).waitFor();
});

test("ten megabytes of output do not freeze the page", async () => {
  await page.goto(session(`?view=tree&step=${await step("tool:Bash", big.id)}`, big.id));
  await detail().getByText("line 0: the quick brown fox").first().waitFor();
  await detail().getByRole("tab", { name: /Records/ }).click();
  await page.evaluate(() => {
    globalThis.longest = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((one) => (globalThis.longest = Math.max(globalThis.longest, one.duration)))).observe({ type: "longtask" });
  });
  await detail().getByRole("button", { name: "Show all of it" }).click();
  const whole = detail().locator(".long").last();
  await until(async () => (await whole.locator(".piece").count()) > 600, "all of it");
  await whole.evaluate((box) => (box.scrollTop = box.scrollHeight / 2));
  await detail().getByRole("tab", { name: "What" }).click();
  await detail().getByText("line 0: the quick brown fox").first().waitFor();
  const longest = await page.evaluate(() => globalThis.longest);
  assert.ok(longest < 500, `the page stood still for ${Math.round(longest)} ms`);
});

test("a workflow is of chosen runs, counts its instances, and can be of a project", async () => {
  await page.goto(session("?view=workflow"));
  const canvas = page.getByRole("img", { name: /nodes/ });
  await canvas.waitFor();
  await page.locator(".runs-choice summary").click();
  await page.locator(".runs-choice label").nth(1).click();
  await until(() => param("runs") === "2", "run 2");
  const part = await server.json(`/api/v1/sessions/${demo.id}/graph?view=workflow&run=2`);
  await page.getByText(`${part.nodes.length} nodes, ${part.edges.length} edges`).waitFor();
  await page.locator(".runs-choice").getByRole("button", { name: "All runs" }).click();
  await page.locator(".runs-choice summary").click();
  const graph = await server.json(`/api/v1/sessions/${demo.id}/graph?view=workflow`);
  await page.getByText(`${graph.nodes.length} nodes, ${graph.edges.length} edges`).waitFor();
  const node = graph.nodes.find((one) => one.step_ids.length > 2 && one.totals.usage);
  const box = await canvas.boundingBox();
  const camera = fitted(graph, box.width, box.height);
  const [x, y] = [box.x + camera.x + (node.place.x + node.place.width / 2) * camera.zoom, box.y + camera.y + (node.place.y + node.place.height / 2) * camera.zoom];
  await page.mouse.move(x, y);
  const tip = page.locator(".node-tip");
  await tip.getByText(`1/${node.step_ids.length}`).first().waitFor();
  for (const word of ["model", "status", "tokens"]) await tip.getByText(word, { exact: true }).waitFor();
  await page.mouse.click(x, y);
  await until(() => param("step") === node.step_ids[0], "the first instance");
  await page.mouse.click(x, y);
  await until(() => param("step") === node.step_ids[1], "the second instance");
  await page.mouse.move(x + 2, y + 2);
  await tip.getByText(`2/${node.step_ids.length}`).first().waitFor();
  await page.getByLabel("Of what").selectOption("project");
  const process = await server.json(`/api/v1/sessions/${demo.id}/graph?view=process&project=true`);
  await page.getByText(`${process.nodes.length} nodes, ${process.edges.length} edges`).waitFor();
});

test("preferences are kept: density, theme, first view, arrows", async () => {
  await page.goto(server.base);
  await page.getByRole("link", { name: demo.title }).waitFor();
  await page.keyboard.press(",");
  const dialog = page.getByRole("dialog", { name: "Preferences" });
  await dialog.getByLabel("compact").check();
  await dialog.getByLabel("dark").check();
  await dialog.getByLabel("tree").check();
  await dialog.getByLabel("errors").uncheck();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: demo.title }).click();
  await page.getByRole("tab", { name: "tree", selected: true }).waitFor();
  assert.equal(param("view"), "tree");
  await page.reload();
  const { theme, density } = await page.evaluate(() => ({ ...document.documentElement.dataset }));
  assert.deepEqual([theme, density], ["dark", "compact"]);
  await page.locator(".tree-row").first().waitFor();
  assert.ok((await page.locator(".tree-row").first().boundingBox()).height < 24);
  await page.keyboard.press("1");
  assert.equal(await page.getByLabel("errors", { exact: true }).isChecked(), false);
  await page.keyboard.press(",");
  await dialog.getByRole("button", { name: "As at first" }).click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.density), "comfortable");
});

test("a replay is followed by the head, the tree, the runs and the numbers", async () => {
  await page.goto(session("?view=runs"));
  await page.locator(".chip").first().waitFor();
  const steps = page.locator(".session-head .fact", { hasText: "steps" }).locator("dd");
  await until(async () => (await steps.textContent()) === String(demo.steps), "all steps");
  await page.getByRole("button", { name: /Replay/ }).click();
  await page.getByLabel("Speed").selectOption("1");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByLabel("Moment").fill("10000");
  const { totals } = await server.json(`/api/v1/sessions/${demo.id}/numbers?until_ms=10000`);
  assert.ok(totals.steps < demo.steps);
  await until(async () => (await steps.textContent()) === String(totals.steps), "the steps so far");
  await page.locator(".chip.is-later").first().waitFor();
  await page.getByRole("tab", { name: "stats" }).click();
  await page.getByText("Played up to +10 s").waitFor();
  await page.getByRole("button", { name: "End the replay" }).click();
  await until(async () => (await steps.textContent()) === String(demo.steps), "all steps again");
});

test("anybody can use them: no violation of WCAG 2 A and AA", async () => {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const [query, seen, key] of [["?view=runs", ".chip", ""], [`?view=runs&run=1&step=${failing.id}`, ".detail .part", ""], [`?view=tree&step=${failing.id}`, ".tree-row.is-selected", ""], ["?view=workflow", "canvas", ""], ["?view=stats", ".growth-line", ","]]) {
      await page.goto(session(query));
      await page.locator(seen).first().waitFor();
      if (key !== "") await page.keyboard.press(key);
      assert.deepEqual(await violations(), [], `${query} ${colorScheme}`);
    }
  }
});

test("what cannot be had is said where it would be", async () => {
  await page.route("**/numbers*", (route) => route.fulfill({ status: 500, contentType: "application/json", body: JSON.stringify({ error: { code: "failed", message: "the numbers are gone" } }) }));
  await page.route("**/runs?*", (route) => route.abort());
  await page.goto(session("?view=stats"));
  await page.getByRole("alert").getByText("the numbers are gone").waitFor();
  await page.getByRole("tab", { name: "runs" }).click();
  await page.getByRole("alert").getByText("the server cannot be reached").waitFor();
  await page.goto(session("?view=runs&run=99"));
  await page.getByRole("alert").first().waitFor();
});
