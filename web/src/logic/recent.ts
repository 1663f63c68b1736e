// In: what was chosen before and what is chosen now. Out: what was chosen lately, the newest first. Pure.

/** So many are remembered. */
export const MOST_RECENT = 20;

export function remembered(known: readonly string[], key: string): string[] {
  return [key, ...known.filter((other) => other !== key)].slice(0, MOST_RECENT);
}

/** What counts more, the later it was chosen. */
export function recency(known: readonly string[], key: string): number {
  const at = known.indexOf(key);
  return at < 0 ? 0 : MOST_RECENT - at;
}
