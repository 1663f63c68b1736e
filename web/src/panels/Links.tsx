// What people say about links: confirm or deny a guess, add what is missing, take back what was said.
import { useEffect, useState } from "preact/hooks";
import { isReport } from "../api/report.ts";
import type { SaidDoc, StepBriefDoc, StepDetailDoc, StepEdgeDoc } from "../api/types.ts";
import { moment, plain } from "../logic/words.ts";
import { beginDraft, changeDraft, draft, endDraft, findEnds, nameMyself, say, saying, sendDraft, takeBack } from "../state/links.ts";
import { preferences } from "../state/preferences.ts";
import { select } from "../state/route.ts";
import { words } from "../state/schema.ts";

const PAUSE_MS = 150;
const ACTIONS: Record<string, string> = { confirm: "Confirmed", deny: "Denied", add: "Added" };
const STANDINGS: Record<string, string> = { end_missing: "one end is not there; it counts when it is", cycle: "it would make a circle, so it does not count" };

/** Why the last thing that was said about this was refused. */
function Refused({ about }: { about: string }) {
  const now = saying.value;
  if (now?.about !== about || !now.error) return null;
  return <p class="refused" role="alert">{now.error.message}.{now.error.hint && <span class="quiet"> {now.error.hint}.</span>}</p>;
}

function Act({ about, label, title, run }: { about: string; label: string; title: string; run: () => void }) {
  const now = saying.value;
  const isBusy = now?.busy === true;
  return <button class="small" title={title} disabled={isBusy} onClick={run}>{isBusy && now.about === about ? "Sending…" : label}</button>;
}

/** Who said what and when, what it was before, and a way back. */
function Said({ said }: { said: SaidDoc }) {
  const about = `undo ${said.id}`;
  return (
    <div class="said">
      <p>
        <b>{ACTIONS[said.action] ?? plain(said.action)}</b> by {said.who ?? "somebody"} <span class="quiet">{moment(said.at)}</span>
        {said.was_rule && <span class="quiet"> · before: {said.was_rule}{(said.was_confidence ?? 1) < 1 && ` ${Math.round((said.was_confidence ?? 1) * 100)} %`}</span>}
        {said.can_remove && !isReport && <> <Act about={about} label="Undo" title="Take back what was said; the rules speak again" run={() => void takeBack(about, said.id)} /></>}
      </p>
      {said.note && <p class="note">{said.note}</p>}
      {STANDINGS[said.standing] && <p class="refused">{STANDINGS[said.standing]}</p>}
      <Refused about={about} />
    </div>
  );
}

/** What was said about an edge, or what can be. */
export function EdgeSaid({ edge }: { edge: StepEdgeDoc }) {
  if (edge.said) return <Said said={edge.said} />;
  if (isReport || !edge.can_say || !edge.inferred) return null;
  const about = `${edge.from}${edge.to}${edge.kind}`;
  const wanted = (action: string) => void say(about, { action, from: edge.from, to: edge.to, kind: edge.kind });
  return (
    <div class="said">
      <p class="said-acts">
        <Act about={about} label="Confirm" title="It is right: it counts as declared from now on" run={() => wanted("confirm")} />
        <Act about={about} label="Deny" title="It is wrong: it is not shown any more" run={() => wanted("deny")} />
      </p>
      <Refused about={about} />
    </div>
  );
}

function End({ step, name }: { step: StepBriefDoc | null | undefined; name: string }) {
  return step ? <button class="link" onClick={() => select(step.id)}>{step.label} <span class="quiet">#{step.seq}</span></button> : <span class="quiet">{name}</span>;
}

function OtherEnd({ other }: { other: StepBriefDoc | undefined }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<StepBriefDoc[]>([]);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    if (text === "") return setFound([]);
    const timer = setTimeout(() => void findEnds(text).then(
      (steps) => { setFound(steps); setTrouble(steps.length === 0 ? "No step is found by that." : ""); },
      (error: unknown) => setTrouble(error instanceof Error ? error.message : String(error)),
    ), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  if (other) return <p class="chosen"><b>{other.label}</b> <span class="quiet">#{other.seq}</span> <button class="small" onClick={() => changeDraft({ other: undefined })}>Other</button></p>;
  const take = (step: StepBriefDoc) => { setText(""); changeDraft({ other: step }); };
  return (
    <div>
      <input id="link-end" autofocus aria-label="The other step" placeholder="tool:Bash, or words; or click a step anywhere" value={text} onInput={(event) => { setTrouble(""); setText(event.currentTarget.value); }} />
      {found.length > 0 && <ul class="ends" aria-label="Steps found">{found.map((step) => <li key={step.id}><button class="link" onClick={() => take(step)}>{step.label} <span class="quiet">#{step.seq}</span></button></li>)}</ul>}
      {trouble !== "" && <p class="quiet" role="status">{trouble}</p>}
    </div>
  );
}

function Form() {
  const now = draft.value;
  if (!now) return null;
  return (
    <form class="edge link-form" aria-label="Add a link" onSubmit={(event) => { event.preventDefault(); void sendDraft(); }} onKeyDown={(event) => { if (event.key === "Escape") { event.stopPropagation(); endDraft(); } }}>
      <label>This step <select value={now.isCause ? "cause" : "effect"} onChange={(event) => changeDraft({ isCause: event.currentTarget.value === "cause" })}><option value="cause">led to</option><option value="effect">follows from</option></select></label>
      <OtherEnd other={now.other} />
      <label>as <select value={now.kind} onChange={(event) => changeDraft({ kind: event.currentTarget.value })}>{(words.value?.link_kinds ?? []).map((kind) => <option key={kind} value={kind}>{plain(kind)}</option>)}</select></label>
      <label>Note <input value={now.note} placeholder="Why, if you like" onInput={(event) => changeDraft({ note: event.currentTarget.value })} /></label>
      <Refused about="draft" />
      <p class="said-acts">
        <button disabled={!now.other || saying.value?.busy === true}>{saying.value?.busy && saying.value.about === "draft" ? "Sending…" : "Add"}</button>
        <button type="button" onClick={endDraft}>Cancel</button>
      </p>
    </form>
  );
}

/** What was said about a step's links that no edge shows, and a way to say more. */
export function Links({ doc }: { doc: StepDetailDoc }) {
  const { step } = doc;
  const kinds = words.value?.link_kinds ?? [];
  const usual = step.kind === "tool_call" ? "subagent_spawn" : "content_reuse";
  const isAdding = draft.value?.step === step.id;
  // Another step is looked at: its links are its own.
  useEffect(() => { if (draft.peek() && draft.peek()?.step !== step.id) endDraft(); }, [step.id]);
  if (isReport && doc.said.length === 0) return null;
  return (
    <>
      <h3>What people said</h3>
      {doc.said.length > 0 && (
        <ul class="edges">
          {doc.said.map((said) => (
            <li key={said.id} class="edge">
              <div class="edge-head"><End step={said.from_step} name={said.from} /> → <End step={said.to_step} name={said.to} /> <span class="tag">{plain(said.kind)}</span></div>
              <Said said={said} />
            </li>
          ))}
        </ul>
      )}
      {isReport ? null : isAdding ? <Form /> : (
        <p class="said-acts">
          <button class="small" onClick={() => beginDraft(step.id, kinds.includes(usual) ? usual : (kinds[0] ?? ""))}>Add a link…</button>
          <label class="quiet">as <input class="who" aria-label="Your name" placeholder="your name" value={preferences.value.who} onChange={(event) => nameMyself(event.currentTarget.value.trim())} /></label>
        </p>
      )}
    </>
  );
}
