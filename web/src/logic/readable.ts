// In: a record as it was written. Out: what of it a person reads: its longer texts, changes, calls and pictures, with where they stand. Knows no format.
import { lineDiff } from "./linediff.ts";

export type Part =
  | { sort: "prose" | "code" | "diff"; path: string; text: string }
  | { sort: "fields"; path: string; fields: [string, string][] }
  | { sort: "json"; path: string; value: Json }
  | { sort: "image"; path: string; media: string; data: string };

/** Shorter texts are seen in the tree of the record, unless they stand where people look. */
const LEAST_LETTERS = 48;
/** Where messages and calls have what a person reads, whatever wrote them. */
const READ_HERE = /^(text|content|message|prompt|thinking|reasoning|command|arguments|args|input|output|result|stdout|stderr|error|answer|query|description)$/i;
/** Where calls have what they were given. */
const GIVEN_HERE = /^(input|arguments|args|parameters|params)$/i;
/** Where commands and programs stand. */
const CODE_HERE = /^(command|cmd|script|code|query|sql|pattern)$/i;
/** Where what was printed stands. */
const OUTPUT_HERE = /^(stdout|stderr|output|result)$/i;
/** So many parts are picked: `max_parts`. */
export const MAX_PARTS = 40;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** Names that tools have for a text and what takes its place. */
const CHANGES = [["old_string", "new_string"], ["old_str", "new_str"], ["oldString", "newString"], ["oldText", "newText"], ["old_text", "new_text"], ["search", "replace"]] as const;

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Fields = { [name: string]: Json };

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
  let [more, found] = [0, 0];
  const add = (part: Part) => {
    found += 1;
    const key = part.sort === "image" ? part.data : part.sort === "fields" ? JSON.stringify(part.fields) : part.sort === "json" ? JSON.stringify(part.value) : part.text;
    if (seen.has(key)) return;
    seen.add(key);
    if (parts.length < MAX_PARTS) parts.push(part);
    else more += 1;
  };
  const walk = (node: Json, path: string, name: string): void => {
    if (typeof node === "string") {
      const packed = packedJson(node, name);
      const picture = pictureOfUrl(node, path);
      if (picture) add(picture);
      else if (packed !== undefined) unpack(packed, path, name);
      else if (isReadable(node, name)) add({ sort: sortOf(node, CODE_HERE.test(name), OUTPUT_HERE.test(name) || (about !== "" && name === "content")), path, text: withoutColours(node) });
    } else if (Array.isArray(node)) {
      const patch = patchOf(node, path);
      if (patch) add(patch);
      else node.forEach((one, n) => walk(one, node.length > 1 ? `${path}[${n}]` : path, name));
    } else if (node !== null && typeof node === "object") {
      const found = pictureOf(node, path) ?? fieldsOf(node, path, name);
      if (found) return add(found);
      const change = changeOf(node, path);
      if (change) change.parts.forEach(add);
      for (const [key, one] of Object.entries(node)) if (!change || (one !== null && typeof one === "object")) walk(one, path === "" ? key : `${path}.${key}`, key);
    }
  };
  // Numbers and short words alone are no text: then it is shown as what it is.
  const unpack = (value: Json, path: string, name: string): void => {
    const before = found;
    walk(value, path, name);
    if (found === before) add({ sort: "json", path, value });
  };
  const narrow = about === "" ? [] : naming(value, about, "");
  if (narrow.length === 0) walk(value, "", "");
  for (const [path, node] of narrow) walk(node, path, "");
  return { parts, more };
}

/** What tells a terminal about colours, titles and where to write; in the record it stays. */
const TERMINAL = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])/g;

function withoutColours(text: string): string {
  return text.includes("\x1b") ? text.replace(TERMINAL, "") : text;
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
function fieldsOf(node: Fields, path: string, name: string): Part | undefined {
  if (!GIVEN_HERE.test(name) || changeOf(node, path)) return undefined;
  const fields: [string, string][] = [];
  for (const [key, one] of Object.entries(node)) {
    if (one !== null && typeof one === "object") return undefined;
    if (typeof one === "string" && (one.includes("\n") || one.length > 400)) return undefined;
    fields.push([key, withoutColours(String(one))]);
  }
  return fields.length > 0 ? { sort: "fields", path, fields } : undefined;
}

/** A text and what takes its place, as a diff, and where: the plain values beside it. */
function changeOf(node: Fields, path: string): { parts: Part[] } | undefined {
  const names: readonly string[] | undefined = CHANGES.find(([one, other]) => typeof node[one] === "string" && typeof node[other] === "string");
  const [before, after] = (names ?? []).map((name) => String(node[name]));
  if (!names || before === undefined || after === undefined || before === after) return undefined;
  const beside = Object.entries(node).filter(([name, one]) => !names.includes(name) && (one === null || typeof one !== "object") && String(one).length < 400);
  const where: Part[] = beside.length > 0 ? [{ sort: "fields", path, fields: beside.map(([name, one]) => [name, withoutColours(String(one))]) }] : [];
  return { parts: [...where, { sort: "diff", path, text: lineDiff(before, after) }] };
}

/** Hunks as some tools write them beside their result: where, and lines with `-`, `+` or a space before them. */
function patchOf(list: Json[], path: string): Part | undefined {
  const hunks = list.map((one) => {
    if (one === null || typeof one !== "object" || Array.isArray(one)) return undefined;
    const { oldStart, oldLines, newStart, newLines, lines } = one;
    if (typeof oldStart !== "number" || typeof newStart !== "number" || !Array.isArray(lines)) return undefined;
    return [`@@ -${oldStart},${oldLines ?? 0} +${newStart},${newLines ?? 0} @@`, ...lines.map(String)].join("\n");
  });
  return hunks.length > 0 && hunks.every((hunk) => hunk !== undefined) ? { sort: "diff", path, text: hunks.join("\n") } : undefined;
}

/** A picture that is in the record; one of a sort that is not drawn is only told. */
function picture(path: string, media: Json | undefined, data: Json | undefined): Part | undefined {
  if (typeof media !== "string" || typeof data !== "string" || !media.startsWith("image/")) return undefined;
  const isDrawn = PICTURES.includes(media) && /^[A-Za-z0-9+/=\s]+$/.test(data);
  return isDrawn ? { sort: "image", path, media, data } : { sort: "fields", path, fields: [["picture, not drawn", media]] };
}

function pictureOf(node: Fields, path: string): Part | undefined {
  return picture(path, node["media_type"] ?? node["mimeType"] ?? node["mime_type"], node["data"]) ?? pictureElsewhere(node, path);
}

function pictureOfUrl(text: string, path: string): Part | undefined {
  const found = text.startsWith("data:image/") ? /^data:(image\/[^;,]+)[^,]*,(.*)$/s.exec(text) : null;
  return found ? picture(path, found[1], found[2]) : undefined;
}

/** A picture that lies at an address is told, and never asked for: whoever wrote the record would hear of it. */
function pictureElsewhere(node: Fields, path: string): Part | undefined {
  if (typeof node["type"] !== "string" || !/image/.test(node["type"])) return undefined;
  const places = [node["url"], node["source"], node["image_url"]].map((one) => (one !== null && typeof one === "object" && !Array.isArray(one) ? one["url"] : one));
  const url = places.find((one) => typeof one === "string" && /^https?:/i.test(one));
  return url === undefined ? undefined : { sort: "fields", path, fields: [["picture, not fetched", String(url)]] };
}

/** Some write what a call is given as JSON within JSON. */
function packedJson(text: string, name: string): Json | undefined {
  if ((!READ_HERE.test(name) && text.length < LEAST_LETTERS) || !/^\s*[[{]/.test(text) || !/[\]}]\s*$/.test(text)) return undefined;
  const value = parsedRecord(text);
  return value !== null && typeof value === "object" ? value : undefined;
}

/** Ids, hashes and packed bytes have no spaces, and nobody reads them. */
function isReadable(text: string, name: string): boolean {
  if (text.trim() === "") return false;
  const isProse = /\s/.test(text.trim());
  return READ_HERE.test(name) ? isProse || text.length < LEAST_LETTERS : isProse && (text.length >= LEAST_LETTERS || text.includes("\n"));
}

/** What a command or tool printed has its columns, unless it is written as Markdown. */
function sortOf(text: string, isCode: boolean, isOutput: boolean): "prose" | "code" | "diff" {
  const lines = text.split("\n");
  if (/^(diff --git |@@ -\d|\*\*\* Begin Patch)/m.test(text) || (/^--- /m.test(text) && /^\+\+\+ /m.test(text))) return "diff";
  if (isCode) return "code";
  if (isOutput && !/^(#{1,6} |```|[-*] |> |\d+\. )|\*\*\S/m.test(text)) return "code";
  const odd = lines.filter((line) => /^\s*([{}\]<>)]|[[(]\s*(["'{[(]|$)|\d+[→:\t]|import |from |const |let |def |fn |pub |use |#!|\/\/|\$ )|[;{}]\s*$/.test(line)).length;
  return odd * 4 > lines.length ? "code" : "prose";
}

/** Lines of a diff with what each is. */
/** Names that only wrap others. */
const WRAPPING = /^(\d+|message|messages|content|payload|item|data|body|params|blocks|parts)$/i;

/** Where a part stands, in the names that say something: `message.content.0.input.question` is `input › question`. */
export function placeName(path: string): string {
  const names = path.split(".").flatMap((name) => name.replace(/\[\d+\]$/, "").split(/[[\]]/)).filter((name) => name !== "");
  const told = names.filter((name) => !WRAPPING.test(name));
  return (told.length > 0 ? told : names.slice(-1)).join(" › ");
}

export function diffLines(text: string): { sort: "added" | "removed" | "place" | "same"; text: string }[] {
  return text.split("\n").map((line) => {
    if (line.startsWith("@@") || line.startsWith("*** ") || line.startsWith("diff --git")) return { sort: "place", text: line };
    if (line.startsWith("+")) return { sort: "added", text: line };
    if (line.startsWith("-")) return { sort: "removed", text: line };
    return { sort: "same", text: line };
  });
}

const GIVEN_PATH = /(^|\.)(input|arguments|args|parameters|params|command|prompt)\b/i;
const ANSWER_PATH = /(^|\.)(tool_?result|toolUseResult|result|output|stdout|stderr|response|content|text)\b/i;

function words(part: Part): string {
  if (part.sort === "image") return "(a picture)";
  if (part.sort === "fields") return part.fields.map(([name, value]) => `${name}: ${value}`).join(", ");
  return part.sort === "json" ? JSON.stringify(part.value) : part.text;
}

/** First words of what a step was given and of what it gave, as far as its records tell them apart. */
export function previews(records: readonly Json[], about: string, letters: number): { given: string; answer: string } {
  const parts = records.flatMap((record) => readable(record, about).parts);
  const first = (isIt: (part: Part) => boolean) => {
    const found = parts.find(isIt);
    const text = found ? withoutColours(words(found)).trim().replace(/\s+/g, " ") : "";
    return text.length > letters ? `${text.slice(0, letters)}…` : text;
  };
  const isGiven = (part: Part) => GIVEN_PATH.test(part.path);
  return { given: first(isGiven), answer: first((part) => !isGiven(part) && ANSWER_PATH.test(part.path)) };
}

/** A record as text: itself, or what its bytes say; nothing when neither is known. */
export function recordText(record: { encoding: string; content: string; readable?: string | null }): string | undefined {
  return record.encoding === "utf-8" ? record.content : (record.readable ?? undefined);
}
