// Playing a session along its time: a moment that moves, and what is later than it.
import { computed, effect, signal } from "@preact/signals";
import { sessionId } from "./route.ts";
import { spanNs } from "./timeline.ts";

export const SPEEDS = [1, 10, 60, 300, 1000] as const;

/** The moment that is played, in nanoseconds since the first; nothing when all is shown. */
export const playedNs = signal<number | undefined>(undefined);
export const isPlaying = signal(false);
export const speed = signal<number>(60);

let frame = 0;

function tick(last: number): void {
  frame = requestAnimationFrame((now) => {
    const at = (playedNs.peek() ?? 0) + (now - last) * 1e6 * speed.peek();
    playedNs.value = Math.min(at, spanNs.peek());
    if (at >= spanNs.peek()) isPlaying.value = false;
    else if (isPlaying.peek()) tick(now);
  });
}

export function play(): void {
  if (playedNs.peek() === undefined || (playedNs.peek() ?? 0) >= spanNs.peek()) playedNs.value = 0;
  isPlaying.value = true;
  cancelAnimationFrame(frame);
  tick(performance.now());
}

export function pause(): void {
  isPlaying.value = false;
  cancelAnimationFrame(frame);
}

/** Shows everything again. */
export function endReplay(): void {
  pause();
  playedNs.value = undefined;
}

export function playAt(ns: number): void {
  playedNs.value = Math.max(0, Math.min(ns, spanNs.peek()));
}

/** A tenth of a second is enough for lists. */
export const playedMs = computed(() => (playedNs.value === undefined ? undefined : Math.floor(playedNs.value / 1e8) * 100));

/** Whether something is not yet, while a session is played. */
export function isLater(elapsedMs: number | null | undefined): boolean {
  return playedMs.value !== undefined && elapsedMs !== null && elapsedMs !== undefined && elapsedMs > playedMs.value;
}

let shown = "";
effect(() => {
  if (sessionId.value === shown) return;
  shown = sessionId.value;
  endReplay();
});
