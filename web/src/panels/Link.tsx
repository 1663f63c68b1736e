// One link: what it leads from and to, and why it is believed.
import { get } from "../api/client.ts";
import { plain } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { versionOf } from "../state/live.ts";
import { select, selectedEdge, sessionId } from "../state/route.ts";
import { Copy } from "../widgets/Small.tsx";
import { Loading, Wrong } from "../widgets/States.tsx";

const explained = answerOf(() => {
  const [id, edge] = [sessionId.value, selectedEdge.value];
  if (id === "" || edge === "") return undefined;
  versionOf(id).value;
  return { key: `${id} ${edge}`, get: (signal) => get("/api/v1/sessions/{id}/explain/{thing}", { id, thing: edge }, {}, signal) };
});

export function Link() {
  const { data, error } = explained.value;
  const [from, to] = selectedEdge.value.split("..");
  const [cause, effect] = (data?.title ?? "").split(" → ");
  return (
    <aside class="detail" aria-label="Link">
      <header class="detail-head">
        <h2>A link, and why</h2>
        <button class="small close" aria-label="Close" onClick={() => select(undefined)}>×</button>
        <div class="detail-tools link-ends">
          <button class="link" onClick={() => select(from)}>{cause || "from"}</button>
          <span class="quiet">led to</span>
          <button class="link" onClick={() => select(to)}>{effect || "to"}</button>
          <span class="grow" />
          <Copy text={selectedEdge.value} label="Copy ids" />
        </div>
      </header>
      <div class="detail-body" role="region" aria-label="Why" tabIndex={0}>
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
