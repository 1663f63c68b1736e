// Numbers of a session as the server counted them, what failed, and what is worth a look. Every row leads to its steps.
import { useEffect, useMemo } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { get } from "../api/client.ts";
import type { AgentTypeDoc, FailureDoc, FindingDoc, ScopeDoc, ToolUseDoc } from "../api/types.ts";
import { count, duration, money, plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { versionOf } from "../state/live.ts";
import { select, selected, sessionId, setParams } from "../state/route.ts";
import { palette, words } from "../state/schema.ts";
import { path } from "../state/session.ts";
import { Guess, SplitBar } from "../widgets/Small.tsx";
import { Loading, Wrong } from "../widgets/States.tsx";
import { splitShares } from "./split.ts";

function useDocument<T>(what: (id: string, signal: AbortSignal) => Promise<T>) {
  const answer = useMemo(() => answerOf(() => {
    const id = sessionId.value;
    if (id === "") return undefined;
    versionOf(id).value;
    return { key: id, get: (signal) => what(id, signal) };
  }), []);
  useEffect(() => () => answer.stop(), [answer]);
  return answer.value;
}

function Table({ heads, children, caption }: { heads: string[]; children: ComponentChildren; caption: string }) {
  return (
    <table class="numbers">
      <caption>{caption}</caption>
      <thead><tr>{heads.map((head, n) => <th key={head} scope="col" class={n === 0 ? "" : "c-number"}>{head}</th>)}</tr></thead>
      <tbody>{children}</tbody>
    </table>
  );
}

const share = (rate: number | null | undefined) => (rate === null || rate === undefined ? "–" : `${(rate * 100).toFixed(rate < 0.1 ? 1 : 0)} %`);

function Findings({ findings }: { findings: FindingDoc[] }) {
  const about = (code: string) => words.value?.findings.find((word) => word.name === code)?.about ?? code;
  if (findings.length === 0) return <p class="quiet">Nothing stands out.</p>;
  return (
    <ul class="edges">
      {findings.map((finding, n) => (
        <li key={n} class="edge">
          <div class="edge-head"><span class="tag" title={about(finding.code)}>{plain(finding.code)}</span>{finding.inferred && <Guess />}
            <button class="link" onClick={() => next(finding.step_ids)}>{plural(finding.step_ids.length, "step")}</button></div>
          <p>{finding.title}</p>
          {(finding.cost.ms || finding.cost.usd || finding.cost.tokens) && <p class="quiet">{[finding.cost.ms && duration(finding.cost.ms), finding.cost.tokens && `${count(finding.cost.tokens)} tokens`, finding.cost.usd && money(finding.cost.usd)].filter(Boolean).join(" · ")}{finding.cost.estimated && " (estimated)"}</p>}
        </li>
      ))}
    </ul>
  );
}

/** Goes through steps one by one. */
function next(steps: string[]): void {
  select(steps[(steps.indexOf(selected.peek()) + 1) % Math.max(1, steps.length)]);
}

function Failures({ failures }: { failures: FailureDoc[] }) {
  if (failures.length === 0) return <p class="quiet">Nothing failed.</p>;
  return (
    <ul class="edges">
      {failures.map((failure) => (
        <li key={failure.step_id} class="edge failed">
          <div class="edge-head"><button class="link" onClick={() => select(failure.step_id)}>{failure.name ?? plain(failure.kind)}</button><span class="tag">{plain(failure.outcome)}</span>{failure.refused && <span class="tag">refused</span>}
            {failure.first_cause && failure.first_cause !== failure.step_id && <button class="link" onClick={() => select(failure.first_cause ?? undefined)}>first cause</button>}
            {failure.retried_by && <button class="link" onClick={() => select(failure.retried_by ?? undefined)}>retried</button>}</div>
          <p>{failure.error ?? "Its source does not say why."}</p>
        </li>
      ))}
    </ul>
  );
}

function AgentTypes({ types }: { types: AgentTypeDoc[] }) {
  return (
    <Table caption="Agents by type" heads={["type", "agents", "p50", "p95", "longest", "errors", "error rate"]}>
      {types.map((type) => (
        <tr key={type.agent_type}>
          <th scope="row"><button class="link" onClick={() => setParams({ q: `agent:${JSON.stringify(type.agent_type)}` })}>{type.agent_type}</button></th>
          <td>{count(type.agents)}</td><td>{duration(type.lifetimes?.p50_ms)}</td><td>{duration(type.lifetimes?.p95_ms)}</td><td>{duration(type.lifetimes?.max_ms)}</td>
          <td class={type.errors > 0 ? "errors" : ""}>{count(type.errors)}</td><td>{share(type.error_rate)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Tools({ types }: { types: AgentTypeDoc[] }) {
  const rows = types.flatMap((type) => type.tools.map((tool: ToolUseDoc) => ({ type: type.agent_type, tool })));
  if (rows.length === 0) return null;
  return (
    <Table caption="Tools by type of agent" heads={["tool", "agent", "calls", "errors", "time"]}>
      {rows.map(({ type, tool }) => (
        <tr key={`${type} ${tool.name}`}>
          <th scope="row"><button class="link" onClick={() => setParams({ q: `tool:${JSON.stringify(tool.name)}` })}>{tool.name}</button></th>
          <td>{type}</td><td>{count(tool.calls)}</td><td class={tool.errors > 0 ? "errors" : ""}>{count(tool.errors)}</td><td>{duration(tool.total_ms)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Runs({ runs }: { runs: ScopeDoc[] }) {
  return (
    <Table caption="Runs" heads={["what was asked", "took", "model", "tools", "people", "idle", "at once"]}>
      {runs.map((run, n) => (
        <tr key={run.id}>
          <th scope="row"><button class="link" onClick={() => setParams({ q: `run:${n + 1}` })}>{run.title ?? `run ${n + 1}`}</button></th>
          <td>{duration(run.wall_ms)}</td><td>{duration(run.split.model_ms)}</td><td>{duration(run.split.tool_ms)}</td><td>{duration(run.split.human_ms)}</td><td>{duration(run.split.idle_ms)}</td><td>{run.parallelism.peak}</td>
        </tr>
      ))}
    </Table>
  );
}

export function Stats() {
  const metrics = useDocument((id, signal) => get("/api/v1/sessions/{id}/metrics", { id }, {}, signal));
  const findings = useDocument((id, signal) => get("/api/v1/sessions/{id}/findings", { id }, {}, signal));
  const failures = useDocument((id, signal) => get("/api/v1/sessions/{id}/failures", { id }, {}, signal));
  const error = metrics.error ?? findings.error ?? failures.error;
  if (error) return <Wrong error={error} />;
  const numbers = metrics.data?.sessions[0];
  if (!numbers) return <Loading what="the numbers" />;
  const whole = path.value.data?.path;
  return (
    <section class="stats" aria-label="Stats" tabIndex={0}>
      <div class="stats-half">
        <h2>Worth a look</h2>
        <Findings findings={findings.data?.sessions[0]?.findings ?? []} />
        <h2>What failed</h2>
        <Failures failures={failures.data?.sessions[0]?.failures ?? []} />
      </div>
      <div class="stats-half">
        <h2>Where the time went</h2>
        {whole && <SplitBar label="Time" shares={splitShares(whole.split, palette.value)} />}
        {whole && <p class="quiet">{duration(whole.wall_ms)} in all; {whole.parallelism.average.toFixed(1)} steps at once on average, {whole.parallelism.peak} at most. {whole.estimated_ms > 0 && `${duration(whole.estimated_ms)} of the critical path are estimated.`}</p>}
        <AgentTypes types={numbers.agent_types} />
        <Tools types={numbers.agent_types} />
        <Runs runs={numbers.runs} />
      </div>
    </section>
  );
}
