// Answers of the API as signals. While a newer one is under way, the last one stays: nothing flickers.
import { effect, signal, type ReadonlySignal } from "@preact/signals";
import type { ApiError } from "../api/client.ts";
import { asApiError } from "./trouble.ts";

export interface Answer<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
}

const NOTHING = { data: undefined, error: undefined, loading: false };

/**
 * Asks whenever what it reads changes. `ask` reads signals at once and returns a key, or nothing when there is nothing to ask; another
 * key is another question, whose answer does not stay.
 */
export function answerOf<T>(ask: () => { key: string; get: (signal: AbortSignal) => Promise<T> } | undefined): ReadonlySignal<Answer<T>> & { stop(): void } {
  const answer = signal<Answer<T>>(NOTHING);
  let key = "";
  let abort = new AbortController();
  const stop = effect(() => {
    const question = ask();
    abort.abort();
    if (!question) {
      key = "";
      answer.value = NOTHING;
      return;
    }
    const mine = (abort = new AbortController());
    const last = answer.peek();
    answer.value = { data: question.key === key ? last.data : undefined, error: undefined, loading: true };
    key = question.key;
    question.get(mine.signal).then(
      (data) => {
        if (!mine.signal.aborted) answer.value = { data, error: undefined, loading: false };
      },
      (error: unknown) => {
        if (!mine.signal.aborted) answer.value = { data: answer.peek().data, error: asApiError(error), loading: false };
      },
    );
  });
  return Object.assign(answer as ReadonlySignal<Answer<T>>, {
    stop: () => {
      stop();
      abort.abort();
    },
  });
}
