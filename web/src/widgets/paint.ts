// Drawing that more than one canvas needs, and what it is drawn on.

type Style = CanvasRenderingContext2D["fillStyle"];

/** What is drawn on: a canvas, or something that writes down what is drawn. */
export interface Paper {
  fillStyle: Style;
  strokeStyle: Style;
  globalAlpha: number;
  lineWidth: number;
  lineJoin: CanvasLineJoin;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  save(): void;
  restore(): void;
  translate(x: number, y: number): void;
  /** By the same to both sides. */
  scale(x: number, y: number): void;
  beginPath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void;
  rect(x: number, y: number, width: number, height: number): void;
  roundRect(x: number, y: number, width: number, height: number, radius: number): void;
  clip(): void;
  fill(): void;
  stroke(): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  strokeRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number, most?: number): void;
  strokeText(text: string, x: number, y: number): void;
  measureText(text: string): { width: number };
  setLineDash(dash: number[]): void;
  drawImage(image: HTMLCanvasElement, x: number, y: number, width: number, height: number): void;
}

export function rounded(ctx: Paper, x: number, y: number, width: number, height: number, radius: number): void {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, Math.min(radius, width / 2, height / 2));
}

/** Text cut to a width, with an ellipsis. */
export function cut(ctx: Paper, text: string, width: number): string {
  if (width < 12) return "";
  if (ctx.measureText(text).width <= width) return text;
  let [least, most] = [0, text.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (ctx.measureText(`${text.slice(0, middle)}…`).width <= width) least = middle;
    else most = middle - 1;
  }
  return least < 2 ? "" : `${text.slice(0, least)}…`;
}

/** A head at the end of a line, as part of a path that is filled later; filling closes it. To close each takes as long as the path has parts. */
export function headPath(ctx: Paper, x: number, y: number, angle: number, size = 5): void {
  ctx.moveTo(x, y);
  ctx.lineTo(x - size * Math.cos(angle - 0.45), y - size * Math.sin(angle - 0.45));
  ctx.lineTo(x - size * Math.cos(angle + 0.45), y - size * Math.sin(angle + 0.45));
}

export const FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
