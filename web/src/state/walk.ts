// From link to link by keyboard: those that lead to the step that is looked at, then those that lead away from it.
import { get } from "../api/client.ts";
import { selected, selectedEdge, selectLink, sessionId } from "./route.ts";
import { failed } from "./trouble.ts";

/** The links that are gone through. */
let walked: readonly string[] = [];

async function linksOf(step: string): Promise<string[]> {
  const { edges_in: before, edges_out: after } = await get("/api/v1/sessions/{id}/steps/{step}", { id: sessionId.peek(), step });
  return [...new Set([...before, ...after].map(({ from, to }) => `${from}..${to}`))];
}

/** Looks at the next link of the step, or the one before. */
export async function nextLink(by: 1 | -1): Promise<void> {
  const now = selectedEdge.peek();
  if (now !== "" && walked.includes(now)) return selectLink(walked[(walked.indexOf(now) + by + walked.length) % walked.length] ?? now);
  const step = selected.peek() || now.split("..")[1];
  if (!step) return;
  try {
    walked = await linksOf(step);
    const next = now === "" ? (by === 1 ? 0 : -1) : walked.indexOf(now) + by;
    const link = walked.at(next % Math.max(1, walked.length));
    if (link) selectLink(link);
  } catch (error) {
    failed(error);
  }
}
