// The runs of a session, page by page, or one of them with all its steps.
import { computed } from "@preact/signals";
import { get } from "../api/client.ts";
import { answerOf } from "./answers.ts";
import { versionOf } from "./live.ts";
import { route, sessionId, view } from "./route.ts";

/** Runs of a page. */
export const PAGE_RUNS = 20;
/** Steps of each run of a page, and of a run that is looked at alone. */
const PAGE_STEPS = 60;
const RUN_STEPS = 2_000;

/** The run that is looked at alone, by its number; nothing for all. */
export const onlyRun = computed(() => route.value.params["run"] ?? "");
const first = computed(() => Math.max(0, Number(route.value.params["runs_from"] ?? 0) || 0));

/** What is shown of the runs. */
export const runs = answerOf(() => {
  const [id, run, from] = [sessionId.value, onlyRun.value, first.value];
  if (id === "" || view.value !== "runs") return undefined;
  versionOf(id).value;
  const asked = run === "" ? { from, to: from + PAGE_RUNS, steps: PAGE_STEPS } : { run, steps: RUN_STEPS };
  return { key: `${id} ${run} ${from}`, get: (signal) => get("/api/v1/sessions/{id}/runs", { id }, asked, signal) };
});
