// What a hand does to the timeline: the wheel zooms at the pointer, dragging moves, dragging on the ruler or with Shift marks a range, a click chooses, keys do the same.
import type { Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { BarDoc, TimelineArrowDoc } from "../api/types.ts";
import { arrowAt } from "../logic/arrows.ts";
import { actOf, type Act } from "../logic/keys.ts";
import { barAt, GUTTER_PX, laneAt, MAP_PX, TOP_PX } from "../logic/lanes.ts";
import { centred, clamp, drawnAt, momentAt, moved, toTime, zoomed, type Scale } from "../logic/scale.ts";
import { preferences } from "../state/preferences.ts";
import { playAt, playedNs } from "../state/replay.ts";
import { select, selectEdge } from "../state/route.ts";
import { point } from "../state/session.ts";
import { draggedRange, foldLane, folds, lanes, markRange, nowNs, showWindow, shownWindow, spanNs, timeline, windowNs } from "../state/timeline.ts";
import type { Size } from "../widgets/Canvas.tsx";
import { shownArrows } from "./timeline-arrows.ts";

const ZOOM_PER_PX = 0.0016;
/** A press that moves less is a click. */
const CLICK_PX = 4;
/** Keys move by so much. */
const KEY_PX = 120;
const KEY_ROWS_PX = 40;

export interface Hover {
  bar?: BarDoc | undefined;
  arrow?: TimelineArrowDoc | undefined;
  /** The lane whose name it is. */
  lane?: number | undefined;
  x: number;
  y: number;
}

type Does = "move" | "map" | "range";

interface Press {
  x: number;
  y: number;
  begunNs: number;
  moved: boolean;
  does: Does;
}

export function scaleOf({ width }: Size): Scale {
  return { ...windowNs.value, width: Math.max(1, width - GUTTER_PX), folds: folds.value };
}

function doesAt(x: number, y: number, isShift: boolean): Does {
  if (x <= GUTTER_PX) return "move";
  if (isShift || (y >= MAP_PX && y < TOP_PX)) return "range";
  return y < MAP_PX ? "map" : "move";
}

/** What is at a place. */
function found(scale: Scale, x: number, y: number, scrolled: number): Omit<Hover, "x" | "y"> {
  const { data } = timeline.peek();
  if (!data || y < TOP_PX) return {};
  const down = y - TOP_PX + scrolled;
  if (x < GUTTER_PX) return { lane: laneAt(lanes.peek().lanes, down) };
  const bar = barAt(data, lanes.peek().lanes, scale, x - GUTTER_PX, down, nowNs.peek());
  if (bar) return { bar };
  const { arrows, sure } = preferences.peek();
  return { arrow: arrowAt(shownArrows({ timeline: data, arrows, sure }), lanes.peek().lanes, scale, x - GUTTER_PX, down) };
}

export function useHand(size: Signal<Size>, hover: Signal<Hover | undefined>, scrolled: Signal<number>) {
  const press = useRef<Press | undefined>(undefined);
  const scale = () => scaleOf(size.peek());
  const at = (x: number) => clamp(toTime(scale(), x - GUTTER_PX), 0, spanNs.peek());
  const mostScrolled = () => Math.max(0, lanes.peek().height + TOP_PX - size.peek().height + 12);
  const scroll = (by: number) => (scrolled.value = clamp(scrolled.peek() + by, 0, mostScrolled()));
  const move = (dx: number) => showWindow(moved(scale(), dx, spanNs.peek()));
  const zoom = (x: number, factor: number) => showWindow(zoomed(scale(), x, factor, spanNs.peek()));

  const leave = () => {
    hover.value = undefined;
    point(undefined);
  };
  const toMap = (x: number) => {
    if (!shownWindow.peek()) return;
    const share = (x - GUTTER_PX) / Math.max(1, size.peek().width - GUTTER_PX);
    showWindow(centred(scale(), momentAt(folds.peek(), share * drawnAt(folds.peek(), spanNs.peek())), spanNs.peek()));
  };
  const look = (canvas: HTMLCanvasElement, x: number, y: number) => {
    const under = found(scale(), x, y, scrolled.peek());
    const { bar, arrow, lane } = under;
    const isOver = bar !== undefined || arrow !== undefined || lane !== undefined;
    if (isOver || hover.peek()) hover.value = isOver ? { ...under, x, y } : undefined;
    point(bar ? [bar.step_id] : arrow && [`${arrow.from_step_id}..${arrow.to_step_id}`]);
    canvas.style.cursor = isOver ? "pointer" : { map: "pointer", range: "col-resize", move: "grab" }[doesAt(x, y, false)];
  };
  const drag = (held: Press, x: number, y: number) => {
    if (!held.moved && Math.hypot(x - held.x, y - held.y) < CLICK_PX) return;
    held.moved = true;
    leave();
    if (held.does === "map") return toMap(x);
    if (held.does === "range") {
      const now = at(x);
      return void (draggedRange.value = { from: Math.min(held.begunNs, now), to: Math.max(held.begunNs, now) });
    }
    move(x - held.x);
    scroll(held.y - y);
    [held.x, held.y] = [x, y];
  };
  const click = (x: number, y: number) => {
    if (playedNs.peek() !== undefined && x > GUTTER_PX && y < TOP_PX) return playAt(at(x));
    const { bar, arrow, lane } = found(scale(), x, y, scrolled.peek());
    if (lane !== undefined) foldLane(lane);
    else if (bar) select(bar.step_id);
    else if (arrow) selectEdge(arrow.from_step_id, arrow.to_step_id);
    else select(undefined);
  };
  const release = (x: number, y: number) => {
    const held = press.current;
    press.current = undefined;
    const marked = draggedRange.peek();
    draggedRange.value = undefined;
    if (marked) markRange(marked);
    else if (held && !held.moved && held.does !== "map") click(x, y);
  };

  const onWheel = (event: WheelEvent, x: number) => {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(-(event.deltaX || event.deltaY));
    else if (event.altKey) scroll(event.deltaY);
    else zoom(Math.max(0, x - GUTTER_PX), Math.exp(event.deltaY * ZOOM_PER_PX));
  };
  const onPointer = (event: PointerEvent, x: number, y: number) => {
    const canvas = event.currentTarget as HTMLCanvasElement;
    if (event.type === "pointerdown" && event.button === 0) {
      press.current = { x, y, begunNs: at(x), moved: false, does: doesAt(x, y, event.shiftKey) };
      canvas.setPointerCapture(event.pointerId);
      if (press.current.does === "map") toMap(x);
    } else if (event.type === "pointermove" && press.current) drag(press.current, x, y);
    else if (event.type === "pointerup") release(x, y);
    else if (event.type === "pointermove") look(canvas, x, y);
    else if (event.type === "pointerleave") leave();
  };
  const onDoubleClick = (_: MouseEvent, x: number, y: number) => {
    const { bar } = found(scale(), x, y, scrolled.peek());
    if (!bar) return showWindow(undefined);
    const room = Math.max(1000, (bar.to_ns - bar.from_ns) * 0.15);
    showWindow({ from: bar.from_ns - room, to: bar.to_ns + room });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const middle = (size.peek().width - GUTTER_PX) / 2;
    const { from, to } = windowNs.peek();
    const moves: Partial<Record<Act, () => void>> = {
      left: () => move(KEY_PX), right: () => move(-KEY_PX), down: () => scroll(KEY_ROWS_PX), up: () => scroll(-KEY_ROWS_PX),
      zoomIn: () => zoom(middle, 0.7), zoomOut: () => zoom(middle, 1.4), all: () => showWindow(undefined),
      range: () => markRange({ from: clamp(from, 0, spanNs.peek()), to: clamp(to, 0, spanNs.peek()) }),
    };
    const act = actOf("timeline", event.key);
    const does = act && moves[act];
    if (!does || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    does();
  };
  return { onWheel, onPointer, onDoubleClick, onKeyDown };
}
