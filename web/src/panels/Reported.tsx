// The sessions of a report that has several.
import { count, duration, moment, plural, sessionCost, sessionTokens, shortPath } from "../logic/words.ts";
import { reported } from "../state/report.ts";
import { openSession } from "../state/route.ts";
import { trouble } from "../state/trouble.ts";
import { Status } from "../widgets/Small.tsx";
import { Loading } from "../widgets/States.tsx";

export function Reported() {
  const sessions = reported.value;
  if (!sessions) return <main class="sessions">{!trouble.value && <Loading what="the report" />}</main>;
  return (
    <main class="sessions reported">
      <h1>{plural(sessions.length, "session")}</h1>
      <ul>
        {sessions.map((row) => (
          <li key={row.id}>
            <button class="reported-row" onClick={() => openSession(row.id)}>
              <span class="row-title">{row.title ?? row.native_ids[0] ?? row.id}</span>
              <span class="row-sub"><Status status={row.status} /> {moment(row.started_at)} · {duration(row.duration_ms)} · {plural(row.steps, "step")} · {row.errors > 0 ? <span class="errors">{plural(row.errors, "error")}</span> : "no errors"} · {sessionTokens(row)} tokens · {sessionCost(row)}{row.cwd && ` · ${shortPath(row.cwd)}`} · {count(row.agents)} agents</span>
            </button>
          </li>
        ))}
      </ul>
    </main>
  );
}
