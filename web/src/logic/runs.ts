// In: two steps in their places of a swim-lane. Out: the way of an arrow between them. Pure.

export interface LaneSize {
  columnPx: number;
  rowPx: number;
}

interface Placed {
  lane: number;
  column: number;
}

/** Between two columns. */
const GAP_PX = 12;

/** From the right edge of one to the left edge of the other, as an SVG path. */
export function arrowPath(from: Placed, to: Placed, { columnPx, rowPx }: LaneSize): string {
  const [x1, y1] = [from.column * columnPx + columnPx - GAP_PX, from.lane * rowPx + rowPx / 2];
  const [x2, y2] = [to.column * columnPx, to.lane * rowPx + rowPx / 2];
  if (x2 <= x1) return `M${x1} ${y1} C${x1 + GAP_PX} ${y1} ${x2 - GAP_PX} ${y2} ${x2} ${y2}`;
  const turn = Math.min(x1 + GAP_PX / 2, x2);
  return `M${x1} ${y1} L${turn} ${y1} L${turn} ${y2} L${x2} ${y2}`;
}
