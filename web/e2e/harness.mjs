// A server of its own with its own folder, the demo in it, and Chromium in front of it.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
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

  static async start(...more) {
    const folder = mkdtempSync(join(tmpdir(), "unspool-e2e-"));
    const args = ["serve", "--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--data-dir", join(folder, "data"), "--no-watch", ...more];
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
