// In: a span of time and a width. Out: what is where. Pure geometry of zooming and moving.

export interface Span {
  from: number;
  to: number;
}

/** A stretch that is drawn shorter than it was, and where it is drawn. */
export interface Fold extends Span {
  drawnFrom: number;
  drawnTo: number;
}

export type Folds = readonly Fold[];
export const NO_FOLDS: Folds = [];

/** Stretches in order of time, as the server says how long each is drawn. */
export function foldsOf(stretches: readonly { from_ns: number; to_ns: number; folded_ns: number }[]): Folds {
  let saved = 0;
  return stretches.map(({ from_ns: from, to_ns: to, folded_ns: length }) => {
    const drawnFrom = from - saved;
    saved += to - from - length;
    return { from, to, drawnFrom, drawnTo: drawnFrom + length };
  });
}

/** The last fold that begins before a moment, in time or as it is drawn. */
function foldBefore(folds: Folds, at: number, side: "from" | "drawnFrom"): Fold | undefined {
  let [low, high] = [0, folds.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((folds[middle]?.[side] ?? Infinity) < at) low = middle + 1;
    else high = middle;
  }
  return folds[low - 1];
}

/** Where a moment is drawn, in the unit of time. */
export function drawnAt(folds: Folds, at: number): number {
  const fold = folds.length === 0 ? undefined : foldBefore(folds, at, "from");
  if (!fold) return at;
  if (at >= fold.to) return fold.drawnTo + (at - fold.to);
  return fold.drawnFrom + ((at - fold.from) / (fold.to - fold.from)) * (fold.drawnTo - fold.drawnFrom);
}

/** The moment that is drawn there. */
export function momentAt(folds: Folds, drawn: number): number {
  const fold = folds.length === 0 ? undefined : foldBefore(folds, drawn, "drawnFrom");
  if (!fold) return drawn;
  if (drawn >= fold.drawnTo) return fold.to + (drawn - fold.drawnTo);
  return fold.from + ((drawn - fold.drawnFrom) / (fold.drawnTo - fold.drawnFrom)) * (fold.to - fold.from);
}

/** A part of the whole, shown on so many pixels. */
export interface Scale extends Span {
  width: number;
  folds?: Folds;
}

/** The window as it is drawn. */
function drawnSpan({ from, to, folds = NO_FOLDS }: Span & { folds?: Folds }): Span {
  return { from: drawnAt(folds, from), to: drawnAt(folds, to) };
}

export function toX(scale: Scale, at: number): number {
  const { folds = NO_FOLDS } = scale;
  const from = drawnAt(folds, scale.from);
  return ((drawnAt(folds, at) - from) / (drawnAt(folds, scale.to) - from)) * scale.width;
}

export function toTime(scale: Scale, x: number): number {
  const { from, to } = drawnSpan(scale);
  return momentAt(scale.folds ?? NO_FOLDS, from + (x / scale.width) * (to - from));
}

/** No window is shorter, in the unit of time. */
export const SHORTEST = 1_000;
/** Room at both ends of the whole, as a share of the window. */
const MARGIN = 0.04;

/** The whole with some room. */
export function whole(span: number, folds: Folds = NO_FOLDS): Span {
  const end = Math.max(span, SHORTEST);
  const room = drawnAt(folds, end) * MARGIN;
  return { from: -room, to: end + room };
}

/** How long a window is drawn. */
export function drawnLength(span: Span, folds: Folds): number {
  const { from, to } = drawnSpan({ ...span, folds });
  return to - from;
}

/** A window with so many of its lengths more at both ends, as it is drawn. */
export function reached(span: Span, lengths: number, folds: Folds): Span {
  const { from, to } = drawnSpan({ ...span, folds });
  const more = (to - from) * lengths;
  return { from: momentAt(folds, from - more), to: momentAt(folds, to + more) };
}

/** What grows is shown in steps of so much, so that not everything moves all the time. */
const GROWTH = 1.06;

/** A span with room for what goes on until now. */
export function grown(span: number, now: number): number {
  const least = Math.max(span, SHORTEST * 1e6);
  return now <= span ? span : least * GROWTH ** Math.max(0, Math.ceil(Math.log(now / least) / Math.log(GROWTH)));
}

/** Zooms by a factor so that what is at `x` stays there. */
export function zoomed(scale: Scale, x: number, factor: number, span: number): Span {
  const { from, to } = drawnSpan(scale);
  const share = x / scale.width;
  const at = from + share * (to - from);
  const length = Math.max((to - from) * factor, SHORTEST);
  return kept({ from: at - length * share, to: at + length * (1 - share) }, span, scale.folds ?? NO_FOLDS);
}

/** Moves by pixels. */
export function moved(scale: Scale, dx: number, span: number): Span {
  const { from, to } = drawnSpan(scale);
  const by = (dx / scale.width) * (to - from);
  return kept({ from: from - by, to: to - by }, span, scale.folds ?? NO_FOLDS);
}

/** With a moment in the middle, as long as it is drawn now. */
export function centred(scale: Scale, at: number, span: number): Span {
  const folds = scale.folds ?? NO_FOLDS;
  const half = drawnLength(scale, folds) / 2;
  const middle = drawnAt(folds, at);
  return kept({ from: middle - half, to: middle + half }, span, folds);
}

/** A window as it is drawn, kept inside the whole; in time. */
function kept(window: Span, span: number, folds: Folds): Span {
  const most = drawnSpan({ ...whole(span, folds), folds });
  const length = Math.min(window.to - window.from, most.to - most.from);
  const from = clamp(window.from, most.from, most.to - length);
  return { from: momentAt(folds, from), to: momentAt(folds, from + length) };
}

export function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

/** Steps between marks, in milliseconds. */
const MARKS_MS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5,
  864e5, 1728e5, 6048e5, 2592e6,
];

/** Moments to be marked, at least `least` pixels apart and none in a fold; times in nanoseconds. */
export function marks(scale: Scale, least: number): { step: number; at: number[] } {
  const { folds = NO_FOLDS } = scale;
  const perPixel = drawnLength(scale, folds) / scale.width;
  const wanted = (perPixel * least) / 1e6;
  const step = (MARKS_MS.find((ms) => ms >= wanted) ?? 2592e6) * 1e6;
  const at: number[] = [];
  const mark = (from: number, to: number) => {
    for (let n = Math.ceil(Math.max(0, from) / step); n * step <= to; n += 1) {
      const last = at.at(-1);
      if (last === undefined || toX(scale, n * step) - toX(scale, last) >= least * 0.9) at.push(n * step);
    }
  };
  let from = scale.from;
  for (const fold of folds) {
    if (fold.to <= from || fold.from >= scale.to) continue;
    mark(from, fold.from);
    from = fold.to;
  }
  mark(from, scale.to);
  return { step, at };
}

/** A mark's words; as fine as the step between marks. */
export function markText(at: number, step: number): string {
  const ms = at / 1e6;
  if (step < 1e6) return `${Number((ms * 1000).toFixed(0))} µs`;
  if (step < 1e9 && ms < 1000) return `${ms} ms`;
  if (step < 1e9) return `${(ms / 1000).toFixed(step < 1e8 ? 2 : 1)} s`;
  const s = Math.round(ms / 1000);
  const [d, h, m] = [Math.floor(s / 86_400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  const words = [d > 0 ? `${d}d` : "", h > 0 ? `${h}h` : "", m > 0 ? `${m}m` : "", s % 60 > 0 ? `${s % 60}s` : ""].filter((word) => word !== "");
  return words.join(" ") || "0";
}
