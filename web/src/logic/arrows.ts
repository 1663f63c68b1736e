// In: an arrow of the timeline and where the lanes are. Out: its way, its sort, and which one is at a place. Pure.
import type { TimelineArrowDoc } from "../api/types.ts";
import { boxOf, type PlacedLane } from "./lanes.ts";
import type { Scale } from "./scale.ts";

/** What an arrow is shown as; people choose by it. */
export type ArrowSort = "tool" | "spawn" | "return" | "other" | "error";

const SORTS: Record<string, ArrowSort> = { calls: "tool", tool_result: "tool", depends_on: "tool", subagent_spawn: "spawn", subagent_return: "return" };

export function sortOf(arrow: Pick<TimelineArrowDoc, "relation" | "is_error">): ArrowSort {
  return arrow.is_error ? "error" : (SORTS[arrow.relation] ?? "other");
}

export function arrowShown(arrow: Pick<TimelineArrowDoc, "relation" | "is_error" | "confidence">, shown: Readonly<Record<ArrowSort, boolean>>, sure: number): boolean {
  return shown[sortOf(arrow)] && arrow.confidence >= sure;
}

/** From one place to another: out of the first upright, into the second upright, by two bends. */
export interface Curve {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  /** How far it goes up or down at each end before it turns. */
  bend0: number;
  bend1: number;
}

/** Along a row, arrows hang below the bars so deep. */
const HANG_PX = 9;
const LEAST_BEND_PX = 18;

export function curveOf(arrow: Pick<TimelineArrowDoc, "from" | "to">, lanes: readonly PlacedLane[], scale: Scale): Curve | undefined {
  const end = ({ lane, row, at_ns }: TimelineArrowDoc["from"]) => boxOf({ lane, row, from_ns: at_ns, to_ns: at_ns }, lanes, scale);
  const [from, to] = [end(arrow.from), end(arrow.to)];
  if (!from || !to) return undefined;
  if (arrow.from.lane === arrow.to.lane && arrow.from.row === arrow.to.row) {
    const [y0, y1] = [from.y + from.height, to.y + to.height];
    return { x0: from.x - 1, y0, x1: to.x + 2, y1, bend0: HANG_PX, bend1: HANG_PX };
  }
  const down = to.y > from.y;
  const far = Math.abs(to.y - from.y);
  const bend = (arrow.from.lane === arrow.to.lane ? Math.max(6, far / 2) : Math.max(LEAST_BEND_PX, far / 2)) * (down ? 1 : -1);
  return { x0: from.x, y0: from.y + (down ? from.height : 0), x1: to.x, y1: to.y + (down ? 0 : to.height), bend0: bend, bend1: -bend };
}

/** A piece of a curve by its four points. */
export interface Piece {
  points: readonly [number, number, number, number, number, number, number, number];
  /** It ends where the curve does. */
  hasEnd: boolean;
}

/** What lies farther beside the window is not drawn. */
const BESIDE_PX = 40;
const HALVES = 24;

/** What of the lanes can be seen. */
export interface Sight {
  width: number;
  top: number;
  bottom: number;
}

/** The shares of a way from one number to another, which goes one way only, between which it is within bounds. */
function sharesWithin(at: (t: number) => number, from: number, to: number, least: number, most: number): [number, number] | undefined {
  if (Math.max(from, to) < least || Math.min(from, to) > most) return undefined;
  const shareAt = (place: number) => {
    let [low, high] = [0, 1];
    for (let n = 0; n < HALVES; n += 1) {
      const middle = (low + high) / 2;
      if (at(middle) < place === from < to) low = middle;
      else high = middle;
    }
    return low;
  };
  const isIn = (place: number) => place >= least && place <= most;
  const [first, last] = from < to ? [least, most] : [most, least];
  return [isIn(from) ? 0 : shareAt(first), isIn(to) ? 1 : shareAt(last)];
}

/** The piece of a curve that can be seen: far in, and between lanes far apart, curves are so long that drawing all of them takes too long. */
export function seenPiece({ x0, y0, x1, y1, bend0, bend1 }: Curve, { width, top, bottom }: Sight): Piece | undefined {
  const along = sharesWithin((t) => x0 + (x1 - x0) * t * t * (3 - 2 * t), x0, x1, -BESIDE_PX, width + BESIDE_PX);
  const y = (t: number) => blossom(y0, y0 + bend0, y1 + bend1, y1, t, t, t);
  // What hangs below a row goes down and up again, but not far.
  const across: [number, number] | undefined = bend0 * bend1 > 0 ? (Math.max(y0, y1) + bend0 < top || y0 > bottom ? undefined : [0, 1]) : sharesWithin(y, y0, y1, top - BESIDE_PX, bottom + BESIDE_PX);
  if (!along || !across) return undefined;
  const [from, to] = [Math.max(along[0], across[0]), Math.min(along[1], across[1])];
  if (from > to) return undefined;
  const part = (a: number, b: number, c: number, d: number) => [blossom(a, b, c, d, from, from, from), blossom(a, b, c, d, from, from, to), blossom(a, b, c, d, from, to, to), blossom(a, b, c, d, to, to, to)] as const;
  const [ax, bx, cx, dx] = part(x0, x0, x1, x1);
  const [ay, by, cy, dy] = part(y0, y0 + bend0, y1 + bend1, y1);
  return { points: [ax, ay, bx, by, cx, cy, dx, dy], hasEnd: to === 1 };
}

/** Points of a piece of a cubic curve: each of three halvings at a share of its own. */
function blossom(a: number, b: number, c: number, d: number, r: number, s: number, t: number): number {
  const mix = (p: number, q: number, share: number) => p + (q - p) * share;
  const [ab, bc, cd] = [mix(a, b, r), mix(b, c, r), mix(c, d, r)];
  return mix(mix(ab, bc, s), mix(bc, cd, s), t);
}

/** A press that is nearer hits an arrow. */
const NEAR_PX = 6;
const PIECES = 24;

/** How near a place is to a curve. */
function distance({ x0, y0, x1, y1, bend0, bend1 }: Curve, x: number, y: number): number {
  let nearest = Infinity;
  for (let n = 0; n <= PIECES; n += 1) {
    const t = n / PIECES;
    const u = 1 - t;
    const cx = u * u * (u + 3 * t) * x0 + t * t * (t + 3 * u) * x1;
    const cy = u * u * u * y0 + 3 * u * u * t * (y0 + bend0) + 3 * u * t * t * (y1 + bend1) + t * t * t * y1;
    nearest = Math.min(nearest, Math.hypot(cx - x, cy - y));
  }
  return nearest;
}

/** The arrow at a place: the nearest. */
export function arrowAt<A extends Pick<TimelineArrowDoc, "from" | "to">>(arrows: readonly A[], lanes: readonly PlacedLane[], scale: Scale, x: number, y: number): A | undefined {
  let best: A | undefined;
  let least = NEAR_PX;
  for (const arrow of arrows) {
    const curve = curveOf(arrow, lanes, scale);
    if (!curve || x < Math.min(curve.x0, curve.x1) - NEAR_PX || x > Math.max(curve.x0, curve.x1) + NEAR_PX) continue;
    const far = distance(curve, x, y);
    if (far < least) [best, least] = [arrow, far];
  }
  return best;
}
