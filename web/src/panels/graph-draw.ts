// In: a graph with everything in its place, and how it is looked at. Out: pixels. What looks alike is drawn together, and what is too small to be
// read is drawn in few strokes: there may be ten thousand nodes.
import type { PlacedEdgeDoc, PlacedGraphDoc, PlacedGroupDoc, PlacedNodeDoc, RectDoc } from "../api/types.ts";
import type { Camera } from "../logic/camera.ts";
import { alphaOf, type Light } from "../logic/light.ts";
import { ways, type Way } from "../logic/ways.ts";
import type { Colouring } from "../state/preferences.ts";
import type { Palette } from "../state/schema.ts";
import { FONT, headPath, rounded, type Paper } from "../widgets/paint.ts";

export interface GraphScene {
  graph: PlacedGraphDoc;
  camera: Camera;
  colours: Palette;
  colouring: Colouring;
  /** By node, in their order. */
  lights: readonly Light[];
  /** By node, whether it is on the critical path; empty when nobody wants to see that. */
  onPath: readonly boolean[];
  hasChain: boolean;
  hovered: string;
  hoveredLink: PlacedEdgeDoc | undefined;
  /** The link that is looked at, as FROM..TO. */
  chosenLink: string;
  /** The step that is looked at; a node that stands for several says which of them it is. */
  selected: string;
}

/** Smaller letters cannot be read and are not drawn. */
const LEAST_TEXT_ZOOM = 0.45;
/** Farther away, nodes are plain boxes and ways are straight. */
const LEAST_SHAPE_ZOOM = 0.22;

export function drawGraph(ctx: Paper, scene: GraphScene, width: number, height: number): void {
  const { graph, camera } = scene;
  ctx.save();
  ctx.translate(camera.x, camera.y);
  ctx.scale(camera.zoom, camera.zoom);
  const view = { x: -camera.x / camera.zoom, y: -camera.y / camera.zoom, width: width / camera.zoom, height: height / camera.zoom };
  for (const group of graph.groups) if (touches(group.place, view)) drawGroup(ctx, scene, group);
  drawEdges(ctx, scene, view);
  const isFar = camera.zoom < LEAST_SHAPE_ZOOM;
  graph.nodes.forEach((node, n) => {
    if (!touches(node.place, view)) return;
    if (isFar) drawFarNode(ctx, scene, node, scene.lights[n] ?? "plain");
    else drawNode(ctx, scene, node, scene.lights[n] ?? "plain");
    if (scene.onPath[n]) drawOnPath(ctx, scene, node.place);
  });
  ctx.globalAlpha = 1;
  ctx.restore();
}

function touches(rect: RectDoc, view: RectDoc): boolean {
  return rect.x <= view.x + view.width && rect.x + rect.width >= view.x && rect.y <= view.y + view.height && rect.y + rect.height >= view.y;
}

function drawGroup(ctx: Paper, { colours, camera, colouring }: GraphScene, { place, shown_label, colour }: PlacedGroupDoc): void {
  const isAgent = colouring === "agent" && colour !== null && colour !== undefined;
  rounded(ctx, place.x, place.y, place.width, place.height, 8);
  ctx.globalAlpha = isAgent ? 0.08 : 0.05;
  ctx.fillStyle = isAgent ? colours.agent(colour) : colours.frame;
  ctx.fill();
  ctx.globalAlpha = isAgent ? 0.7 : 1;
  ctx.strokeStyle = isAgent ? colours.agent(colour) : colours.frameBorder;
  ctx.lineWidth = 1;
  ctx.stroke();
  ctx.globalAlpha = 1;
  if (camera.zoom < LEAST_TEXT_ZOOM) return;
  ctx.font = `600 11px ${FONT}`;
  ctx.fillStyle = colours.dim;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  ctx.fillText(shown_label, place.x + 8, place.y + 6);
}

function isLit(light: Light | undefined): boolean {
  return light === "chain" || light === "selected";
}

interface Look {
  colour: string;
  dash: number[];
  width: number;
  alpha: number;
}

function lookOf(edge: PlacedEdgeDoc, { from, to }: Way, { colours, hasChain, hovered, hoveredLink, chosenLink, lights }: GraphScene): Look {
  const lit = hasChain && isLit(lights[from]) && isLit(lights[to]);
  const isChosen = edge.link !== null && edge.link !== undefined && edge.link === chosenLink;
  const near = isChosen || edge === hoveredLink || (hovered !== "" && (edge.from === hovered || edge.to === hovered));
  return {
    colour: edge.is_error ? colours.error : edge.is_spawn ? colours.spawn : lit || near ? colours.ink : colours.line,
    dash: edge.is_error || edge.is_spawn ? [5, 3] : edge.inferred ? [2, 3] : [],
    width: isChosen || edge === hoveredLink ? 3.5 : lit || near ? 2 : 1.2,
    alpha: lit || near ? 1 : hasChain ? 0.25 : 0.8,
  };
}

function drawEdges(ctx: Paper, scene: GraphScene, view: RectDoc): void {
  const { graph, camera } = scene;
  const alike = new Map<string, { look: Look; edges: PlacedEdgeDoc[] }>();
  ways(graph).forEach((way, n) => {
    const edge = graph.edges[n];
    if (!edge || !touches(way.box, view)) return;
    const look = lookOf(edge, way, scene);
    const key = `${look.colour} ${look.dash} ${look.width} ${look.alpha}`;
    const known = alike.get(key);
    if (known) known.edges.push(edge);
    else alike.set(key, { look, edges: [edge] });
  });
  const isFar = camera.zoom < LEAST_SHAPE_ZOOM;
  for (const { look, edges } of [...alike.values()].sort((a, b) => a.look.width - b.look.width)) {
    ctx.globalAlpha = look.alpha;
    ctx.strokeStyle = ctx.fillStyle = look.colour;
    // From afar a line is as wide as a pixel, and dashes cannot be seen.
    ctx.lineWidth = isFar ? Math.max(look.width, 0.8 / camera.zoom) : look.width;
    ctx.setLineDash(isFar ? [] : look.dash);
    for (let n = 0; n < edges.length; n += TOGETHER) drawTogether(ctx, edges.slice(n, n + TOGETHER), isFar);
  }
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
  if (camera.zoom < LEAST_TEXT_ZOOM) return;
  for (const { edges } of alike.values()) for (const edge of edges) if (edge.label_place && edge.shown_label !== "") drawEdgeLabel(ctx, edge.label_place, edge.shown_label, scene.colours);
}

/** So many ways are one path: longer paths take longer than their parts. */
const TOGETHER = 64;

function drawTogether(ctx: Paper, edges: readonly PlacedEdgeDoc[], isFar: boolean): void {
  ctx.beginPath();
  for (const edge of edges) drawWay(ctx, edge, isFar);
  ctx.stroke();
  if (isFar) return;
  ctx.beginPath();
  for (const { points, both_ways } of edges) {
    const [first, second, before, last] = [points[0], points[1], points.at(-2), points.at(-1)];
    if (!first || !second || !before || !last) continue;
    headPath(ctx, last.x, last.y, Math.atan2(last.y - before.y, last.x - before.x), 6);
    if (both_ways) headPath(ctx, first.x, first.y, Math.atan2(first.y - second.y, first.x - second.x), 6);
  }
  ctx.fill();
}

function drawWay(ctx: Paper, { points, is_curve }: PlacedEdgeDoc, isFar: boolean): void {
  const [first, ...rest] = points;
  if (!first) return;
  ctx.moveTo(first.x, first.y);
  if (is_curve) {
    for (let n = 0; n + 2 < rest.length; n += 3) {
      const [a, b, c] = [rest[n], rest[n + 1], rest[n + 2]];
      if (!a || !b || !c) continue;
      if (isFar) ctx.lineTo(c.x, c.y);
      else ctx.bezierCurveTo(a.x, a.y, b.x, b.y, c.x, c.y);
    }
  } else for (const { x, y } of rest) ctx.lineTo(x, y);
}

function drawEdgeLabel(ctx: Paper, place: RectDoc, label: string, colours: Palette): void {
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

function colourOf(node: PlacedNodeDoc, { colours, colouring }: GraphScene): string {
  if (node.is_error) return colours.error;
  return colouring === "agent" && node.colour !== null && node.colour !== undefined ? colours.agent(node.colour) : colours.look(node.look);
}

function drawFarNode(ctx: Paper, scene: GraphScene, node: PlacedNodeDoc, light: Light): void {
  const { x, y, width, height } = node.place;
  ctx.globalAlpha = alphaOf(light, scene.hasChain);
  ctx.fillStyle = colourOf(node, scene);
  ctx.fillRect(x, y, width, height);
  if (light !== "selected" && node.id !== scene.hovered) return;
  ctx.strokeStyle = scene.colours.ink;
  ctx.lineWidth = 3 / scene.camera.zoom;
  ctx.strokeRect(x, y, width, height);
}

/** What held the session up is underlined, as on the timeline. */
function drawOnPath(ctx: Paper, { colours, camera }: GraphScene, { x, y, width, height }: RectDoc): void {
  ctx.fillStyle = colours.ink;
  ctx.fillRect(x, y + height + 1, width, Math.max(3, 1 / camera.zoom));
}

function drawNode(ctx: Paper, scene: GraphScene, node: PlacedNodeDoc, light: Light): void {
  const { colours, hasChain, hovered, camera } = scene;
  const { x, y, width, height } = node.place;
  const colour = colourOf(node, scene);
  ctx.globalAlpha = alphaOf(light, hasChain);
  rounded(ctx, x, y, width, height, 6);
  ctx.fillStyle = node.is_error ? colours.errorFill : colours.node;
  ctx.fill();
  ctx.strokeStyle = light === "selected" || node.id === hovered ? colours.ink : colour;
  ctx.lineWidth = light === "selected" ? 3 : (light === "chain" && hasChain) || node.id === hovered ? 2 : 1.2;
  if (node.pending) ctx.setLineDash([4, 3]);
  ctx.stroke();
  if (node.pending) ctx.setLineDash([]);
  ctx.fillStyle = colour;
  ctx.fillRect(x, y + 4, 4, height - 8);
  const isBack = ctx.globalAlpha < 1;
  ctx.globalAlpha = 1;
  if (camera.zoom >= LEAST_TEXT_ZOOM) drawNodeText(ctx, node, isBack ? colours.line : colour, isBack ? { ...colours, ink: colours.dim } : colours, scene.selected);
}

function drawNodeText(ctx: Paper, { place: { x, y, width, height }, shown_label, shown_detail, badge: count, step_ids }: PlacedNodeDoc, colour: string, colours: Palette, selected: string): void {
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
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.fillStyle = colours.paper;
  ctx.textAlign = "center";
  ctx.fillText(badge, x + width - room / 2 + 4, y + 0.5);
  ctx.textAlign = "left";
}
