// The timeline: lanes per agent, bars per step, arrows between agents. Wheel zooms at the pointer, dragging moves, a click selects.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { BarDoc, TimelineArrowDoc } from "../api/types.ts";
import { arrowAt } from "../logic/arrows.ts";
import { barAt, endOf, GUTTER_PX, laneName, MAP_PX, TOP_PX } from "../logic/lanes.ts";
import { clamp, moved, toTime, zoomed, type Scale } from "../logic/scale.ts";
import { duration, plain, plural } from "../logic/words.ts";
import { preferences } from "../state/preferences.ts";
import { playAt, playedNs } from "../state/replay.ts";
import { select, selectedEdge, selectEdge } from "../state/route.ts";
import { palette } from "../state/schema.ts";
import { chain, lighter, onPath, path, point } from "../state/session.ts";
import { foldLane, lanes, nowNs, showWindow, shownWindow, spanNs, timeline, widthPx, windowNs } from "../state/timeline.ts";
import { Canvas, type Size } from "../widgets/Canvas.tsx";
import type { Paper } from "../widgets/paint.ts";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";
import { shownArrows } from "./timeline-arrows.ts";
import { draw } from "./timeline-draw.ts";
import { TimelineTools } from "./TimelineTools.tsx";

const ZOOM_PER_PX = 0.0016;
/** A press that moves less is a click. */
const CLICK_PX = 4;

interface Hover {
  bar?: BarDoc | undefined;
  arrow?: TimelineArrowDoc | undefined;
  x: number;
  y: number;
}

interface Press {
  x: number;
  y: number;
  moved: boolean;
  onMap: boolean;
  range: boolean;
}

function pathDelayMs(first: string | null | undefined): number {
  const begun = path.value.data?.path.started_at;
  return begun && first ? Date.parse(begun) - Date.parse(first) : 0;
}

export function Timeline() {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const hover = useSignal<Hover | undefined>(undefined);
  const scrolled = useSignal(0);
  const range = useSignal<{ from: number; to: number } | undefined>(undefined);
  const press = useRef<Press | undefined>(undefined);

  useEffect(() => size.subscribe(({ width }) => {
    if (width > GUTTER_PX) widthPx.value = width - GUTTER_PX;
  }), []);
  // What the pointer leaves is lit no more.
  useEffect(() => () => point(undefined), []);

  const { data, error, loading } = timeline.value;
  if (error && !data) return <Wrong error={error} />;
  if (!data) return loading ? <Loading what="the timeline" /> : null;
  if (data.total_bars === 0) return <Empty title="No step has a time"><p>The tree and the graph show them all.</p></Empty>;

  const scale = (): Scale => ({ ...windowNs.value, width: Math.max(1, size.value.width - GUTTER_PX) });
  const placed = () => lanes.value;
  const mostScrolled = () => Math.max(0, placed().height + TOP_PX - size.peek().height + 12);
  const under = (x: number, y: number) => {
    const current = timeline.peek().data;
    if (!current || x < GUTTER_PX || y < TOP_PX) return undefined;
    return barAt(current, placed().lanes, scale(), x - GUTTER_PX, y - TOP_PX + scrolled.peek(), nowNs.peek());
  };
  const arrowUnder = (x: number, y: number) => {
    const current = timeline.peek().data;
    if (!current || x < GUTTER_PX || y < TOP_PX) return undefined;
    const { arrows, sure } = preferences.peek();
    return arrowAt(shownArrows({ timeline: current, arrows, sure }), placed().lanes, scale(), x - GUTTER_PX, y - TOP_PX + scrolled.peek());
  };

  const paint = (ctx: Paper, { width, height }: Size) => {
    const current = timeline.value.data;
    if (!current) return;
    const { path: isPath, arrows, sure, colouring } = preferences.value;
    const lit = chain.value;
    draw(ctx, {
      timeline: current, lanes: placed().lanes, scale: scale(), scrolled: scrolled.value,
      strip: path.value.data?.strip ?? [], stripAtMs: pathDelayMs(current.first_at),
      arrows, sure, colouring, onPath: isPath ? onPath.value : undefined, light: lighter.value,
      lit: lit && ((seq) => lit.ends.has(seq) || lit.causes.has(seq) || lit.effects.has(seq)),
      hovered: hover.value?.bar?.step_id ?? "", hoveredArrow: hover.value?.arrow, chosenEdge: selectedEdge.value,
      colours: palette.value, playedNs: playedNs.value, nowNs: nowNs.value,
    }, width, height);
    if (range.value) drawRange(ctx, range.value, height);
  };

  const drawRange = (ctx: Paper, { from, to }: { from: number; to: number }, height: number) => {
    const [left, right] = [Math.min(from, to), Math.max(from, to)];
    ctx.fillStyle = palette.value.spawn;
    ctx.globalAlpha = 0.15;
    ctx.fillRect(left, TOP_PX, right - left, height);
    ctx.globalAlpha = 1;
    ctx.fillText(duration((toTime(scale(), right) - toTime(scale(), left)) / 1e6), left + 4, TOP_PX + 12);
  };

  const onWheel = (event: WheelEvent, x: number) => {
    if (event.shiftKey || (Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
      showWindow(moved(scale(), -(event.deltaX || event.deltaY), spanNs.peek()));
    } else if (event.altKey) scrolled.value = clamp(scrolled.peek() + event.deltaY, 0, mostScrolled());
    else showWindow(zoomed(scale(), Math.max(0, x - GUTTER_PX), Math.exp(event.deltaY * ZOOM_PER_PX), spanNs.peek()));
  };

  const toMap = (x: number) => {
    const { from, to } = windowNs.peek();
    const at = ((x - GUTTER_PX) / Math.max(1, size.peek().width - GUTTER_PX)) * spanNs.peek();
    const half = (to - from) / 2;
    if (shownWindow.peek()) showWindow(moved({ from: at - half, to: at + half, width: 1 }, 0, spanNs.peek()));
  };

  const onPointer = (event: PointerEvent, x: number, y: number) => {
    const canvas = event.currentTarget as HTMLCanvasElement;
    if (event.type === "pointerdown" && event.button === 0) {
      press.current = { x, y, moved: false, onMap: y < MAP_PX && x > GUTTER_PX, range: event.shiftKey };
      canvas.setPointerCapture(event.pointerId);
      if (press.current.onMap) toMap(x);
    } else if (event.type === "pointermove" && press.current) drag(press.current, x, y);
    else if (event.type === "pointerup") release(x, y);
    else if (event.type === "pointermove") {
      const bar = under(x, y);
      const arrow = bar ? undefined : arrowUnder(x, y);
      if (bar || arrow || hover.peek()) hover.value = bar || arrow ? { bar, arrow, x, y } : undefined;
      point(bar ? [bar.step_id] : arrow && [`${arrow.from_step_id}..${arrow.to_step_id}`]);
      canvas.style.cursor = bar || arrow || x < GUTTER_PX ? "pointer" : "grab";
    } else if (event.type === "pointerleave") leave();
  };

  const leave = () => {
    hover.value = undefined;
    point(undefined);
  };

  const drag = (held: Press, x: number, y: number) => {
    if (!held.moved && Math.hypot(x - held.x, y - held.y) < CLICK_PX) return;
    held.moved = true;
    leave();
    if (held.onMap) return toMap(x);
    if (held.range) return void (range.value = { from: held.x, to: x });
    showWindow(moved(scale(), x - held.x, spanNs.peek()));
    scrolled.value = clamp(scrolled.peek() - (y - held.y), 0, mostScrolled());
    [held.x, held.y] = [x, y];
  };

  const release = (x: number, y: number) => {
    const held = press.current;
    press.current = undefined;
    if (range.peek()) {
      const { from, to } = range.peek() ?? { from: 0, to: 0 };
      range.value = undefined;
      const at = (px: number) => toTime(scale(), px - GUTTER_PX);
      return showWindow({ from: at(Math.min(from, to)), to: at(Math.max(from, to)) });
    }
    if (!held || held.moved || held.onMap) return;
    if (x < GUTTER_PX) return fold(y);
    if (playedNs.peek() !== undefined && y < TOP_PX) return playAt(toTime(scale(), x - GUTTER_PX));
    const bar = under(x, y);
    if (bar) return select(bar.step_id);
    const arrow = arrowUnder(x, y);
    if (arrow) selectEdge(arrow.from_step_id, arrow.to_step_id);
    else select(undefined);
  };

  const fold = (y: number) => {
    const n = placed().lanes.findIndex((lane) => y - TOP_PX + scrolled.peek() < lane.top + lane.height);
    if (n >= 0 && y >= TOP_PX) foldLane(n);
  };

  const onDouble = (_: MouseEvent, x: number, y: number) => {
    const bar = under(x, y);
    if (!bar) return showWindow(undefined);
    const room = Math.max(1000, (bar.to_ns - bar.from_ns) * 0.15);
    showWindow({ from: bar.from_ns - room, to: bar.to_ns + room });
  };

  const onKey = (event: KeyboardEvent) => {
    const middle = (size.peek().width - GUTTER_PX) / 2;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => showWindow(moved(scale(), 120, spanNs.peek())),
      ArrowRight: () => showWindow(moved(scale(), -120, spanNs.peek())),
      ArrowDown: () => (scrolled.value = clamp(scrolled.peek() + 40, 0, mostScrolled())),
      ArrowUp: () => (scrolled.value = clamp(scrolled.peek() - 40, 0, mostScrolled())),
      "+": () => showWindow(zoomed(scale(), middle, 0.7, spanNs.peek())),
      "=": () => showWindow(zoomed(scale(), middle, 0.7, spanNs.peek())),
      "-": () => showWindow(zoomed(scale(), middle, 1.4, spanNs.peek())),
      "0": () => showWindow(undefined),
    };
    const move = moves[event.key];
    if (!move || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    move();
  };

  return (
    <section class="timeline" aria-label="Timeline">
      <TimelineTools data={data} />
      <div class="timeline-box">
        <Canvas name="timeline" background={palette.value.paper} label={`Timeline: ${plural(data.total_bars, "step")} in ${plural(data.lanes.length, "lane")}`} size={size} draw={paint} onWheel={onWheel} onPointer={onPointer} onDoubleClick={onDouble} onKeyDown={onKey} />
        {hover.value?.bar && <BarTip bar={hover.value.bar} hover={hover.value} width={size.value.width} lane={laneName(data.lanes[hover.value.bar.lane] ?? { agents: [], depth: 0, rows: 0 })} />}
        {hover.value?.arrow && <ArrowTip arrow={hover.value.arrow} hover={hover.value} width={size.value.width} />}
      </div>
    </section>
  );
}

const besides = ({ x, y }: Hover, width: number) => ({ ...(x > width - 340 ? { right: `${width - x + 12}px` } : { left: `${x + 14}px` }), top: `${y + 14}px` });

function BarTip({ bar, hover, width, lane }: { bar: BarDoc; hover: Hover; width: number; lane: string }) {
  return (
    <div class="tip" style={besides(hover, width)}>
      {bar.count > 1 ? <b>{plural(bar.count, "step")}</b> : <b>{bar.label}</b>}
      {bar.detail !== "" && <p>{bar.detail}</p>}
      <p class="quiet">
        {lane} · {duration((endOf(bar, nowNs.value) - bar.from_ns) / 1e6)}
        {bar.errors > 0 && ` · ${bar.count > 1 ? plural(bar.errors, "error") : "failed"}`}
        {bar.running ? " so far" : bar.pending && " · no end yet"}
        {bar.count > 1 && " · double-click to zoom in"}
      </p>
    </div>
  );
}

function ArrowTip({ arrow, hover, width }: { arrow: TimelineArrowDoc; hover: Hover; width: number }) {
  return (
    <div class="tip" style={besides(hover, width)}>
      <b>{plain(arrow.relation)}</b>{arrow.count > 1 && ` ×${arrow.count}`}
      <p class="quiet">{arrow.inferred ? `inferred, ${Math.round(arrow.confidence * 100)} % sure` : "exact"}{arrow.is_error && " · carries an error"} · click for why</p>
    </div>
  );
}
