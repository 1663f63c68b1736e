// In: a graph with everything in its place. Out: where its edges run, and which one is at a place. Pure.
import type { PlacedEdgeDoc, PlacedGraphDoc, PointDoc, RectDoc } from "../api/types.ts";

/** What does not change while a graph is looked at: where an edge is, and which nodes it joins. */
export interface Way {
  box: RectDoc;
  from: number;
  to: number;
}

const known = new WeakMap<PlacedGraphDoc, Way[]>();

/** The ways of a graph's edges, in their order. */
export function ways(graph: PlacedGraphDoc): Way[] {
  let found = known.get(graph);
  if (found) return found;
  const place = new Map(graph.nodes.map((node, n) => [node.id, n]));
  found = graph.edges.map((edge) => ({ box: around(edge), from: place.get(edge.from) ?? -1, to: place.get(edge.to) ?? -1 }));
  known.set(graph, found);
  return found;
}

function around({ points }: PlacedEdgeDoc): RectDoc {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { x, y } of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** A curve is looked at as so many straight parts. */
const PARTS = 12;

/** Corners of a way, those of a curve as straight parts. */
export function corners({ points, is_curve: isCurve }: Pick<PlacedEdgeDoc, "points" | "is_curve">): PointDoc[] {
  if (!isCurve) return points;
  const found = points.slice(0, 1);
  for (let n = 0; n + 3 < points.length; n += 3) {
    const [a, b, c, d] = [points[n], points[n + 1], points[n + 2], points[n + 3]];
    if (!a || !b || !c || !d) continue;
    for (let part = 1; part <= PARTS; part += 1) {
      const t = part / PARTS;
      const u = 1 - t;
      const mix = (side: "x" | "y") => u * u * u * a[side] + 3 * u * u * t * b[side] + 3 * u * t * t * c[side] + t * t * t * d[side];
      found.push({ x: mix("x"), y: mix("y") });
    }
  }
  return found;
}

/** How near a place is to a straight part. */
function distance(x: number, y: number, a: PointDoc, b: PointDoc): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const share = Math.max(0, Math.min(1, ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - a.x - share * dx, y - a.y - share * dy);
}

/** The edge at a place of the drawing that leads to a link, not farther away than `near`. */
export function edgeAt(graph: PlacedGraphDoc, x: number, y: number, near: number): PlacedEdgeDoc | undefined {
  let best: PlacedEdgeDoc | undefined;
  let least = near;
  ways(graph).forEach(({ box }, n) => {
    const edge = graph.edges[n];
    if (!edge?.link || x < box.x - near || x > box.x + box.width + near || y < box.y - near || y > box.y + box.height + near) return;
    const way = corners(edge);
    for (let at = 1; at < way.length; at += 1) {
      const [a, b] = [way[at - 1], way[at]];
      const far = a && b ? distance(x, y, a, b) : Infinity;
      if (far < least) [best, least] = [edge, far];
    }
  });
  return best;
}
