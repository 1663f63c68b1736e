// The sessions of a report that has several.
import { count, duration, moment, plural, sessionCost, sessionTokens, shortPath } from "../logic/words.ts";
import { reported } from "../state/report.ts";
import { openSession } from "../state/route.ts";
import { trouble } from "../state/trouble.ts";
import { Status } from "../widgets/Small.tsx";
import { Loading } from "../widgets/States.tsx";

const NUMBERS = ["Took", "Steps", "Agents", "Errors", "Tokens", "Cost"];

export function Reported() {
  const sessions = reported.value;
  if (!sessions) return <main class="sessions">{!trouble.value && <Loading what="the report" />}</main>;
  return (
    <main class="sessions reported">
      <h1>{plural(sessions.length, "session")}</h1>
      <table>
        <thead><tr><th scope="col">Session</th><th scope="col">Status</th><th scope="col">Began</th>{NUMBERS.map((name) => <th key={name} scope="col" class="number">{name}</th>)}</tr></thead>
        <tbody>
          {sessions.map((row) => (
            <tr key={row.id} onClick={() => openSession(row.id)}>
              <th scope="row"><button class="link" title={row.title ?? ""}>{row.title ?? row.native_ids[0] ?? row.id}</button> <span class="row-sub">{row.formats.join(", ")}{row.cwd && ` · ${shortPath(row.cwd)}`}</span></th>
              <td><Status status={row.status} /></td>
              <td>{moment(row.started_at)}</td>
              <td class="number">{duration(row.duration_ms)}</td>
              <td class="number">{count(row.steps)}</td>
              <td class="number">{count(row.agents)}</td>
              <td class="number">{row.errors > 0 ? <span class="errors">{count(row.errors)}</span> : <span class="quiet">0</span>}</td>
              <td class="number">{sessionTokens(row)}</td>
              <td class="number">{sessionCost(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </main>
  );
}
