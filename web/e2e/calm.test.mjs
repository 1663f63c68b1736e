// Who wants no motion sees none: nothing blinks, flies or grows frame by frame. Each is tried with motion, too, so that a test that sees nothing is found.
import assert from "node:assert/strict";
import { test } from "node:test";
import { failing, page, param, picture, putDemo, putRunning, server, session, testPage, until } from "./harness.mjs";

let running;

testPage({
  prepare: async () => {
    await putDemo();
    running = await putRunning();
  },
});

/** How many pictures a canvas shows, one after the other. */
const pictures = (canvas, ms) => canvas.evaluate((one, duration) => new Promise((resolve) => {
  const seen = [];
  const end = performance.now() + duration;
  const look = () => {
    const now = one.toDataURL();
    if (now !== seen.at(-1)) seen.push(now);
    if (performance.now() < end) requestAnimationFrame(look);
    else resolve(seen.length);
  };
  requestAnimationFrame(look);
}), ms);

const moving = () => page.evaluate(() => document.getAnimations().length);
/** Style that is changed little by little, anywhere. */
const gradual = () => page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => getComputedStyle(one).transitionDuration.split(", ").some((time) => parseFloat(time) > 0) || getComputedStyle(one).scrollBehavior === "smooth").length);

for (const reducedMotion of ["reduce", "no-preference"]) {
  const isCalm = reducedMotion === "reduce";
  const name = isCalm ? "without motion" : "with motion";

  test(`${name}: what runs, and what is under way`, async () => {
    await page.emulateMedia({ reducedMotion });
    await page.goto(server.base);
    await page.locator(".status-running").first().waitFor();
    assert.equal((await moving()) === 0, isCalm, "the mark of what runs");
    assert.equal(await gradual(), 0);
    await page.route("**/timeline?*", () => {});
    await page.goto(session("", running.id));
    await page.locator(".skeleton").first().waitFor();
    assert.equal((await moving()) === 0, isCalm, "what stands for what is under way");
    assert.equal(await gradual(), 0);
  });

  test(`${name}: a step that is found in the graph`, async () => {
    await page.emulateMedia({ reducedMotion });
    await page.goto(session("?view=graph"));
    await picture();
    const seen = pictures(page.locator(".graph canvas").first(), 1_500);
    await page.keyboard.press("e");
    await until(() => param("step") === failing.id, "the next error is chosen");
    // There at once; what led to it is lit when that is known.
    assert.equal((await seen) <= 4, isCalm, `${await seen} pictures`);
  });

  test(`${name}: what grows`, async () => {
    await page.emulateMedia({ reducedMotion });
    await page.goto(session("", running.id));
    await page.getByRole("img", { name: /Timeline/ }).waitFor();
    await page.locator(".tree-row.step").first().waitFor();
    const seen = await pictures(page.locator(".timeline .above"), 2_500);
    assert.equal(seen <= 5, isCalm, `${seen} pictures`);
    assert.ok(seen > 1, "it grows all the same");
  });
}
