// What was not understood, not linked or drifted, in all sessions and in records of none, and what became of the records of each source.
import { useEffect, useMemo } from "preact/hooks";
import { address, get } from "../api/client.ts";
import type { IssueSampleDoc, IssueSumDoc } from "../api/types.ts";
import { count, plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { go, openSession, replaceParams, route } from "../state/route.ts";
import { words } from "../state/schema.ts";
import { failed } from "../state/trouble.ts";
import { NoticesListed } from "./Notices.tsx";
import { Open, openAnswer } from "../widgets/save.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";

/** Goes to the step that a record witnesses; one of no step is shown as it was written. */
async function openRecord(session: string, record: string): Promise<void> {
  try {
    const { sessions } = await get("/api/v1/query", {}, { q: `id:${record}`, session: [session], limit: 1 });
    const step = sessions[0]?.steps[0]?.id;
    if (step) go({ page: "session", id: session, params: { step } });
    else await openAnswer(address("/api/v1/sessions/{id}/records/{record}", { id: session, record }), `${record}.txt`);
  } catch (error) {
    failed(error);
  }
}

function Sample({ sample }: { sample: IssueSampleDoc }) {
  const { session_id: session, records } = sample;
  const named = (n: number) => (records.length === 1 ? "record" : `record ${n + 1}`);
  return (
    <li class="sample">
      {session ? <button class="link sample-title" onClick={() => openSession(session)}>{sample.title ?? session}</button> : <span class="sample-title quiet">no session{sample.stream ? `: ${sample.stream}` : ` (${sample.sources.join(", ")})`}</span>}
      <span class="sample-detail">{sample.detail}{sample.count > 1 && <span class="quiet"> ×{count(sample.count)}</span>}</span>
      <span class="sample-records">{records.slice(0, 3).map((record, n) => session
        ? <button key={record} class="link" title="Go to the step it is about, or see it as it was written" onClick={() => void openRecord(session, record)}>{named(n)}</button>
        : <Open key={record} url={address("/api/v1/issues/records/{loose}", { loose: record })} name={`${record}.txt`} failed={failed} class="link" title="See it as it was written">{named(n)}</Open>)}
      </span>
    </li>
  );
}

function Issue({ issue }: { issue: IssueSumDoc }) {
  const left = issue.sessions + (issue.loose > 0 ? 1 : 0) - issue.samples.length;
  return (
    <li class={issue.severity === "error" ? "edge failed" : "edge"}>
      <div class="edge-head">
        <button class="link issue-code" title="Only these" onClick={() => replaceParams({ code: issue.code })}>{plain(issue.code)}</button>
        <span class={issue.severity === "error" ? "tag failed" : "tag"}>{issue.severity}</span>
        {issue.drift && <span class="guess">drift</span>}
        {issue.gap && <span class="tag" title="Something of what happened is missing in what is shown">◐ incomplete</span>}
        <span class="quiet">{plural(issue.count, "time")}{issue.sessions > 0 && ` in ${plural(issue.sessions, "session")}`}{issue.loose > 0 && `, ${count(issue.loose)} in records of no session`}</span>
      </div>
      <p>{issue.about}</p>
      <ul class="samples">{issue.samples.map((sample, n) => <Sample key={n} sample={sample} />)}</ul>
      {left > 0 && issue.samples.length >= 8 && <p class="quiet">and more (max_issue_samples)</p>}
    </li>
  );
}

function Chosen({ title }: { title: string | undefined }) {
  const { session, source, code } = route.value.params;
  const chips: [string, string, string][] = [];
  if (session) chips.push(["session", "session", title ?? session]);
  if (source) chips.push(["source", "source", source]);
  if (code) chips.push(["code", "issue", plain(code)]);
  if (chips.length === 0) return null;
  return <div class="chips">{chips.map(([name, label, text]) => <button key={name} class="chip" aria-label={`No longer only ${label} ${text}`} onClick={() => replaceParams({ [name]: "" })}><span class="quiet">{label}</span> {text} ×</button>)}</div>;
}

type Receipts = { source: string; seen: number; stored: number; duplicate: number; rejected: number };

function Sources({ receipts, odd }: { receipts: readonly Receipts[]; odd: readonly { source: string; count: number; drift: number; loose: number }[] }) {
  const chosen = route.value.params["source"];
  return (
    <table class="numbers">
      <caption class="hidden">Records and issues by source</caption>
      <thead><tr>{["source", "seen", "stored", "duplicate", "rejected", "issues", "drift", "of no session"].map((head) => <th key={head} scope="col">{head}</th>)}</tr></thead>
      <tbody>{receipts.map((one) => {
        const of = odd.find(({ source }) => source === one.source);
        return (
          <tr key={one.source} class={chosen === one.source ? "current" : ""}>
            <th scope="row"><button class="link" title="Only what came from here" onClick={() => replaceParams({ source: chosen === one.source ? "" : one.source })}>{one.source}</button></th>
            <td>{count(one.seen)}</td><td>{count(one.stored)}</td><td>{count(one.duplicate)}</td><td class={one.rejected > 0 ? "errors" : ""}>{count(one.rejected)}</td>
            <td>{count(of?.count ?? 0)}</td><td>{count(of?.drift ?? 0)}</td><td>{count(of?.loose ?? 0)}</td>
          </tr>
        );
      })}</tbody>
    </table>
  );
}

export function Issues() {
  const answer = useMemo(() => answerOf(() => {
    const { session, source, code } = route.value.params;
    return {
      key: "issues",
      part: JSON.stringify([session, source, code]),
      get: async (signal) => {
        const row = session ? get("/api/v1/sessions/{id}/line", { id: session }, {}, signal).catch(() => undefined) : undefined;
        const [issues, receipts, line] = await Promise.all([get("/api/v1/issues", {}, { session, source, code }, signal), get("/api/v1/receipts", {}, {}, signal), row]);
        return { issues, receipts, title: line?.title ?? undefined };
      },
    };
  }), []);
  useEffect(() => () => answer.stop(), [answer]);
  const { data, error } = answer.value;
  if (error && !data) return <main class="sessions"><Wrong error={error} /></main>;
  if (!data) return <main class="sessions"><Loading what="what was odd" /></main>;
  const { issues, receipts } = data;
  const { info, code } = route.value.params;
  const isShown = (issue: IssueSumDoc) => info === "true" || code !== undefined || issue.severity !== "info" || issue.drift;
  const shown = issues.issues.filter(isShown);
  const quiet = issues.issues.length - shown.length;
  const codes = (words.value?.issues ?? []).filter(({ name }) => issues.issues.some((issue) => issue.code === name));
  return (
    <main class="sessions">
      {error && <div class="trouble" role="alert">{error.message}{error.hint && `: ${error.hint}`}</div>}
      <section class="stats issues" tabIndex={0} aria-label="What was odd">
        <div class="stats-half">
          <div class="issues-head">
            <h2>What was odd</h2>
            <select class={code ? "pick chosen" : "pick"} aria-label="Issue" value={code ?? ""} onChange={(event) => replaceParams({ code: event.currentTarget.value })}>
              <option value="">Any issue</option>
              {code && !codes.some(({ name }) => name === code) && <option value={code}>{plain(code)}</option>}
              {codes.map(({ name }) => <option key={name} value={name}>{plain(name)}</option>)}
            </select>
            <label class="check"><input type="checkbox" checked={info === "true"} onChange={(event) => replaceParams({ info: event.currentTarget.checked ? "true" : "" })} /> also what only informs</label>
          </div>
          <Chosen title={data.title} />
          <p class="quiet">In {plural(issues.looked_into, "session")}{issues.not_looked_into > 0 && `; ${plural(issues.not_looked_into, "older one")} not looked into (max_issue_sessions)`}{!route.value.params["session"] && " and in records of none"}.</p>
          {shown.length === 0 && <Empty title="Nothing odd" />}
          <ul class="edges">{shown.map((issue) => <Issue key={issue.code} issue={issue} />)}</ul>
          {quiet > 0 && <p><button class="link" onClick={() => replaceParams({ info: "true" })}>{plural(quiet, "more sort")} that only {quiet === 1 ? "informs" : "inform"}</button></p>}
        </div>
        <div class="stats-half">
          <NoticesListed />
          <h2>What became of every record</h2>
          {receipts.sources.length === 0 ? <p class="quiet">Nothing came in yet.</p> : <Sources receipts={receipts.sources} odd={issues.sources} />}
          {receipts.refused > 0 && <p class="errors">{plural(receipts.refused, "arrival")} refused because too much waited; nothing of them was kept.</p>}
        </div>
      </section>
    </main>
  );
}
