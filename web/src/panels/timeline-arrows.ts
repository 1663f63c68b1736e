// In: the arrows of a timeline and what is lit. Out: pixels. Arrows that look alike are drawn together: there may be thousands.
import type { TimelineArrowDoc } from "../api/types.ts";
import { arrowShown, curveOf, seenPiece, sortOf, type ArrowSort, type Piece } from "../logic/arrows.ts";
import { headPath, type Paper } from "../widgets/paint.ts";
import type { Scene } from "./timeline-draw.ts";

interface Look {
  colour: string;
  dash: number[];
  width: number;
  alpha: number;
}

/** Arrows that look alike. */
interface Alike {
  look: Look;
  pieces: Piece[];
}

/** Plain lines lie below the bars, so that words stay legible; all others, and what is lit, lie above them. */
export interface ArrowLayers {
  below: Alike[];
  above: Alike[];
}

const ALPHAS: Record<ArrowSort, number> = { tool: 0.8, other: 0.6, return: 0.5, spawn: 0.85, error: 0.9 };
/** Beside a chain that is lit. */
const BESIDE = 0.3;

type Stress = "chosen" | "near" | "lit" | "plain";
const WIDTHS: Record<Stress, number> = { chosen: 3, near: 2.25, lit: 1.75, plain: 1 };

function stressOf(arrow: TimelineArrowDoc, { lit, hovered, hoveredArrow, chosenEdge }: Scene): Stress {
  if (chosenEdge !== "" && chosenEdge === `${arrow.from_step_id}..${arrow.to_step_id}`) return "chosen";
  if (arrow === hoveredArrow || (hovered !== "" && (hovered === arrow.from_step_id || hovered === arrow.to_step_id))) return "near";
  return lit !== undefined && arrow.seqs.every((seq) => lit(seq)) ? "lit" : "plain";
}

const isPlainLine = (sort: ArrowSort) => sort === "tool" || sort === "other";

function lookOf(sort: ArrowSort, stress: Stress, isInferred: boolean, { colours, lit }: Scene): Look {
  const plain = { error: colours.error, spawn: colours.spawn, return: colours.line, tool: colours.line, other: colours.line }[sort];
  const isPlain = stress === "plain";
  return {
    colour: !isPlain && plain === colours.line ? colours.ink : plain,
    // What is a guess is dotted; what starts an agent or failed is dashed; what one step got from another is a plain line.
    dash: isInferred ? [2, 3] : isPlainLine(sort) ? [] : [5, 3],
    width: isPlain && !isPlainLine(sort) ? 1.25 : WIDTHS[stress],
    alpha: isPlain ? ALPHAS[sort] * (lit ? BESIDE : 1) : 1,
  };
}

export function shownArrows({ timeline, arrows, sure }: Pick<Scene, "timeline" | "arrows" | "sure">): TimelineArrowDoc[] {
  return timeline.arrows.filter((arrow) => arrowShown(arrow, arrows, sure));
}

/** The arrows in sight, those that look alike together. */
export function arrowLayers(scene: Scene, height: number): ArrowLayers {
  const { timeline, arrows, sure, lanes, scale, scrolled } = scene;
  const layers: ArrowLayers = { below: [], above: [] };
  const known = new Map<string, Alike>();
  const sight = { width: scale.width, top: scrolled, bottom: scrolled + height };
  const isIn = (y: number) => y >= sight.top && y <= sight.bottom;
  for (const arrow of timeline.arrows) {
    if (!arrowShown(arrow, arrows, sure)) continue;
    const curve = curveOf(arrow, lanes, scale);
    const stress = stressOf(arrow, scene);
    // What only passes by tells nothing, unless it is meant.
    if (!curve || (stress === "plain" && !isIn(curve.y0) && !isIn(curve.y1))) continue;
    const piece = seenPiece(curve, sight);
    if (!piece) continue;
    const sort = sortOf(arrow);
    const key = sort + stress + (arrow.inferred ? "?" : "");
    let alike = known.get(key);
    if (!alike) {
      known.set(key, (alike = { look: lookOf(sort, stress, arrow.inferred, scene), pieces: [] }));
      (stress === "plain" && isPlainLine(sort) ? layers.below : layers.above).push(alike);
    }
    alike.pieces.push(piece);
  }
  layers.above.sort((a, b) => a.look.width - b.look.width);
  return layers;
}

export function drawArrows(ctx: Paper, layer: readonly Alike[]): void {
  for (const { look, pieces } of layer) drawAlike(ctx, look, pieces);
  ctx.globalAlpha = 1;
}

/** Of more, dashes cannot be told apart, and take long. */
const MOST_DASHED = 400;

function drawAlike(ctx: Paper, { colour, dash, width, alpha }: Look, pieces: readonly Piece[]): void {
  ctx.globalAlpha = alpha;
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = width;
  ctx.setLineDash(pieces.length > MOST_DASHED ? [] : dash);
  ctx.beginPath();
  for (const { points: [x0, y0, ax, ay, bx, by, x1, y1] } of pieces) {
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(ax, ay, bx, by, x1, y1);
  }
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.beginPath();
  for (const { points, hasEnd } of pieces) if (hasEnd) headPath(ctx, points[6], points[7], points[5] > points[7] ? -Math.PI / 2 : Math.PI / 2, width > 1.5 ? 6 : 5);
  ctx.fill();
}
