// The list of sessions: pages as they are needed, changed as the sessions do, and the values it can be narrowed by.
import { effect, signal } from "@preact/signals";
import { get, type ApiError } from "../api/client.ts";
import type { SessionLineDoc } from "../api/types.ts";
import { asked } from "../logic/filters.ts";
import { appended, changedAll, NO_PAGE, type Page } from "../logic/pages.ts";
import { answerOf } from "./answers.ts";
import { hear } from "./live.ts";
import { route } from "./route.ts";
import { asApiError } from "./trouble.ts";

/** The first page is there at once; the others are larger, so that the end is not far. */
const FIRST_PAGE = 200;
const PAGE = 500;
/** The list is looked at again at most so often. */
const RELOAD_PAUSE_MS = 500;
/** The values of filters are looked at again at most so often. */
const FACETS_PAUSE_MS = 2000;

export const page = signal<Page>(NO_PAGE);
export const isLoading = signal(false);
/** A first answer is there. */
export const isKnown = signal(false);
export const listError = signal<ApiError | undefined>(undefined);
/** Sessions that came meanwhile and are not in the list. */
export const unseen = signal(0);
/** The session that is or was looked at last; the keys move from there. */
export const currentId = signal("");
/** Somebody reads further down: nothing may move. */
export const isReading = signal(false);

let asking = "";

function question(): Record<string, string | boolean> {
  const all = asked(route.value.params, Date.now());
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, value === "true" ? true : value]));
}

async function load(cursor: string | null): Promise<void> {
  const mine = (asking = `${cursor} ${performance.now()}`);
  isLoading.value = true;
  try {
    const answer = await get("/api/v1/sessions", {}, { ...question(), cursor: cursor ?? undefined, limit: cursor === null ? FIRST_PAGE : PAGE });
    if (mine !== asking) return;
    const before = cursor === null ? NO_PAGE : page.value;
    page.value = appended(before, answer.sessions, answer.next_cursor ?? null, answer.matching, answer.unsearched_sessions);
    listError.value = undefined;
    isKnown.value = true;
  } catch (error) {
    if (mine === asking) listError.value = asApiError(error);
  }
  if (mine === asking) isLoading.value = false;
}

/** Looks at the list from its beginning. */
export function reload(): void {
  unseen.value = 0;
  void load(null);
}

/** Makes sure that so many rows are there, or under way. */
export function needRows(end: number): void {
  const { rows, next } = page.value;
  if (end > rows.length && next !== null && !isLoading.value) void load(next).then(() => page.value.rows.length > rows.length && needRows(end));
}

let again = 0;
/** Something came while the list was not looked at. */
let isStale = false;

/** Looks whether there are more sessions than the list knows of. */
async function countUnseen(): Promise<void> {
  try {
    const { matching } = await get("/api/v1/sessions", {}, { ...question(), limit: 1 });
    unseen.value = Math.max(0, matching - page.value.matching);
  } catch {
    // The next change asks again.
  }
}

function reloadSoon(): void {
  if (route.value.page !== "sessions") isStale = true;
  else if (again === 0) {
    again = window.setTimeout(() => {
      again = 0;
      if (route.value.page !== "sessions") isStale = true;
      else if (isReading.value) void countUnseen();
      else reload();
    }, RELOAD_PAUSE_MS);
  }
}

/** What changed since the last frame, by session. */
const news = new Map<string, SessionLineDoc | null | undefined>();
let frame = 0;

function showNews(): void {
  frame = 0;
  const { page: next, unknown } = changedAll(page.value, news);
  news.clear();
  page.value = next;
  if (unknown > 0) reloadSoon();
}

const facetsAge = signal(0);
let facetsTimer = 0;

function facetsSoon(): void {
  if (facetsTimer !== 0) return;
  facetsTimer = window.setTimeout(() => {
    facetsTimer = 0;
    facetsAge.value += 1;
  }, FACETS_PAUSE_MS);
}

/** The values of filters that there are, with how many sessions each would leave. */
export const facets = answerOf(() => {
  if (route.value.page !== "sessions") return undefined;
  const { sort: _, order: __, ...narrowed } = question();
  return { key: "facets", part: `${JSON.stringify(narrowed)} ${facetsAge.value}`, get: (signal) => get("/api/v1/facets", {}, narrowed, signal) };
});

export function startList(): void {
  let last = "";
  effect(() => {
    const { page: shown, params } = route.value;
    if (shown !== "sessions") return;
    const key = JSON.stringify(Object.entries(params).sort());
    if (key === last && isKnown.peek() && !isStale) return;
    [last, isStale] = [key, false];
    reload();
  });
  hear((change) => {
    if (route.value.page === "sessions") facetsSoon();
    if (change === "reset") return reloadSoon();
    news.set(change.session_id, change.session);
    if (frame === 0) frame = requestAnimationFrame(showNews);
  });
}
