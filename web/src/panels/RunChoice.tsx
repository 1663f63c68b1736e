// Which runs a workflow is of: one, several, all, or those of every session of the project.
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client.ts";
import { plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { versionOf } from "../state/live.ts";
import { route, sessionId, setParams } from "../state/route.ts";
import { line } from "../state/session.ts";

/** Runs that are offered: `max_runs`. */
const MAX_OFFERED = 100;
const SHARES = [["", "all of it"], ["0.1", "in 10 % of runs"], ["0.25", "in 25 % of runs"], ["0.5", "in half of the runs"], ["1", "in every run"]] as const;

/** Numbers of the runs that were chosen; none for all. */
export function chosenRuns(text: string | undefined): string[] {
  return (text ?? "").split(",").filter((one) => /^\d+$/.test(one));
}

export function RunChoice() {
  const answer = useMemo(() => answerOf(() => {
    const id = sessionId.value;
    if (id === "") return undefined;
    versionOf(id, "sums").value;
    return { key: id, get: (signal) => get("/api/v1/sessions/{id}/runs", { id }, { to: MAX_OFFERED, steps: 0 }, signal) };
  }), []);
  useEffect(() => () => answer.stop(), [answer]);
  const { of, runs: text, share } = route.value.params;
  const chosen = chosenRuns(text);
  const all = (answer.value.data?.runs ?? []).filter((run) => run.number !== null);
  const total = answer.value.data?.total_runs ?? 0;
  const toggle = (n: number) => {
    const next = chosen.includes(String(n)) ? chosen.filter((one) => one !== String(n)) : [...chosen, String(n)];
    setParams({ runs: next.map(Number).sort((a, b) => a - b).join(",") });
  };
  return (
    <>
      <select class="small" aria-label="Of what" value={of ?? ""} onChange={(event) => setParams({ of: event.currentTarget.value, runs: "", share: "" })}>
        <option value="">steps of this session</option>
        <option value="runs">what its runs have in common</option>
        {line.value.data?.cwd && <option value="project">what runs of all sessions of this project have in common</option>}
      </select>
      {(of ?? "") === "" && total > 1 && (
        <details class="gaps runs-choice">
          <summary>{chosen.length === 0 ? `all ${plural(total, "run")}` : chosen.length === 1 ? `run ${chosen[0]}` : `${chosen.length} of ${plural(total, "run")}`}</summary>
          <div class="gaps-box">
            <button class="small" disabled={chosen.length === 0} onClick={() => setParams({ runs: "" })}>All runs</button>
            <ul>{all.map((run) => <li key={run.id}><label class="check"><input type="checkbox" checked={chosen.includes(String(run.number))} onChange={() => toggle(run.number ?? 0)} /> {run.number}. {run.title ?? "no words"}</label></li>)}</ul>
            {total > MAX_OFFERED && <p class="quiet">The first {MAX_OFFERED} of {total}; `run:N` in the filter takes any.</p>}
          </div>
        </details>
      )}
      {(of ?? "") !== "" && <select class="small" aria-label="Shown" value={share ?? ""} onChange={(event) => setParams({ share: event.currentTarget.value })}>{SHARES.map(([value, title]) => <option key={value} value={value}>{title}</option>)}</select>}
    </>
  );
}

/** The question to the server for a workflow, by the address. */
export function workflowAsked(params: Readonly<Record<string, string>>, where: string | undefined) {
  const { direction, full, of, runs, share } = params;
  if (of === "runs" || of === "project") return { view: "process", direction, project: of === "project" || undefined, min_share: share ? Number(share) : undefined };
  return { view: "workflow", direction, where, full: full === "true" || undefined, run: chosenRuns(runs), all_steps: true };
}
