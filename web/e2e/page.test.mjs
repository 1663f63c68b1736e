// The page as a person uses it: find what failed, read why, share it, watch it change.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fitted } from "../src/logic/camera.ts";
import { anotherDemo, DEMO, demo, failing, filesBelow, page, param, putDemo, server, session, shown, testPage, until, violations } from "./harness.mjs";
import { barPlace, timelinePlaces } from "./places.mjs";

testPage({ prepare: putDemo });

test("from the list to the failing step, and why it is linked", async () => {
  await page.goto(server.base);
  await page.getByRole("link", { name: demo.title }).click();
  await page.getByRole("heading", { name: demo.title }).waitFor();
  await page.keyboard.press("e");
  const detail = page.getByRole("complementary", { name: "Step" });
  await detail.getByText("Failed.").waitFor();
  assert.equal(param("step"), failing.id);
  await page.locator(".tree-row.is-selected").waitFor();
  await detail.getByRole("tab", { name: "Why" }).click();
  await detail.getByRole("heading", { name: "What led to it", level: 3 }).waitFor();
  const { edges_in: [cause] } = await server.json(`/api/v1/sessions/${demo.id}/steps/${failing.id}`);
  await detail.getByText(cause.rule_sentence).first().waitFor();
  await detail.locator(".edge .link").first().click();
  await until(() => param("step") === cause.from, "the cause is chosen");
  await detail.getByRole("tab", { name: /Records/ }).click();
  await detail.getByText("claude-code-transcript").first().waitFor();
});

test("who has never seen it: which sub-agent failed, why, and who started it", async () => {
  const folder = join(server.folder, "demo");
  for (const path of filesBelow(join(folder, "ledger"))) await server.put(relative(folder, path), readFileSync(path));
  const ledger = await until(async () => (await server.json("/api/v1/sessions?status=failed")).sessions.find((one) => one.subagents > 1), "the session with agents in agents");
  await page.goto(server.base);
  await page.getByRole("link", { name: ledger.title }).click();
  const failed = page.getByRole("complementary", { name: "What failed" });
  const { agents } = await server.json(`/api/v1/sessions/${ledger.id}/trouble`);
  const { agent, above, worst, started_by: start, link } = agents.find((one) => one.above.length > 1);
  for (const outer of above) await failed.getByText(outer.label, { exact: false }).first().waitFor();
  await failed.getByText(agent.label, { exact: true }).first().waitFor();
  await failed.getByText(worst.error).first().waitFor();
  await failed.getByRole("listitem").filter({ hasText: worst.error }).getByRole("button", { name: "why linked" }).last().click();
  await until(() => param("edge") === link, "the link that starts the agent");
  const explained = await server.json(`/api/v1/sessions/${ledger.id}/explain/${link}`);
  await page.getByRole("complementary", { name: "Link" }).getByText(explained.sections[0].lines[0]).waitFor();
  await page.keyboard.press("Escape");
  await failed.getByRole("button", { name: new RegExp(`#${start.seq}$`) }).first().click();
  await until(() => param("step") === start.id, "who started it");
  await page.keyboard.press("Escape");
  await failed.getByRole("button", { name: new RegExp(`#${worst.step.seq}$`) }).first().click();
  await page.getByRole("complementary", { name: "Step" }).getByText("Failed.").waitFor();
});

test("search and filters of the list", async () => {
  await page.goto(server.base);
  await page.getByLabel("Search words in sessions").fill("nothing is called so");
  await shown("No session matches");
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByRole("link", { name: demo.title }).waitFor();
  await page.getByLabel("with errors").check();
  await until(() => param("errors") === "true", "the filter is in the address");
  await page.getByRole("link", { name: demo.title }).waitFor();
});

test("a deep link is the whole state, and the way back works", async () => {
  await page.goto(session(`?view=graph&step=${failing.id}&level=agent`));
  await page.getByRole("tab", { name: "graph", exact: false, selected: true }).waitFor();
  await page.getByRole("complementary", { name: "Step" }).getByText("Failed.").waitFor();
  assert.equal(await page.getByRole("button", { name: "agent", pressed: true }).count(), 1);
  const url = page.url();
  await page.getByRole("tab", { name: "stats" }).click();
  await shown("Where the time went");
  await page.goBack();
  await page.getByRole("tab", { name: "graph", selected: true }).waitFor();
  assert.equal(page.url(), url);
  await page.goBack();
  await page.goForward();
  await page.reload();
  await page.getByRole("complementary", { name: "Step" }).getByText("Failed.").waitFor();
  assert.equal(page.url(), url);
});

test("the timeline zooms at the pointer, a click chooses a bar, and the address remembers", async () => {
  await page.goto(session());
  const { data: { span_ns: span, bars } } = await timelinePlaces();
  const bar = bars.find((one) => one.step_id === failing.id);
  const { x, y } = await barPlace(failing.id);
  await page.mouse.click(x, y);
  await until(() => param("step") === failing.id, "the bar is chosen");
  await page.mouse.wheel(0, -600);
  await until(() => param("from") !== null, "the zoom is in the address");
  const [from, to] = [Number(param("from")), Number(param("to"))];
  const middle = (bar.from_ns + bar.to_ns) / 2e6;
  assert.ok(from < middle && middle < to && to - from < span / 1e6, `${from} ${middle} ${to}`);
  await page.getByRole("button", { name: "Whole session" }).click();
  await until(() => param("from") === null, "the whole is shown");
});

test("choosing a step asks for that step and its chain, and for nothing else again", async () => {
  await page.goto(session("?view=graph"));
  await page.getByRole("img", { name: /nodes/ }).waitFor();
  await page.locator(".split-legend b").first().waitFor();
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.keyboard.press("e");
  await page.getByRole("complementary", { name: "Step" }).getByText("Failed.").waitFor();
  assert.deepEqual(asked.filter((path) => /\/(graph|timeline|path|line)$/.test(path)), []);
});

test("arrows are hidden and stay hidden", async () => {
  await page.goto(session());
  await page.getByLabel("answers").uncheck();
  await page.reload();
  assert.equal(await page.getByLabel("answers").isChecked(), false);
});

test("a query filters every view, and a wrong one says where", async () => {
  await page.goto(session());
  await page.getByLabel("Filter steps").fill("tool:Bash");
  await page.locator(".filter-note", { hasText: /\d+ steps/ }).waitFor();
  await page.locator(".tree-row.is-dim").first().waitFor();
  await page.getByLabel("Filter steps").fill("tool:Bash and (");
  await page.locator(".filter-note.errors", { hasText: "letter" }).waitFor();
  await page.getByLabel("Filter steps").fill("");
  await until(async () => (await page.locator(".tree-row.is-dim").count()) === 0, "nothing is dimmed");
});

test("agents close and open", async () => {
  await page.goto(session("?view=tree"));
  await page.locator(".tree-row.step").first().waitFor();
  await page.getByRole("button", { name: "Close agents" }).click();
  await page.getByRole("button", { name: /^Open Explore/ }).first().click();
  await page.getByRole("button", { name: /^Close Explore/ }).first().waitFor();
  await page.getByRole("button", { name: "Open all" }).click();
  await until(async () => (await page.getByRole("button", { name: /^Open Explore/ }).count()) === 0, "all are open");
});

test("a workflow's node goes through its steps", async () => {
  await page.goto(session("?view=workflow"));
  const canvas = page.getByRole("img", { name: /nodes/ });
  const box = await until(() => canvas.boundingBox(), "the canvas");
  const graph = await server.json(`/api/v1/sessions/${demo.id}/graph?view=workflow`);
  const node = graph.nodes.find((one) => one.step_ids.length > 2);
  const camera = fitted(graph, box.width, box.height);
  const [x, y] = [box.x + camera.x + (node.place.x + node.place.width / 2) * camera.zoom, box.y + camera.y + (node.place.y + node.place.height / 2) * camera.zoom];
  const seen = new Set();
  for (const expected of node.step_ids.slice(0, 3)) {
    await page.mouse.click(x, y);
    await until(() => param("step") === expected, "the next step is chosen");
    seen.add(param("step"));
  }
  assert.equal(seen.size, 3);
});

test("what happens elsewhere is seen while looking", async () => {
  await page.goto(server.base);
  await page.getByRole("link", { name: demo.title }).waitFor();
  const lines = anotherDemo("e1").trim().split("\n");
  await server.put("shop/live.jsonl", `${lines.slice(0, 6).join("\n")}\n`);
  const first = await server.session(`${DEMO.slice(0, -2)}e1`, 1);
  await page.locator(`a[href="/sessions/${first.id}"]`).click();
  const steps = page.locator(".session-head .fact", { hasText: "steps" }).locator("dd");
  await until(async () => (await steps.textContent()) === String(first.steps), "the steps so far");
  await server.put("shop/live.jsonl", lines.join("\n"));
  const all = await server.session(`${DEMO.slice(0, -2)}e1`, first.steps + 1);
  await until(async () => Number(await steps.textContent()) >= all.steps, "the new steps");
});

test("a file that is given is read", async () => {
  await page.goto(server.base);
  await page.locator('input[type="file"]').setInputFiles({ name: "given.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(anotherDemo("f2")) });
  await shown("read as claude-code-transcript");
  const row = await server.session(`${DEMO.slice(0, -2)}f2`, 1);
  await page.locator(`a[href="/sessions/${row.id}"]`).waitFor();
  await page.locator('input[type="file"]').setInputFiles({ name: "odd.bin", mimeType: "x", buffer: Buffer.from("no format has this") });
  await page.locator(".uploads .errors").waitFor();
});

test("a session is played along its time, and all views follow", async () => {
  await page.goto(session("?view=tree"));
  await page.locator(".tree-row.step").first().waitFor();
  await page.getByRole("button", { name: /Replay/ }).click();
  await page.getByLabel("Speed").selectOption("1");
  await page.getByLabel("Moment").fill("1000");
  await page.locator(".tree-row.is-later").first().waitFor();
  const moment = async () => Number(await page.getByLabel("Moment").inputValue());
  await page.getByLabel("Speed").selectOption("300");
  await until(async () => (await moment()) > 60_000, "time goes on");
  await page.getByRole("button", { name: "End the replay" }).click();
  await until(async () => (await page.locator(".tree-row.is-later").count()) === 0, "all is shown again");
});

test("two sessions are compared", async () => {
  await server.put("shop/other.jsonl", anotherDemo("a3").replaceAll("npm test -- pricing", "npm test"));
  const other = await server.session(`${DEMO.slice(0, -2)}a3`, 10);
  await page.goto(session());
  await page.getByRole("button", { name: "Compare…" }).click();
  await page.getByRole("dialog", { name: "Compare" }).getByRole("button", { name: other.title }).first().click();
  await page.locator(".diff-row").first().waitFor();
  assert.equal(param("b"), other.id);
  await page.locator(".diff-step").first().click();
  await page.locator(".session-head h1").waitFor();
});

test("what was odd is listed, and what became of the records", async () => {
  await page.goto(`${server.base}/issues`);
  await shown("What became of every record");
  await page.getByRole("rowheader", { name: "upload" }).waitFor();
});

test("everything by keyboard", async () => {
  await page.goto(server.base);
  await page.getByRole("link", { name: demo.title }).waitFor();
  await page.locator(".list").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".session-head h1").waitFor();
  await page.keyboard.press("2");
  await page.getByRole("tab", { name: "tree", selected: true }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await page.getByLabel("Find anything").last().fill(demo.title);
  await page.getByRole("option", { name: demo.title }).first().waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("is:error");
  await page.locator(".filter-note").waitFor();
});

test("every export can be had", async () => {
  await page.goto(session());
  await page.getByRole("button", { name: "Export…" }).click();
  await page.getByRole("dialog", { name: "Export" }).locator("a").first().waitFor();
  const links = await page.getByRole("dialog", { name: "Export" }).locator("a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  assert.ok(links.length > 20);
  for (const link of links) assert.equal((await fetch(server.base + link)).status, 200, link);
});

test("no session, no step: said, with a way on", async () => {
  await page.goto(`${server.base}/sessions/x00000000000000000000000000000000`);
  await shown("there is no session");
  await page.getByRole("button", { name: "All sessions" }).click();
  await page.getByRole("link", { name: demo.title }).waitFor();
});

test("anybody can use it: no violation of WCAG 2 A and AA", async () => {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const path of ["/", `/sessions/${demo.id}?step=${failing.id}`, `/sessions/${demo.id}?view=graph`, `/sessions/${demo.id}?view=stats`, "/issues", `/diff?a=${demo.id}&b=${demo.id}`]) {
      await page.goto(server.base + path);
      await page.locator(".list, .stats, canvas, .diff-head").first().waitFor();
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      assert.deepEqual(await violations(), [], `${path} ${colorScheme}`);
    }
  }
});
