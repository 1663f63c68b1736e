// In: a span of time and a width. Out: what is where. Pure geometry of zooming and moving.

export interface Span {
  from: number;
  to: number;
}

/** A part of the whole, shown on so many pixels. */
export interface Scale extends Span {
  width: number;
}

export function toX(scale: Scale, at: number): number {
  return ((at - scale.from) / (scale.to - scale.from)) * scale.width;
}

export function toTime(scale: Scale, x: number): number {
  return scale.from + (x / scale.width) * (scale.to - scale.from);
}

/** No window is shorter, in the unit of time. */
export const SHORTEST = 1_000;
/** Room at both ends of the whole, as a share of the window. */
const MARGIN = 0.04;

/** The whole with some room. */
export function whole(span: number): Span {
  const room = Math.max(span, SHORTEST) * MARGIN;
  return { from: -room, to: Math.max(span, SHORTEST) + room };
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
  const at = toTime(scale, x);
  const most = whole(span);
  const length = clamp((scale.to - scale.from) * factor, SHORTEST, most.to - most.from);
  const share = x / scale.width;
  return kept({ from: at - length * share, to: at + length * (1 - share) }, span);
}

/** Moves by pixels. */
export function moved(scale: Scale, dx: number, span: number): Span {
  const by = (dx / scale.width) * (scale.to - scale.from);
  return kept({ from: scale.from - by, to: scale.to - by }, span);
}

/** Kept inside the whole. */
function kept(window: Span, span: number): Span {
  const most = whole(span);
  const length = Math.min(window.to - window.from, most.to - most.from);
  const from = clamp(window.from, most.from, most.to - length);
  return { from, to: from + length };
}

export function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

/** Steps between marks, in milliseconds. */
const MARKS_MS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5,
  864e5, 1728e5, 6048e5, 2592e6,
];

/** Moments to be marked, at least `least` pixels apart; times in nanoseconds. */
export function marks(scale: Scale, least: number): { step: number; at: number[] } {
  const perPixel = (scale.to - scale.from) / scale.width;
  const wanted = (perPixel * least) / 1e6;
  const step = (MARKS_MS.find((ms) => ms >= wanted) ?? 2592e6) * 1e6;
  const at: number[] = [];
  for (let n = Math.ceil(Math.max(0, scale.from) / step); n * step <= scale.to; n += 1) at.push(n * step);
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
