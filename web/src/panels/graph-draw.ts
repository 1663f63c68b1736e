// In: a graph with everything in its place, and how it is looked at. Out: pixels.
import type { PlacedEdgeDoc, PlacedGraphDoc, PlacedNodeDoc, RectDoc } from "../api/types.ts";
import type { Camera } from "../logic/camera.ts";
import type { Palette } from "../state/schema.ts";
import type { Light } from "../state/session.ts";
import { arrowHead, FONT, rounded } from "../widgets/paint.ts";

export interface GraphScene {
  graph: PlacedGraphDoc;
  camera: Camera;
  colours: Palette;
  light(node: PlacedNodeDoc): Light;
  hasChain: boolean;
  hovered: string;
  /** The step that is looked at; a node that stands for several says which of them it is. */
  selected: string;
}

/** Smaller letters cannot be read and are not drawn. */
const LEAST_TEXT_ZOOM = 0.45;

export function drawGraph(ctx: CanvasRenderingContext2D, scene: GraphScene, width: number, height: number): void {
  const { graph, camera } = scene;
  ctx.save();
  ctx.translate(camera.x, camera.y);
  ctx.scale(camera.zoom, camera.zoom);
  const view = { x: -camera.x / camera.zoom, y: -camera.y / camera.zoom, width: width / camera.zoom, height: height / camera.zoom };
  const lights = new Map(graph.nodes.map((node) => [node.id, scene.light(node)]));
  for (const group of graph.groups) if (touches(group.place, view)) drawGroup(ctx, scene, group.place, group.shown_label);
  for (const edge of graph.edges) if (edgeTouches(edge, view)) drawEdge(ctx, scene, edge, lights);
  for (const node of graph.nodes) if (touches(node.place, view)) drawNode(ctx, scene, node, lights.get(node.id) ?? "plain");
  ctx.restore();
}

function touches(rect: RectDoc, view: RectDoc): boolean {
  return rect.x < view.x + view.width && rect.x + rect.width > view.x && rect.y < view.y + view.height && rect.y + rect.height > view.y;
}

function edgeTouches(edge: PlacedEdgeDoc, view: RectDoc): boolean {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { x, y } of edge.points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return left <= view.x + view.width && right >= view.x && top <= view.y + view.height && bottom >= view.y;
}

function drawGroup(ctx: CanvasRenderingContext2D, { colours, camera }: GraphScene, place: RectDoc, label: string): void {
  rounded(ctx, place.x, place.y, place.width, place.height, 8);
  ctx.globalAlpha = 0.05;
  ctx.fillStyle = colours.frame;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = colours.frameBorder;
  ctx.lineWidth = 1;
  ctx.stroke();
  if (camera.zoom < LEAST_TEXT_ZOOM) return;
  ctx.font = `600 11px ${FONT}`;
  ctx.fillStyle = colours.dim;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  ctx.fillText(label, place.x + 8, place.y + 6);
}

function isLit(light: Light | undefined): boolean {
  return light === "chain" || light === "selected";
}

function drawEdge(ctx: CanvasRenderingContext2D, { colours, hasChain, hovered, camera }: GraphScene, edge: PlacedEdgeDoc, lights: Map<string, Light>): void {
  const [first, ...rest] = edge.points;
  const last = edge.points.at(-1);
  if (!first || !last) return;
  const lit = isLit(lights.get(edge.from)) && isLit(lights.get(edge.to));
  const near = hovered !== "" && (edge.from === hovered || edge.to === hovered);
  ctx.globalAlpha = lit || near ? 1 : hasChain ? 0.25 : 0.8;
  ctx.strokeStyle = ctx.fillStyle = edge.is_error ? colours.error : edge.is_spawn ? colours.spawn : lit || near ? colours.ink : colours.line;
  ctx.lineWidth = lit || near ? 2 : 1.2;
  ctx.setLineDash(edge.is_error || edge.is_spawn ? [5, 3] : edge.inferred ? [2, 3] : []);
  ctx.beginPath();
  ctx.moveTo(first.x, first.y);
  if (edge.is_curve) {
    for (let n = 0; n + 2 < rest.length; n += 3) {
      const [a, b, c] = [rest[n], rest[n + 1], rest[n + 2]];
      if (a && b && c) ctx.bezierCurveTo(a.x, a.y, b.x, b.y, c.x, c.y);
    }
  } else for (const { x, y } of rest) ctx.lineTo(x, y);
  ctx.stroke();
  ctx.setLineDash([]);
  const before = edge.points.at(-2) ?? first;
  if (camera.zoom > 0.2) {
    arrowHead(ctx, last.x, last.y, Math.atan2(last.y - before.y, last.x - before.x), 6);
    const second = edge.points[1];
    if (edge.both_ways && second) arrowHead(ctx, first.x, first.y, Math.atan2(first.y - second.y, first.x - second.x), 6);
  }
  ctx.globalAlpha = 1;
  if (edge.label_place && edge.shown_label !== "" && camera.zoom >= LEAST_TEXT_ZOOM) drawEdgeLabel(ctx, edge.label_place, edge.shown_label, colours);
}

function drawEdgeLabel(ctx: CanvasRenderingContext2D, place: RectDoc, label: string, colours: Palette): void {
  ctx.font = `10.5px ${FONT}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.lineWidth = 4;
  ctx.lineJoin = "round";
  ctx.strokeStyle = colours.paper;
  ctx.strokeText(label, place.x + place.width / 2, place.y + place.height / 2);
  ctx.fillStyle = colours.dim;
  ctx.fillText(label, place.x + place.width / 2, place.y + place.height / 2);
}

function drawNode(ctx: CanvasRenderingContext2D, { colours, hasChain, hovered, camera, selected }: GraphScene, node: PlacedNodeDoc, light: Light): void {
  const { x, y, width, height } = node.place;
  const colour = colours.look(node.look);
  ctx.globalAlpha = light === "dim" ? 0.18 : light === "plain" && hasChain ? 0.45 : 1;
  rounded(ctx, x, y, width, height, 6);
  ctx.fillStyle = node.is_error ? colours.errorFill : colours.node;
  ctx.fill();
  ctx.strokeStyle = node.is_error ? colours.error : light === "selected" || node.id === hovered ? colours.ink : colour;
  ctx.lineWidth = light === "selected" ? 3 : light === "chain" || node.id === hovered ? 2 : 1.2;
  if (node.pending) ctx.setLineDash([4, 3]);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.fillStyle = node.is_error ? colours.error : colour;
  ctx.fillRect(x, y + 4, 4, height - 8);
  if (camera.zoom >= LEAST_TEXT_ZOOM) drawNodeText(ctx, node, colours, selected);
  ctx.globalAlpha = 1;
}

function drawNodeText(ctx: CanvasRenderingContext2D, { place: { x, y, width, height }, shown_label, shown_detail, badge: count, look, step_ids }: PlacedNodeDoc, colours: Palette, selected: string): void {
  const at = count && selected !== "" ? step_ids.indexOf(selected) : -1;
  const badge = at >= 0 ? `${at + 1}/${step_ids.length}` : count;
  const hasDetail = shown_detail !== "";
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.font = `600 12px ${FONT}`;
  ctx.fillStyle = colours.ink;
  ctx.fillText(shown_label, x + 12, y + height / 2 - (hasDetail ? 8 : 0), width - 18);
  if (hasDetail) {
    ctx.font = `10.5px ${FONT}`;
    ctx.fillStyle = colours.dim;
    ctx.fillText(shown_detail, x + 12, y + height / 2 + 8, width - 18);
  }
  if (!badge) return;
  ctx.font = `bold 10px ${FONT}`;
  const room = ctx.measureText(badge).width + 10;
  rounded(ctx, x + width - room + 4, y - 8, room, 16, 8);
  ctx.fillStyle = colours.look(look);
  ctx.fill();
  ctx.fillStyle = colours.paper;
  ctx.textAlign = "center";
  ctx.fillText(badge, x + width - room / 2 + 4, y + 0.5);
}
