// What was not understood, not linked or drifted, over all sessions, and what became of the records of each source.
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client.ts";
import { count, plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { openSession } from "../state/route.ts";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";

export function Issues() {
  const answer = useMemo(() => answerOf(() => ({
    key: "issues",
    get: async (signal) => {
      const [issues, receipts, health] = await Promise.all([get("/api/v1/issues", {}, {}, signal), get("/api/v1/receipts", {}, {}, signal), get("/api/v1/health", {}, {}, signal)]);
      return { issues, receipts, health };
    },
  })), []);
  useEffect(() => () => answer.stop(), [answer]);
  const { data, error } = answer.value;
  if (error) return <main class="sessions"><Wrong error={error} /></main>;
  if (!data) return <main class="sessions"><Loading what="what was odd" /></main>;
  const { issues, receipts } = data;
  return (
    <main class="sessions">
      <section class="stats" tabIndex={0} aria-label="What was odd">
        <div class="stats-half">
          <h2>What was odd</h2>
          <p class="quiet">In {plural(issues.looked_into, "session")}{issues.not_looked_into > 0 && `; ${plural(issues.not_looked_into, "older one")} not looked into (max_issue_sessions)`}.</p>
          {issues.issues.length === 0 && <Empty title="Nothing odd" />}
          <ul class="edges">
            {issues.issues.map((issue) => (
              <li key={issue.code} class={issue.severity === "error" ? "edge failed" : "edge"}>
                <div class="edge-head"><b>{plain(issue.code)}</b><span class={issue.severity === "error" ? "tag failed" : "tag"}>{issue.severity}</span>{issue.drift && <span class="guess">drift</span>}<span class="quiet">{plural(issue.count, "time")} in {plural(issue.sessions, "session")}</span></div>
                <p>{issue.about}</p>
                {issue.samples.map((sample, n) => <p key={n} class="quiet"><button class="link" onClick={() => openSession(sample.session_id)}>session</button> {sample.detail || plural(sample.count, "time")}</p>)}
              </li>
            ))}
          </ul>
        </div>
        <div class="stats-half">
          <h2>What became of every record</h2>
          <table class="numbers">
            <thead><tr>{["source", "seen", "stored", "duplicate", "rejected"].map((head) => <th key={head} scope="col">{head}</th>)}</tr></thead>
            <tbody>{receipts.sources.map((source) => <tr key={source.source}><th scope="row">{source.source}</th><td>{count(source.seen)}</td><td>{count(source.stored)}</td><td>{count(source.duplicate)}</td><td class={source.rejected > 0 ? "errors" : ""}>{count(source.rejected)}</td></tr>)}</tbody>
          </table>
          {receipts.refused > 0 && <p class="errors">{plural(receipts.refused, "arrival")} refused because too much waited; nothing of them was kept.</p>}
        </div>
      </section>
    </main>
  );
}
