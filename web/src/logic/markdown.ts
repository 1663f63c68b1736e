// In: text as models write it. Out: blocks and spans to be drawn as elements. Never HTML: what is not understood stays text.

export type Span = { sort: "text" | "code" | "strong" | "em"; text: string } | { sort: "link"; text: string; href: string };

export type Block =
  | { sort: "heading"; level: number; spans: Span[] }
  | { sort: "paragraph"; spans: Span[] }
  | { sort: "item"; depth: number; mark: string; spans: Span[] }
  | { sort: "quote"; spans: Span[] }
  | { sort: "code"; language: string; text: string }
  | { sort: "rule" };

const FENCE = /^\s*(```+|~~~+)\s*([\w+#.-]*)/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;

export function markdown(text: string): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) blocks.push({ sort: "paragraph", spans: spans(paragraph.join("\n")) });
    paragraph = [];
  };
  const lines = text.split("\n");
  for (let n = 0; n < lines.length; n += 1) {
    const line = lines[n] ?? "";
    const fence = FENCE.exec(line);
    if (fence) {
      flush();
      const code: string[] = [];
      for (n += 1; n < lines.length && !(lines[n] ?? "").trim().startsWith(fence[1] ?? "```"); n += 1) code.push(lines[n] ?? "");
      blocks.push({ sort: "code", language: fence[2] ?? "", text: code.join("\n") });
      continue;
    }
    const block = RULE.test(line) ? ({ sort: "rule" } as const) : oneLine(line);
    if (block) {
      flush();
      blocks.push(block);
    } else if (line.trim() === "") flush();
    else paragraph.push(line);
  }
  flush();
  return blocks;
}

function oneLine(line: string): Block | undefined {
  const heading = HEADING.exec(line);
  if (heading) return { sort: "heading", level: heading[1]?.length ?? 1, spans: spans(heading[2] ?? "") };
  const item = ITEM.exec(line);
  if (item) {
    const mark = /\d/.test(item[2] ?? "") ? (item[2] ?? "") : "•";
    return { sort: "item", depth: Math.floor((item[1] ?? "").length / 2), mark, spans: spans(item[3] ?? "") };
  }
  const quote = QUOTE.exec(line);
  if (quote) return { sort: "quote", spans: spans(quote[1] ?? "") };
  return undefined;
}

const SPAN = /(`+)([^`]+?)\1|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\s][^*\n]*)\*|\[([^\]\n]+)\]\((https?:\/\/[^)\s]+)\)/g;

export function spans(text: string): Span[] {
  const found: Span[] = [];
  let at = 0;
  for (const match of text.matchAll(SPAN)) {
    if (match.index > at) found.push({ sort: "text", text: text.slice(at, match.index) });
    at = match.index + match[0].length;
    if (match[2] !== undefined) found.push({ sort: "code", text: match[2] });
    else if (match[3] !== undefined || match[4] !== undefined) found.push({ sort: "strong", text: match[3] ?? match[4] ?? "" });
    else if (match[5] !== undefined) found.push({ sort: "em", text: match[5] });
    else found.push({ sort: "link", text: match[6] ?? "", href: match[7] ?? "" });
  }
  if (at < text.length) found.push({ sort: "text", text: text.slice(at) });
  return found;
}
