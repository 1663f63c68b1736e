// Around the lanes of a timeline: who is in each, the ruler, and the whole session in one line. Out: pixels.
import { GUTTER_PX, laneDetail, laneName, MAP_PX, RULER_PX, TOP_PX, type PlacedLane } from "../logic/lanes.ts";
import { drawnAt, markText, marks, NO_FOLDS, toX, type Scale } from "../logic/scale.ts";
import type { Palette } from "../state/schema.ts";
import { cut, FONT, type Paper } from "../widgets/paint.ts";
import type { Scene } from "./timeline-draw.ts";

/** Lower lanes have what an agent was for behind its name, not below it. */
const TWO_LINES_PX = 40;
const LEAST_ABOUT_PX = 24;
const DAY_NS = 864e11;

/** Marks are so far apart: those of days have more words. */
export function leastMarkPx({ to }: Scale): number {
  return to > DAY_NS ? 120 : 90;
}

export function drawGutter(ctx: Paper, { lanes, colours, colouring, scrolled }: Scene, height: number): void {
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
    drawName(ctx, placed, left + 13 + swatch, middle, colours);
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

/** Who is in a lane, what for, and how much of it failed. */
function drawName(ctx: Paper, { lane, height }: PlacedLane, left: number, middle: number, colours: Palette): void {
  let right = GUTTER_PX - 7;
  if (lane.errors > 0) {
    const words = `✗ ${lane.errors}`;
    ctx.fillStyle = colours.error;
    right -= ctx.measureText(words).width;
    ctx.fillText(words, right, middle);
    right -= 6;
  }
  ctx.fillStyle = colours.ink;
  const name = cut(ctx, laneName(lane), right - left);
  ctx.fillText(name, left, middle);
  const about = laneDetail(lane);
  if (about === "") return;
  const behind = left + ctx.measureText(name).width + 6;
  ctx.font = `11px ${FONT}`;
  ctx.fillStyle = colours.dim;
  if (height >= TWO_LINES_PX) ctx.fillText(cut(ctx, about, GUTTER_PX - 7 - left), left, middle + 15);
  else if (right - behind > LEAST_ABOUT_PX) ctx.fillText(cut(ctx, about, right - behind), behind, middle);
}

export function drawRuler(ctx: Paper, { scale, colours }: Scene, width: number): void {
  ctx.fillStyle = colours.paper;
  ctx.fillRect(0, MAP_PX, width, RULER_PX);
  const { step, at } = marks(scale, leastMarkPx(scale));
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
export function drawMap(ctx: Paper, scene: Scene, width: number): void {
  const { strip, stripAtMs, scale, colours, spanNs } = scene;
  const room = width - GUTTER_PX;
  const { folds = NO_FOLDS } = scale;
  const span = Math.max(1, drawnAt(folds, spanNs));
  const at = (ns: number) => GUTTER_PX + Math.max(0, Math.min(1, drawnAt(folds, ns) / span)) * room;
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
