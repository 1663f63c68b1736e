// Who has never seen it: from `unspool demo` to which sub-agent failed and why, with clicks and seconds counted.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, Server } from "./harness.mjs";

const MOST_CLICKS = 3;
const MOST_SECONDS = 10;

let server, browser, started;

before(async () => {
  started = performance.now();
  server = await Server.startDemo();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Counts every press of a button of the mouse, whatever it hits. */
const countPresses = () => {
  const count = () => sessionStorage.setItem("presses", String(Number(sessionStorage.getItem("presses") ?? 0) + 1));
  addEventListener("pointerdown", count, true);
};

const seconds = (since) => (performance.now() - since) / 1000;

test("which sub-agent failed, why, and why it is believed: in three clicks and ten seconds", async (t) => {
  const { page, wrong, close } = await open(browser, server.base);
  await page.addInitScript(countPresses);
  const clicks = () => page.evaluate(() => Number(sessionStorage.getItem("presses") ?? 0));
  const begun = performance.now();
  await page.goto(server.base);

  // The list says which session failed.
  const failedRow = page.locator(".session-row", { has: page.locator(".status-failed") }).first();
  await failedRow.getByRole("link").first().click();

  // The session says which of its agents failed, below whom, at what and why.
  const told = page.getByRole("complementary", { name: "What failed" });
  const nested = told.getByRole("listitem").filter({ hasText: "started by" }).first();
  await nested.locator(".trouble-why").waitFor();
  const id = new URL(page.url()).pathname.split("/").pop();
  const { agents } = await server.json(`/api/v1/sessions/${id}/trouble`);
  const { agent, above, worst, started_by: start, link } = agents.find((one) => one.started_by);
  const said = await nested.innerText();
  for (const words of [agent.label, ...above.map((outer) => outer.label), worst.step.label, worst.error, start.label]) assert.ok(said.includes(words), `${words}: ${said}`);
  assert.notEqual(agent.label, "main");
  const [known, inPage] = [await clicks(), seconds(begun)];

  // One click more says why that is believed, with both ends by name.
  await nested.getByRole("button", { name: "why linked" }).click();
  const panel = page.getByRole("complementary", { name: "Link" });
  const { ends, sections } = await server.json(`/api/v1/sessions/${id}/explain/${link}`);
  for (const end of ends) await panel.getByRole("button", { name: `${end.label} #${end.seq}` }).waitFor();
  await panel.getByText(sections[0].lines[0]).waitFor();
  // The failed step itself is a click away, too.
  await page.keyboard.press("Escape");
  await nested.getByRole("button", { name: new RegExp(`#${worst.step.seq}$`) }).first().click();
  await page.getByRole("complementary", { name: "Step" }).getByText("Failed.").waitFor();

  const [all, took] = [await clicks(), seconds(begun)];
  t.diagnostic(`which and why: ${known} click, ${inPage.toFixed(1)} s; with both ends of the link and the failed step: ${all} clicks, ${took.toFixed(1)} s; from \`unspool demo\`: ${seconds(started).toFixed(1)} s`);
  assert.equal(known, 1);
  assert.ok(all <= MOST_CLICKS, `${all} clicks`);
  assert.ok(took < MOST_SECONDS, `${took} s`);
  assert.deepEqual(wrong, []);
  await close();
});
