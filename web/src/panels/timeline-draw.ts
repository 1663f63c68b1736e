// In: a timeline, where its lanes are, and what is lit. Out: pixels.
import type { BarDoc, StripPartDoc, TimelineArrowDoc, TimelineDoc } from "../api/types.ts";
import { boxOf, GUTTER_PX, TOP_PX, type Box, type PlacedLane } from "../logic/lanes.ts";
import { alphaOf, inkOn, type Light } from "../logic/light.ts";
import type { Positions } from "../logic/positions.ts";
import { marks, toX, type Scale, type Span } from "../logic/scale.ts";
import { duration, plain } from "../logic/words.ts";
import type { Arrows, Colouring } from "../state/preferences.ts";
import type { Palette } from "../state/schema.ts";
import type { Lighter } from "../state/session.ts";
import { cut, FONT, rounded, type Paper } from "../widgets/paint.ts";
import { arrowLayers, drawArrows } from "./timeline-arrows.ts";
import { drawGutter, drawMap, drawRuler, leastMarkPx } from "./timeline-frame.ts";

export interface Scene {
  timeline: TimelineDoc;
  lanes: PlacedLane[];
  scale: Scale;
  /** How far the lanes are scrolled down. */
  scrolled: number;
  /** What the whole session was spent on. */
  strip: readonly StripPartDoc[];
  /** How long the whole is, with room for what goes on. */
  spanNs: number;
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
  /** What runs is drawn by `drawGrowing`, until now. */
  isGrowing: boolean;
  /** The moment that is played; nothing when all is shown. */
  playedNs: number | undefined;
  /** What is marked, from one moment to another. */
  range: Span | undefined;
  colours: Palette;
}

/** Only the lanes are drawn on, from their left upper corner. */
function onLanes(ctx: Paper, { scrolled }: Scene, width: number, height: number): void {
  ctx.beginPath();
  ctx.rect(GUTTER_PX, TOP_PX, width - GUTTER_PX, height - TOP_PX);
  ctx.clip();
  ctx.translate(GUTTER_PX, TOP_PX - scrolled);
}

/** What changes with every moment: bars of what runs, and now. */
export function drawGrowing(ctx: Paper, scene: Scene, nowNs: number, width: number, height: number): void {
  if (!scene.isGrowing) return;
  ctx.save();
  onLanes(ctx, scene, width, height);
  drawBars(ctx, scene, scene.timeline.bars.filter((bar) => bar.running), nowNs, height);
  drawNow(ctx, scene, nowNs, height);
  ctx.restore();
}

export function draw(ctx: Paper, scene: Scene, width: number, height: number): void {
  ctx.save();
  onLanes(ctx, scene, width, height);
  drawLanes(ctx, scene, width);
  drawMarks(ctx, scene, height);
  drawIdle(ctx, scene, height);
  const arrows = arrowLayers(scene, height);
  drawArrows(ctx, arrows.below);
  const { timeline: { bars }, isGrowing } = scene;
  drawBars(ctx, scene, isGrowing ? bars.filter((bar) => !bar.running) : bars, 0, height);
  drawArrows(ctx, arrows.above);
  drawPlayed(ctx, scene, height);
  drawRange(ctx, scene, height);
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
  for (const at of marks(scale, leastMarkPx(scale)).at) {
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

/** A range that is marked; the rest lies back. */
function drawRange(ctx: Paper, { scale, range, colours, scrolled }: Scene, height: number): void {
  if (!range) return;
  const [left, right] = [toX(scale, range.from), toX(scale, range.to)];
  ctx.fillStyle = colours.spawn;
  ctx.globalAlpha = 0.13;
  ctx.fillRect(left, scrolled, right - left, height);
  ctx.globalAlpha = 0.8;
  for (const x of [left, right]) ctx.fillRect(x - 0.75, scrolled, 1.5, height);
  ctx.globalAlpha = 1;
}

/** What runs goes on until here. */
function drawNow(ctx: Paper, { scale, colours, scrolled }: Scene, nowNs: number, height: number): void {
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
    const long = duration((idle.to_ns - idle.from_ns) / 1e6);
    const widths = [`${idle.waits_for_person ? "waiting for a person" : "nothing happened"} ${long}`, long].map((words) => ({ words, room: ctx.measureText(words).width + 8 }));
    const fits = widths.find(({ room }) => to - from > room);
    if (fits) {
      const { words, room } = fits;
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

function drawBars(ctx: Paper, scene: Scene, bars: readonly BarDoc[], nowNs: number, height: number): void {
  const { lanes, scale, light, lit: chain, scrolled } = scene;
  ctx.textBaseline = "middle";
  for (const bar of bars) {
    const box = boxOf(bar, lanes, scale, nowNs);
    if (!box || box.x > scale.width || box.x + box.width < 0 || box.y > scrolled + height || box.y + box.height < scrolled) continue;
    const x = Math.max(box.x, -4);
    const width = Math.min(box.x + box.width, scale.width + 4) - x;
    const lit = light(bar.step_id, bar.seq, bar.last_seq);
    const alpha = alphaOf(lit, chain !== undefined);
    ctx.globalAlpha = alpha * (bar.count > 1 ? 0.75 : 1);
    drawBar(ctx, scene, bar, { x, y: box.y, width, height: box.height }, lit, alpha);
  }
  ctx.globalAlpha = 1;
}

/** The colour of a bar: that of its kind or its agent; what failed is red either way. */
function colourOf(bar: BarDoc, { timeline, colouring, colours }: Scene): string {
  if (bar.errors > 0) return colours.error;
  return colouring === "agent" ? colours.agent(timeline.lanes[bar.lane]?.agents[bar.agent]?.colour) : colours.look(bar.look);
}

function drawBar(ctx: Paper, scene: Scene, bar: BarDoc, { x, y, width, height }: Box, lit: Light, alpha: number): void {
  const { colours, onPath, hovered } = scene;
  ctx.fillStyle = colourOf(bar, scene);
  if (width > 6) {
    rounded(ctx, x, y, width, height, 3);
    ctx.fill();
  } else ctx.fillRect(x, y, width, height);
  if (bar.pending) drawPending(ctx, x, y, width, height, colours);
  if (width > 26 && height >= 12) drawLabel(ctx, bar, x, y + height / 2, width, colours[inkOn(alpha)]);
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

function drawLabel(ctx: Paper, bar: BarDoc, x: number, y: number, width: number, ink: string): void {
  const left = Math.max(x, 0) + 5;
  const room = x + width - left - 4;
  const text = bar.count > 1 ? `${bar.count} steps` : [bar.request ? `${bar.label} (${plain(bar.request)})` : bar.label, bar.detail].filter(Boolean).join("  ");
  ctx.font = `11px ${FONT}`;
  const seen = ctx.globalAlpha;
  ctx.globalAlpha = 1;
  ctx.fillStyle = ink;
  ctx.fillText(cut(ctx, text, room), left, y + 0.5);
  ctx.globalAlpha = seen;
}
