// Who may import whom: arrows point one way. Also: no framework in the pure layers, and no way for data to become HTML.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const allowed = {
  api: [],
  logic: ["api"],
  state: ["logic", "api"],
  widgets: ["logic", "api"],
  panels: ["widgets", "state", "logic", "api"],
  app: ["panels", "widgets", "state", "logic", "api"],
};
const packages = {
  api: [],
  logic: [],
  state: ["@preact/signals"],
  widgets: ["preact", "preact/hooks", "@preact/signals"],
  panels: ["preact", "preact/hooks", "@preact/signals"],
  app: ["preact", "preact/hooks", "@preact/signals"],
};
const banned = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("];
const maxLines = 500;

const src = fileURLToPath(new URL("../src", import.meta.url));
const broken = [];

for (const entry of readdirSync(src, { recursive: true })) {
  if (!/\.tsx?$/.test(entry)) continue;
  const path = join(src, entry);
  const layer = entry.split("/")[0];
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n").length;
  if (!(layer in allowed)) broken.push(`${entry}: the folder ${layer} has no place in scripts/imports.mjs`);
  if (lines > maxLines && entry !== "api/types.ts") broken.push(`${entry} has ${lines} lines; split it (at most ${maxLines})`);
  for (const word of banned) if (text.includes(word)) broken.push(`${entry} uses ${word}: data is shown as text only`);
  for (const [, from] of text.matchAll(/(?:from|import)\s+"([^"]+)"/g)) {
    if (from.endsWith(".css")) continue;
    if (!from.startsWith(".")) {
      if (!packages[layer]?.includes(from)) broken.push(`${entry} must not import ${from}: ${layer}/ may use ${packages[layer]?.join(", ") || "nothing"}`);
      continue;
    }
    const target = relative(src, resolve(dirname(path), from)).split("/")[0];
    if (target !== layer && !allowed[layer]?.includes(target)) broken.push(`${entry} must not import ${from}: ${layer}/ does not see ${target}/`);
  }
}
if (broken.length > 0) {
  console.error(broken.join("\n"));
  process.exit(1);
}
