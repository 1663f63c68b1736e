// Numbers of a session as the server counted them, what failed, and what is worth a look. Every row leads to its steps.
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client.ts";
import type { FailureDoc, FindingDoc, NumberRowDoc, RunLaneDoc, TableDoc } from "../api/types.ts";
import { count, duration, knownCost, money, percent, plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { versionOf } from "../state/live.ts";
import { playedMs } from "../state/replay.ts";
import { select, selected, sessionId, setParams } from "../state/route.ts";
import { palette, words } from "../state/schema.ts";
import { numbers, path } from "../state/session.ts";
import { Guess, Sortable, SplitBar, type Column } from "../widgets/Small.tsx";
import { Loading, Partial, Wrong } from "../widgets/States.tsx";
import { Context } from "./Context.tsx";
import { bucketShares } from "./Header.tsx";
import { splitShares } from "./split.ts";

/** Runs of the table: `max_runs`. */
const MAX_RUNS = 100;
/** Rows of what failed that are listed; the filter has all: `max_listed_failures`. */
const MAX_LISTED = 100;

function useDocument<T>(what: (id: string, signal: AbortSignal) => Promise<T>) {
  const answer = useMemo(() => answerOf(() => {
    const id = sessionId.value;
    if (id === "") return undefined;
    versionOf(id, "sums").value;
    return { key: id, get: (signal) => what(id, signal) };
  }), []);
  useEffect(() => () => answer.stop(), [answer]);
  return answer.value;
}

/** Goes through steps one by one. */
function next(steps: string[]): void {
  select(steps[(steps.indexOf(selected.peek()) + 1) % Math.max(1, steps.length)]);
}

function Steps({ ids }: { ids: string[] }) {
  const at = ids.indexOf(selected.value);
  return <button class="link" title="Goes through them one by one" onClick={() => next(ids)}>{at >= 0 && ids.length > 1 ? `${at + 1}/${ids.length}` : plural(ids.length, "step")}</button>;
}

function Findings({ findings }: { findings: FindingDoc[] }) {
  const about = (code: string) => words.value?.findings.find((word) => word.name === code)?.about ?? code;
  if (findings.length === 0) return <p class="quiet">Nothing stands out.</p>;
  return (
    <ul class="edges">
      {findings.map((finding, n) => (
        <li key={n} class="edge">
          <div class="edge-head"><span class="tag" title={about(finding.code)}>{plain(finding.code)}</span>{finding.inferred && <Guess />}<Steps ids={finding.step_ids} /></div>
          <p>{finding.title}</p>
          {(finding.cost.ms || finding.cost.usd || finding.cost.tokens) && <p class="quiet">{[finding.cost.ms && duration(finding.cost.ms), finding.cost.tokens && `${count(finding.cost.tokens)} tokens`, finding.cost.usd && money(finding.cost.usd)].filter(Boolean).join(" · ")}{finding.cost.estimated && " (estimated)"}</p>}
        </li>
      ))}
    </ul>
  );
}

function Failures({ failures }: { failures: FailureDoc[] }) {
  if (failures.length === 0) return <p class="quiet">Nothing failed.</p>;
  return (
    <>
      <ul class="edges">
        {failures.slice(0, MAX_LISTED).map((failure) => (
          <li key={failure.step_id} class="edge failed">
            <div class="edge-head"><button class="link" onClick={() => select(failure.step_id)}>{failure.name ?? plain(failure.kind)}</button><span class="tag">{plain(failure.outcome)}</span>{failure.refused && <span class="tag">refused</span>}
              {failure.first_cause && failure.first_cause !== failure.step_id && <button class="link" onClick={() => select(failure.first_cause ?? undefined)}>first cause</button>}
              {failure.retried_by && <button class="link" onClick={() => select(failure.retried_by ?? undefined)}>the retry</button>}</div>
            <p>{failure.error ?? "Its source does not say why."}</p>
          </li>
        ))}
      </ul>
      {failures.length > MAX_LISTED && <Partial>{count(failures.length - MAX_LISTED)} more (max_listed_failures): <button class="link" onClick={() => setParams({ q: "is:error" })}>show all of them</button></Partial>}
    </>
  );
}

const NUMBERS: Column<NumberRowDoc>[] = [
  { name: "count", by: (row) => row.count, show: (row) => count(row.count), isBar: true },
  { name: "errors", by: (row) => row.errors, show: (row) => <span class={row.errors > 0 ? "errors" : ""}>{count(row.errors)}</span> },
  { name: "time", title: "Of all whose length is known", by: (row) => row.total_ms, show: (row) => duration(row.total_ms), isBar: true },
  { name: "p50", title: "Half took at most this", by: (row) => row.p50_ms, show: (row) => duration(row.p50_ms) },
  { name: "p90", title: "90 of 100 took at most this", by: (row) => row.p90_ms, show: (row) => duration(row.p90_ms) },
  { name: "p99", title: "99 of 100 took at most this", by: (row) => row.p99_ms, show: (row) => duration(row.p99_ms) },
  { name: "longest", by: (row) => row.max_ms, show: (row) => duration(row.max_ms) },
];
const MONEY: Column<NumberRowDoc>[] = [
  { name: "tokens", by: (row) => row.tokens, show: (row) => count(row.tokens), isBar: true },
  { name: "cost", title: "Of calls whose model has a price", by: (row) => row.cost_usd, show: (row) => knownCost(row.cost_usd, row.unpriced_calls), isBar: true },
];

function Name({ row }: { row: NumberRowDoc }) {
  return row.query ? <button class="link" title={`Filter by ${row.query}`} onClick={() => setParams({ q: row.query ?? "" })}>{row.name}</button> : <>{row.name}</>;
}

function Numbers({ caption, first, table, hasTokens }: { caption: string; first: string; table: TableDoc; hasTokens: boolean }) {
  if (table.rows.length === 0) return null;
  const name: Column<NumberRowDoc> = { name: first, by: (row) => row.name.toLowerCase(), show: (row) => <Name row={row} /> };
  return (
    <>
      <Sortable caption={caption} columns={hasTokens ? [name, ...NUMBERS, ...MONEY] : [name, ...NUMBERS]} rows={table.rows} keyOf={(row) => row.name} />
      {table.rows_left_out > 0 && <Partial>{plural(table.rows_left_out, "row")} left out (max_number_rows).</Partial>}
    </>
  );
}

const RUNS: Column<RunLaneDoc>[] = [
  { name: "run", by: (run) => run.number, show: (run) => (run.number ? <button class="link" onClick={() => setParams({ view: "runs", run: run.number ?? "" })}>{run.number}. {run.title ?? "no words"}</button> : "no run") },
  { name: "took", by: (run) => run.duration_ms, show: (run) => duration(run.duration_ms), isBar: true },
  { name: "steps", by: (run) => run.totals.steps, show: (run) => count(run.totals.steps) },
  { name: "errors", by: (run) => run.totals.errors, show: (run) => <span class={run.totals.errors > 0 ? "errors" : ""}>{count(run.totals.errors)}</span> },
  { name: "model", by: (run) => run.time?.split.model_ms, show: (run) => duration(run.time?.split.model_ms) },
  { name: "tools", by: (run) => run.time?.split.tool_ms, show: (run) => duration(run.time?.split.tool_ms) },
  { name: "people", by: (run) => run.time?.split.human_ms, show: (run) => duration(run.time?.split.human_ms) },
  { name: "idle", by: (run) => run.time?.split.idle_ms, show: (run) => duration(run.time?.split.idle_ms) },
  { name: "tokens", by: (run) => run.tokens, show: (run) => count(run.tokens), isBar: true },
  { name: "cost", by: (run) => run.totals.cost_usd, show: (run) => knownCost(run.totals.cost_usd, run.totals.unpriced_calls), isBar: true },
];

function Time() {
  const { data, error } = path.value;
  const whole = data?.path;
  if (error) return <Partial>How the time was spent cannot be told: {error.message}</Partial>;
  if (!whole) return <div class="skeleton" />;
  return (
    <>
      <SplitBar label="Time" shares={splitShares(whole.split, palette.value).map((share) => ({ ...share, text: `${share.text} (${percent(share.value, whole.wall_ms)})` }))} />
      <p class="quiet">{duration(whole.wall_ms)} in all; {whole.parallelism.average.toFixed(1)} steps at once on average, {whole.parallelism.peak} at most. {whole.estimated_ms > 0 && `${duration(whole.estimated_ms)} of the critical path are estimated.`}</p>
    </>
  );
}

export function Stats() {
  const runs = useDocument((id, signal) => get("/api/v1/sessions/{id}/runs", { id }, { to: MAX_RUNS, steps: 0, times: true }, signal));
  const findings = useDocument((id, signal) => get("/api/v1/sessions/{id}/findings", { id }, {}, signal));
  const failures = useDocument((id, signal) => get("/api/v1/sessions/{id}/failures", { id }, {}, signal));
  const { data: doc, error } = numbers.value;
  if (error && !doc) return <Wrong error={error} />;
  if (!doc) return <Loading what="the numbers" rows={8} />;
  const spanMs = doc.until_ms ?? doc.totals.duration_ms ?? 0;
  return (
    <section class="stats" aria-label="Stats" tabIndex={0}>
      {playedMs.value !== undefined && <Partial>Played up to +{duration(doc.until_ms)}: the tables, tokens and contexts are those of that moment.</Partial>}
      <div class="stats-half">
        <h2>Where the time went</h2>
        <Time />
        <h2>Tokens and cost</h2>
        {doc.buckets.length === 0 ? <p class="quiet">No call says how many tokens it took.</p> : <SplitBar label="Tokens" shares={bucketShares(doc.buckets, palette.value, doc.totals.unpriced_calls)}><span class="quiet">together <b>{count(doc.tokens)}</b>, cost <b>{knownCost(doc.totals.cost_usd, doc.totals.unpriced_calls)}</b></span></SplitBar>}
        <h2>How the contexts grew</h2>
        <Context context={doc.context} spanMs={spanMs} />
      </div>
      <div class="stats-half">
        <h2>Worth a look</h2>
        {findings.error ? <Partial>{findings.error.message}</Partial> : findings.data ? <Findings findings={findings.data.sessions[0]?.findings ?? []} /> : <div class="skeleton" />}
        <h2>What failed</h2>
        {failures.error ? <Partial>{failures.error.message}</Partial> : failures.data ? <Failures failures={failures.data.sessions[0]?.failures ?? []} /> : <div class="skeleton" />}
      </div>
      <div class="stats-wide">
        <Numbers caption="Agents by type" first="type" table={doc.agent_types} hasTokens={true} />
        <Numbers caption="Models" first="model" table={doc.models} hasTokens={true} />
        <Numbers caption="Tools" first="tool" table={doc.tools} hasTokens={false} />
        {runs.data && runs.data.runs.length > 0 && <Sortable caption="Runs" columns={RUNS} rows={runs.data.runs} keyOf={(run) => run.id ?? ""} />}
        {runs.data && runs.data.total_runs > runs.data.to && <Partial>{plural(runs.data.total_runs - runs.data.to, "run")} left out (max_runs); the Runs view has them all.</Partial>}
      </div>
    </section>
  );
}
