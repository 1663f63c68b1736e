// In: values and the room for them. Out: places and paths of a line chart. Pure; the values come from the API as they are.

export interface Spot<T> {
  x: number;
  y: number;
  of: T;
}

/** Where each value stands; shares are from 0 to 1, and y grows downwards. */
export function spread<T>(all: readonly T[], xShare: (one: T) => number, yShare: (one: T) => number, width: number, height: number): Spot<T>[] {
  return all.map((one) => ({ x: xShare(one) * width, y: height - yShare(one) * height, of: one }));
}

const at = ({ x, y }: { x: number; y: number }) => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** A line through all of them; a single one is a short stroke. */
export function linePath(spots: readonly Spot<unknown>[]): string {
  const [first, ...rest] = spots;
  if (!first) return "";
  if (rest.length === 0) return `M${at({ x: first.x - 3, y: first.y })} L${at({ x: first.x + 3, y: first.y })}`;
  return `M${at(first)}${rest.map((spot) => ` L${at(spot)}`).join("")}`;
}

/** What lies below the line. */
export function areaPath(spots: readonly Spot<unknown>[], height: number): string {
  const [first, last] = [spots[0], spots.at(-1)];
  return first && last && spots.length > 1 ? `${linePath(spots)} L${at({ x: last.x, y: height })} L${at({ x: first.x, y: height })} Z` : "";
}

/** The spot that lies nearest, and whose it is. */
export function nearest<T>(lines: readonly (readonly Spot<T>[])[], x: number, y: number): { line: number; spot: Spot<T> } | undefined {
  let best: { line: number; spot: Spot<T>; far: number } | undefined;
  lines.forEach((spots, line) => {
    for (const spot of spots) {
      const far = Math.hypot(spot.x - x, spot.y - y);
      if (!best || far < best.far) best = { line, spot, far };
    }
  });
  return best;
}
