// Why a step is linked as it is: every edge with its rule, confidence, evidence and rivals.
import { address } from "../api/client.ts";
import type { RivalDoc, StepDetailDoc, StepEdgeDoc } from "../api/types.ts";
import { plain, plural } from "../logic/words.ts";
import { detailTab } from "../state/detail.ts";
import { select, sessionId } from "../state/route.ts";
import { failed } from "../state/trouble.ts";
import { Guess } from "../widgets/Small.tsx";
import { Open } from "../widgets/save.tsx";
import { EdgeSaid, Links } from "./Links.tsx";
import { StepLink } from "./StepLink.tsx";

/** Records that speak for an edge; those of the step itself are a tab away, others open by themselves. */
function Evidence({ ids, own }: { ids: string[]; own: ReadonlySet<string> }) {
  if (ids.length === 0) return null;
  return (
    <p class="quiet">shown by {ids.map((id) => (own.has(id)
      ? <button key={id} class="link mono" onClick={() => (detailTab.value = "Record")}>{id.slice(0, 9)}</button>
      : <Open key={id} url={address("/api/v1/sessions/{id}/records/{record}", { id: sessionId.value, record: id }, { text: true })} name={`${id}.txt`} failed={failed} class="link mono">{id.slice(0, 9)}</Open>))}
    </p>
  );
}

function Rivals({ rivals, count }: { rivals: RivalDoc[]; count: number }) {
  if (rivals.length === 0 && count === 0) return null;
  return (
    <details class="rivals">
      <summary>{plural(Math.max(count, rivals.length), "other start")} considered and not believed</summary>
      <ul>{rivals.map((rival, n) => <li key={n}>{rival.step_id ? <button class="link mono" onClick={() => select(rival.step_id ?? undefined)}>{rival.tool_use_id}</button> : <span class="mono">{rival.tool_use_id}</span>} <span class="quiet">{rival.sentence}</span></li>)}</ul>
      {count > rivals.length && rivals.length > 0 && <p class="quiet">and {count - rivals.length} more</p>}
    </details>
  );
}

function Edge({ edge, own }: { edge: StepEdgeDoc; own: ReadonlySet<string> }) {
  return (
    <li class={edge.is_error ? "edge failed" : "edge"}>
      <div class="edge-head">
        <StepLink step={edge.other} />
        <span class="tag">{plain(edge.kind)}</span>
        {edge.inferred ? <Guess confidence={edge.confidence} /> : <span class="tag exact">{edge.said ? "declared" : "exact"}</span>}
        {edge.is_error && <span class="tag failed">error</span>}
      </div>
      <p>{edge.rule_sentence}</p>
      <p class="quiet">rule {edge.rule} · confidence {edge.confidence}{edge.tool_use_id && <> · <span class="mono">{edge.tool_use_id}</span></>}</p>
      <Evidence ids={edge.evidence} own={own} />
      <Rivals rivals={edge.rivals} count={edge.rival_count} />
      <EdgeSaid edge={edge} />
    </li>
  );
}

function Edges({ title, edges, own }: { title: string; edges: StepEdgeDoc[]; own: ReadonlySet<string> }) {
  return (
    <>
      <h3>{title}</h3>
      {edges.length === 0 ? <p class="quiet">Nothing.</p> : <ul class="edges">{edges.map((edge) => <Edge key={`${edge.from}${edge.to}${edge.kind}`} edge={edge} own={own} />)}</ul>}
    </>
  );
}

export function Why({ doc }: { doc: StepDetailDoc }) {
  const own = new Set(doc.records.map((record) => record.id));
  return (
    <>
      <Edges title="What led to it" edges={doc.edges_in} own={own} />
      <Edges title="What it led to" edges={doc.edges_out} own={own} />
      <Links doc={doc} />
      {doc.started.length > 0 && <h3>Agents it started</h3>}
      {doc.started.map((one) => (
        <div key={one.agent.id} class="edge">
          <div class="edge-head"><b>{one.agent.label}</b> <span class="quiet">{one.agent.detail}</span>{one.inferred ? <Guess confidence={one.confidence} /> : <span class="tag exact">exact</span>}</div>
          <p>{one.rule_sentence}</p>
          <p class="quiet">rule {one.rule} · confidence {one.confidence}</p>
          <Rivals rivals={one.rivals} count={one.rival_count} />
        </div>
      ))}
      {doc.explanation && (
        <>
          <h3>In sentences</h3>
          {doc.explanation.sections.map((section) => (
            <div key={section.heading} class="explained">
              <h4>{section.heading}</h4>
              {section.lines.map((line, n) => <p key={n}>{line}</p>)}
            </div>
          ))}
        </>
      )}
    </>
  );
}
