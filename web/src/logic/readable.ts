// In: a record as it was written. Out: what of it a person reads: its longer texts and pictures, with where they stand. Knows no format.

export type Part =
  | { sort: "prose" | "code" | "diff"; path: string; text: string }
  | { sort: "fields"; path: string; fields: [string, string][] }
  | { sort: "image"; path: string; media: string; data: string };

/** Shorter texts are seen in the tree of the record, unless they stand where people look. */
const LEAST_LETTERS = 48;
/** Where messages and calls have what a person reads, whatever wrote them. */
const READ_HERE = /^(text|content|message|prompt|thinking|reasoning|command|arguments|args|input|output|result|stdout|stderr|error|answer|query|description)$/i;
/** So many parts are picked: `max_parts`. */
export const MAX_PARTS = 40;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export function parsedRecord(content: string): Json | undefined {
  try {
    return JSON.parse(content) as Json;
  } catch {
    return undefined;
  }
}

/** What a person reads of a record, each text once; if parts of it name the call it is about, only those. */
export function readable(value: Json, about = ""): { parts: Part[]; more: number } {
  const parts: Part[] = [];
  const seen = new Set<string>();
  let more = 0;
  const add = (part: Part) => {
    const key = part.sort === "image" ? part.data : part.sort === "fields" ? JSON.stringify(part.fields) : part.text;
    if (seen.has(key)) return;
    seen.add(key);
    if (parts.length < MAX_PARTS) parts.push(part);
    else more += 1;
  };
  const walk = (node: Json, path: string, name: string): void => {
    if (typeof node === "string") {
      if (isReadable(node, name)) add({ sort: sortOf(node), path, text: node });
    } else if (Array.isArray(node)) {
      node.forEach((one, n) => walk(one, node.length > 1 ? `${path}[${n}]` : path, name));
    } else if (node !== null && typeof node === "object") {
      const found = pictureOf(node, path) ?? fieldsOf(node, path, name);
      if (found) return add(found);
      for (const [key, one] of Object.entries(node)) walk(one, path === "" ? key : `${path}.${key}`, key);
    }
  };
  const narrow = about === "" ? [] : naming(value, about, "");
  if (narrow.length === 0) walk(value, "", "");
  for (const [path, node] of narrow) walk(node, path, "");
  return { parts, more };
}

/** The innermost objects that have this as one of their values. */
function naming(value: Json, about: string, path: string): [string, Json][] {
  if (value === null || typeof value !== "object") return [];
  const entries = Object.entries(value);
  const inside = entries.flatMap(([key, one]) => naming(one, about, path === "" ? key : `${path}.${key}`));
  if (inside.length > 0 || Array.isArray(value)) return inside;
  return entries.some(([, one]) => one === about) ? [[path, value]] : [];
}

/** What a call was given, when it is some plain values. */
function fieldsOf(node: { [name: string]: Json }, path: string, name: string): Part | undefined {
  if (!/^(input|arguments|args|parameters)$/i.test(name)) return undefined;
  const fields: [string, string][] = [];
  for (const [key, one] of Object.entries(node)) {
    if (one !== null && typeof one === "object") return undefined;
    if (typeof one === "string" && (one.includes("\n") || one.length > 400)) return undefined;
    fields.push([key, String(one)]);
  }
  return fields.length > 0 ? { sort: "fields", path, fields } : undefined;
}

function pictureOf(node: { [name: string]: Json }, path: string): Part | undefined {
  const { media_type: media, data } = node;
  if (typeof media !== "string" || typeof data !== "string" || !PICTURES.includes(media)) return undefined;
  return /^[A-Za-z0-9+/=\s]+$/.test(data) ? { sort: "image", path, media, data } : undefined;
}

/** Ids, hashes and packed bytes have no spaces, and nobody reads them. */
function isReadable(text: string, name: string): boolean {
  if (text.trim() === "") return false;
  const isProse = /\s/.test(text.trim());
  return READ_HERE.test(name) ? isProse || text.length < LEAST_LETTERS : isProse && (text.length >= LEAST_LETTERS || text.includes("\n"));
}

function sortOf(text: string): "prose" | "code" | "diff" {
  const lines = text.split("\n");
  if (/^(diff --git |@@ -\d)/m.test(text) || (/^--- /m.test(text) && /^\+\+\+ /m.test(text))) return "diff";
  const odd = lines.filter((line) => /^\s*([{}[\]<>()]|\d+[→:\t]|import |from |const |let |def |fn |pub |use |#!|\/\/|\$ )|[;{}]\s*$/.test(line)).length;
  return odd * 4 > lines.length ? "code" : "prose";
}

/** Lines of a diff with what each is. */
export function diffLines(text: string): { sort: "added" | "removed" | "place" | "same"; text: string }[] {
  return text.split("\n").map((line) => {
    if (line.startsWith("@@")) return { sort: "place", text: line };
    if (line.startsWith("+")) return { sort: "added", text: line };
    if (line.startsWith("-")) return { sort: "removed", text: line };
    return { sort: "same", text: line };
  });
}
