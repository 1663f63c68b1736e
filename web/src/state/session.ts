// What all views of a session share: its row, the step that is looked at, what led to it and what it led to, and the filter.
import { computed, effect, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import { answerOf } from "./answers.ts";
import { versionOf } from "./live.ts";
import { isPlaying, playedMs } from "./replay.ts";
import { query, selected, sessionId } from "./route.ts";

/** Steps that a question about all of a session lists at most. */
const MANY = 20_000;

const versioned = (id: string) => versionOf(id).value;

/** The critical path and how the time was spent. */
export const path = answerOf(() => {
  const id = sessionId.value;
  if (id === "") return undefined;
  versioned(id);
  return { key: id, get: (signal) => get("/api/v1/sessions/{id}/path", { id }, {}, signal) };
});

/** So often the numbers follow a replay. */
const FOLLOW_MS = 400;
/** The moment the numbers are of, in milliseconds since the first; nothing for the whole session. */
const countedUntil = signal<number | undefined>(undefined);
let followed = 0;
effect(() => {
  const at = playedMs.value;
  const now = performance.now();
  if (at !== undefined && isPlaying.value && now - followed < FOLLOW_MS) return;
  followed = now;
  countedUntil.value = at;
});

/** Sums, tables and what they rest on; while a session is played, up to that moment. */
export const numbers = answerOf(() => {
  const id = sessionId.value;
  if (id === "") return undefined;
  versioned(id);
  const until_ms = countedUntil.value;
  return { key: id, part: String(until_ms), get: (signal) => get("/api/v1/sessions/{id}/numbers", { id }, { until_ms }, signal) };
});

/** The session in one line, as in the list. */
export const line = answerOf(() => {
  const id = sessionId.value;
  if (id === "") return undefined;
  versioned(id);
  return { key: id, get: (signal) => get("/api/v1/sessions/{id}/line", { id }, {}, signal) };
});

/** The step that is looked at, whole. */
export const detail = answerOf(() => {
  const [id, step] = [sessionId.value, selected.value];
  if (id === "" || step === "") return undefined;
  versioned(id);
  return { key: `${id}/${step}`, get: (signal) => get("/api/v1/sessions/{id}/steps/{step}", { id, step }, {}, signal) };
});

function stepsFor(text: () => string) {
  return answerOf(() => {
    const [id, q] = [sessionId.value, text()];
    if (id === "" || q === "") return undefined;
    versioned(id);
    return {
      key: `${id}/${q}`,
      get: async (signal) => {
        const found = await get("/api/v1/query", {}, { q, session: [id], limit: MANY }, signal);
        return new Set(found.sessions.flatMap((session) => session.steps.map((step) => step.id)));
      },
    };
  });
}

const chainAnswer = stepsFor(() => (selected.value === "" ? "" : `caused-by:id:${selected.value} or causes:id:${selected.value}`));
const wantedAnswer = stepsFor(() => query.value);

/** Steps that led to the one looked at, and that it led to. */
export const chain = computed<ReadonlySet<string> | undefined>(() => chainAnswer.value.data);
/** Steps for which the query holds; none when there is no query. */
export const wanted = computed<ReadonlySet<string> | undefined>(() => wantedAnswer.value.data);
export const queryTrouble = computed(() => wantedAnswer.value.error);
/** Steps on the critical path. */
export const onPath = computed<ReadonlySet<string>>(() => {
  const segments = path.value.data?.sessions[0]?.path.segments ?? [];
  return new Set(segments.flatMap((segment) => (segment.step_id ? [segment.step_id] : [])));
});

/** How a step is drawn beside what is looked at. */
export type Light = "plain" | "selected" | "chain" | "dim";

export function lightOf(step: string): Light {
  if (step === selected.value) return "selected";
  if (wanted.value && !wanted.value.has(step)) return "dim";
  const lit = chain.value;
  if (selected.value === "" || !lit) return "plain";
  return lit.has(step) ? "chain" : "plain";
}
