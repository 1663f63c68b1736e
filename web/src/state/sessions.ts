// The list of sessions: pages as they are needed, changed as the sessions do.
import { effect, signal } from "@preact/signals";
import { get, upload, type ApiError } from "../api/client.ts";
import type { FileReceiptDoc, SessionLineDoc } from "../api/types.ts";
import { appended, changed, NO_PAGE, type Page } from "../logic/pages.ts";
import { hear } from "./live.ts";
import { route } from "./route.ts";
import { asApiError } from "./trouble.ts";

const PAGE = 200;

export const page = signal<Page>(NO_PAGE);
export const isLoading = signal(false);
/** A first answer is there. */
export const isKnown = signal(false);
export const listError = signal<ApiError | undefined>(undefined);
/** Sessions that came meanwhile and are not in the list. */
export const unseen = signal(0);
/** Somebody reads further down: nothing may move. */
export const isReading = signal(false);

let asking = "";

function asked(): Record<string, string> {
  const { q, status, errors, sort, order, format, cwd, since } = route.value.params;
  const all = { q, status, errors, sort, order, format, cwd, since: since === undefined ? undefined : moment(since) };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

const HOURS: Record<string, number> = { hour: 1, day: 24, week: 168, month: 720 };

function moment(word: string): string | undefined {
  const hours = HOURS[word];
  return hours === undefined ? word : new Date(Date.now() - hours * 3_600_000).toISOString();
}

async function load(cursor: string | null): Promise<void> {
  const { errors, ...rest } = asked();
  const mine = (asking = JSON.stringify([rest, errors, cursor, performance.now()]));
  isLoading.value = true;
  try {
    const answer = await get("/api/v1/sessions", {}, { ...rest, errors: errors === "true" || undefined, cursor: cursor ?? undefined, limit: PAGE });
    if (mine !== asking) return;
    const before = cursor === null ? NO_PAGE : page.value;
    page.value = appended(before, answer.sessions, answer.next_cursor ?? null, answer.matching, answer.complete);
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

function reloadSoon(): void {
  if (isReading.value) return;
  window.clearTimeout(again);
  again = window.setTimeout(reload, 300);
}

export function startList(): void {
  let last = "";
  effect(() => {
    if (route.value.page !== "sessions") return;
    const { since, ...rest } = asked();
    const key = JSON.stringify([rest, route.value.params["since"], since === undefined]);
    if (key === last && isKnown.peek()) return;
    last = key;
    reload();
  });
  hear((change) => {
    if (change === "reset") return reloadSoon();
    const next = changed(page.value, change.session_id, change.session);
    if (next) page.value = next;
    else if (change.session) {
      unseen.value += 1;
      reloadSoon();
    }
  });
}

export const uploads = signal<{ busy: number; done: FileReceiptDoc[]; failed: string[] }>({ busy: 0, done: [], failed: [] });

/** Sends files one by one, and says what became of each. */
export async function sendFiles(files: readonly File[]): Promise<void> {
  uploads.value = { busy: files.length, done: [], failed: [] };
  for (const file of files) {
    const { busy, done, failed } = uploads.value;
    try {
      const receipt = await upload(file);
      uploads.value = { busy: busy - 1, done: [...done, ...receipt.files], failed };
    } catch (error) {
      const { message, hint } = asApiError(error);
      uploads.value = { busy: busy - 1, done, failed: [...failed, `${file.name}: ${message}${hint ? ` (${hint})` : ""}`] };
    }
  }
}

export type { SessionLineDoc };
