// In: a timeline as the API tells it. Out: where its lanes and bars are on the canvas, and what is under the pointer.
import type { BarDoc, LaneDoc, TimelineDoc } from "../api/types.ts";
import { toX, type Scale } from "./scale.ts";

/** Names of lanes stand here. */
export const GUTTER_PX = 200;
/** The whole session in one line. */
export const MAP_PX = 16;
export const RULER_PX = 22;
/** Above the lanes. */
export const TOP_PX = MAP_PX + RULER_PX;
export const ROW_PX = 16;
export const GAP_PX = 2;
export const LANE_PX = 8;
/** A lane that is folded. */
const FOLDED_PX = 6;

export interface PlacedLane {
  top: number;
  height: number;
  rowPx: number;
  folded: boolean;
  lane: LaneDoc;
}

/** Lanes from top to bottom. Lanes of many rows have lower ones, so that the others can be seen, too. */
export function placeLanes(lanes: readonly LaneDoc[], folded: ReadonlySet<number>): { lanes: PlacedLane[]; height: number } {
  let top = 0;
  const placed = lanes.map((lane, n) => {
    const isFolded = folded.has(n);
    const rowPx = isFolded ? FOLDED_PX / Math.max(1, lane.rows) : lane.rows > 12 ? 8 : ROW_PX;
    const height = LANE_PX + (isFolded ? FOLDED_PX + 6 : Math.max(1, lane.rows) * (rowPx + GAP_PX));
    const one = { top, height, rowPx, folded: isFolded, lane };
    top += height;
    return one;
  });
  return { lanes: placed, height: top };
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The narrowest bar that can be seen. */
const LEAST_PX = 2;

type Placed = Pick<BarDoc, "lane" | "row" | "from_ns" | "to_ns"> & { running?: boolean };

/** Where a bar is; what runs goes on until now. */
export function boxOf(bar: Placed, lanes: readonly PlacedLane[], scale: Scale, nowNs = 0): Box | undefined {
  const lane = lanes[bar.lane];
  if (!lane) return undefined;
  const x = toX(scale, bar.from_ns);
  const width = Math.max(LEAST_PX, toX(scale, endOf(bar, nowNs)) - x);
  const y = lane.top + LANE_PX / 2 + (lane.folded ? 3 : bar.row * (lane.rowPx + GAP_PX));
  return { x, y, width, height: lane.folded ? FOLDED_PX : lane.rowPx };
}

/** When a bar ends, as far as is known now. */
export function endOf(bar: { to_ns: number; running?: boolean }, nowNs: number): number {
  return bar.running ? Math.max(bar.to_ns, nowNs) : bar.to_ns;
}

/** The bar at a place: the narrowest, as it is the hardest to hit. */
export function barAt(timeline: TimelineDoc, lanes: readonly PlacedLane[], scale: Scale, x: number, y: number, nowNs: number): BarDoc | undefined {
  let best: BarDoc | undefined;
  let bestWidth = Infinity;
  for (const bar of timeline.bars) {
    const box = boxOf(bar, lanes, scale, nowNs);
    if (!box || y < box.y - 1 || y > box.y + box.height + 1 || x < box.x - 2 || x > box.x + box.width + 2) continue;
    if (box.width < bestWidth) [best, bestWidth] = [bar, box.width];
  }
  return best;
}

/** A lane's name: its agents', each once with how many there are; the main one first. */
export function laneName(lane: LaneDoc): string {
  const counts = new Map<string, number>();
  for (const { label } of lane.agents.toSorted((a, b) => Number(isMain(b.label)) - Number(isMain(a.label)))) counts.set(label, (counts.get(label) ?? 0) + 1);
  const names = [...counts].map(([name, count]) => (count > 1 ? `${name} ×${count}` : name));
  return names.slice(0, 3).join(", ") + (names.length > 3 ? "…" : "");
}

const isMain = (label: string) => /^main\b/.test(label);

/** What the agents of a lane were for. */
export function laneDetail(lane: LaneDoc): string {
  return lane.agents.map((agent) => agent.detail).filter((detail) => detail !== "").join(" · ");
}

/** The lane at a height. */
export function laneAt(lanes: readonly PlacedLane[], y: number): number | undefined {
  const n = lanes.findIndex((lane) => y < lane.top + lane.height);
  return y < 0 || n < 0 ? undefined : n;
}
