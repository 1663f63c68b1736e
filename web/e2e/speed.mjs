// How fast the page is with a large session, in Chromium. In: UNSPOOL_BIN, and how many steps. Out: figures. It asserts nothing.
import { launch, open, Server } from "./harness.mjs";
import { records, SESSION } from "./records.mjs";

const steps = Number(process.argv[2] ?? 100_000);
const FRAMES = 120;

const PIECE_BYTES = 16 << 20;

async function feed(server) {
  let piece = [];
  let bytes = 0;
  let n = 0;
  const send = async () => {
    if (piece.length > 0) await server.put(`big/${SESSION}-${n++}.jsonl`, piece.join("\n"));
    [piece, bytes] = [[], 0];
  };
  for (const record of records(steps)) {
    const line = JSON.stringify(record);
    piece.push(line);
    if ((bytes += line.length) > PIECE_BYTES) await send();
  }
  await send();
  const end = Date.now() + 600_000;
  for (;;) {
    const { sessions } = await server.json("/api/v1/sessions?sort=steps&limit=1");
    if (sessions[0]?.steps >= steps) return sessions[0];
    if (Date.now() > end) throw new Error(`only ${sessions[0]?.steps} steps after ten minutes`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Does something every frame and says how long the frames were. */
async function frames(page, work) {
  const deltas = await page.evaluate(async ([source, count]) => {
    const act = new Function(`return (${source})`)();
    const deltas = [];
    let last = await new Promise(requestAnimationFrame);
    for (let n = 0; n < count; n += 1) {
      act(n);
      const now = await new Promise(requestAnimationFrame);
      deltas.push(now - last);
      last = now;
    }
    return deltas;
  }, [work.toString(), FRAMES]);
  deltas.sort((a, b) => a - b);
  const median = deltas[deltas.length >> 1];
  return `median ${median.toFixed(1)} ms (${Math.round(1000 / median)} fps), p95 ${deltas[Math.floor(deltas.length * 0.95)].toFixed(1)} ms, longest ${deltas.at(-1).toFixed(1)} ms`;
}

const say = (name, text) => console.log(`${name.padEnd(34)} ${text}`);

const server = await Server.start();
const browser = await launch();
try {
  const began = Date.now();
  const session = await feed(server);
  say("steps, agents", `${session.steps}, ${session.agents} (taken in and linked in ${((Date.now() - began) / 1000).toFixed(1)} s)`);
  const { page, close } = await open(browser, server.base, { viewport: { width: 1600, height: 900 }, bypassCSP: true });
  const url = `${server.base}/sessions/${session.id}`;
  await page.goto(url);
  await page.locator(".tree-row.step").first().waitFor();
  for (const [name, ready] of [["first bars and rows", ".tree-row.step"]]) {
    const start = Date.now();
    await page.goto(url);
    await Promise.all([page.locator(ready).first().waitFor(), page.getByRole("img", { name: /Timeline/ }).waitFor()]);
    say(name, `${Date.now() - start} ms`);
  }
  await page.locator(".split-legend b").first().waitFor({ timeout: 120_000 });
  const answers = {};
  for (const [name, path] of [["timeline", `/timeline?px=1000`], ["tree", "/tree?from=0&to=200"], ["path", "/path"], ["line", "/line"], ["numbers", "/numbers"], ["runs", "/runs"]]) {
    const start = Date.now();
    const { byteLength } = await (await fetch(`${server.base}/api/v1/sessions/${session.id}${path}`, { headers: { "accept-encoding": "identity" } })).arrayBuffer();
    answers[name] = `${Date.now() - start} ms, ${(byteLength / 1e6).toFixed(2)} MB`;
  }
  say("answers of the server", JSON.stringify(answers));
  const at = "const c = document.querySelector('.timeline canvas'); const r = c.getBoundingClientRect();";
  say("timeline, zooming in and out", await frames(page, `(n) => { ${at} c.dispatchEvent(new WheelEvent('wheel', { deltaY: n % 60 < 30 ? -120 : 120, clientX: r.left + r.width / 2, clientY: r.top + 80, cancelable: true })); }`));
  say("timeline, moving", await frames(page, `(n) => { ${at} if (n < 3) c.dispatchEvent(new WheelEvent('wheel', { deltaY: -600, clientX: r.left + 500, clientY: r.top + 80, cancelable: true })); c.dispatchEvent(new WheelEvent('wheel', { deltaX: n % 60 < 30 ? 40 : -40, shiftKey: true, clientX: r.left + 500, clientY: r.top + 80, cancelable: true })); }`));
  await page.getByRole("button", { name: "Open all" }).click();
  await page.waitForFunction((steps) => Number(document.querySelector(".tree .list")?.getAttribute("aria-rowcount")) >= steps / 2, session.steps);
  say("tree, scrolling", await frames(page, "(n) => { document.querySelector('.tree .list').scrollTop += n * 40; }"));
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  say("heap", `${(usedSize / 1e6).toFixed(0)} MB`);
  const { sessions: [hits] } = await server.json(`/api/v1/query?q=is:error&session=${session.id}&limit=3`);
  const start = Date.now();
  await page.goto(`${url}?step=${hits.steps[1].id}`);
  await page.locator(".detail .failed-box").waitFor();
  say("a deep link to a step", `${Date.now() - start} ms`);
  const chosen = Date.now();
  await page.keyboard.press("Escape");
  await page.locator(".tree-row.step").nth(4).click();
  await page.locator(".tree-row.is-selected").waitFor();
  say("a click lights the row", `${Date.now() - chosen} ms`);
  await close();
} finally {
  await browser.close();
  await server.stop();
}
