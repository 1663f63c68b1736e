// What is on screen, as a file: drawn once more, on a canvas of its own or as SVG.
import { signal } from "@preact/signals";
import type { Paper } from "./paint.ts";
import { saveBlob } from "./save.tsx";
import { SvgPaper } from "./svg.ts";

export interface Picture {
  /** Of the file, without its ending. */
  name: string;
  title: string;
  width: number;
  height: number;
  background: string;
  draw(paper: Paper): void;
}

/** What can be saved now: the canvases that are shown. */
export const pictures = signal<readonly (() => Picture)[]>([]);

/** Offers a picture until the answer is called. */
export function offerPicture(picture: () => Picture): () => void {
  pictures.value = [...pictures.peek(), picture];
  return () => {
    pictures.value = pictures.peek().filter((one) => one !== picture);
  };
}

/** As many pixels to a point, so that it can be printed. */
const PNG_SCALE = 2;

export function savePng({ name, width, height, background, draw }: Picture): void {
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * PNG_SCALE);
  canvas.height = Math.round(height * PNG_SCALE);
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.fillStyle = background;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.scale(PNG_SCALE, PNG_SCALE);
  draw(ctx);
  canvas.toBlob((blob) => blob && saveBlob(blob, `${name}.png`), "image/png");
}

export function saveSvg({ name, title, width, height, background, draw }: Picture): void {
  const ctx = document.createElement("canvas").getContext("2d");
  const paper = new SvgPaper((font, text) => {
    if (!ctx) return 0;
    ctx.font = font;
    return ctx.measureText(text).width;
  });
  draw(paper);
  saveBlob(new Blob([paper.svg(width, height, title, background)], { type: "image/svg+xml" }), `${name}.svg`);
}
