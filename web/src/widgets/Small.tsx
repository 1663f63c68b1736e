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

export function Copy({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1200);
    });
  };
  return (
    <button class="small" onClick={copy} title={text}>
      {done ? "Copied" : label}
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
