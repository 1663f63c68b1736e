// In: numbers of the API. Out: words for people. Never here: numbers that the API did not tell.

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  const sign = ms < 0 ? "−" : "";
  const abs = Math.abs(ms);
  if (abs < 1) return abs === 0 ? "0 ms" : `${sign}${(abs * 1000).toFixed(0)} µs`;
  if (abs < 1000) return `${sign}${Math.round(abs)} ms`;
  if (abs < 9_950) return `${sign}${(abs / 1000).toFixed(1)} s`;
  const s = Math.round(abs / 1000);
  if (s < 60) return `${sign}${s} s`;
  if (s < 3600) return `${sign}${Math.floor(s / 60)}m ${pad(s % 60)}s`;
  if (s < 86_400) return `${sign}${Math.floor(s / 3600)}h ${pad(Math.floor((s % 3600) / 60))}m`;
  return `${sign}${Math.floor(s / 86_400)}d ${pad(Math.floor((s % 86_400) / 3600))}h`;
}

function pad(n: number): string {
  return String(n).padStart(2, "0");
}

export function count(n: number | null | undefined): string {
  if (n === null || n === undefined) return "–";
  if (n < 10_000) return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  if (n < 999_500) return `${(n / 1000).toFixed(n < 99_950 ? 1 : 0)}k`;
  if (n < 999_500_000) return `${(n / 1e6).toFixed(n < 99_950_000 ? 1 : 0)}M`;
  return `${(n / 1e9).toFixed(1)}G`;
}

export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "–";
  if (usd === 0) return "$0";
  if (usd < 0.01) return `$${usd.toFixed(4)}`;
  return usd < 100 ? `$${usd.toFixed(2)}` : `$${Math.round(usd)}`;
}

interface Counted {
  tokens?: { total: number } | null;
  uncounted_calls: number;
  cost_usd?: number | null;
}

/** Nobody said anything about tokens; then nothing is known of the cost either. */
export function isUncounted({ tokens }: Counted): boolean {
  return !tokens;
}

/** Tokens of a session; `+` when some calls reported none. */
export function sessionTokens(line: Counted): string {
  return line.tokens ? count(line.tokens.total) + (line.uncounted_calls > 0 ? "+" : "") : "–";
}

export function sessionCost(line: Counted): string {
  return isUncounted(line) ? "–" : money(line.cost_usd);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A moment as its day and minute; in the zone of whoever looks. */
export function moment(text: string | null | undefined): string {
  if (!text) return "–";
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}`;
}

/** The clock of a moment, to the second. */
export function clock(text: string | null | undefined): string {
  if (!text) return "–";
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** The last two parts of a path. */
export function shortPath(path: string): string {
  const parts = path.split(/[\\/]/).filter((part) => part !== "");
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}

/** A word of the API as people write it. */
export function plain(word: string): string {
  return word.replace(/[_-]/g, " ");
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const share = (100 * part) / whole;
  return share > 0 && share < 1 ? "<1 %" : `${Math.round(share)} %`;
}

/** What calls cost, of which some may be of models without a price: then it is at least this, or nobody knows. */
export function knownCost(cost: number | null | undefined, unpricedCalls: number): string {
  if (unpricedCalls === 0) return money(cost);
  return cost ? `${money(cost)}+` : "–";
}

/** Tokens of a bucket and what they cost, as far as that is known. */
export function bucketWords({ tokens, cost_usd: cost }: { tokens: number; cost_usd?: number | null }, unpricedCalls: number): string {
  const known = knownCost(cost, unpricedCalls);
  return known === "–" ? count(tokens) : `${count(tokens)} ${known}`;
}
