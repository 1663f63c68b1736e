// A canvas as sharp as the screen, drawn when what it reads has changed, once a frame at most.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { eachFrame } from "./frames.ts";
import type { Paper } from "./paint.ts";
import { offerPicture } from "./picture.ts";

export interface Size {
  width: number;
  height: number;
}

type Handler<E> = (event: E, x: number, y: number) => void;

interface Props {
  label: string;
  /** Of a file it is saved as. */
  name: string;
  background: string;
  size: Signal<Size>;
  draw(ctx: Paper, size: Size): void;
  /** What lies above and changes more often: drawn on a sheet of its own, so that the rest is not drawn with it. */
  drawAbove?(ctx: Paper, size: Size): void;
  onWheel?: Handler<WheelEvent>;
  onPointer?: Handler<PointerEvent>;
  onDoubleClick?: Handler<MouseEvent>;
  onKeyDown?(event: KeyboardEvent): void;
  cursor?: string;
}

/** Draws on a canvas whenever what is read for it has changed. */
function keepDrawn(canvas: HTMLCanvasElement, size: Signal<Size>, ratio: Signal<number>, draw: (ctx: Paper, size: Size) => void): () => void {
  const ctx = canvas.getContext("2d");
  if (!ctx) return () => {};
  return eachFrame(() => {
    const { width, height } = size.value;
    const sharp = ratio.value;
    // Not laid out yet, or not seen.
    if (width === 0 || height === 0) return;
    if (canvas.width !== Math.round(width * sharp) || canvas.height !== Math.round(height * sharp)) {
      canvas.width = Math.round(width * sharp);
      canvas.height = Math.round(height * sharp);
      // Its box may end within a pixel; stretched to that, letters would be blurred.
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    ctx.setTransform(sharp, 0, 0, sharp, 0, 0);
    ctx.clearRect(0, 0, width, height);
    draw(ctx, { width, height });
  });
}

export function Canvas({ label, name, background, size, draw, drawAbove, onWheel, onPointer, onDoubleClick, onKeyDown, cursor }: Props) {
  const ref = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const latest = useRef({ label, name, background, draw, drawAbove, onWheel, onPointer, onDoubleClick });
  latest.current = { label, name, background, draw, drawAbove, onWheel, onPointer, onDoubleClick };

  useEffect(() => {
    const [canvas, element] = [ref.current, box.current];
    if (!canvas || !element) return;
    // On large screens everything is drawn larger; pointers tell pixels of the screen.
    const zoom = () => canvas.getBoundingClientRect().width / Math.max(1, canvas.clientWidth) || 1;
    const ratio = signal(devicePixelRatio);
    const watch = new ResizeObserver(() => {
      ratio.value = devicePixelRatio * zoom();
      const { clientWidth: width, clientHeight: height } = element;
      if (width !== size.peek().width || height !== size.peek().height) size.value = { width, height };
    });
    watch.observe(element);
    const lower = (ctx: Paper, room: Size) => latest.current.draw(ctx, room);
    const upper = (ctx: Paper, room: Size) => latest.current.drawAbove?.(ctx, room);
    const all = [lower, upper];
    const withdraw = offerPicture(() => {
      const { label: title, name: file, background: paper } = latest.current;
      const { width, height } = size.peek();
      return { name: file, title, width, height, background: paper, draw: (on) => all.forEach((drawn) => drawn(on, { width, height })) };
    });
    const stops = [keepDrawn(canvas, size, ratio, lower), ...(above.current ? [keepDrawn(above.current, size, ratio, upper)] : [])];
    const at = (event: MouseEvent): [number, number] => {
      const { left, top } = canvas.getBoundingClientRect();
      return [(event.clientX - left) / zoom(), (event.clientY - top) / zoom()];
    };
    const wheel = (event: WheelEvent) => {
      if (!latest.current.onWheel) return;
      event.preventDefault();
      latest.current.onWheel(event, ...at(event));
    };
    const pointer = (event: PointerEvent) => latest.current.onPointer?.(event, ...at(event));
    const double = (event: MouseEvent) => latest.current.onDoubleClick?.(event, ...at(event));
    canvas.addEventListener("wheel", wheel, { passive: false });
    const pointers = ["pointerdown", "pointermove", "pointerup", "pointerleave"] as const;
    pointers.forEach((name) => canvas.addEventListener(name, pointer));
    canvas.addEventListener("dblclick", double);
    return () => {
      watch.disconnect();
      withdraw();
      stops.forEach((stop) => stop());
      canvas.removeEventListener("wheel", wheel);
      pointers.forEach((name) => canvas.removeEventListener(name, pointer));
      canvas.removeEventListener("dblclick", double);
    };
  }, []);

  return (
    <div ref={box} class="canvas">
      <canvas ref={ref} tabIndex={0} role="img" aria-label={label} onKeyDown={onKeyDown} style={{ cursor: cursor ?? "default" }} />
      {drawAbove && <canvas ref={above} class="above" aria-hidden="true" />}
    </div>
  );
}
