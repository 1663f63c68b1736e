// Small things that are shown in many places.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { sparkPath } from "../logic/spark.ts";
import { plain } from "../logic/words.ts";

export function Status({ status }: { status: string }) {
  return (
    <span class={`status status-${status}`} title={status}>
      <span class="dot" aria-hidden="true" />
      {plain(status)}
    </span>
  );
}

export function Swatch({ look, error }: { look: string; error?: boolean }) {
  return <span class={error ? "swatch failed" : "swatch"} style={{ background: `var(--look-${look})` }} aria-hidden="true" />;
}

/** What a recorded request was for, where it was not an agent's work. */
export function RequestTag({ request }: { request: string }) {
  return <span class="tag" title="What the request was for: not an agent's work">{plain(request)}</span>;
}

/** Copies a text, or what makes one when it is wanted. */
export function Copy({ text, label }: { text: string | (() => string); label: string }) {
  const [said, say] = useState("");
  const copy = () => {
    const told = (word: string) => {
      say(word);
      setTimeout(() => say(""), 1200);
    };
    // Pages that are not served safely have no clipboard.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (!clipboard) return told("Not allowed");
    void clipboard.writeText(typeof text === "string" ? text : text()).then(() => told("Copied"), () => told("Not allowed"));
  };
  return (
    <button class="small" onClick={copy} title={typeof text === "string" ? text : ""} aria-live="polite">
      {said || label}
    </button>
  );
}

export interface Share {
  name: string;
  value: number;
  colour: string;
  text: string;
}

/** Parts of a whole side by side. */
export function SplitBar({ shares, label, children }: { shares: Share[]; label: string; children?: ComponentChildren }) {
  const all = shares.reduce((sum, share) => sum + share.value, 0);
  const shown = shares.filter((share) => share.value > 0);
  return (
    <div class="split">
      <div class="split-bar" role="img" aria-label={`${label}: ${shown.map((share) => `${share.name} ${share.text}`).join(", ")}`}>
        {shown.map((share) => (
          <span key={share.name} title={`${share.name}: ${share.text}`} style={{ width: `${(100 * share.value) / Math.max(all, 1)}%`, background: share.colour }} />
        ))}
      </div>
      <div class="split-legend">
        {shown.map((share) => (
          <span key={share.name} aria-hidden="true">
            <i style={{ background: share.colour }} />
            {share.name} <b>{share.text}</b>
          </span>
        ))}
        {children}
      </div>
    </div>
  );
}

export interface Column<T> {
  name: string;
  title?: string;
  /** What it is sorted by; rows without it come last. */
  by(row: T): number | string | null | undefined;
  show(row: T): ComponentChildren;
  /** Drawn as a bar behind the number. */
  isBar?: boolean;
}

/** Rows in the order of a column; what has no value comes last. */
export function sorted<T>(rows: readonly T[], by: Column<T>["by"], isDown: boolean): T[] {
  const value = (row: T) => by(row) ?? undefined;
  return rows.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? 1 : -1;
    const order = typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y;
    return isDown ? -order : order;
  });
}

/** A table that is sorted by a click on the head of a column. */
export function Sortable<T>({ caption, columns, rows, keyOf, children }: { caption: string; columns: Column<T>[]; rows: readonly T[]; keyOf(row: T): string; children?: ComponentChildren }) {
  const [order, setOrder] = useState<{ at: number; isDown: boolean } | undefined>(undefined);
  const column = order && columns[order.at];
  const shown = order && column ? sorted(rows, column.by, order.isDown) : rows;
  const most = columns.map((one) => (one.isBar ? Math.max(0, ...rows.map((row) => Number(one.by(row) ?? 0))) : 0));
  const head = (at: number) => setOrder({ at, isDown: order?.at === at ? !order.isDown : at > 0 });
  return (
    <div class="table-box">
      <table class="numbers">
        <caption>{caption}{children}</caption>
        <thead><tr>{columns.map((one, at) => <th key={one.name} scope="col" aria-sort={order?.at === at ? (order.isDown ? "descending" : "ascending") : "none"}><button title={one.title ?? `Sort by ${one.name}`} onClick={() => head(at)}>{one.name}<span aria-hidden="true">{order?.at === at ? (order.isDown ? " ▾" : " ▴") : ""}</span></button></th>)}</tr></thead>
        <tbody>{shown.map((row) => <tr key={keyOf(row)}>{columns.map((one, at) => at === 0 ? <th key={one.name} scope="row">{one.show(row)}</th> : (
          <td key={one.name} class={one.isBar ? "with-bar" : ""}>{one.isBar && (most[at] ?? 0) > 0 && <i class="bar" style={{ width: `${(100 * Number(one.by(row) ?? 0)) / (most[at] ?? 1)}%` }} />}<span>{one.show(row)}</span></td>
        ))}</tr>)}</tbody>
      </table>
    </div>
  );
}

export function Fact({ name, children, title }: { name: string; children: ComponentChildren; title?: string }) {
  return (
    <div class="fact" title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** What follows is a guess. */
export function Guess({ confidence }: { confidence?: number }) {
  return (
    <span class="guess" title="No id says so; a rule infers it">
      inferred{confidence !== undefined && confidence < 1 ? ` ${Math.round(confidence * 100)} %` : ""}
    </span>
  );
}

const SPARK = { width: 96, height: 20 };

/** When things happened, as small bars. */
export function Spark({ shares }: { shares: readonly number[] }) {
  if (shares.length === 0) return <span class="quiet">–</span>;
  return (
    <svg class="spark" viewBox={`0 0 ${SPARK.width} ${SPARK.height}`} width={SPARK.width} height={SPARK.height} aria-hidden="true">
      <path d={sparkPath(shares, SPARK.width, SPARK.height)} />
    </svg>
  );
}
