// What all views of a session share: its row, the step that is looked at, what led to it and what it led to, and the filter.
import { computed, effect, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import type { ChainDoc } from "../api/types.ts";
import type { Light } from "../logic/light.ts";
import { Positions } from "../logic/positions.ts";
import { answerOf } from "./answers.ts";
import { versionOf } from "./live.ts";
import { isPlaying, playedMs } from "./replay.ts";
import { query, selected, selectedEdge, sessionId } from "./route.ts";
import { folds } from "./timeline.ts";

/** Steps that a question about all of a session lists at most. */
const MANY = 20_000;

const versioned = (id: string) => versionOf(id).value;
const summed = (id: string) => versionOf(id, "sums").value;

/** Where gaps are folded, the rest of the strip has more pixels. */
const FINE_STRIP_PX = 6_000;

/** The critical path in short, and how the time was spent. */
export const path = answerOf(() => {
  const id = sessionId.value;
  if (id === "") return undefined;
  summed(id);
  const px = folds.value.length > 0 ? FINE_STRIP_PX : undefined;
  return { key: id, part: String(px), get: (signal) => get("/api/v1/sessions/{id}/path/strip", { id }, { px }, signal) };
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
  summed(id);
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

/** Who failed, at what and why; asked for while no step is looked at. */
export const trouble = answerOf(() => {
  const id = sessionId.value;
  if (id === "" || selected.value !== "" || selectedEdge.value !== "") return undefined;
  summed(id);
  return { key: id, get: (signal) => get("/api/v1/sessions/{id}/trouble", { id }, {}, signal) };
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

const wantedAnswer = stepsFor(() => query.value);

/** Steps for which the query holds; none when there is no query. */
export const wanted = computed<ReadonlySet<string> | undefined>(() => wantedAnswer.value.data);
export const queryTrouble = computed(() => wantedAnswer.value.error);
/** Steps on the critical path. */
export const onPath = computed(() => new Positions(path.value.data?.on_path ?? []));

/** What leads to something and what that leads to. */
interface Chain {
  ends: ReadonlySet<number>;
  causes: Positions;
  effects: Positions;
}

const asChain = (doc: ChainDoc): Chain => ({ ends: new Set(doc.of), causes: new Positions(doc.causes), effects: new Positions(doc.effects) });

/** What is under the pointer, as steps, agents or FROM..TO; nothing most of the time. */
const pointed = signal<readonly string[]>([]);
/** The pointer has to stay so long before anything is asked. */
const POINT_MS = 70;
/** So many things can be asked about at once. */
const MAX_POINTED = 100;
let pointing = 0;

export function point(at: readonly string[] | undefined): void {
  window.clearTimeout(pointing);
  const next = (at ?? []).slice(0, MAX_POINTED);
  const isKnown = next.length === 0 || remembered.has(chainKey(sessionId.peek(), versionOf(sessionId.peek()).peek(), next));
  const set = () => {
    if (next.join(" ") !== pointed.peek().join(" ")) pointed.value = next;
  };
  if (isKnown) set();
  else pointing = window.setTimeout(set, POINT_MS);
}

/** Chains that were looked at lately, so that going back and forth asks for nothing. */
const remembered = new Map<string, Chain>();
const MAX_REMEMBERED = 64;
const chainKey = (id: string, version: number, of: readonly string[]) => `${id} ${version} ${of.join(" ")}`;

function chainFor(things: () => readonly string[]) {
  return answerOf<Chain>(() => {
    const [id, of] = [sessionId.value, things()];
    if (id === "" || of.length === 0) return undefined;
    const key = chainKey(id, versioned(id), of);
    return {
      key: `${id} ${of.join(" ")}`,
      get: async (signal) => {
        const known = remembered.get(key);
        if (known) return known;
        const chain = asChain(await get("/api/v1/sessions/{id}/chain", { id }, { of: [...of] }, signal));
        remembered.set(key, chain);
        const oldest = remembered.keys().next().value;
        if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
        return chain;
      },
    };
  });
}

const pointedChain = chainFor(() => pointed.value);
const selectedChain = chainFor(() => (selectedEdge.value !== "" ? [selectedEdge.value] : selected.value !== "" ? [selected.value] : []));

/** The chain that is lit: of what is pointed at, or else of what is looked at. */
export const chain = computed<Chain | undefined>(() => pointedChain.value.data ?? selectedChain.value.data);

/** By id and position; of several steps, the first and last position. */
export type Lighter = (step: string, first: number, last?: number) => Light;

/** How steps are drawn now; for many of them at once. */
export const lighter = computed<Lighter>(() => {
  const [looked, edge, kept, lit] = [selected.value, selectedEdge.value, wanted.value, chain.value];
  const ends = edge === "" ? [] : edge.split("..");
  return (step, first, last = first) => {
    if (step === looked || ends.includes(step)) return "selected";
    if (kept && !kept.has(step)) return "dim";
    if (!lit) return "plain";
    return lit.ends.has(first) || lit.causes.hasAny(first, last) || lit.effects.hasAny(first, last) ? "chain" : "plain";
  };
});

export function lightOf(step: string, seq: number): Light {
  return lighter.value(step, seq);
}
