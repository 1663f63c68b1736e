// Two sessions, or runs of them, side by side, aligned by the server.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { DiffDoc, SideDoc, StepDiff, StepSide, ToolDiff, TotalsDoc } from "../api/types.ts";
import { count, duration, moment, money, plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { go, route, setParams } from "../state/route.ts";
import { List } from "../widgets/List.tsx";
import { Sortable, type Column } from "../widgets/Small.tsx";
import { Empty, Loading, Partial, Wrong } from "../widgets/States.tsx";

const ROW_PX = 44;
/** Runs that are offered: `max_runs`. */
const MAX_OFFERED = 100;
const CHANGES: [StepDiff["change"], string][] = [["changed", "changed"], ["removed", "only in the first"], ["added", "only in the second"], ["figures", "times and tokens"]];

/** The session or one of its runs. */
function Part({ side, name }: { side: SideDoc; name: "a" | "b" }) {
  const answer = useMemo(() => answerOf(() => ({ key: side.session_id, get: (signal) => get("/api/v1/sessions/{id}/runs", { id: side.session_id }, { to: MAX_OFFERED, steps: 0 }, signal) })), [side.session_id]);
  useEffect(() => () => answer.stop(), [answer]);
  const runs = (answer.value.data?.runs ?? []).filter((run) => run.number !== null);
  if (runs.length < 2 && !side.run_id) return null;
  // A run that is not among those that are offered, or not yet, is a run all the same.
  const known = runs.find((run) => run.id === side.run_id)?.number;
  const at = known ?? side.run_id ?? "";
  return (
    <select class="small" aria-label={name === "a" ? "Part of the first" : "Part of the second"} value={String(at)} onChange={(event) => setParams({ [name]: event.currentTarget.value === "" ? side.session_id : `${side.session_id}:${event.currentTarget.value}` })}>
      <option value="">the whole session</option>
      {side.run_id && !known && <option value={side.run_id}>one run</option>}
      {runs.map((run) => <option key={run.id} value={run.number ?? ""}>run {run.number}: {(run.title ?? "").slice(0, 60)}</option>)}
    </select>
  );
}

function Side({ side, totals, name }: { side: SideDoc; totals: TotalsDoc; name: "a" | "b" }) {
  const title = side.run_id || side.agent_id ? side.prompt ?? side.title : side.title;
  return (
    <div class="diff-side">
      <button class="link diff-title" title={title ?? ""} onClick={() => go({ page: "session", id: side.session_id, params: {} })}>{title ?? side.session_id}</button>
      <p class="quiet">{moment(side.started_at)} · {plural(totals.steps, "step")} · {plural(totals.errors, "error")} · {duration(totals.duration_ms)} · {money(totals.cost_usd)} <Part side={side} name={name} /></p>
    </div>
  );
}

function Step({ side, session }: { side: StepSide | null | undefined; session: string }) {
  if (!side) return <span class="diff-none" role="img" aria-label="not there" />;
  return (
    <button class={side.is_error ? "link diff-step errors" : "link diff-step"} title={side.text ?? ""} onClick={() => go({ page: "session", id: session, params: { step: side.id } })}>
      <b>{side.name ?? plain(side.kind)}</b> <span class="quiet">{side.text}</span>
    </button>
  );
}

const FIGURES: Record<string, (n: number) => string> = { tokens: count, duration };

/** A value of a field in few letters; figures as everywhere. */
function short(field: string, text: string | null | undefined): string {
  const [n, show] = [Number(text), FIGURES[field]];
  return text && show && Number.isFinite(n) ? show(n) : (text ?? "–").slice(0, 24);
}

function Row({ step, a, b }: { step: StepDiff; a: string; b: string }) {
  return (
    <div class={`diff-row diff-is-${step.change}`}>
      <Step side={step.a} session={a} />
      <span class="diff-what" title={step.fields.map((field) => `${field.field}: ${field.a ?? "–"} → ${field.b ?? "–"}`).join("\n")}>
        <span><span class="tag">{step.change}</span> <span class="quiet">{step.agent}</span></span>
        <span class="quiet diff-fields">{step.fields.map((field) => (["tokens", "duration", "status", "model"].includes(field.field) ? `${field.field} ${short(field.field, field.a)} → ${short(field.field, field.b)}` : field.field)).join(", ")}</span>
      </span>
      <Step side={step.b} session={b} />
    </div>
  );
}

const TOOLS: Column<ToolDiff>[] = [
  { name: "tool", by: (row) => row.name.toLowerCase(), show: (row) => row.name },
  { name: "calls, first", by: (row) => row.a.calls, show: (row) => count(row.a.calls), isBar: true },
  { name: "calls, second", by: (row) => row.b.calls, show: (row) => count(row.b.calls), isBar: true },
  { name: "errors, first", by: (row) => row.a.errors, show: (row) => count(row.a.errors) },
  { name: "errors, second", by: (row) => row.b.errors, show: (row) => count(row.b.errors) },
  { name: "time, first", by: (row) => row.a.duration_ms, show: (row) => duration(row.a.duration_ms), isBar: true },
  { name: "time, second", by: (row) => row.b.duration_ms, show: (row) => duration(row.b.duration_ms), isBar: true },
];

/** How much more the second has. */
function Sums({ data }: { data: DiffDoc }) {
  const { delta } = data.totals;
  const more = (n: number | null | undefined, show: (n: number) => string) => (n === null || n === undefined ? "–" : n === 0 ? "±0" : `${n > 0 ? "+" : "−"}${show(Math.abs(n))}`);
  return (
    <details class="diff-sums">
      <summary>second less first: {more(delta.steps, count)} steps · {more(delta.errors, count)} errors · {more(delta.duration_ms, duration)} · {more(delta.tokens, count)} tokens · {more(delta.cost_usd, money)}</summary>
      <p class="quiet">models: {data.models.a.join(", ") || "none"} | {data.models.b.join(", ") || "none"}</p>
      {data.tools.length > 0 && <Sortable caption="Tools" columns={TOOLS} rows={data.tools} keyOf={(row) => row.name} />}
    </details>
  );
}

export function Diff() {
  const answer = useMemo(() => answerOf(() => {
    const { a, b } = route.value.params;
    return a && b ? { key: `${a} ${b}`, get: (signal) => get("/api/v1/diff", {}, { a, b }, signal) } : undefined;
  }), []);
  useEffect(() => () => answer.stop(), [answer]);
  const [hidden, hide] = useState<readonly string[]>([]);
  const { data, error, loading } = answer.value;
  if (error) return <main class="sessions"><Wrong error={error} /></main>;
  if (!data) return <main class="sessions">{loading ? <Loading what="what differs" rows={8} /> : <Empty title="Nothing to compare"><p>Open a session and press <kbd>c</kbd>, or Compare at one of its runs.</p></Empty>}</main>;
  const { counts, first_divergence: first } = data;
  const shown = data.steps.filter((step) => !hidden.includes(step.change));
  const { a, b } = route.value.params;
  const toggle = (change: string) => hide(hidden.includes(change) ? hidden.filter((one) => one !== change) : [...hidden, change]);
  return (
    <main class="sessions">
      <header class="diff-head">
        <Side side={data.a} totals={data.totals.a} name="a" />
        <Side side={data.b} totals={data.totals.b} name="b" />
        <p class="diff-sum">
          {data.same ? "Nothing differs." : `${plural(counts.same, "step")} the same, ${count(counts.figures)} but for times and tokens, ${count(counts.changed)} changed, ${count(counts.removed)} only in the first, ${count(counts.added)} only in the second.`}
          {first && ` They part at ${first.a?.name ?? first.b?.name ?? plain(first.a?.kind ?? first.b?.kind ?? "a step")} of ${first.agent}.`}
        </p>
        <Sums data={data} />
        <div class="diff-sum diff-tools">
          {CHANGES.map(([change, title]) => <label key={change} class="check"><input type="checkbox" checked={!hidden.includes(change)} onChange={() => toggle(change)} /> {title}</label>)}
          <span class="grow" />
          <button class="small" onClick={() => setParams({ a: b, b: a })}>Exchange the two</button>
        </div>
        {data.unaligned_steps > 0 && <Partial>{plural(data.unaligned_steps, "step")} too different to align (max_diff_edits); they count as removed and added.</Partial>}
      </header>
      {shown.length > 0 ? <List total={shown.length} rowPx={ROW_PX} label="Steps that differ" row={(n) => shown[n] && <Row step={shown[n]} a={data.a.session_id} b={data.b.session_id} />} /> : <Empty title={data.steps.length === 0 ? "Step by step the same" : "Nothing of what is chosen above"} />}
    </main>
  );
}
