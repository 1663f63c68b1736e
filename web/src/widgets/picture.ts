// What is on a canvas, as a file.
import { saveBlob } from "./save.tsx";

/** Saves the first canvas inside of an element. */
export function savePicture(inside: Element | null | undefined, name: string, background: string): void {
  const canvas = inside?.querySelector("canvas");
  if (!canvas) return;
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  const ctx = copy.getContext("2d");
  if (!ctx) return;
  ctx.fillStyle = background;
  ctx.fillRect(0, 0, copy.width, copy.height);
  ctx.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => {
    if (blob) saveBlob(blob, name);
  }, "image/png");
}
