// In: openapi.json, as the server writes it. Out: src/api/types.ts. With --check, says whether the file is what would be written.
import { readFileSync, writeFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const openapi = JSON.parse(readFileSync(new URL("openapi.json", root), "utf8"));
const file = new URL("src/api/types.ts", root);

const quoted = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
const nameOf = (reference) => reference.split("/").pop().replace(/[^A-Za-z0-9_]/g, "_");
const bracketed = (type) => (/[|&]/.test(type) ? `(${type})` : type);

function primitive(type, schema) {
  switch (type) {
    case "string": return "string";
    case "integer": case "number": return "number";
    case "boolean": return "boolean";
    case "null": return "null";
    case "array": return `${bracketed(typeOf(schema.items ?? true))}[]`;
    case "object": return object(schema);
    default: return "unknown";
  }
}

function object(schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const about = (field.description ?? "").replace(/\s+/g, " ").replace(/\*\//g, "* /");
    const doc = about ? `  /** ${about} */\n` : "";
    return `${doc}  ${quoted(name)}${required.has(name) ? "" : "?"}: ${typeOf(field)};`;
  });
  if (fields.length === 0) {
    const values = schema.additionalProperties;
    return values && values !== true ? `Record<string, ${typeOf(values)}>` : "Record<string, unknown>";
  }
  return `{\n${fields.join("\n")}\n}`;
}

function typeOf(schema) {
  if (schema === true || schema === undefined) return "unknown";
  if (schema === false) return "never";
  const parts = [];
  if (schema.$ref) parts.push(nameOf(schema.$ref));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  for (const choice of [schema.anyOf, schema.oneOf]) {
    if (choice) parts.push([...new Set(choice.map(typeOf))].join(" | "));
  }
  for (const part of schema.allOf ?? []) parts.push(typeOf(part));
  if (Array.isArray(schema.type)) parts.push(schema.type.map((type) => primitive(type, schema)).join(" | "));
  else if (schema.type && !(schema.type === "object" && !schema.properties && parts.length > 0)) parts.push(primitive(schema.type, schema));
  if (parts.length === 0) return "unknown";
  return parts.length === 1 ? parts[0] : parts.map(bracketed).join(" & ");
}

function answers() {
  const lines = [];
  for (const [path, item] of Object.entries(openapi.paths)) {
    const content = item.get?.responses?.["200"]?.content?.["application/json"];
    if (content?.schema) lines.push(`  ${JSON.stringify(path)}: ${typeOf(content.schema)};`);
  }
  return lines;
}

function questions() {
  const lines = [];
  for (const [path, item] of Object.entries(openapi.paths)) {
    const params = (item.get?.parameters ?? []).filter((param) => param.in === "query");
    const fields = params.map((param) => `${quoted(param.name)}?: ${typeOf(param.schema)} | undefined`);
    if (item.get) lines.push(`  ${JSON.stringify(path)}: { ${fields.join("; ")} };`);
  }
  return lines;
}

const out = ["// Made from openapi.json by `npm run types`. Do not edit.", ""];
for (const [name, schema] of Object.entries(openapi.components.schemas)) {
  if (schema.description) out.push(`/** ${schema.description.replace(/\s+/g, " ")} */`);
  out.push(`export type ${nameOf(name)} = ${typeOf(schema)};`, "");
}
out.push("/** What comes back, by path. */", "export interface Answers {", ...answers(), "}", "");
out.push("/** What can be asked, by path. */", "export interface Questions {", ...questions(), "}", "");
const text = out.join("\n");

if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
} else if (readFileSync(file, "utf8") !== text) {
  console.error("src/api/types.ts is stale; run `npm run types` in web/ and read the diff");
  process.exit(1);
}
