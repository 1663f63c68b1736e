// In: a timeline, where its lanes are, and what is lit. Out: pixels.
import type { BarDoc, EdgeDoc, SegmentDoc, TimelineArrowDoc, TimelineDoc } from "../api/types.ts";
import { boxOf, GUTTER_PX, laneName, MAP_PX, RULER_PX, TOP_PX, type PlacedLane } from "../logic/lanes.ts";
import { markText, marks, toX, type Scale } from "../logic/scale.ts";
import type { Arrows } from "../state/preferences.ts";
import type { Palette } from "../state/schema.ts";
import type { Light } from "../state/session.ts";
import { arrowHead, cut, FONT, rounded } from "../widgets/paint.ts";

export interface Scene {
  timeline: TimelineDoc;
  lanes: PlacedLane[];
  scale: Scale;
  /** How far the lanes are scrolled down. */
  scrolled: number;
  segments: readonly SegmentDoc[];
  /** Milliseconds from the timeline's first moment to the path's. */
  segmentsAtMs: number;
  arrows: Arrows;
  onPath: ReadonlySet<string> | undefined;
  light(step: string): Light;
  hasChain: boolean;
  hovered: string;
  /** What led to the chosen step and what it led to, directly. */
  edges: readonly Pick<EdgeDoc, "from" | "to" | "kind" | "is_error" | "inferred">[];
  /** The moment that is played; nothing when all is shown. */
  playedNs: number | undefined;
  colours: Palette;
}

export function draw(ctx: CanvasRenderingContext2D, scene: Scene, width: number, height: number): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(GUTTER_PX, TOP_PX, width - GUTTER_PX, height - TOP_PX);
  ctx.clip();
  ctx.translate(GUTTER_PX, TOP_PX - scene.scrolled);
  drawLanes(ctx, scene, width);
  drawMarks(ctx, scene, height);
  drawIdle(ctx, scene, height);
  drawBars(ctx, scene, height);
  drawArrows(ctx, scene);
  drawEdges(ctx, scene);
  drawPlayed(ctx, scene, height);
  ctx.restore();
  drawGutter(ctx, scene, height);
  drawRuler(ctx, scene, width);
  drawMap(ctx, scene, width);
}

function drawLanes(ctx: CanvasRenderingContext2D, { lanes, colours }: Scene, width: number): void {
  ctx.strokeStyle = colours.border;
  ctx.globalAlpha = 0.45;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (const lane of lanes) {
    const y = Math.round(lane.top + lane.height) + 0.5;
    ctx.moveTo(0, y);
    ctx.lineTo(width, y);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

function drawMarks(ctx: CanvasRenderingContext2D, { scale, colours, scrolled }: Scene, height: number): void {
  ctx.strokeStyle = colours.border;
  ctx.globalAlpha = 0.35;
  ctx.beginPath();
  for (const at of marks(scale, 90).at) {
    const x = Math.round(toX(scale, at)) + 0.5;
    ctx.moveTo(x, scrolled);
    ctx.lineTo(x, scrolled + height);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/** What is later than the moment that is played lies behind a veil. */
function drawPlayed(ctx: CanvasRenderingContext2D, { scale, playedNs, colours, scrolled }: Scene, height: number): void {
  if (playedNs === undefined) return;
  const x = toX(scale, playedNs);
  ctx.globalAlpha = 0.85;
  ctx.fillStyle = colours.paper;
  ctx.fillRect(x, scrolled, scale.width - x, height);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colours.error;
  ctx.fillRect(x - 0.75, scrolled, 1.5, height);
}

/** Stretches in which nothing happened are hatched. */
function drawIdle(ctx: CanvasRenderingContext2D, { timeline, scale, colours, scrolled, segments, segmentsAtMs }: Scene, height: number): void {
  for (const idle of timeline.idle) {
    const [from, to] = [Math.max(0, toX(scale, idle.from_ns)), Math.min(scale.width, toX(scale, idle.to_ns))];
    if (to - from < 3) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, scrolled, to - from, height);
    ctx.clip();
    ctx.strokeStyle = colours.border;
    ctx.globalAlpha = 0.5;
    ctx.beginPath();
    for (let x = from - height; x < to; x += 9) {
      ctx.moveTo(x, scrolled + height);
      ctx.lineTo(x + height, scrolled);
    }
    ctx.stroke();
    ctx.globalAlpha = 1;
    if (to - from > 60) {
      ctx.font = `11px ${FONT}`;
      const middleMs = (idle.from_ns + idle.to_ns) / 2e6 - segmentsAtMs;
      const held = segments.find((segment) => segment.at_ms <= middleMs && middleMs < segment.at_ms + segment.ms);
      const words = held?.class === "human" ? "waiting for a person" : "nothing happened";
      const at = (from + to) / 2 - ctx.measureText(words).width / 2;
      ctx.fillStyle = colours.paper;
      ctx.fillRect(at - 4, scrolled + 4, ctx.measureText(words).width + 8, 16);
      ctx.fillStyle = colours.dim;
      ctx.fillText(words, at, scrolled + 16);
    }
    ctx.restore();
  }
}

function alphaOf(light: Light, hasChain: boolean): number {
  if (light === "dim") return 0.14;
  return light === "plain" && hasChain ? 0.38 : 1;
}

function drawBars(ctx: CanvasRenderingContext2D, scene: Scene, height: number): void {
  const { timeline, lanes, scale, colours, light, hasChain, onPath, scrolled, hovered } = scene;
  ctx.textBaseline = "middle";
  for (const bar of timeline.bars) {
    const box = boxOf(bar, lanes, scale);
    if (!box || box.x > scale.width || box.x + box.width < 0 || box.y > scrolled + height || box.y + box.height < scrolled) continue;
    const x = Math.max(box.x, -4);
    const width = Math.min(box.x + box.width, scale.width + 4) - x;
    const lit = light(bar.step_id);
    ctx.globalAlpha = alphaOf(lit, hasChain) * (bar.count > 1 ? 0.75 : 1);
    ctx.fillStyle = bar.errors > 0 ? colours.error : colours.look(bar.look);
    if (width > 6) {
      rounded(ctx, x, box.y, width, box.height, 3);
      ctx.fill();
    } else ctx.fillRect(x, box.y, width, box.height);
    if (bar.pending) drawPending(ctx, x, box.y, width, box.height, colours);
    if (width > 26 && box.height >= 12) drawLabel(ctx, bar, x, box.y + box.height / 2, width, colours);
    if (onPath?.has(bar.step_id)) {
      ctx.fillStyle = colours.ink;
      ctx.globalAlpha *= 0.6;
      ctx.fillRect(x, box.y + box.height, width, 1.5);
    }
    if (lit === "selected" || bar.step_id === hovered) {
      ctx.globalAlpha = 1;
      ctx.strokeStyle = colours.ink;
      ctx.lineWidth = lit === "selected" ? 2.5 : 1.25;
      rounded(ctx, x - 1, box.y - 1, width + 2, box.height + 2, 4);
      ctx.stroke();
    }
  }
  ctx.globalAlpha = 1;
}

function drawPending(ctx: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, colours: Palette): void {
  ctx.save();
  ctx.strokeStyle = colours.paper;
  ctx.setLineDash([3, 3]);
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(x + width - 2, y);
  ctx.lineTo(x + width - 2, y + height);
  ctx.stroke();
  ctx.restore();
}

function drawLabel(ctx: CanvasRenderingContext2D, bar: BarDoc, x: number, y: number, width: number, colours: Palette): void {
  const left = Math.max(x, 0) + 5;
  const room = x + width - left - 4;
  const text = bar.count > 1 ? `${bar.count} steps` : bar.detail === "" ? bar.label : `${bar.label}  ${bar.detail}`;
  ctx.font = `11px ${FONT}`;
  ctx.fillStyle = colours.paper;
  ctx.fillText(cut(ctx, text, room), left, y + 0.5);
}

/** Arrows of a sort are dashed as the sort is: starts and answers finely, errors in red. */
export function arrowShown(arrow: TimelineArrowDoc, arrows: Arrows): boolean {
  if (arrow.is_error) return arrows.error;
  return arrow.relation === "subagent_return" ? arrows.return : arrows.spawn;
}

export interface Curve {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  bend: number;
}

export function curveOf(arrow: TimelineArrowDoc, lanes: readonly PlacedLane[], scale: Scale): Curve | undefined {
  const end = ({ lane, row, at_ns }: TimelineArrowDoc["from"]) => boxOf({ lane, row, from_ns: at_ns, to_ns: at_ns }, lanes, scale);
  const [from, to] = [end(arrow.from), end(arrow.to)];
  if (!from || !to) return undefined;
  const down = to.y > from.y;
  return { x0: from.x, y0: from.y + (down ? from.height : 0), x1: to.x, y1: to.y + (down ? 0 : to.height), bend: Math.max(18, Math.abs(to.y - from.y) / 2) * (down ? 1 : -1) };
}

function drawArrows(ctx: CanvasRenderingContext2D, scene: Scene): void {
  const { timeline, lanes, scale, arrows, colours, light, hasChain, hovered } = scene;
  for (const arrow of timeline.arrows) {
    const curve = arrowShown(arrow, arrows) ? curveOf(arrow, lanes, scale) : undefined;
    if (!curve || Math.max(curve.x0, curve.x1) < -20 || Math.min(curve.x0, curve.x1) > scale.width + 20) continue;
    const isLit = [arrow.from_step_id, arrow.to_step_id].every((step) => ["chain", "selected"].includes(light(step)));
    const isNear = hovered === arrow.from_step_id || hovered === arrow.to_step_id;
    const isReturn = arrow.relation === "subagent_return";
    ctx.globalAlpha = isLit || isNear ? 1 : hasChain ? 0.2 : isReturn ? 0.45 : 0.8;
    ctx.strokeStyle = ctx.fillStyle = arrow.is_error ? colours.error : isReturn ? colours.line : colours.spawn;
    ctx.lineWidth = isLit || isNear ? 2 : 1.25;
    ctx.setLineDash(arrow.inferred ? [2, 3] : [5, 3]);
    ctx.beginPath();
    ctx.moveTo(curve.x0, curve.y0);
    ctx.bezierCurveTo(curve.x0, curve.y0 + curve.bend, curve.x1, curve.y1 - curve.bend, curve.x1, curve.y1);
    ctx.stroke();
    ctx.setLineDash([]);
    arrowHead(ctx, curve.x1, curve.y1, curve.bend > 0 ? Math.PI / 2 : -Math.PI / 2);
  }
  ctx.globalAlpha = 1;
}

const barsByStep = new WeakMap<TimelineDoc, Map<string, BarDoc>>();

function barOf(timeline: TimelineDoc, step: string): BarDoc | undefined {
  let known = barsByStep.get(timeline);
  if (!known) barsByStep.set(timeline, (known = new Map(timeline.bars.map((bar) => [bar.step_id, bar]))));
  return known.get(step);
}

/** Kinds that the arrows between lanes show already, or that only say what came after what. */
const NOT_DRAWN = ["sequence", "continuation", "subagent_spawn", "subagent_return"];

/** Solid arrows around the chosen step: calls, results and what depends on what. */
function drawEdges(ctx: CanvasRenderingContext2D, { edges, timeline, lanes, scale, colours }: Scene): void {
  for (const edge of edges) {
    const [from, to] = [barOf(timeline, edge.from), barOf(timeline, edge.to)];
    if (NOT_DRAWN.includes(edge.kind) || !from || !to) continue;
    const [a, b] = [boxOf(from, lanes, scale), boxOf(to, lanes, scale)];
    if (!a || !b) continue;
    const x0 = Math.min(a.x + a.width, Math.max(a.x, b.x));
    const [y0, x1, y1] = [a.y + a.height, b.x + Math.min(6, b.width / 2), b.y + (b.y > a.y ? 0 : b.height)];
    const depth = Math.max(y0, y1) + 12;
    ctx.strokeStyle = ctx.fillStyle = edge.is_error ? colours.error : colours.ink;
    ctx.lineWidth = 1.5;
    ctx.setLineDash(edge.is_error ? [5, 3] : edge.inferred ? [2, 3] : []);
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    if (b.y > a.y) ctx.bezierCurveTo(x0, y0 + 10, x1, y1 - 10, x1, y1);
    else ctx.bezierCurveTo(x0, depth, x1, depth, x1, y1);
    ctx.stroke();
    ctx.setLineDash([]);
    arrowHead(ctx, x1, y1, b.y > a.y ? Math.PI / 2 : -Math.PI / 2);
  }
}

function drawGutter(ctx: CanvasRenderingContext2D, { lanes, colours, scrolled }: Scene, height: number): void {
  ctx.fillStyle = colours.paper;
  ctx.fillRect(0, TOP_PX, GUTTER_PX, height - TOP_PX);
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, TOP_PX, GUTTER_PX, height - TOP_PX);
  ctx.clip();
  ctx.textBaseline = "middle";
  for (const placed of lanes) {
    const y = TOP_PX - scrolled + placed.top;
    if (y > height || y + placed.height < TOP_PX) continue;
    const left = 8 + Math.min(placed.lane.depth, 6) * 12;
    const middle = y + Math.min(placed.height / 2, 14);
    ctx.font = `10px ${FONT}`;
    ctx.fillStyle = colours.dim;
    ctx.fillText(placed.folded ? "▸" : "▾", left, middle);
    ctx.font = `${placed.lane.depth === 0 ? "600 " : ""}12px ${FONT}`;
    ctx.fillStyle = colours.ink;
    ctx.fillText(cut(ctx, laneName(placed.lane), GUTTER_PX - left - 20), left + 13, middle);
    ctx.strokeStyle = colours.border;
    ctx.globalAlpha = 0.45;
    ctx.beginPath();
    ctx.moveTo(0, Math.round(y + placed.height) + 0.5);
    ctx.lineTo(GUTTER_PX, Math.round(y + placed.height) + 0.5);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
  ctx.restore();
  ctx.strokeStyle = colours.border;
  ctx.beginPath();
  ctx.moveTo(GUTTER_PX + 0.5, 0);
  ctx.lineTo(GUTTER_PX + 0.5, height);
  ctx.stroke();
}

function drawRuler(ctx: CanvasRenderingContext2D, { scale, colours }: Scene, width: number): void {
  ctx.fillStyle = colours.paper;
  ctx.fillRect(0, MAP_PX, width, RULER_PX);
  const { step, at } = marks(scale, 90);
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colours.dim;
  for (const mark of at) {
    const x = GUTTER_PX + toX(scale, mark);
    if (x >= GUTTER_PX) ctx.fillText(markText(mark, step), x + 4, MAP_PX + RULER_PX / 2);
  }
  ctx.strokeStyle = colours.border;
  ctx.beginPath();
  ctx.moveTo(0, TOP_PX - 0.5);
  ctx.lineTo(width, TOP_PX - 0.5);
  ctx.stroke();
}

export function classColour(name: string, colours: Palette): string {
  switch (name) {
    case "model": case "tool": return colours.look(name);
    case "human": return colours.look("user");
    case "retry": return colours.error;
    case "idle": return colours.border;
    default: return colours.look("other");
  }
}

const strips = new WeakMap<readonly SegmentDoc[], { key: string; strip: HTMLCanvasElement }>();

/** The path as a strip, drawn once: it may have as many parts as the session has steps. */
function stripOf({ segments, segmentsAtMs, timeline, colours }: Scene, room: number): HTMLCanvasElement {
  const key = `${room} ${colours.paper} ${timeline.span_ns} ${segmentsAtMs} ${devicePixelRatio}`;
  const known = strips.get(segments);
  if (known?.key === key) return known.strip;
  const strip = document.createElement("canvas");
  strip.width = Math.max(1, Math.round(room * devicePixelRatio));
  strip.height = 1;
  const ctx = strip.getContext("2d");
  const at = (ms: number) => (((ms + segmentsAtMs) * 1e6) / Math.max(1, timeline.span_ns)) * strip.width;
  for (const segment of segments) {
    if (!ctx) break;
    ctx.fillStyle = classColour(segment.class, colours);
    ctx.globalAlpha = segment.class === "idle" ? 0.5 : 0.9;
    const from = at(segment.at_ms);
    ctx.fillRect(from, 0, Math.max(0.75, at(segment.at_ms + segment.ms) - from), 1);
  }
  strips.set(segments, { key, strip });
  return strip;
}

/** The whole session in one line: what held it up, and which part of it is shown. */
function drawMap(ctx: CanvasRenderingContext2D, scene: Scene, width: number): void {
  const { timeline, segments, scale, colours } = scene;
  const room = width - GUTTER_PX;
  const at = (ns: number) => GUTTER_PX + Math.max(0, Math.min(1, ns / Math.max(1, timeline.span_ns))) * room;
  ctx.fillStyle = colours.paper;
  ctx.fillRect(0, 0, width, MAP_PX);
  if (segments.length > 0 && room > 0) ctx.drawImage(stripOf(scene, room), GUTTER_PX, 4, room, MAP_PX - 8);
  const [left, right] = [at(scale.from), at(scale.to)];
  if (right - left < room - 2) {
    ctx.fillStyle = colours.paper;
    ctx.globalAlpha = 0.65;
    ctx.fillRect(GUTTER_PX, 0, left - GUTTER_PX, MAP_PX);
    ctx.fillRect(right, 0, width - right, MAP_PX);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colours.ink;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(left, 1, Math.max(3, right - left), MAP_PX - 2);
    ctx.lineWidth = 1;
  }
  ctx.font = `11px ${FONT}`;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colours.dim;
  ctx.fillText("critical path", 8, MAP_PX / 2 + 0.5);
}
