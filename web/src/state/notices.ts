// What the server wants people to know, wherever they are: looked at when the live stream tells of something and when the page is shown again.
import { computed, effect, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import { dueIn, isNews, markOf, NOTHING_TOLD, toldBy, type Told } from "../logic/notices.ts";
import { hear, noticed } from "./live.ts";

const KEY = "unspool.notices";

function kept(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** Everything that is told. */
export const told = signal<Told>(NOTHING_TOLD);
const putAway = signal(kept());
/** What is told and nobody has put away. */
export const news = computed<Told | undefined>(() => (isNews(told.value, putAway.value) ? told.value : undefined));

/** It is not shown again until it says something else. */
export function putNoticesAway(): void {
  putAway.value = markOf(told.peek());
  try {
    localStorage.setItem(KEY, putAway.value);
  } catch {
    // A browser that keeps nothing forgets; nothing else depends on it.
  }
}

let looked: number | undefined;
let waiting = false;

async function look(): Promise<void> {
  waiting = false;
  looked = Date.now();
  try {
    const next = toldBy(await get("/api/v1/health"));
    if (JSON.stringify(next) !== JSON.stringify(told.peek())) told.value = next;
  } catch {
    // A server that does not answer is told of by the live stream; what is known stays.
  }
}

/** Looks as soon as it may; not while nobody sees the page. */
function lookSoon(): void {
  if (waiting || document.hidden) return;
  waiting = true;
  setTimeout(() => void look(), dueIn(looked, Date.now()));
}

export function startNotices(): void {
  hear(lookSoon);
  document.addEventListener("visibilitychange", lookSoon);
  effect(() => {
    noticed.value;
    lookSoon();
  });
}
