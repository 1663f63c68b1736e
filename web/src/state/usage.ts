// Tokens by caller, window and model, asked again while sessions change.
import { signal } from "@preact/signals";
import { get } from "../api/client.ts";
import type { UsageWindowsDoc } from "../api/types.ts";
import { momentOf } from "../logic/filters.ts";
import { answerOf } from "./answers.ts";
import { hear } from "./live.ts";
import { route } from "./route.ts";

/** Many sessions are added up for an answer, so that it is asked for again at most so often. */
const PAUSE_MS = 3_000;

/** Asks for as long as somebody looks. */
export function watchUsage() {
  const changes = signal(0);
  let timer: number | undefined;
  const deafen = hear(() => {
    timer ??= window.setTimeout(() => {
      timer = undefined;
      changes.value += 1;
    }, PAUSE_MS);
  });
  const answer = answerOf<UsageWindowsDoc>(() => {
    const { page, params } = route.value;
    if (page !== "usage") return undefined;
    changes.value;
    const { since, hours } = params;
    return {
      key: "usage",
      part: JSON.stringify([since, hours]),
      get: (signal) => get("/api/v1/usage", {}, { since: since && momentOf(since, Date.now()), hours: hours as number | undefined }, signal),
    };
  });
  const stop = () => {
    deafen();
    clearTimeout(timer);
    answer.stop();
  };
  return { answer, stop };
}
