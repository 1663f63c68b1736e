// Two sessions side by side, aligned by the server.
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client.ts";
import type { SideDoc, StepDiff, StepSide, TotalsDoc } from "../api/types.ts";
import { count, duration, moment, money, plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { go, route } from "../state/route.ts";
import { List } from "../widgets/List.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";

const ROW_PX = 44;

function Side({ side, totals }: { side: SideDoc; totals: TotalsDoc }) {
  return (
    <div class="diff-side">
      <button class="link" onClick={() => go({ page: "session", id: side.session_id, params: {} })}>{side.title ?? side.session_id}</button>
      <p class="quiet">{moment(side.started_at)} · {plural(totals.steps, "step")} · {plural(totals.errors, "error")} · {duration(totals.duration_ms)} · {money(totals.cost_usd)}</p>
    </div>
  );
}

function Step({ side, session }: { side: StepSide | null | undefined; session: string }) {
  if (!side) return <span class="diff-none" aria-label="not there" />;
  return (
    <button class={side.is_error ? "link diff-step errors" : "link diff-step"} onClick={() => go({ page: "session", id: session, params: { step: side.id } })}>
      <b>{side.name ?? plain(side.kind)}</b> <span class="quiet">{side.text}</span>
    </button>
  );
}

function Row({ step, a, b }: { step: StepDiff; a: string; b: string }) {
  return (
    <div class={`diff-row diff-is-${step.change}`}>
      <Step side={step.a} session={a} />
      <span class="diff-what"><span class="tag">{step.change}</span><span class="quiet">{step.fields.map((field) => field.field).join(", ")}</span></span>
      <Step side={step.b} session={b} />
    </div>
  );
}

export function Diff() {
  const answer = useMemo(() => answerOf(() => {
    const { a, b } = route.value.params;
    return a && b ? { key: `${a} ${b}`, get: (signal) => get("/api/v1/diff", {}, { a, b }, signal) } : undefined;
  }), []);
  useEffect(() => () => answer.stop(), [answer]);
  const { data, error, loading } = answer.value;
  if (error) return <main class="sessions"><Wrong error={error} /></main>;
  if (!data) return <main class="sessions">{loading ? <Loading what="what differs" /> : <Empty title="Nothing to compare"><p>Open a session and press <kbd>c</kbd>.</p></Empty>}</main>;
  const { counts, first_divergence: first } = data;
  return (
    <main class="sessions">
      <header class="diff-head">
        <Side side={data.a} totals={data.totals.a} />
        <Side side={data.b} totals={data.totals.b} />
        <p class="diff-sum">
          {data.same ? "Nothing differs." : `${plural(counts.same, "step")} the same, ${count(counts.figures)} but for times and tokens, ${count(counts.changed)} changed, ${count(counts.removed)} only in the first, ${count(counts.added)} only in the second.`}
          {first && ` They part at ${first.a?.name ?? first.b?.name ?? plain(first.a?.kind ?? first.b?.kind ?? "a step")} of ${first.agent}.`}
          {data.unaligned_steps > 0 && ` ${plural(data.unaligned_steps, "step")} too different to align (max_diff_edits).`}
        </p>
      </header>
      {data.steps.length > 0 && <List total={data.steps.length} rowPx={ROW_PX} label="Steps that differ" row={(n) => data.steps[n] && <Row step={data.steps[n]} a={data.a.session_id} b={data.b.session_id} />} />}
    </main>
  );
}
