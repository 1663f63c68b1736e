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

/** Where the camera has to be so that what is in the middle of the screen stays there when the graph is laid out anew. */
export function anchored(before: PlacedGraphDoc, after: PlacedGraphDoc, camera: Camera, width: number, height: number): Camera {
  const [cx, cy] = [(width / 2 - camera.x) / camera.zoom, (height / 2 - camera.y) / camera.zoom];
  const known = new Map(after.nodes.map((node) => [node.id, node.place]));
  let best: { far: number; dx: number; dy: number } | undefined;
  for (const { id, place } of before.nodes) {
    const now = known.get(id);
    if (!now) continue;
    const far = Math.hypot(place.x + place.width / 2 - cx, place.y + place.height / 2 - cy);
    if (!best || far < best.far) best = { far, dx: now.x - place.x, dy: now.y - place.y };
  }
  return best ? { ...camera, x: camera.x - best.dx * camera.zoom, y: camera.y - best.dy * camera.zoom } : camera;
}

/** The camera with a place in the middle, if it is not well in sight already. */
export function flownTo({ x, y, zoom }: Camera, place: { x: number; y: number; width: number; height: number }, width: number, height: number): Camera | undefined {
  const next = Math.max(zoom, LEGIBLE_ZOOM / 1.6);
  const [px, py] = [place.x + place.width / 2, place.y + place.height / 2];
  const [cx, cy] = [x + px * zoom, y + py * zoom];
  const isSeen = cx > EDGE_PX && cy > EDGE_PX && cx < width - EDGE_PX && cy < height - EDGE_PX;
  return isSeen && next === zoom ? undefined : { zoom: next, x: width / 2 - px * next, y: height / 2 - py * next };
}

const EDGE_PX = 20;

/** Part of the way from one camera to another, from 0 to 1. */
export function between(from: Camera, to: Camera, share: number): Camera {
  const eased = 1 - (1 - share) ** 3;
  const part = (a: number, b: number) => a + (b - a) * eased;
  return { x: part(from.x, to.x), y: part(from.y, to.y), zoom: part(from.zoom, to.zoom) };
}

/** Larger or smaller, with a place of the screen kept where it is. */
export function zoomedAt({ x: left, y: top, zoom }: Camera, next: number, x: number, y: number): Camera {
  return { zoom: next, x: x - ((x - left) / zoom) * next, y: y - ((y - top) / zoom) * next };
}

/** A camera as an address says it: which place of the drawing is in the middle of the screen, and how large it is. */
export function saidCamera({ x, y, zoom }: Camera, width: number, height: number): string {
  const middle = (room: number, at: number) => Math.round((room / 2 - at) / zoom);
  return [middle(width, x), middle(height, y), Number(zoom.toPrecision(3))].join(",");
}

/** And back, for a screen of any size. */
export function cameraSaid(text: string, width: number, height: number): Camera | undefined {
  const [x, y, zoom] = text === "" ? [] : text.split(",").map(Number);
  if (x === undefined || y === undefined || zoom === undefined || ![x, y, zoom].every(Number.isFinite) || zoom <= 0) return undefined;
  return { zoom, x: width / 2 - x * zoom, y: height / 2 - y * zoom };
}
