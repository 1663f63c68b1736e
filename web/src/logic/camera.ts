// In: a graph in its place and a screen. Out: where the screen looks at it from, and what is at a place. Pure.
import type { PlacedGraphDoc, PlacedNodeDoc } from "../api/types.ts";

export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

/** The node at a place of the drawing. */
export function nodeAt(graph: PlacedGraphDoc, x: number, y: number): PlacedNodeDoc | undefined {
  return graph.nodes.findLast(({ place }) => x >= place.x && x <= place.x + place.width && y >= place.y && y <= place.y + place.height);
}

/** Smaller is shown only to those who zoom out. */
const LEGIBLE_ZOOM = 0.8;

/** Everything in sight, as large as is comfortable to read. */
export function fitted(graph: PlacedGraphDoc, width: number, height: number): Camera {
  const zoom = Math.min(1.1, (width - 32) / Math.max(1, graph.width), (height - 32) / Math.max(1, graph.height));
  const legible = Math.max(zoom, LEGIBLE_ZOOM);
  const first = graph.nodes.find((node) => node.rank === 0)?.place ?? { x: 0, y: 0, width: graph.width, height: 0 };
  // What is too large begins with its first node in sight.
  const side = (room: number, whole: number, at: number) => (whole * legible <= room - 32 ? (room - whole * legible) / 2 : Math.min(16, Math.max(room - 16 - whole * legible, room / 2 - at * legible)));
  return { zoom: legible, x: side(width, graph.width, first.x + first.width / 2), y: side(height, graph.height, first.y + first.height / 2) };
}
