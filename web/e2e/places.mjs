// Where things that are drawn on a canvas are on the page, worked out by the page's own geometry.
import { fitted } from "../src/logic/camera.ts";
import { boxOf, GUTTER_PX, placeLanes, TOP_PX } from "../src/logic/lanes.ts";
import { foldsOf, toX, whole } from "../src/logic/scale.ts";
import { corners } from "../src/logic/ways.ts";
import { demo, page, server, until } from "./harness.mjs";

export const timelineCanvas = () => page.getByRole("img", { name: /Timeline/ });

/** The timeline of a session as the page shows it when it opens. */
export async function timelinePlaces(id = demo.id) {
  const box = await until(() => timelineCanvas().boundingBox(), "the canvas");
  const width = Math.round(box.width - GUTTER_PX);
  const data = await server.json(`/api/v1/sessions/${id}/timeline?px=${width}&folded=true`);
  const { lanes } = placeLanes(data.lanes, new Set());
  const folds = foldsOf(data.idle);
  const scale = { ...whole(data.span_ns, folds), width: box.width - GUTTER_PX, folds };
  const at = (x, y) => ({ x: box.x + GUTTER_PX + x, y: box.y + TOP_PX + y });
  return { data, lanes, scale, at, box };
}

/** The middle of a step's bar. */
export async function barPlace(step, id = demo.id) {
  const { data, lanes, scale, at } = await timelinePlaces(id);
  const place = boxOf(data.bars.find((bar) => bar.step_id === step), lanes, scale);
  return at(place.x + place.width / 2, place.y + place.height / 2);
}

/** A moment of the timeline, from left to right on the page. */
export async function momentPlace(ns, id = demo.id) {
  const { scale, at } = await timelinePlaces(id);
  return at(toX(scale, ns), 0).x;
}

async function graphCamera(graph) {
  const box = await until(() => page.locator(".graph canvas").boundingBox(), "the canvas");
  return { box, camera: fitted(graph, box.width, box.height) };
}

/** The middle of a node. */
export async function nodePlace(graph, { place }) {
  const { box, camera: { x, y, zoom } } = await graphCamera(graph);
  return { x: box.x + x + (place.x + place.width / 2) * zoom, y: box.y + y + (place.y + place.height / 2) * zoom, box };
}

/** Places along an edge that are in sight and on no node. */
export async function edgePlaces(graph, edge) {
  const { box, camera: { x, y, zoom } } = await graphCamera(graph);
  const isFree = (at) => graph.nodes.every(({ place }) => at.x < place.x - 8 || at.x > place.x + place.width + 8 || at.y < place.y - 8 || at.y > place.y + place.height + 8);
  // Also between corners that lie far apart.
  const along = corners(edge).flatMap((to, n, all) => (n === 0 ? [to] : [0.25, 0.5, 0.75, 1].map((share) => ({ x: all[n - 1].x + (to.x - all[n - 1].x) * share, y: all[n - 1].y + (to.y - all[n - 1].y) * share }))));
  const free = along.filter(isFree).map((at) => ({ x: box.x + x + at.x * zoom, y: box.y + y + at.y * zoom }));
  return free.filter((at) => at.x > box.x + 8 && at.x < box.x + box.width - 8 && at.y > box.y + 8 && at.y < box.y + box.height - 8);
}
