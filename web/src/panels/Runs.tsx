// The runs of a session as swim-lanes: what was asked, and what came of it, in rows by agent. One run can be looked at alone.
import { useEffect, useRef } from "preact/hooks";
import { address } from "../api/client.ts";
import type { RunLaneDoc, RunStepDoc } from "../api/types.ts";
import { arrowPath, type LaneSize } from "../logic/runs.ts";
import { clock, count, duration, knownCost, plain, plural } from "../logic/words.ts";
import { detailTab } from "../state/detail.ts";
import { rowPx } from "../state/preferences.ts";
import { isLater } from "../state/replay.ts";
import { go, select, selected, sessionId, setParams } from "../state/route.ts";
import { lightOf } from "../state/session.ts";
import { onlyRun, PAGE_RUNS, runs } from "../state/runs.ts";
import { List } from "../widgets/List.tsx";
import { RequestTag, Status, Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";
import { Save } from "../widgets/save.tsx";
import { failed } from "../state/trouble.ts";

const SMALL: LaneSize = { columnPx: 104, rowPx: 26 };
const LARGE: LaneSize = { columnPx: 168, rowPx: 44 };

function Chip({ step, size }: { step: RunStepDoc; size: LaneSize }) {
  const light = lightOf(step.id, step.seq);
  const about = [step.label, step.request && plain(step.request), step.detail, duration(step.duration_ms), step.is_error && "failed", step.pending && "no end yet"].filter(Boolean).join(" · ");
  return (
    <button class={`chip is-${light}${step.is_error ? " failed" : ""}${step.pending ? " pending" : ""}${isLater(step.elapsed_ms) ? " is-later" : ""}`} aria-pressed={light === "selected"} title={about}
      style={{ left: `${step.column * size.columnPx}px`, top: `${step.lane * size.rowPx + 2}px`, width: `${size.columnPx - 12}px`, height: `${size.rowPx - 4}px`, borderLeftColor: `var(--look-${step.look})` }}
      onClick={() => select(light === "selected" ? undefined : step.id)}>
      <span class="chip-label">{step.label}</span>
      {size === LARGE && <span class="chip-about">{step.detail === "" ? duration(step.duration_ms) : step.detail}</span>}
    </button>
  );
}

function Lanes({ run, size }: { run: RunLaneDoc; size: LaneSize }) {
  const box = useRef<HTMLDivElement>(null);
  // A step that was chosen elsewhere is brought into sight.
  useEffect(() => box.current?.querySelector(".chip.is-selected")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [selected.value, run.id]);
  const [width, height] = [run.columns * size.columnPx, run.lanes.length * size.rowPx];
  const word = { subagent_spawn: "starts", subagent_return: "answers" };
  return (
    <div class="swim">
      <div class="swim-names" style={{ height: `${height}px` }}>
        {run.lanes.map((lane, n) => <div key={lane.id} class="swim-name" style={{ top: `${n * size.rowPx}px`, height: `${size.rowPx}px`, paddingLeft: `${6 + Math.min(lane.depth, 4) * 8}px` }} title={`${lane.label} ${lane.detail}`}><b>{lane.label}</b> <span class="quiet">{lane.detail}</span></div>)}
      </div>
      <div ref={box} class="swim-box" tabIndex={0} role="group" aria-label={`Steps of ${run.number === null ? "no run" : `run ${run.number}`}, in order`}>
        <div class="swim-room" style={{ width: `${width}px`, height: `${height}px` }}>
          {run.lanes.map((lane, n) => <div key={lane.id} class="swim-row" style={{ top: `${n * size.rowPx}px`, height: `${size.rowPx}px` }} />)}
          <svg class="swim-arrows" width={width} height={height} aria-hidden="true">
            {run.arrows.map((arrow) => {
              const [from, to] = [run.steps[arrow.from], run.steps[arrow.to]];
              return from && to && <path key={`${arrow.from} ${arrow.to} ${arrow.kind}`} d={arrowPath(from, to, size)} class={`way way-${arrow.kind}${arrow.inferred ? " way-inferred" : ""}`}><title>{word[arrow.kind as keyof typeof word] ?? plain(arrow.kind)}</title></path>;
            })}
          </svg>
          {run.steps.map((step) => <Chip key={step.id} step={step} size={size} />)}
        </div>
      </div>
    </div>
  );
}

/** Files of a run or of the whole session. */
function Downloads({ run }: { run?: number | null | undefined }) {
  const link = (format: string, view: string) => address("/api/v1/sessions/{id}/export", { id: sessionId.value }, { format, view, run: run ?? undefined });
  return (
    <>
      <Save url={link("d2", "graph")} title="D2: a diagram as text" failed={failed}>D2</Save>
      <Save url={link("thoughtflow", "flow")} title="ThoughtFlow JSON: runs and their steps with what each depends on" failed={failed}>ThoughtFlow</Save>
    </>
  );
}

function RunHead({ run, isAlone }: { run: RunLaneDoc; isAlone: boolean }) {
  const n = run.number;
  const { totals } = run;
  const title = run.title ?? (n === null ? "Steps of no run" : `Run ${n}`);
  return (
    <div class="run-head">
      <span class="run-number">{n ?? "–"}</span>
      {n === null || isAlone ? <b class="run-title">{title}</b> : <button class="link run-title" title="Look at this run alone" onClick={() => setParams({ run: n, runs_from: "" })}>{title}</button>}
      <Status status={run.status} />
      <span class="run-facts quiet">
        {clock(run.started_at)} · {duration(run.duration_ms)} · {plural(totals.steps, "step")}
        {totals.errors > 0 && <> · <span class="errors">{plural(totals.errors, "error")}</span></>}
        {totals.cost_usd !== null && totals.cost_usd !== undefined && <> · {knownCost(totals.cost_usd, totals.unpriced_calls)}</>}
      </span>
      {n !== null && n !== undefined && (
        <span class="run-tools">
          <button class="small" title={`Filter every view by run:${n}`} onClick={() => setParams({ q: `run:${n}` })}>Filter</button>
          {n > 1 && <button class="small" title="Compare with the run before" onClick={() => go({ page: "diff", id: "", params: { a: `${sessionId.value}:${n - 1}`, b: `${sessionId.value}:${n}` } })}>Compare</button>}
          <Downloads run={n} />
        </span>
      )}
    </div>
  );
}

function leftOut(run: RunLaneDoc): string {
  const words = [run.steps_left_out > 0 && `${plural(run.steps_left_out, "step")} more`, run.asides_left_out > 0 && `${plural(run.asides_left_out, "note")} of the client left out`];
  return words.filter(Boolean).join(", ");
}

function Run({ run }: { run: RunLaneDoc }) {
  return (
    <article class="run" aria-label={run.title ?? "Run"}>
      <RunHead run={run} isAlone={false} />
      {run.steps.length > 0 && <Lanes run={run} size={SMALL} />}
      {leftOut(run) !== "" && <p class="quiet run-more">{leftOut(run)}{run.steps_left_out > 0 && run.number !== null && <> · <button class="link" onClick={() => setParams({ run: run.number ?? "", runs_from: "" })}>look at this run alone</button></>}</p>}
    </article>
  );
}

/** A step of a run with a way to its records. */
function StepLine({ step, agent }: { step: RunStepDoc; agent: string }) {
  const light = lightOf(step.id, step.seq);
  const records = () => {
    detailTab.value = "Record";
    select(step.id);
  };
  return (
    <div class={`tree-row step is-${light}${isLater(step.elapsed_ms) ? " is-later" : ""}`} onClick={() => select(step.id)} title={step.detail}>
      <span class="tree-text"><Swatch look={step.look} error={step.is_error} /><span class={step.is_error ? "label errors" : "label"}>{step.label}</span>{step.request && <RequestTag request={step.request} />}<span class="quiet">{step.detail}</span></span>
      <span class="tree-facts">
        <span class="quiet c-agent">{agent}</span>
        <span class="c-small">{step.tokens ? `${count(step.tokens)} tok` : ""}</span>
        <span class="c-small strong">{duration(step.duration_ms)}</span>
        <span class="c-small quiet">+{duration(step.elapsed_ms)}</span>
        <button class="link" onClick={(event) => { event.stopPropagation(); records(); }}>{plural(step.records, "record")}</button>
      </span>
    </div>
  );
}

function Alone({ run, total }: { run: RunLaneDoc; total: number }) {
  const n = run.number ?? 1;
  const at = run.steps.findIndex((step) => step.id === selected.value);
  return (
    <section class="runs alone" aria-label={`Run ${n}`}>
      <div class="tools">
        <button class="small" onClick={() => setParams({ run: "" })}>All runs</button>
        <span class="choice" role="group" aria-label="Other runs"><button disabled={n <= 1} aria-label="Run before" onClick={() => setParams({ run: n - 1 })}>‹</button><button disabled={n >= total} aria-label="Run after" onClick={() => setParams({ run: n + 1 })}>›</button></span>
        <span class="quiet">run {n} of {total}</span>
        <span class="grow" />
        <span class="quiet">{leftOut(run)}</span>
      </div>
      <RunHead run={run} isAlone={true} />
      {run.steps.length === 0 ? <Empty title="No steps in this run" /> : (
        <>
          <div class="alone-lanes"><Lanes run={run} size={LARGE} /></div>
          <List total={run.steps.length} rowPx={rowPx.value} label="Steps of the run" reveal={at < 0 ? undefined : at} row={(row) => run.steps[row] && <StepLine step={run.steps[row]} agent={run.lanes[run.steps[row].lane]?.label ?? ""} />} />
        </>
      )}
    </section>
  );
}

export function Runs() {
  const { data, error, loading } = runs.value;
  if (error) return <Wrong error={error} />;
  if (!data) return loading ? <Loading what="the runs" rows={6} /> : null;
  const alone = data.runs[0];
  if (onlyRun.value !== "" && alone) return <Alone run={alone} total={data.total_runs} />;
  if (data.total_runs === 0) return <Empty title="No runs"><p class="quiet">A run begins with what somebody asks; this session has no such step.</p></Empty>;
  const page = (from: number) => setParams({ runs_from: from <= 0 ? "" : from });
  return (
    <section class="runs" aria-label="Runs" tabIndex={0}>
      <div class="tools">
        <span class="quiet">{plural(data.total_runs, "run")}{data.total_runs > data.runs.length && `, ${data.from + 1} to ${data.to} shown`}{loading && " …"}</span>
        {data.total_runs > PAGE_RUNS && <span class="choice"><button disabled={data.from === 0} onClick={() => page(data.from - PAGE_RUNS)}>Before</button><button disabled={data.to >= data.total_runs} onClick={() => page(data.to)}>After</button></span>}
        <span class="grow" />
        <span class="quiet">the whole session as</span><Downloads />
      </div>
      {data.runs.map((run) => <Run key={run.id ?? "none"} run={run} />)}
    </section>
  );
}
