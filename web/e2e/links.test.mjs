// What people say about links: confirmed, denied, taken back, added, refused; and all views follow.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { browser, filesBelow, open, page, server, testPage, until, violations } from "./harness.mjs";

let id, guess, detail;

testPage({
  async prepare() {
    const folder = join(server.folder, "demo");
    server.unspool("demo", "--write", folder);
    for (const path of filesBelow(join(folder, "support"))) await server.put(relative(folder, path), readFileSync(path, "utf8"));
    id = await until(async () => (await server.json("/api/v1/sessions")).sessions[0]?.id, "the session");
    const { edges } = await until(async () => {
      const flow = await server.json(`/api/v1/sessions/${id}`);
      return flow.edges.some((edge) => edge.kind === "subagent_spawn") && flow;
    }, "its agents");
    guess = edges.find((edge) => edge.kind === "subagent_spawn");
    assert.equal(guess.inferred, true);
  },
  async open() {
    await page.goto(`${server.base}/sessions/${id}?step=${guess.to}`);
    detail = page.getByRole("complementary", { name: "Step" });
    await detail.getByRole("tab", { name: "Why" }).click();
  },
});

const spawns = async () => (await server.json(`/api/v1/sessions/${id}`)).edges.filter((edge) => edge.kind === "subagent_spawn" && edge.to === guess.to);
const act = (name) => detail.getByRole("button", { name, exact: true }).first();
const agentRow = () => page.locator(".tree-row.agent").filter({ hasText: "returns-desk" });

/** What a report says about the same step, opened from the disk without a network. */
async function reported(of) {
  const folder = mkdtempSync(join(tmpdir(), "unspool-said-"));
  try {
    const file = join(folder, "said.html");
    writeFileSync(file, await (await fetch(`${server.base}/api/v1/sessions/${id}/report`)).text());
    const report = await open(browser, "file:", { offline: true });
    await report.page.goto(`${pathToFileURL(file).href}#/sessions/${id}?step=${guess.to}`);
    const told = report.page.getByRole("complementary", { name: "Step" });
    await told.getByRole("tab", { name: "Why" }).click();
    await of(told, report.page);
    assert.deepEqual(report.wrong, []);
    await report.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("what was said is in a report, too, where nothing more can be said", async () => {
  await detail.getByLabel("Your name").fill("Ada");
  await detail.getByLabel("Your name").press("Tab");
  await act("Confirm").click();
  await detail.getByText("Confirmed").waitFor();
  await reported(async (told, page) => {
    await told.getByText("Confirmed").waitFor();
    await told.getByText("by Ada", { exact: false }).first().waitFor();
    await told.getByText("declared", { exact: true }).first().waitFor();
    assert.equal(await page.locator(".tree-row.agent").filter({ hasText: "returns-desk" }).getByText("inferred").count(), 0);
    for (const name of ["Confirm", "Deny", "Undo"]) assert.equal(await told.getByRole("button", { name, exact: true }).count(), 0, name);
  });
  await act("Undo").click();
  await detail.getByText("Confirmed").waitFor({ state: "detached" });
});

test("a guess that is confirmed is declared in all views, and is a guess again when that is taken back", async () => {
  await agentRow().getByText("inferred").waitFor();
  await detail.getByLabel("Your name").fill("Ada");
  await detail.getByLabel("Your name").press("Tab");
  await act("Confirm").focus();
  await page.keyboard.press("Enter");
  await detail.getByText("Confirmed").waitFor();
  await detail.getByText("by Ada", { exact: false }).first().waitFor();
  await detail.getByText("before: spawn-prompt", { exact: false }).waitFor();
  await detail.getByText("declared", { exact: true }).first().waitFor();
  await agentRow().getByText("inferred").waitFor({ state: "detached" });
  assert.deepEqual((await spawns()).map((edge) => [edge.rule, edge.confidence]), [["manual", 1]]);
  assert.deepEqual(await violations({ within: ".detail", rules: null }), []);
  await act("Undo").click();
  await act("Confirm").waitFor();
  await agentRow().getByText("inferred").waitFor();
  assert.deepEqual((await spawns()).map((edge) => edge.rule), ["spawn-prompt"]);
});

test("a guess that is denied is gone, and back when that is taken back", async () => {
  await act("Deny").click();
  await detail.getByText("Denied").waitFor();
  assert.deepEqual(await spawns(), []);
  await page.getByRole("link", { name: "Graph" }).or(page.getByRole("tab", { name: "Graph" })).first().click();
  await detail.getByText("Denied").waitFor();
  await act("Undo").click();
  await act("Confirm").waitFor();
  assert.equal((await spawns()).length, 1);
});

test("a link is added by clicking its other end, and refused when it makes a circle", async () => {
  await detail.getByRole("button", { name: "Add a link…" }).click();
  await detail.getByLabel("This step").selectOption("cause");
  const later = page.locator(".tree-row.step").last();
  await later.click();
  await detail.locator(".chosen").waitFor();
  assert.equal(new URL(page.url()).searchParams.get("step"), guess.to, "the step that is looked at stays");
  await detail.getByLabel("Note").fill("I saw it");
  await act("Add").click();
  await detail.locator(".note").getByText("I saw it").waitFor();
  await detail.getByText("Added").waitFor();
  await act("Undo").click();
  await detail.locator(".note").getByText("I saw it").waitFor({ state: "detached" });

  await detail.getByRole("button", { name: "Add a link…" }).click();
  await detail.getByLabel("The other step").fill("kind:user");
  await detail.getByLabel("Steps found").getByRole("button").first().click();
  await act("Add").click();
  await detail.getByRole("alert").filter({ hasText: "circle" }).waitFor();
  await act("Cancel").click();
  await detail.getByRole("button", { name: "Add a link…" }).waitFor();
});
