// Answers of the API as signals. While a newer one is under way, the last one stays: nothing flickers.
import { effect, signal, type ReadonlySignal } from "@preact/signals";
import type { ApiError } from "../api/client.ts";
import { Overdue, Queue, Turns } from "../logic/turns.ts";
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
/** What is looked at again and not answered by then is given up: `max_look_again_ms`. */
export const MAX_LOOK_AGAIN_MS = 30_000;
/** After that it is asked for once more. */
export const ONCE_MORE_MS = 5_000;
/** What is only looked at again, in every view. */
export const lookedAgain = new Queue(() => new Promise((resolve) => setTimeout(resolve, PAUSE_MS)), MAX_LOOK_AGAIN_MS);
/** How many answers are older than they should be, because nobody answered when they were looked at again. */
export const overdue = signal(0);

const NOTHING = { data: undefined, error: undefined, loading: false };

/** Whether an answer is older than it should be; if so, it is asked for once more after a while. */
class Lateness {
  readonly turn = signal(0);
  private waiting: ReturnType<typeof setTimeout> | undefined;

  begin(): void {
    if (this.waiting === undefined) overdue.value += 1;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => (this.turn.value += 1), ONCE_MORE_MS);
  }

  end(): void {
    if (this.waiting === undefined) return;
    clearTimeout(this.waiting);
    this.waiting = undefined;
    overdue.value = overdue.peek() - 1;
  }
}

/** Asks whenever what `ask` reads changes; `ask` returns nothing when there is nothing to ask. */
export function answerOf<T>(ask: () => Question<T> | undefined): ReadonlySignal<Answer<T>> & { stop(): void } {
  const answer = signal<Answer<T>>(NOTHING);
  const lateness = new Lateness();
  let [key, lastAsked] = ["", ""];
  const turns: Turns<T> = new Turns<T>({
    answered: (data) => {
      lateness.end();
      answer.value = { data, error: undefined, loading: false };
    },
    failed: (error) => {
      // What was looked at again in vain stays as it was.
      if (error instanceof Overdue) return lateness.begin();
      answer.value = { data: answer.peek().data, error: asApiError(error), loading: turns.isBusy };
    },
  });
  const stop = effect(() => {
    lateness.turn.value;
    const question = ask();
    if (!question) {
      turns.stop();
      lateness.end();
      key = lastAsked = "";
      answer.value = NOTHING;
      return;
    }
    const last = answer.peek();
    const asked = JSON.stringify([question.key, question.part]);
    // What is only asked again is no news before it is answered: nothing is drawn for it.
    const isAgain = asked === lastAsked && last.data !== undefined && last.error === undefined;
    if (!isAgain) {
      lateness.end();
      answer.value = { data: question.key === key ? last.data : undefined, error: undefined, loading: true };
    }
    [key, lastAsked] = [question.key, asked];
    turns.ask(asked, (signal) => (isAgain ? lookedAgain.add((end) => question.get(AbortSignal.any([signal, end]))) : question.get(signal)));
  });
  return Object.assign(answer as ReadonlySignal<Answer<T>>, {
    stop: () => {
      stop();
      turns.stop();
      lateness.end();
    },
  });
}
