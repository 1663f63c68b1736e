// Text of records, drawn as elements: everything that comes from data is a text node.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { markdown, type Block, type Span } from "../logic/markdown.ts";
import { diffLines, placeName, type Json, type Part } from "../logic/readable.ts";

/** Longer texts are folded. */
const FOLD_LETTERS = 4_000;

function Spans({ spans }: { spans: Span[] }) {
  return (
    <>
      {spans.map((span, n) => {
        switch (span.sort) {
          case "code": return <code key={n}>{span.text}</code>;
          case "strong": return <strong key={n}>{span.text}</strong>;
          case "em": return <em key={n}>{span.text}</em>;
          case "link": return <a key={n} href={span.href} target="_blank" rel="noopener noreferrer">{span.text}</a>;
          default: return <span key={n}>{span.text}</span>;
        }
      })}
    </>
  );
}

function MarkdownBlock({ block }: { block: Block }) {
  switch (block.sort) {
    case "heading": return <p class={`md-heading md-h${Math.min(block.level, 4)}`}><Spans spans={block.spans} /></p>;
    case "item": return <p class="md-item" style={{ marginLeft: `${block.depth * 1.2 + 0.2}em` }}><span class="md-mark">{block.mark}</span><span><Spans spans={block.spans} /></span></p>;
    case "quote": return <p class="md-quote"><Spans spans={block.spans} /></p>;
    case "code": return <pre class="code">{block.text}</pre>;
    case "rule": return <hr />;
    default: return <p><Spans spans={block.spans} /></p>;
  }
}

export function Markdown({ text }: { text: string }) {
  return <div class="md">{markdown(text).map((block, n) => <MarkdownBlock key={n} block={block} />)}</div>;
}

function Diff({ text }: { text: string }) {
  return <pre class="code">{diffLines(text).map((line, n) => <span key={n} class={`diff-${line.sort}`}>{line.text}{"\n"}</span>)}</pre>;
}

/** Letters of a piece of a long text; pieces that are out of sight cost nothing. */
const PIECE_LETTERS = 16_000;

/** A text of any length: in pieces, of which only those in sight are laid out. */
export function Long({ text }: { text: string }) {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += PIECE_LETTERS) pieces.push(text.slice(at, at + PIECE_LETTERS));
  return <div class="long code" tabIndex={0} role="region" aria-label="The whole text">{pieces.map((piece, n) => <pre key={n} class="piece">{piece}</pre>)}</div>;
}

/** Where a part stands in its record: in short, and exactly. */
function Place({ path }: { path: string }) {
  return <figcaption title={path}>{placeName(path)}</figcaption>;
}

/** A picture as it is in the record, or that its bytes are none; one that has no room is shown smaller at first. */
function Picture({ part }: { part: Extract<Part, { sort: "image" }> }) {
  const [is, become] = useState<"whole" | "small" | "large" | "broken">("whole");
  if (is === "broken") return <p class="quiet broken">The record calls this {part.media}, but it cannot be drawn.</p>;
  return (
    <>
      <div {...(is === "large" ? { class: "picture large", tabIndex: 0, role: "region", "aria-label": "The whole picture" } : { class: "picture" })}>
        <img alt={`picture at ${part.path}`} src={`data:${part.media};base64,${part.data}`} onError={() => become("broken")} onLoad={({ currentTarget: { naturalWidth, clientWidth } }) => naturalWidth > clientWidth && become("small")} />
      </div>
      {is !== "whole" && <button class="small" onClick={() => become(is === "large" ? "small" : "large")}>{is === "large" ? "Fit it in" : "Show it at its own size"}</button>}
    </>
  );
}

/** One readable part of a record. */
export function PartView({ part }: { part: Part }) {
  const [isOpen, open] = useState(false);
  if (part.sort === "image") {
    return <figure class="part"><Place path={part.path} /><Picture part={part} /></figure>;
  }
  if (part.sort === "fields") {
    return <figure class="part"><Place path={part.path} /><dl class="fields">{part.fields.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl></figure>;
  }
  if (part.sort === "json") {
    return <figure class="part"><Place path={part.path} /><div class="part-json"><JsonTree value={part.value} /></div></figure>;
  }
  const isLong = part.text.length > FOLD_LETTERS;
  const text = isLong && !isOpen ? part.text.slice(0, FOLD_LETTERS) : part.text;
  return (
    <figure class="part">
      <Place path={part.path} />
      {isOpen && text.length > PIECE_LETTERS ? <Long text={text} /> : part.sort === "prose" ? <Markdown text={text} /> : part.sort === "diff" ? <Diff text={text} /> : <pre class="code">{text}</pre>}
      {isLong && <button class="small" onClick={() => open(!isOpen)}>{isOpen ? "Show less" : `Show all ${part.text.length.toLocaleString("en")} letters`}</button>}
    </figure>
  );
}

/** Entries of a value that are shown at once. */
const ENTRIES = 100;
/** Letters of a text in a tree before it is folded. */
const LEAF_LETTERS = 2_000;

function Leaf({ value, label }: { value: null | boolean | number | string; label: ComponentChildren }) {
  const [isOpen, open] = useState(false);
  const text = String(value);
  const isLong = text.length > LEAF_LETTERS;
  return (
    <div class="json-leaf">{label}<span class={`json-${value === null ? "null" : typeof value}`}>{isLong && !isOpen ? text.slice(0, LEAF_LETTERS) : text}</span>
      {isLong && <button class="small" onClick={() => open(!isOpen)}>{isOpen ? "less" : `all ${text.length.toLocaleString("en")} letters`}</button>}
    </div>
  );
}

/** A value that can be opened part by part. */
export function JsonTree({ value, name, depth = 0 }: { value: Json; name?: string; depth?: number }) {
  const [isOpen, open] = useState(depth < 2);
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  const [shown, show] = useState(ENTRIES);
  if (value === null || typeof value !== "object") return <Leaf value={value} label={label} />;
  const entries: [string, Json][] = Array.isArray(value) ? value.map((one, n) => [String(n), one]) : Object.entries(value);
  const [left, right] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return <div class="json-leaf">{label}{left}{right}</div>;
  return (
    <div class="json-node">
      <button class="json-toggle" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        {isOpen ? "▾" : "▸"} {label}<span class="quiet">{isOpen ? left : `${left} ${entries.length} ${right}`}</span>
      </button>
      {isOpen && <div class="json-inside">{entries.slice(0, shown).map(([key, one]) => <JsonTree key={key} name={key} value={one} depth={depth + 1} />)}{entries.length > shown && <button class="small" onClick={() => show(shown * 10)}>{(entries.length - shown).toLocaleString("en")} more</button>}</div>}
    </div>
  );
}
