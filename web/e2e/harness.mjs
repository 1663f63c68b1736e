// A server of its own with its own folder, the demo in it, and Chromium in front of it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, afterEach, before, beforeEach } from "node:test";
import { chromium } from "playwright-core";

export const DEMO = "5e55a9e0-0c0a-4b0d-9d3e-0000000000d0";
const binary = process.env.UNSPOOL_BIN ?? "unspool";
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const DEADLINE_MS = 20_000;

/** Asks until the answer is good. */
export async function until(ask, what) {
  const end = Date.now() + DEADLINE_MS;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export function filesBelow(folder) {
  return readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
}

export class Server {
  constructor(folder, child, base) {
    Object.assign(this, { folder, child, base });
  }

  static start(...more) {
    return Server.run((folder) => ["serve", "--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--data-dir", join(folder, "data"), "--no-watch", ...more]);
  }

  /** The server that README tells newcomers to start. */
  static startDemo() {
    return Server.run(() => ["demo", "--listen", "127.0.0.1:0"]);
  }

  static async run(asked) {
    const folder = mkdtempSync(join(tmpdir(), "unspool-e2e-"));
    const args = asked(folder);
    const child = spawn(binary, args, { env: { ...process.env, HOME: folder }, stdio: ["ignore", "pipe", "pipe"] });
    const base = await new Promise((resolve, reject) => {
      let said = "";
      const hear = (text) => {
        said += text;
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
        if (found) resolve(found[0]);
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
      child.on("error", reject);
    });
    return new Server(folder, child, base);
  }

  unspool(...args) {
    return execFileSync(binary, args, { env: { ...process.env, HOME: this.folder }, encoding: "utf8" });
  }

  /** Writes the demo and returns the files of its session `shop` as names and texts. */
  demo() {
    const folder = join(this.folder, "demo");
    this.unspool("demo", "--write", folder);
    return filesBelow(join(folder, "shop")).map((path) => [relative(folder, path), readFileSync(path, "utf8")]);
  }

  async json(path) {
    return (await fetch(this.base + path)).json();
  }

  async put(name, text) {
    const response = await fetch(`${this.base}/v1/ingest?name=${encodeURIComponent(name)}`, { method: "POST", body: text });
    if (!response.ok) throw new Error(`${name}: ${await response.text()}`);
  }

  /** The session of a native id, once it has so many steps. */
  session(native, steps) {
    return until(async () => {
      const { sessions } = await this.json(`/api/v1/sessions?native_id=${native}`);
      return sessions[0]?.steps >= steps && sessions[0];
    }, `session ${native} with ${steps} steps`);
  }

  async stop() {
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.child.kill("SIGTERM");
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A page that counts what must not happen: errors, refused scripts, requests to elsewhere. */
export async function open(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && /Content Security Policy|Uncaught/.test(message.text()) && wrong.push(message.text()));
  // Another build of the page than the one in the server.
  const built = process.env.UNSPOOL_PAGE;
  if (built) for (const [file, contentType] of [["app.js", "text/javascript"], ["app.css", "text/css"]]) await page.route(`${base}/${file}`, (route) => route.fulfill({ path: join(built, file), contentType }));
  page.on("request", (request) => !request.url().startsWith(base) && !request.url().startsWith("data:") && !request.url().startsWith("blob:") && wrong.push(`asked ${request.url()}`));
  return { page, wrong, close: () => context.close() };
}

export function launch() {
  return chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
}

/** What the tests of a file share, once `testPage` has begun: a server, Chromium, and a page of its own for every test. */
export let server, browser, page;

/** Every test of a file has a fresh page in front of one server; nothing may go wrong in it. */
export function testPage({ options = {}, prepare, open: begin } = {}) {
  let opened;
  before(async () => {
    server = await Server.start();
    browser = await launch();
    await prepare?.();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    opened = await open(browser, server.base, options);
    page = opened.page;
    await begin?.();
  });
  afterEach(async () => {
    const { wrong } = opened;
    await opened.close();
    assert.deepEqual(wrong, []);
  });
}

/** The demo's session `shop`, and the first step of it that failed. */
export let demo, failing;

export async function putDemo() {
  for (const [name, text] of server.demo()) await server.put(name, text);
  demo = await server.session(DEMO, 41);
  failing = (await server.json(`/api/v1/query?q=is:error&session=${demo.id}`)).sessions[0].steps[0];
}

export const session = (query = "", id = demo.id) => `${server.base}/sessions/${id}${query}`;
export const param = (name) => new URL(page.url()).searchParams.get(name);
export const shown = (text) => page.getByText(text, { exact: false }).first().waitFor();
export const detail = () => page.getByRole("complementary", { name: "Step" });

/** The main file of the demo as another session. */
export function anotherDemo(n) {
  const [, text] = server.demo().find(([name]) => name.endsWith(`${DEMO}.jsonl`));
  return text.replaceAll(DEMO, DEMO.slice(0, -2) + n).replaceAll("d0d0d0d0-", `${n}${n}${n}${n}-`).replaceAll("msg_demo", `msg_${n}`).replaceAll("toolu_", `toolu_${n}`).replaceAll("req_demo", `req_${n}`).replaceAll("Fix checkout total", `Session ${n}`);
}

/** A session whose last call has no end yet. */
export async function putRunning() {
  const native = `${DEMO.slice(0, -2)}77`;
  const at = (ms) => new Date(Date.now() + ms).toISOString();
  const lines = [
    { type: "user", uuid: "77777777-0000-4000-8000-000000000001", parentUuid: null, sessionId: native, timestamp: at(-6_000), message: { role: "user", content: "Wait for it" } },
    { type: "assistant", uuid: "77777777-0000-4000-8000-000000000002", parentUuid: "77777777-0000-4000-8000-000000000001", sessionId: native, timestamp: at(-4_000), message: { id: "msg_77", role: "assistant", model: "claude-opus-4-7", content: [{ type: "tool_use", id: "toolu_77", name: "Bash", input: { command: "sleep 60" } }] } },
  ];
  await server.put(`shop/${native}.jsonl`, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  return server.session(native, 3);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** What of a page, or of a part of it, not everybody can use; by some rules, or by all of them (`null`). */
export async function violations({ of = page, within = "html", rules = WCAG } = {}) {
  await of.evaluate(axe);
  const found = await of.evaluate(([part, runOnly]) => globalThis.axe.run(document.querySelector(part), runOnly ? { runOnly } : {}), [within, rules]);
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Waits until nothing is drawn any more, and gives the picture's bytes. */
export async function picture(of = page.locator("canvas").first()) {
  const bytes = () => of.evaluate((one) => one.toDataURL());
  let last = await bytes();
  return until(async () => {
    await page.waitForTimeout(120);
    const next = await bytes();
    const isStill = next === last;
    last = next;
    return isStill && next;
  }, "a picture that stays");
}

export async function saved(click) {
  const [download] = await Promise.all([page.waitForEvent("download"), click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}
