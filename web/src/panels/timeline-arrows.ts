// In: the arrows of a timeline and what is lit. Out: pixels. Arrows that look alike are drawn together: there may be thousands.
import type { TimelineArrowDoc } from "../api/types.ts";
import { arrowShown, curveOf, sortOf, type ArrowSort, type Curve } from "../logic/arrows.ts";
import { headPath, type Paper } from "../widgets/paint.ts";
import type { Scene } from "./timeline-draw.ts";

interface Look {
  colour: string;
  dash: number[];
  width: number;
  alpha: number;
  isAbove: boolean;
}

const ALPHAS: Record<ArrowSort, number> = { tool: 0.8, other: 0.6, return: 0.5, spawn: 0.85, error: 0.9 };
/** Beside a chain that is lit. */
const BESIDE = 0.3;

function lookOf(arrow: TimelineArrowDoc, { colours, lit, hovered, hoveredArrow, chosenEdge }: Scene): Look {
  const sort = sortOf(arrow);
  const isChosen = chosenEdge === `${arrow.from_step_id}..${arrow.to_step_id}`;
  const isNear = arrow === hoveredArrow || hovered === arrow.from_step_id || hovered === arrow.to_step_id;
  const isLit = lit !== undefined && arrow.seqs.every((seq) => lit(seq));
  const plain = { error: colours.error, spawn: colours.spawn, return: colours.line, tool: colours.line, other: colours.line }[sort];
  return {
    colour: (isChosen || isNear || isLit) && plain === colours.line ? colours.ink : plain,
    // What is a guess is dotted; what starts an agent or failed is dashed; what one step got from another is a plain line.
    dash: arrow.inferred ? [2, 3] : sort === "tool" || sort === "other" ? [] : [5, 3],
    width: isChosen ? 3 : isNear ? 2.25 : isLit ? 1.75 : sort === "tool" || sort === "other" ? 1 : 1.25,
    alpha: isChosen || isNear || isLit ? 1 : ALPHAS[sort] * (lit ? BESIDE : 1),
    isAbove: isChosen || isNear || isLit || (sort !== "tool" && sort !== "other"),
  };
}

export function shownArrows({ timeline, arrows, sure }: Pick<Scene, "timeline" | "arrows" | "sure">): TimelineArrowDoc[] {
  return timeline.arrows.filter((arrow) => arrowShown(arrow, arrows, sure));
}

/** Arrows in two parts: plain lines lie below the bars, so that words stay legible; all others and what is lit lie above them. */
export function drawArrows(ctx: Paper, scene: Scene, height: number, isAbove: boolean): void {
  const { lanes, scale, scrolled } = scene;
  const alike = new Map<string, { look: Look; curves: Curve[] }>();
  for (const arrow of shownArrows(scene)) {
    const curve = curveOf(arrow, lanes, scale);
    if (!curve || Math.max(curve.x0, curve.x1) < -20 || Math.min(curve.x0, curve.x1) > scale.width + 20) continue;
    if (Math.max(curve.y0, curve.y1) < scrolled - 20 || Math.min(curve.y0, curve.y1) > scrolled + height + 20) continue;
    const look = lookOf(arrow, scene);
    if (isAbove !== look.isAbove) continue;
    const key = `${look.colour} ${look.dash} ${look.width} ${look.alpha}`;
    const known = alike.get(key);
    if (known) known.curves.push(curve);
    else alike.set(key, { look, curves: [curve] });
  }
  const faintFirst = [...alike.values()].sort((a, b) => a.look.width - b.look.width);
  for (const { look, curves } of faintFirst) drawAlike(ctx, look, curves);
  ctx.globalAlpha = 1;
}

function drawAlike(ctx: Paper, { colour, dash, width, alpha }: Look, curves: readonly Curve[]): void {
  ctx.globalAlpha = alpha;
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  for (const { x0, y0, x1, y1, bend0, bend1 } of curves) {
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0, y0 + bend0, x1, y1 + bend1, x1, y1);
  }
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.beginPath();
  for (const { x1, y1, bend1 } of curves) headPath(ctx, x1, y1, bend1 > 0 ? -Math.PI / 2 : Math.PI / 2, width > 1.5 ? 6 : 5);
  ctx.fill();
}
