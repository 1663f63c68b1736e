// How smoothly the list of 10,000 sessions scrolls in Chromium, and how fast every filter and order is answered. `UNSPOOL_BIN` names the program.
import { launch, open, Server, until } from "./harness.mjs";

const SESSIONS = Number(process.env.SESSIONS ?? 10_000);
const PER_REQUEST = 1000;
const SCROLL_MS = 5000;
const ROUNDS = 5;
const FORMATS = 40;

const say = (name, value) => process.stdout.write(`${name.padEnd(44)} ${value}\n`);
const server = await Server.start();
const browser = await launch();

/** Sessions of some projects, a third of which have a failed command. */
function events(n) {
  const at = 1_763_000_000 + n * 60;
  const common = { session_id: `session-${n}`, cwd: `/home/sam/project-${n % FORMATS}` };
  const call = { tool_name: "Bash", tool_use_id: `toolu_${n}`, tool_input: { command: `make test-${n}` } };
  const all = [{ hook_event_name: "UserPromptSubmit", prompt: `Mend part ${n} of the build and tell what was wrong with it` }, { hook_event_name: "PreToolUse", ...call }, { hook_event_name: n % 3 === 0 ? "PostToolUseFailure" : "PostToolUse", ...call, tool_response: { stdout: "done" }, error: "exit code 2" }, { hook_event_name: "Stop" }];
  return all.map((event, k) => JSON.stringify({ ...common, ...event, ts: at + k * 7 })).join("\n");
}

async function fill() {
  for (let first = 0; first < SESSIONS; first += PER_REQUEST) {
    const body = Array.from({ length: Math.min(PER_REQUEST, SESSIONS - first) }, (_, k) => events(first + k)).join("\n");
    await until(async () => (await fetch(`${server.base}/v1/hooks`, { method: "POST", body })).ok, "room for more");
  }
  for (let n = 0; n < 100; n += 1) {
    const { sessions } = await server.json("/api/v1/health");
    if (sessions >= SESSIONS) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new Error("not all sessions are shown");
}

async function ask(query) {
  const took = [];
  for (let n = 0; n < ROUNDS; n += 1) {
    const began = performance.now();
    // The tag is left out, so that every answer is worked out.
    await (await fetch(`${server.base}/api/v1/${query}`)).arrayBuffer();
    took.push(performance.now() - began);
  }
  say(query, `${Math.min(...took).toFixed(1)} ms best, ${took.sort((a, b) => a - b)[ROUNDS >> 1].toFixed(1)} ms median`);
}

try {
  await fill();
  const filters = ["", "status=completed", "format=claude-code-hooks", "source=hooks", "cwd=/home/sam/project-7", "agent=none", "model=none", "errors=true", "issues=true", "gaps=true", "min_cost=0.01", "since=2026-01-01T00:00:00Z", "q=mend"];
  for (const filter of filters) await ask(`sessions?limit=200&${filter}`);
  for (const sort of ["ended", "duration", "steps", "subagents", "errors", "issues", "tokens", "cost", "title"]) await ask(`sessions?limit=200&sort=${sort}`);
  await ask("facets?");
  const { page } = await open(browser, server.base);
  await page.goto(server.base);
  await page.locator(".list .row-title").first().waitFor();
  const frames = await page.evaluate(async (ms) => {
    const list = document.querySelector(".list");
    const times = [];
    const began = performance.now();
    await new Promise((resolve) => {
      const frame = (now) => {
        times.push(now);
        list.scrollTop += 160;
        if (now - began < ms) requestAnimationFrame(frame);
        else resolve();
      };
      requestAnimationFrame(frame);
    });
    const gaps = times.slice(1).map((at, n) => at - times[n]).sort((a, b) => a - b);
    return { median: gaps[gaps.length >> 1], slow: gaps.filter((gap) => gap > 100).length, most: gaps.at(-1), count: gaps.length, rows: Math.round(list.scrollTop / 44) };
  }, SCROLL_MS);
  say("scrolling", `${(1000 / frames.median).toFixed(1)} fps median, longest frame ${frames.most.toFixed(0)} ms, ${frames.slow} frames over 100 ms, ${frames.rows} rows passed`);
  const jumped = await page.evaluate(async () => {
    const list = document.querySelector(".list");
    const began = performance.now();
    list.scrollTop = list.scrollHeight;
    const isThere = () => {
      const rows = [...list.querySelectorAll(".list-row")];
      return rows.length > 0 && rows.every((row) => row.querySelector(".row-title"));
    };
    await new Promise((resolve) => setTimeout(resolve, 50));
    while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 20));
    return performance.now() - began;
  });
  say("from the top to the last session", `${jumped.toFixed(0)} ms`);
} finally {
  await browser.close();
  await server.stop();
}
