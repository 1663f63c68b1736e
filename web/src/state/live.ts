// What changes, as it does: rows of the list, and a number per session that grows with every change.
import { batch, signal, type Signal } from "@preact/signals";
import { listen } from "../api/live.ts";
import type { LiveChangeDoc } from "../api/types.ts";

export type Hearer = (change: LiveChangeDoc | "reset") => void;

export const connected = signal<boolean | undefined>(undefined);
/** Grows when the server has something new for people, and when it is heard again. */
export const noticed = signal(0);
const hearers = new Set<Hearer>();

/** How often views of a session look again at most, in milliseconds: at its parts, and at what sums up all of it. */
const PAUSES_MS = { parts: 400, sums: 1_200 };
type Pace = keyof typeof PAUSES_MS;
const PACES: readonly Pace[] = ["parts", "sums"];
const versions: Record<Pace, Map<string, Signal<number>>> = { parts: new Map(), sums: new Map() };
const waiting: Record<Pace, Set<string>> = { parts: new Set(), sums: new Set() };

/** Grows when a session becomes different. */
export function versionOf(id: string, pace: Pace = "parts"): Signal<number> {
  let version = versions[pace].get(id);
  if (!version) versions[pace].set(id, (version = signal(0)));
  return version;
}

function touch(id: string): void {
  for (const pace of PACES) {
    if (waiting[pace].has(id)) continue;
    waiting[pace].add(id);
    setTimeout(() => {
      waiting[pace].delete(id);
      versionOf(id, pace).value += 1;
    }, PAUSES_MS[pace]);
  }
}

export function hear(hearer: Hearer): () => void {
  hearers.add(hearer);
  return () => hearers.delete(hearer);
}

export function startLive(): void {
  listen({
    standing: (is) => {
      if (is) noticed.value += 1;
      connected.value = is;
    },
    event: ({ name, data }) => {
      if (name === "notice") noticed.value += 1;
      if (name !== "change" && name !== "reset") return;
      const change = name === "reset" ? "reset" : (JSON.parse(data) as LiveChangeDoc);
      batch(() => {
        if (change === "reset") for (const id of new Set(PACES.flatMap((pace) => [...versions[pace].keys()]))) touch(id);
        else touch(change.session_id);
        hearers.forEach((hearer) => hearer(change));
      });
    },
  });
}
