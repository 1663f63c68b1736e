// In: the health document, and when it was last looked at. Out: what the server wants people to know, in words, with counts; when to look again. Pure.
import type { HealthDoc } from "../api/types.ts";
import { plural } from "./words.ts";

export interface Reason {
  name: string;
  count: number;
  about: string;
}

export interface Told {
  words: readonly string[];
  /** What could not be recorded, by the reason. */
  reasons: readonly Reason[];
}

export const NOTHING_TOLD: Told = { words: [], reasons: [] };

/** The health document is looked at so often at most. */
export const LOOK_PAUSE_MS = 10_000;

/** Why something was not recorded; docs/proxy.md has the same. */
const ABOUT: Record<string, string> = {
  max_recording_bytes: "too much waited in memory: only the beginning was recorded, or nothing",
  max_secrets: "a request had too many secrets to look for all of them: nothing of it was recorded",
  max_secret_bytes: "the secrets of a request were too long to look for all of them: nothing of it was recorded",
  max_recorded_body_bytes: "a body was longer: the rest of it was not recorded",
  not_kept: "the record log refused it",
  unread_socket: "messages over a WebSocket that are not read",
  max_unpacked_recording_bytes: "a body is longer unpacked: it is kept packed",
};

/** What the server wants people to know. */
export function toldBy({ notices, problem, index_problem: index, proxy }: Pick<HealthDoc, "notices" | "problem" | "index_problem" | "proxy">): Told {
  const packed = proxy?.still_packed ?? 0;
  // What is refused is a notice, too, and says so itself.
  const isNotice = typeof problem === "string" && notices.includes(problem);
  const words = [
    ...(problem ? [isNotice ? problem : `Records are kept, but nothing new is shown: ${problem}`] : []),
    ...notices.filter((notice) => notice !== problem),
    ...(packed > 0 ? [`${packed === 1 ? "1 body is" : `${packed} bodies are`} kept packed`] : []),
    ...(index ? [`Words do not find what is new: ${index}`] : []),
  ];
  const counts = Object.entries({ ...proxy?.lost, max_unpacked_recording_bytes: packed });
  return { words, reasons: counts.filter(([, count]) => count > 0).map(([name, count]) => ({ name, count, about: ABOUT[name] ?? "" })) };
}

/** What of it is remembered when somebody has read it. */
export function markOf({ words }: Told): string {
  return words.join("\n");
}

/** Whether it is to be shown: there is something, and it says something else than what was put away. */
export function isNews(told: Told, putAway: string): boolean {
  return told.words.length > 0 && markOf(told) !== putAway;
}

/** It in one line. */
export function inShort({ words }: Told): string {
  const [first = "", ...more] = words;
  return more.length === 0 ? first : `${first}, and ${plural(more.length, "notice")} more`;
}

/** In how many milliseconds it may be looked at again. */
export function dueIn(lookedMs: number | undefined, nowMs: number): number {
  return lookedMs === undefined ? 0 : Math.max(0, Math.min(LOOK_PAUSE_MS, lookedMs + LOOK_PAUSE_MS - nowMs));
}
