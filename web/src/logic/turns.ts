// In: questions, as often as something changes. Out: answers, one at a time. Another question ends the one under way; the same question again waits
// for its turn, so that what changes faster than it can be answered is answered all the same.

type Get<T> = (signal: AbortSignal) => Promise<T>;

export interface Hearer<T> {
  answered(data: T): void;
  failed(error: unknown): void;
}

export class Turns<T> {
  private readonly hearer: Hearer<T>;
  private underWay: { question: string; abort: AbortController } | undefined;
  private next: Get<T> | undefined;

  constructor(hearer: Hearer<T>) {
    this.hearer = hearer;
  }

  ask(question: string, get: Get<T>): void {
    if (this.underWay?.question === question) {
      this.next = get;
      return;
    }
    this.stop();
    this.begin(question, get);
  }

  /** Ends what is under way; nothing more is heard of it. */
  stop(): void {
    this.underWay?.abort.abort();
    this.underWay = this.next = undefined;
  }

  private begin(question: string, get: Get<T>): void {
    const mine = { question, abort: new AbortController() };
    this.underWay = mine;
    const finish = (tell: () => void) => {
      if (this.underWay !== mine) return;
      this.underWay = undefined;
      const next = this.next;
      this.next = undefined;
      if (next) this.begin(question, next);
      tell();
    };
    get(mine.abort.signal).then(
      (data) => finish(() => this.hearer.answered(data)),
      (error: unknown) => finish(() => this.hearer.failed(error)),
    );
  }

  /** Whether an answer is awaited. */
  get isBusy(): boolean {
    return this.underWay !== undefined;
  }
}

/** What a queue gave up: it was not done in time. */
export class Overdue extends Error {}

/** Work that nobody waits for: one thing after the other, with a pause between, so that what somebody does meanwhile has room. */
export class Queue {
  private last: Promise<unknown> = Promise.resolve();
  private readonly pause: () => Promise<unknown>;
  private readonly longestMs: number;

  constructor(pause: () => Promise<unknown>, longestMs: number) {
    this.pause = pause;
    this.longestMs = longestMs;
  }

  add<T>(work: Get<T>): Promise<T> {
    const mine = this.last.then(() => this.inTime(work));
    this.last = mine.catch(() => {}).then(this.pause);
    return mine;
  }

  /** Work that takes longer is ended, so that what waits behind it begins, whether or not it heeds that. */
  private async inTime<T>(work: Get<T>): Promise<T> {
    const abort = new AbortController();
    let clock: ReturnType<typeof setTimeout> | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      clock = setTimeout(() => reject(new Overdue(`not done within ${this.longestMs} ms`)), this.longestMs);
    });
    try {
      return await Promise.race([work(abort.signal), tooLong]);
    } finally {
      clearTimeout(clock);
      abort.abort();
    }
  }
}
