// In: a step with its records. Out: the same as Markdown, for a note or a message. Pure.
import type { StepDetailDoc } from "../api/types.ts";
import { parsedRecord, readable, type Part } from "./readable.ts";
import { count, duration, money, plain } from "./words.ts";

/** Letters of one text; a note is to be read. */
const MAX_LETTERS = 4_000;

/** A fence that is longer than any in the text. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function cut(text: string): string {
  return text.length > MAX_LETTERS ? `${text.slice(0, MAX_LETTERS)}\n… ${count(text.length - MAX_LETTERS)} letters more` : text;
}

function partAsMarkdown(part: Part): string {
  switch (part.sort) {
    case "prose": return `${part.path}:\n\n${cut(part.text)}`;
    case "image": return `${part.path}: a picture (${part.media})`;
    case "fields": return `${part.path}:\n\n${fenced(part.fields.map(([name, value]) => `${name}: ${value}`).join("\n"))}`;
    case "json": return `${part.path}:\n\n${fenced(cut(JSON.stringify(part.value, null, 2)), "json")}`;
    default: return `${part.path}:\n\n${fenced(cut(part.text), part.sort === "diff" ? "diff" : "")}`;
  }
}

export function asMarkdown(doc: StepDetailDoc): string {
  const { step, label, detail, agent } = doc;
  const facts = [
    `step \`${step.id}\`, ${plain(step.kind)}${step.request ? ` (${plain(step.request)})` : ""}${agent ? ` of ${agent.label}` : ""}`,
    `began ${step.started_at ?? "–"}${step.started_at_estimated ? " (estimated)" : ""}, took ${duration(step.duration_ms)}`,
    step.model && `model ${step.model}`,
    doc.buckets.length > 0 && `tokens: ${doc.buckets.map((one) => `${count(one.tokens)} ${plain(one.name)}`).join(", ")}${doc.cost_usd === null || doc.cost_usd === undefined ? "" : `, ${money(doc.cost_usd)}`}`,
    step.is_error && `failed: ${step.error ?? "its source does not say why"}`,
    ...doc.edges_in.map((edge) => `${plain(edge.kind)} from ${edge.other?.label ?? "–"} (${edge.rule}${edge.inferred ? `, inferred, ${Math.round(edge.confidence * 100)} %` : ", exact"})`),
  ].filter(Boolean);
  const parts = doc.records.flatMap((record) => {
    const value = record.encoding === "utf-8" ? parsedRecord(record.content) : undefined;
    return value === undefined ? [] : readable(value, step.tool_use_id ?? "").parts;
  });
  return [`**${label}** ${detail}`, "", ...facts.map((fact) => `- ${fact}`), "", ...parts.map((part) => `${partAsMarkdown(part)}\n`)].join("\n").trimEnd();
}
