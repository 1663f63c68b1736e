// What changes, as it does: rows of the list, and a number per session that grows with every change.
import { batch, signal, type Signal } from "@preact/signals";
import { listen } from "../api/live.ts";
import type { LiveChangeDoc } from "../api/types.ts";

export type Hearer = (change: LiveChangeDoc | "reset") => void;

export const connected = signal<boolean | undefined>(undefined);
const versions = new Map<string, Signal<number>>();
const hearers = new Set<Hearer>();
/** Views of a session look again at most so often. */
const PAUSE_MS = 400;
const waiting = new Map<string, number>();

/** Grows when a session becomes different. */
export function versionOf(id: string): Signal<number> {
  let version = versions.get(id);
  if (!version) versions.set(id, (version = signal(0)));
  return version;
}

function touch(id: string): void {
  if (waiting.has(id)) return;
  const timer = window.setTimeout(() => {
    waiting.delete(id);
    versionOf(id).value += 1;
  }, PAUSE_MS);
  waiting.set(id, timer);
}

export function hear(hearer: Hearer): () => void {
  hearers.add(hearer);
  return () => hearers.delete(hearer);
}

export function startLive(): void {
  listen({
    standing: (is) => {
      connected.value = is;
    },
    event: ({ name, data }) => {
      if (name !== "change" && name !== "reset") return;
      const change = name === "reset" ? "reset" : (JSON.parse(data) as LiveChangeDoc);
      batch(() => {
        if (change === "reset") for (const id of versions.keys()) touch(id);
        else touch(change.session_id);
        hearers.forEach((hearer) => hearer(change));
      });
    },
  });
}
