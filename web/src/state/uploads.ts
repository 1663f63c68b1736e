// Files that are given: each is sent, what became of it is told, and one alone is opened.
import { signal } from "@preact/signals";
import { get, upload } from "../api/client.ts";
import type { FileReceiptDoc, SessionLineDoc } from "../api/types.ts";
import { openSession } from "./route.ts";
import { asApiError } from "./trouble.ts";

export interface Given {
  name: string;
  receipt?: FileReceiptDoc;
  /** What came of it, once it is shown. */
  sessions?: readonly SessionLineDoc[];
  failed?: string;
}

export const given = signal<readonly Given[]>([]);
export const isBusy = signal(false);

/** What was sent is shown a moment later; so long is waited for it. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 150;

const chooser = { open: () => {} };

/** Says how files are chosen; the page has the field for it. */
export function chooseWith(open: () => void): void {
  chooser.open = open;
}

/** Lets somebody choose files. */
export function chooseFiles(): void {
  chooser.open();
}

export function clearGiven(): void {
  given.value = [];
}

async function sessionsOf(receipt: FileReceiptDoc): Promise<readonly SessionLineDoc[]> {
  const { position } = receipt;
  if (position === null || position === undefined) return [];
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const { sessions } = await get("/api/v1/sessions", {}, { position, limit: 8 });
    if (sessions.length > 0 || performance.now() > end) return sessions;
    const health = await get("/api/v1/health");
    if (health.pending_bytes === 0 && health.lag_ms === 0) return (await get("/api/v1/sessions", {}, { position, limit: 8 })).sessions;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

function put(n: number, one: Given): void {
  given.value = given.value.with(n, one);
}

async function send(file: File, n: number): Promise<void> {
  try {
    const receipt = (await upload(file)).files[0];
    if (!receipt) return;
    put(n, { name: file.name, receipt });
    put(n, { name: file.name, receipt, sessions: await sessionsOf(receipt) });
  } catch (error) {
    const { message, hint } = asApiError(error);
    put(n, { name: file.name, failed: `${message}${hint ? ` (${hint})` : ""}` });
  }
}

/** Sends files one by one. When all of them came to one session, it is opened. */
export async function sendFiles(files: readonly File[]): Promise<void> {
  if (files.length === 0 || isBusy.value) return;
  isBusy.value = true;
  given.value = files.map(({ name }) => ({ name }));
  for (const [n, file] of files.entries()) await send(file, n);
  isBusy.value = false;
  const ids = new Set(given.value.flatMap(({ sessions }) => (sessions ?? []).map(({ id }) => id)));
  const [only] = ids;
  if (ids.size === 1 && only !== undefined) openSession(only);
}
