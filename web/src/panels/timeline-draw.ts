// In: a timeline, where its lanes are, and what is lit. Out: pixels.
import type { BarDoc, StripPartDoc, TimelineArrowDoc, TimelineDoc } from "../api/types.ts";
import { boxOf, GUTTER_PX, laneName, MAP_PX, RULER_PX, TOP_PX, type Box, type PlacedLane } from "../logic/lanes.ts";
import type { Positions } from "../logic/positions.ts";
import { markText, marks, toX, type Scale } from "../logic/scale.ts";
import { duration } from "../logic/words.ts";
import type { Arrows, Colouring } from "../state/preferences.ts";
import type { Palette } from "../state/schema.ts";
import type { Light, Lighter } from "../state/session.ts";
import { cut, FONT, rounded, type Paper } from "../widgets/paint.ts";
import { arrowLayers, drawArrows } from "./timeline-arrows.ts";

export interface Scene {
  timeline: TimelineDoc;
  lanes: PlacedLane[];
  scale: Scale;
  /** How far the lanes are scrolled down. */
  scrolled: number;
  /** What the whole session was spent on. */
  strip: readonly StripPartDoc[];
  /** Milliseconds from the timeline's first moment to the strip's. */
  stripAtMs: number;
  arrows: Arrows;
  /** Arrows that are believed less are hidden. */
  sure: number;
  colouring: Colouring;
  onPath: Positions | undefined;
  light: Lighter;
  /** Whether a position is in the chain that is lit; nothing when none is. */
  lit: ((seq: number) => boolean) | undefined;
  hovered: string;
  hoveredArrow: TimelineArrowDoc | undefined;
  /** The link that is looked at, as FROM..TO. */
  chosenEdge: string;
  /** Now, while something runs; else 0. */
  nowNs: number;
  /** The moment that is played; nothing when all is shown. */
  playedNs: number | undefined;
  colours: Palette;
}

export function draw(ctx: Paper, scene: Scene, width: number, height: number): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(GUTTER_PX, TOP_PX, width - GUTTER_PX, height - TOP_PX);
  ctx.clip();
  ctx.translate(GUTTER_PX, TOP_PX - scene.scrolled);
  drawLanes(ctx, scene, width);
  drawMarks(ctx, scene, height);
  drawIdle(ctx, scene, height);
  const arrows = arrowLayers(scene, height);
  drawArrows(ctx, arrows.below);
  drawBars(ctx, scene, height);
  drawArrows(ctx, arrows.above);
  drawNow(ctx, scene, height);
  drawPlayed(ctx, scene, height);
  ctx.restore();
  drawGutter(ctx, scene, height);
  drawRuler(ctx, scene, width);
  drawMap(ctx, scene, width);
}

function drawLanes(ctx: Paper, { lanes, colours }: Scene, width: number): void {
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

function drawMarks(ctx: Paper, { scale, colours, scrolled }: Scene, height: number): void {
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
function drawPlayed(ctx: Paper, { scale, playedNs, colours, scrolled }: Scene, height: number): void {
  if (playedNs === undefined) return;
  const x = toX(scale, playedNs);
  ctx.globalAlpha = 0.85;
  ctx.fillStyle = colours.paper;
  ctx.fillRect(x, scrolled, scale.width - x, height);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colours.error;
  ctx.fillRect(x - 0.75, scrolled, 1.5, height);
}

/** What runs goes on until here. */
function drawNow(ctx: Paper, { scale, nowNs, colours, scrolled }: Scene, height: number): void {
  if (nowNs === 0) return;
  ctx.fillStyle = colours.spawn;
  ctx.globalAlpha = 0.7;
  ctx.fillRect(toX(scale, nowNs), scrolled, 1, height);
  ctx.globalAlpha = 1;
}

/** Stretches in which nothing happened are hatched; those that a person ended say so. */
function drawIdle(ctx: Paper, { timeline, scale, colours, scrolled }: Scene, height: number): void {
  for (const idle of timeline.idle) {
    const [from, to] = [Math.max(0, toX(scale, idle.from_ns)), Math.min(scale.width, toX(scale, idle.to_ns))];
    if (to - from < 3) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, scrolled, to - from, height);
    ctx.clip();
    ctx.strokeStyle = idle.waits_for_person ? colours.look("user") : colours.border;
    ctx.globalAlpha = idle.waits_for_person ? 0.3 : 0.5;
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let x = from - height; x < to; x += 9) {
      ctx.moveTo(x, scrolled + height);
      ctx.lineTo(x + height, scrolled);
    }
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.font = `11px ${FONT}`;
    const words = `${idle.waits_for_person ? "waiting for a person" : "nothing happened"} ${duration((idle.to_ns - idle.from_ns) / 1e6)}`;
    const room = ctx.measureText(words).width + 8;
    if (to - from > room) {
      const at = (from + to) / 2 - room / 2;
      ctx.textBaseline = "alphabetic";
      ctx.fillStyle = colours.paper;
      ctx.fillRect(at, scrolled + 4, room, 16);
      ctx.fillStyle = colours.dim;
      ctx.fillText(words, at + 4, scrolled + 16);
    }
    ctx.restore();
  }
}

function alphaOf(light: Light, hasChain: boolean): number {
  if (light === "dim") return 0.14;
  return light === "plain" && hasChain ? 0.38 : 1;
}

function drawBars(ctx: Paper, scene: Scene, height: number): void {
  const { timeline, lanes, scale, light, lit: chain, scrolled, nowNs } = scene;
  ctx.textBaseline = "middle";
  for (const bar of timeline.bars) {
    const box = boxOf(bar, lanes, scale, nowNs);
    if (!box || box.x > scale.width || box.x + box.width < 0 || box.y > scrolled + height || box.y + box.height < scrolled) continue;
    const x = Math.max(box.x, -4);
    const width = Math.min(box.x + box.width, scale.width + 4) - x;
    const lit = light(bar.step_id, bar.seq, bar.last_seq);
    ctx.globalAlpha = alphaOf(lit, chain !== undefined) * (bar.count > 1 ? 0.75 : 1);
    drawBar(ctx, scene, bar, { x, y: box.y, width, height: box.height }, lit);
  }
  ctx.globalAlpha = 1;
}

/** The colour of a bar: that of its kind or its agent; what failed is red either way. */
function colourOf(bar: BarDoc, { timeline, colouring, colours }: Scene): string {
  if (bar.errors > 0) return colours.error;
  return colouring === "agent" ? colours.agent(timeline.lanes[bar.lane]?.agents[bar.agent]?.colour) : colours.look(bar.look);
}

function drawBar(ctx: Paper, scene: Scene, bar: BarDoc, { x, y, width, height }: Box, lit: Light): void {
  const { colours, onPath, hovered } = scene;
  ctx.fillStyle = colourOf(bar, scene);
  if (width > 6) {
    rounded(ctx, x, y, width, height, 3);
    ctx.fill();
  } else ctx.fillRect(x, y, width, height);
  if (bar.pending) drawPending(ctx, x, y, width, height, colours);
  if (width > 26 && height >= 12) drawLabel(ctx, bar, x, y + height / 2, width, colours);
  if (onPath?.hasAny(bar.seq, bar.last_seq)) {
    ctx.fillStyle = colours.ink;
    ctx.globalAlpha *= 0.7;
    ctx.fillRect(x, y + height, width, 2);
  }
  if (lit === "selected" || bar.step_id === hovered) {
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colours.ink;
    ctx.lineWidth = lit === "selected" ? 2.5 : 1.25;
    rounded(ctx, x - 1, y - 1, width + 2, height + 2, 4);
    ctx.stroke();
  }
}

function drawPending(ctx: Paper, x: number, y: number, width: number, height: number, colours: Palette): void {
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

function drawLabel(ctx: Paper, bar: BarDoc, x: number, y: number, width: number, colours: Palette): void {
  const left = Math.max(x, 0) + 5;
  const room = x + width - left - 4;
  const text = bar.count > 1 ? `${bar.count} steps` : bar.detail === "" ? bar.label : `${bar.label}  ${bar.detail}`;
  ctx.font = `11px ${FONT}`;
  ctx.fillStyle = colours.paper;
  ctx.fillText(cut(ctx, text, room), left, y + 0.5);
}

function drawGutter(ctx: Paper, { lanes, colours, colouring, scrolled }: Scene, height: number): void {
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
    const swatch = colouring === "agent" ? 13 : 0;
    if (swatch > 0) {
      ctx.fillStyle = colours.agent(placed.lane.agents[0]?.colour);
      ctx.fillRect(left + 13, middle - 4.5, 9, 9);
    }
    ctx.fillStyle = colours.ink;
    ctx.fillText(cut(ctx, laneName(placed.lane), GUTTER_PX - left - swatch - 20), left + 13 + swatch, middle);
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

function drawRuler(ctx: Paper, { scale, colours }: Scene, width: number): void {
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

/** The whole session in one line: what held it up, and which part of it is shown. */
function drawMap(ctx: Paper, scene: Scene, width: number): void {
  const { timeline, strip, stripAtMs, scale, colours, nowNs } = scene;
  const room = width - GUTTER_PX;
  const span = Math.max(1, timeline.span_ns, nowNs);
  const at = (ns: number) => GUTTER_PX + Math.max(0, Math.min(1, ns / span)) * room;
  ctx.fillStyle = colours.paper;
  ctx.fillRect(0, 0, width, MAP_PX);
  for (const { at_ms, ms, class: spent } of strip) {
    const from = at((at_ms + stripAtMs) * 1e6);
    ctx.fillStyle = classColour(spent, colours);
    ctx.globalAlpha = spent === "idle" ? 0.5 : 0.9;
    ctx.fillRect(from, 4, Math.max(0.75, at((at_ms + ms + stripAtMs) * 1e6) - from), MAP_PX - 8);
  }
  ctx.globalAlpha = 1;
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
