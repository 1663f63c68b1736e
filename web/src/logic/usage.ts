// In: windows of usage as the server counted them. Out: the same windows by caller, and how wide their bars are. Pure.
import type { UsageDoc, UsageWindowDoc } from "../api/types.ts";

/** The buckets of tokens, in the order they are shown. */
export const BUCKETS = ["input", "cache_read", "cache_write", "output", "reasoning"] as const;

export interface Caller {
  /** What is left of the key; nothing where no source says which it was. */
  key: string | undefined;
  /** As the server orders them: newest first. */
  windows: UsageWindowDoc[];
}

/** Whose newest window is newest comes first. */
export function callersOf(windows: readonly UsageWindowDoc[]): Caller[] {
  const callers = new Map<string | undefined, Caller>();
  for (const window of windows) {
    const key = window.key ?? undefined;
    const caller = callers.get(key) ?? { key, windows: [] };
    caller.windows.push(window);
    callers.set(key, caller);
  }
  return [...callers.values()];
}

/** What is left of a key, without the word that says so. */
export function shortKey(key: string): string {
  return key.replace(/^masked:/, "");
}

function lengthOf(usage: UsageDoc): number {
  return BUCKETS.reduce((sum, name) => sum + usage[name], 0);
}

/** What the longest bar stands for. */
export function longest(windows: readonly UsageWindowDoc[]): number {
  return windows.reduce((most, { usage }) => Math.max(most, usage ? lengthOf(usage) : 0), 0);
}

/** The parts of a bar, in percent of the longest; empty buckets have none. */
export function barParts(usage: UsageDoc, most: number): { name: (typeof BUCKETS)[number]; percent: number }[] {
  return BUCKETS.filter((name) => usage[name] > 0).map((name) => ({ name, percent: (100 * usage[name]) / Math.max(most, 1) }));
}
