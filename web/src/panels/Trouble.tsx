// What somebody wants to know first, while no step is looked at: which agents failed, at what, why, and who had started them.
import type { TroubledAgentDoc } from "../api/types.ts";
import { count, plain, plural } from "../logic/words.ts";
import { selectLink, setParams } from "../state/route.ts";
import { trouble } from "../state/session.ts";
import { Guess } from "../widgets/Small.tsx";
import { Loading, Partial, Wrong } from "../widgets/States.tsx";
import { StepLink } from "./StepLink.tsx";

function Failed({ one }: { one: TroubledAgentDoc }) {
  const { agent, above, worst } = one;
  return (
    <li class={`edge ${one.overcome === one.failures ? "" : "failed"}`}>
      <p class="trouble-who">
        {above.map((outer) => <span key={outer.id} class="quiet">{outer.label} › </span>)}
        <b>{agent.label}</b> <span class="quiet">{agent.detail}</span>
      </p>
      <div class="edge-head"><StepLink step={worst.step} />{worst.detail !== "" && <span class="quiet trouble-at" title={worst.detail}>{worst.detail}</span>}<span class="tag">{plain(worst.outcome)}</span>{worst.refused && <span class="tag">refused by a person</span>}</div>
      <p class="trouble-why">{worst.error ?? "Its source does not say why."}</p>
      {worst.first_cause && <p><span class="quiet">because of </span><StepLink step={worst.first_cause} /></p>}
      {one.started_by && (
        <p><span class="quiet">started by </span><StepLink step={one.started_by} /> {one.inferred && <Guess />}
          {one.link && <button class="link" onClick={() => selectLink(one.link ?? "")}>why linked</button>}
        </p>
      )}
      {one.start_unknown && <p class="quiet">Who started it, no record says.</p>}
      {one.failures > 1 && <p class="quiet">{plural(one.failures, "step")} of it failed, {count(one.overcome)} overcome: <button class="link" onClick={() => setParams({ q: `is:error agent:${agent.id}` })}>show them</button></p>}
    </li>
  );
}

function Failures() {
  const { data, error } = trouble.value;
  if (error) return <Wrong error={error} />;
  if (!data) return <Loading what="what failed" />;
  if (data.failures === 0) return <p class="quiet">Nothing failed.</p>;
  return (
    <>
      <p class="quiet">{plural(data.failures, "step")} of {plural(data.agents.length + data.agents_left_out, "agent")} failed{data.overcome > 0 && `; ${data.overcome === data.failures ? "all" : count(data.overcome)} overcome: the same worked later, or the agent went on`}.</p>
      <ul class="edges">{data.agents.map((one) => <Failed key={one.agent.id} one={one} />)}</ul>
      {data.agents_left_out > 0 && <Partial>{plural(data.agents_left_out, "agent")} more (max_troubled_agents): <button class="link" onClick={() => setParams({ q: "is:error" })}>show all that failed</button></Partial>}
    </>
  );
}

export function Trouble() {
  return (
    <aside class="detail" aria-label="What failed">
      <header class="detail-head"><h2>What failed</h2></header>
      <div class="detail-body" role="region" aria-label="Failures" tabIndex={0}>
        <Failures />
        <p class="quiet hint">Click a bar, a row or a node to look at a step, an arrow to see why it is there. <kbd>e</kbd> goes to the next error, <kbd>?</kbd> lists all keys.</p>
      </div>
    </aside>
  );
}
