// One link: what it leads from and to, and why it is believed.
import { get } from "../api/client.ts";
import type { EndDoc } from "../api/types.ts";
import { clock, duration, plain } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { versionOf } from "../state/live.ts";
import { select, selectedEdge, sessionId } from "../state/route.ts";
import { Copy } from "../widgets/Small.tsx";
import { Loading, Wrong } from "../widgets/States.tsx";
import { StepLink } from "./StepLink.tsx";

const explained = answerOf(() => {
  const [id, edge] = [sessionId.value, selectedEdge.value];
  if (id === "" || edge === "") return undefined;
  versionOf(id).value;
  return { key: `${id} ${edge}`, get: (signal) => get("/api/v1/sessions/{id}/explain/{thing}", { id, thing: edge }, {}, signal) };
});

/** One end: what it is, whose, and when. */
function End({ end, word }: { end: EndDoc; word: string }) {
  const { agent, detail, elapsed_ms: elapsed, duration_ms: took } = end;
  return (
    <li>
      <span class="quiet">{word}</span>
      <div>
        <StepLink step={end} />
        {detail !== "" && <p class="end-about" title={detail}>{detail}</p>}
        <p class="quiet" title={end.started_at ?? ""}>
          {agent && <>of <b>{agent.label}</b>{agent.detail !== "" && ` (${agent.detail})`} · </>}
          {end.started_at ? clock(end.started_at) : "no time is known"}{elapsed !== null && elapsed !== undefined && `, +${duration(elapsed)}`}
          {took ? ` · took ${duration(took)}` : ""}{end.pending && " · no end yet"}
        </p>
      </div>
    </li>
  );
}

const WORDS = ["from", "to"];

export function Link() {
  const { data, error } = explained.value;
  return (
    <aside class="detail" aria-label="Link">
      <header class="detail-head">
        <h2>A link, and why</h2>
        <button class="small close" aria-label="Close" onClick={() => select(undefined)}>×</button>
        <div class="detail-tools"><span class="grow" /><Copy text={selectedEdge.value} label="Copy ids" /></div>
      </header>
      <div class="detail-body" role="region" aria-label="Why" tabIndex={0}>
        {data && <ul class="link-ends" aria-label="Its ends">{data.ends.map((end, n) => <End key={end.id} end={end} word={WORDS[n] ?? ""} />)}</ul>}
        {error ? <Wrong error={error} /> : !data ? <Loading what="the link" /> : data.sections.map((section) => (
          <div key={section.heading} class="edge explained">
            <h3>{plain(section.heading)}</h3>
            {section.lines.map((line, n) => <p key={n}>{line}</p>)}
          </div>
        ))}
      </div>
    </aside>
  );
}
