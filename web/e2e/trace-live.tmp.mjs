import { goOn } from "./big.mjs"; import { launch, open, Server } from "./harness.mjs";
const pause = (ms) => new Promise((r) => setTimeout(r, ms));
const server = await Server.start(); const browser = await launch();
const which = process.argv[2] ?? ""; const rounds = Number(process.argv[3] ?? 3);
try {
  const stop = await goOn(server, "live_1", 200);
  let s; do { await pause(300); s = (await server.json("/api/v1/sessions?native_id=live_1")).sessions[0]; } while (!(s?.steps >= 50));
  const { page } = await open(browser, server.base, { viewport: { width: 1600, height: 900 }, bypassCSP: true });
  await page.goto(`${server.base}/sessions/${s.id}${which}`); await page.locator("canvas").first().waitFor(); await pause(1000);
  for (let r = 0; r < rounds; r += 1) {
    const cdp = await browser.newBrowserCDPSession(); const events = [];
    cdp.on("Tracing.dataCollected", ({ value }) => events.push(...value));
    await cdp.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["devtools.timeline", "v8", "blink.user_timing", "toplevel", "cc", "viz", "benchmark", "disabled-by-default-v8.gc"] } });
    const deltas = await page.evaluate(async () => { const d = []; let last = await new Promise(requestAnimationFrame); for (let n = 0; n < 600; n += 1) { const now = await new Promise(requestAnimationFrame); d.push(now - last); if (now - last > 25) performance.mark(`late-${n}-${(now - last).toFixed(0)}`); last = now; } return d; });
    const done = new Promise((res) => cdp.once("Tracing.tracingComplete", res)); await cdp.send("Tracing.end"); await done;
    const late = deltas.filter((x) => x > 25);
    console.log(`round ${r}: ${late.length} late: ${late.map((x) => x.toFixed(0))}; ${events.length} events; steps ${(await server.json("/api/v1/sessions?native_id=live_1")).sessions[0].steps}`);
    const names = new Map(events.filter((e) => e.name === "thread_name").map((e) => [`${e.pid}/${e.tid}`, e.args.name]));
    for (const mark of events.filter((e) => e.name.startsWith("late-"))) {
      const [from, to] = [mark.ts - Number(mark.name.split("-")[2]) * 1000 - 8000, mark.ts + 1000];
      console.log(` ${mark.name}`);
      const inside = events.filter((e) => e.ph === "X" && e.ts + (e.dur ?? 0) > from && e.ts < to && (e.dur ?? 0) > 3000).sort((a, b) => a.ts - b.ts);
      for (const e of inside.slice(0, 60)) console.log(`   ${names.get(`${e.pid}/${e.tid}`)?.slice(0, 22).padEnd(22)} +${((e.ts - from) / 1000).toFixed(1)} ${e.name.slice(0, 44)} dur ${(e.dur / 1000).toFixed(1)} cpu ${((e.tdur ?? 0) / 1000).toFixed(1)} ${(e.args?.data?.functionName ?? e.args?.data?.type ?? e.args?.src_func ?? "")}`);
    }
    await cdp.detach();
  }
  console.log(await stop());
} finally { await browser.close(); await server.stop(); }
