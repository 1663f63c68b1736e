// How large a report is and how fast it opens, in Chromium, from the disk. In: UNSPOOL_BIN, and how many steps. Out: figures. It asserts nothing.
import { execFileSync } from "node:child_process";
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";
import { bytesOf } from "../src/api/letters.ts";
import { launch, open } from "./harness.mjs";
import { records } from "./records.mjs";

const binary = process.env.UNSPOOL_BIN ?? "unspool";
const sizes = process.argv.slice(2).map(Number);
const ROUNDS = 5;
const folder = mkdtempSync(join(tmpdir(), "unspool-report-speed-"));
const say = (name, text) => console.log(`${name.padEnd(34)} ${text}`);
const MB = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;

async function written(steps) {
  const [data, file] = [join(folder, `${steps}.jsonl`), join(folder, `${steps}.html`)];
  const out = createWriteStream(data);
  for (const record of records(steps)) out.write(`${JSON.stringify(record)}\n`);
  out.end();
  await finished(out);
  const began = performance.now();
  execFileSync(binary, ["report", data, "-o", file], { env: { ...process.env, HOME: folder }, stdio: "pipe" });
  const took = performance.now() - began;
  const html = readFileSync(file, "latin1");
  const start = html.indexOf(">", html.indexOf('id="unspool-records"')) + 1;
  const packed = html.indexOf("<", start) - start;
  say("records", MB(statSync(data).size));
  say("written in", `${(took / 1000).toFixed(2)} s`);
  say("file", `${MB(html.length)} (records ${MB(packed)}, the rest ${MB(html.length - packed)})`);
  return file;
}

/** The same work without a browser, in processor time, which does not depend on what else the machine does. */
function processor(file) {
  const html = readFileSync(file, "latin1");
  const carried = (id) => {
    const start = html.indexOf(">", html.indexOf(`id="${id}"`)) + 1;
    return inflateRawSync(bytesOf(html.slice(start, html.indexOf("<", start))));
  };
  const timed = (work) => {
    const before = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(before);
    return [result, Math.round((user + system) / 1000)];
  };
  const [[code, data], unpacking] = timed(() => [carried("unspool-answers"), carried("unspool-records")]);
  const [{ exports: wasm }, compiling] = timed(() => new WebAssembly.Instance(new WebAssembly.Module(code), {}));
  const give = (bytes) => {
    const at = wasm.room(bytes.length) >>> 0;
    new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
  };
  const ask = (address) => {
    give(new TextEncoder().encode(address));
    if (wasm.ask(Date.now()) !== 200) throw new Error(address);
    const whole = Buffer.from(wasm.memory.buffer, wasm.answer() >>> 0, wasm.answer_len()).toString();
    return whole.slice(whole.indexOf("\n", whole.indexOf("\n") + 1) + 1);
  };
  const [, reading] = timed(() => (give(data), wasm.open()));
  const { id } = JSON.parse(ask("/api/v1/sessions")).sessions[0];
  const [, linking] = timed(() => ask(`/api/v1/sessions/${id}/tree?from=0&to=100`));
  const [, windows] = timed(() => [ask(`/api/v1/sessions/${id}/tree?from=100&to=200`), ask(`/api/v1/sessions/${id}/timeline?px=1200`)]);
  const [, path] = timed(() => ask(`/api/v1/sessions/${id}/path`));
  say("processor time, ms", `unpacking ${unpacking}, compiling ${compiling}, reading ${reading}, linking ${linking}, windows ${windows}, path ${path}`);
  say("memory of the answers", MB(wasm.memory.buffer.byteLength));
}

/** From going there to bars and rows, and to the critical path. */
async function opening(browser, file) {
  const { page, close, wrong } = await open(browser, "file:", { viewport: { width: 1600, height: 900 }, offline: true });
  const began = performance.now();
  await page.goto(pathToFileURL(file).href, { waitUntil: "commit" });
  await Promise.all([page.locator(".tree-row.step").first().waitFor(), page.getByRole("img", { name: /Timeline/ }).waitFor()]);
  const took = performance.now() - began;
  await page.locator(".split-legend b").first().waitFor();
  const all = performance.now() - began;
  if (wrong.length > 0) throw new Error(wrong.join("; "));
  await close();
  return { took, all };
}

const browser = await launch();
try {
  for (const steps of sizes.length > 0 ? sizes : [1_000, 20_000]) {
    say("steps", String(steps));
    const file = await written(steps);
    processor(file);
    const rounds = [];
    for (let n = 0; n < ROUNDS; n += 1) rounds.push(await opening(browser, file));
    const ms = (name) => rounds.map((round) => Math.round(round[name])).sort((a, b) => a - b).join(", ");
    say("to bars and rows, ms", ms("took"));
    say("to the split of the time, ms", ms("all"));
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
