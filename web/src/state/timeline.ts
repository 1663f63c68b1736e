// The part of the timeline that is looked at, and the bars of it. The window of the address is the one that is shared.
import { computed, effect, signal } from "@preact/signals";
import { get, serverAheadMs } from "../api/client.ts";
import { placeLanes } from "../logic/lanes.ts";
import { drawnLength, foldsOf, grown, NO_FOLDS, reached, whole, type Folds, type Span } from "../logic/scale.ts";
import { answerOf } from "./answers.ts";
import { versionOf } from "./live.ts";
import { preferences } from "./preferences.ts";
import { replaceParams, route, sessionId, setParams, view } from "./route.ts";

const NS_PER_MS = 1e6;
/** What is asked for reaches so many windows to both sides, so that moving a little needs no asking. */
const REACH = 0.5;
const PAUSE_MS = 90;

export const widthPx = signal(1200);
/** What is looked at, in nanoseconds since the first moment; nothing for the whole. */
export const shownWindow = signal<Span | undefined>(undefined);
const askedWindow = signal<Span | undefined>(undefined);

/** What the client asked for itself is shown, too. */
export const isFull = computed(() => route.value.params["full"] === "true");

export function showFull(is: boolean): void {
  setParams({ full: is ? "true" : undefined });
}

export const timeline = answerOf(() => {
  const id = sessionId.value;
  if (id === "") return undefined;
  // Other views need it once.
  if (view.value === "timeline") versionOf(id).value;
  const span = askedWindow.value;
  const px = Math.round(widthPx.value * (span ? 1 + 2 * REACH : 1));
  const folded = preferences.value.fold || undefined;
  const full = isFull.value || undefined;
  const [from_ns, to_ns] = span ? [Math.max(0, Math.floor(span.from)), Math.max(0, Math.ceil(span.to))] : [undefined, undefined];
  return { key: id, part: `${from_ns} ${to_ns} ${px} ${folded} ${full}`, get: (abort) => get("/api/v1/sessions/{id}/timeline", { id }, { from_ns, to_ns, px, folded, full }, abort) };
});

/** Gaps that are drawn short, if somebody wants that. */
export const folds = computed<Folds>(() => (preferences.value.fold ? foldsOf(timeline.value.data?.idle ?? []) : NO_FOLDS));

/** Until when steps that run may be drawn; nothing when none does. */
const growsUntilNs = computed(() => timeline.value.data?.grows_until_ns ?? undefined);
/** Now, in nanoseconds since the first moment, while something runs; else 0. */
export const nowNs = signal(0);
/** Something runs. */
export const isGrowing = computed(() => nowNs.value > 0);
/** From the first moment to the last, or to now and some room while something runs. */
export const spanNs = computed(() => grown(timeline.value.data?.span_ns ?? 0, nowNs.value));
/** The window, or the whole. */
export const windowNs = computed<Span>(() => shownWindow.value ?? whole(spanNs.value, folds.value));

/** Who wants no motion sees what grows once a second. */
const CALM_MS = 1_000;
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
let frame = 0;
let looked = 0;

function tick(): void {
  frame = requestAnimationFrame(() => {
    const first = Date.parse(timeline.peek().data?.first_at ?? "");
    const until = growsUntilNs.peek();
    if (until === undefined || Number.isNaN(first)) return;
    const now = Math.min(until, (Date.now() + serverAheadMs - first) * NS_PER_MS);
    const { from, to } = windowNs.peek();
    const halfPixel = drawnLength({ from, to }, folds.peek()) / Math.max(1, widthPx.peek()) / 2;
    const isDue = !isCalm.matches || performance.now() - looked >= CALM_MS;
    if (isDue && (now - nowNs.peek() >= halfPixel || now < nowNs.peek())) {
      looked = performance.now();
      nowNs.value = now;
    }
    if (now < until) tick();
  });
}

// Steps that run grow while nothing new is heard of them.
effect(() => {
  cancelAnimationFrame(frame);
  if (growsUntilNs.value === undefined) nowNs.value = 0;
  else tick();
});

/** Lanes that somebody folded, by session. */
const foldedOf = signal<Record<string, ReadonlySet<number>>>({});
const NONE: ReadonlySet<number> = new Set();

export const lanes = computed(() => placeLanes(timeline.value.data?.lanes ?? [], foldedOf.value[sessionId.value] ?? NONE));
export const lanesPx = computed(() => lanes.value.height);

export function foldLane(n: number): void {
  const next = new Set(foldedOf.value[sessionId.value] ?? NONE);
  if (!next.delete(n)) next.add(n);
  foldedOf.value = { ...foldedOf.value, [sessionId.value]: next };
}

/** A range while it is being dragged. */
export const draggedRange = signal<Span | undefined>(undefined);

/** The range that is marked: the one that is being dragged, or else that of the address, in nanoseconds since the first moment. */
export const markedRange = computed<Span | undefined>(() => {
  if (draggedRange.value) return draggedRange.value;
  const [from, to] = (route.value.params["range"] ?? "").split("..").map((ms) => Number(ms) * NS_PER_MS);
  return from !== undefined && to !== undefined && to > from ? { from, to } : undefined;
});

export function markRange(span: Span | undefined): void {
  const ms = (ns: number) => Number((ns / NS_PER_MS).toFixed(3));
  setParams({ range: span && span.to > span.from ? `${ms(span.from)}..${ms(span.to)}` : undefined });
}

/** Sums over what began in it; not while it changes. */
export const rangeSums = answerOf(() => {
  const [id, range] = [sessionId.value, markedRange.value];
  if (id === "" || !range || draggedRange.value) return undefined;
  versionOf(id).value;
  const [from_ns, to_ns] = [Math.floor(range.from), Math.ceil(range.to)];
  return { key: `${id} ${from_ns} ${to_ns}`, get: (abort) => get("/api/v1/sessions/{id}/range", { id }, { from_ns, to_ns }, abort) };
});

let pause = 0;
/** The session whose window is newer than the address, for a moment. */
let aheadOf = "";

function toAddress(span: Span | undefined): void {
  const ms = (ns: number) => String(Math.round(ns / NS_PER_MS));
  replaceParams({ from: span && ms(span.from), to: span && ms(span.to) });
}

/** Shows another window: at once, and asks for it when it stays. */
export function showWindow(span: Span | undefined): void {
  const all = whole(spanNs.peek(), folds.peek());
  const isWhole = span === undefined || drawnLength(span, folds.peek()) >= drawnLength(all, folds.peek()) * 0.999;
  shownWindow.value = isWhole ? undefined : span;
  window.clearTimeout(pause);
  aheadOf = sessionId.peek();
  pause = window.setTimeout(() => {
    const isHere = aheadOf === sessionId.peek();
    aheadOf = "";
    if (!isHere) return;
    const shown = shownWindow.peek();
    askedWindow.value = shown && reached(shown, REACH, folds.peek());
    toAddress(shown);
  }, PAUSE_MS);
}

// The address speaks first: a deep link, or the way back.
effect(() => {
  const { from, to } = route.value.params;
  if (route.value.page !== "session") {
    shownWindow.value = askedWindow.value = undefined;
    return;
  }
  if (aheadOf !== "" && aheadOf === route.value.id) return;
  const [begin, end] = [Number(from) * NS_PER_MS, Number(to) * NS_PER_MS];
  const told = from !== undefined && to !== undefined && end > begin ? { from: begin, to: end } : undefined;
  const shown = shownWindow.peek();
  const isSame = told && shown ? Math.abs(told.from - shown.from) < NS_PER_MS && Math.abs(told.to - shown.to) < NS_PER_MS : told === shown;
  if (isSame) return;
  shownWindow.value = told;
  askedWindow.value = told && reached(told, REACH, folds.peek());
});
