// Answers of the API as signals. While a newer one is under way, the last one stays: nothing flickers.
import { effect, signal, type ReadonlySignal } from "@preact/signals";
import type { ApiError } from "../api/client.ts";
import { Queue, Turns } from "../logic/turns.ts";
import { asApiError } from "./trouble.ts";

export interface Answer<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
}

export interface Question<T> {
  /** What it is about; the answer to something else does not stay. */
  key: string;
  /** Which part of it; asking for another part ends what is under way. */
  part?: string;
  get(signal: AbortSignal): Promise<T>;
}

/** Between two things that are looked at again: what one changes is drawn before the next one is worked out. */
const PAUSE_MS = 40;
/** What is only looked at again, in every view. */
export const lookedAgain = new Queue(() => new Promise((resolve) => setTimeout(resolve, PAUSE_MS)));

const NOTHING = { data: undefined, error: undefined, loading: false };

/** Asks whenever what `ask` reads changes; `ask` returns nothing when there is nothing to ask. */
export function answerOf<T>(ask: () => Question<T> | undefined): ReadonlySignal<Answer<T>> & { stop(): void } {
  const answer = signal<Answer<T>>(NOTHING);
  let [key, lastAsked] = ["", ""];
  const turns: Turns<T> = new Turns<T>({
    answered: (data) => {
      answer.value = { data, error: undefined, loading: false };
    },
    failed: (error) => {
      answer.value = { data: answer.peek().data, error: asApiError(error), loading: turns.isBusy };
    },
  });
  const stop = effect(() => {
    const question = ask();
    if (!question) {
      turns.stop();
      key = lastAsked = "";
      answer.value = NOTHING;
      return;
    }
    const last = answer.peek();
    const asked = JSON.stringify([question.key, question.part]);
    // What is only asked again is no news before it is answered: nothing is drawn for it.
    const isAgain = asked === lastAsked && last.data !== undefined && last.error === undefined;
    if (!isAgain) answer.value = { data: question.key === key ? last.data : undefined, error: undefined, loading: true };
    [key, lastAsked] = [question.key, asked];
    turns.ask(asked, (signal) => (isAgain ? lookedAgain.add(() => question.get(signal)) : question.get(signal)));
  });
  return Object.assign(answer as ReadonlySignal<Answer<T>>, {
    stop: () => {
      stop();
      turns.stop();
    },
  });
}
