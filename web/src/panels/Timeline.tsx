// The timeline: lanes per agent, bars per step, arrows between agents. Wheel zooms at the pointer, dragging moves, a click selects.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { BarDoc, TimelineArrowDoc } from "../api/types.ts";
import { barAt, GUTTER_PX, laneName, MAP_PX, TOP_PX } from "../logic/lanes.ts";
import { clamp, moved, toTime, zoomed, type Scale } from "../logic/scale.ts";
import { duration, plural } from "../logic/words.ts";
import { preferences, prefer } from "../state/preferences.ts";
import { playAt, playedNs } from "../state/replay.ts";
import { select, selected } from "../state/route.ts";
import { lookTitle, palette } from "../state/schema.ts";
import { chain, detail, lightOf, onPath, path } from "../state/session.ts";
import { foldLane, lanes, showWindow, shownWindow, spanNs, timeline, widthPx, windowNs } from "../state/timeline.ts";
import { savePicture } from "../widgets/picture.ts";
import { Canvas, type Size } from "../widgets/Canvas.tsx";
import { Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";
import { arrowShown, curveOf, draw } from "./timeline-draw.ts";

const ZOOM_PER_PX = 0.0016;
/** A press that moves less is a click. */
const CLICK_PX = 4;

interface Hover {
  bar: BarDoc;
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
  const begun = path.value.data?.sessions[0]?.path.started_at;
  return begun && first ? Date.parse(begun) - Date.parse(first) : 0;
}

export function Timeline() {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const hover = useSignal<Hover | undefined>(undefined);
  const scrolled = useSignal(0);
  const range = useSignal<{ from: number; to: number } | undefined>(undefined);
  const box = useRef<HTMLElement>(null);
  const press = useRef<Press | undefined>(undefined);

  useEffect(() => size.subscribe(({ width }) => {
    if (width > GUTTER_PX) widthPx.value = width - GUTTER_PX;
  }), []);

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
    return barAt(current, placed().lanes, scale(), x - GUTTER_PX, y - TOP_PX + scrolled.peek());
  };

  const paint = (ctx: CanvasRenderingContext2D, { width, height }: Size) => {
    const current = timeline.value.data;
    if (!current) return;
    draw(ctx, {
      timeline: current, lanes: placed().lanes, scale: scale(), scrolled: scrolled.value,
      segments: preferences.value.path ? (path.value.data?.sessions[0]?.path.segments ?? []) : [],
      segmentsAtMs: pathDelayMs(current.first_at),
      arrows: preferences.value.arrows, onPath: preferences.value.path ? onPath.value : undefined,
      light: lightOf, hasChain: selected.value !== "" && (chain.value?.size ?? 0) > 0,
      hovered: hover.value?.bar.step_id ?? "", colours: palette.value, playedNs: playedNs.value, edges: preferences.value.arrows.tool ? [...(detail.value.data?.edges_in ?? []), ...(detail.value.data?.edges_out ?? [])] : [],
    }, width, height);
    if (range.value) {
      ctx.fillStyle = palette.value.spawn;
      ctx.globalAlpha = 0.15;
      ctx.fillRect(Math.min(range.value.from, range.value.to), TOP_PX, Math.abs(range.value.to - range.value.from), height);
      ctx.globalAlpha = 1;
    }
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
      if (bar?.step_id !== hover.peek()?.bar.step_id || bar) hover.value = bar && { bar, x, y };
      canvas.style.cursor = bar || x < GUTTER_PX ? "pointer" : "grab";
    } else if (event.type === "pointerleave") hover.value = undefined;
  };

  const drag = (held: Press, x: number, y: number) => {
    if (!held.moved && Math.hypot(x - held.x, y - held.y) < CLICK_PX) return;
    held.moved = true;
    hover.value = undefined;
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
    const arrow = arrowAt(x, y);
    select(arrow?.to_step_id);
  };

  const fold = (y: number) => {
    const n = placed().lanes.findIndex((lane) => y - TOP_PX + scrolled.peek() < lane.top + lane.height);
    if (n >= 0 && y >= TOP_PX) foldLane(n);
  };

  const arrowAt = (x: number, y: number): TimelineArrowDoc | undefined => {
    const [rows, zoom] = [placed().lanes, scale()];
    const shown = (timeline.peek().data?.arrows ?? []).filter((arrow) => arrowShown(arrow, preferences.peek().arrows));
    return shown.find((arrow) => {
      const curve = curveOf(arrow, rows, zoom);
      if (!curve) return false;
      for (let t = 0; t <= 1; t += 0.04) {
        const u = 1 - t;
        const cx = u * u * u * curve.x0 + 3 * u * u * t * curve.x0 + 3 * u * t * t * curve.x1 + t * t * t * curve.x1;
        const cy = u * u * u * curve.y0 + 3 * u * u * t * (curve.y0 + curve.bend) + 3 * u * t * t * (curve.y1 - curve.bend) + t * t * t * curve.y1;
        if (Math.hypot(cx + GUTTER_PX - x, cy + TOP_PX - scrolled.peek() - y) < 6) return true;
      }
      return false;
    });
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
    <section ref={box} class="timeline" aria-label="Timeline">
      <Tools save={() => savePicture(box.current, "timeline.png", palette.value.paper)} looks={[...new Set(data.bars.map((bar) => bar.look))]} untimed={data.untimed_steps} />
      <div class="timeline-box">
        <Canvas label={`Timeline: ${plural(data.total_bars, "step")} in ${plural(data.lanes.length, "lane")}`} size={size} draw={paint} onWheel={onWheel} onPointer={onPointer} onDoubleClick={onDouble} onKeyDown={onKey} />
        {hover.value && <Tip hover={hover.value} width={size.value.width} lane={laneName(data.lanes[hover.value.bar.lane] ?? { agents: [], depth: 0, rows: 0 })} />}
      </div>
    </section>
  );
}

const ARROW_NAMES = { tool: "tools", spawn: "starts", return: "answers", error: "errors" };

function Tools({ looks, untimed, save }: { looks: string[]; untimed: number; save(): void }) {
  const { arrows, path: isPath } = preferences.value;
  const toggle = (name: keyof typeof arrows, title: string) => (
    <label class="check" title={title}>
      <input type="checkbox" checked={arrows[name]} onChange={() => prefer({ arrows: { ...arrows, [name]: !arrows[name] } })} /> {ARROW_NAMES[name]}
    </label>
  );
  return (
    <div class="tools">
      <span class="legend">{looks.map((look) => <span key={look}><Swatch look={look} /> {lookTitle(look)}</span>)}</span>
      <span class="grow" />
      {untimed > 0 && <span class="quiet">{plural(untimed, "step")} without a time</span>}
      <span class="quiet">arrows</span>
      {toggle("tool", "What the chosen step was called by, and what its result led to")}
      {toggle("spawn", "An agent starts another")}
      {toggle("return", "An agent answers the one that started it")}
      {toggle("error", "Arrows that carry an error")}
      <label class="check"><input type="checkbox" checked={isPath} onChange={() => prefer({ path: !isPath })} /> critical path</label>
      <button class="small" onClick={() => showWindow(undefined)} disabled={!shownWindow.value}>Whole session</button>
      <button class="small" title="Save what is seen as a picture" onClick={save}>PNG</button>
    </div>
  );
}

function Tip({ hover: { bar, x, y }, width, lane }: { hover: Hover; width: number; lane: string }) {
  const side = x > width - 340 ? { right: `${width - x + 12}px` } : { left: `${x + 14}px` };
  return (
    <div class="tip" style={{ ...side, top: `${y + 14}px` }}>
      {bar.count > 1 ? <b>{plural(bar.count, "step")}</b> : <b>{bar.label}</b>}
      {bar.detail !== "" && <p>{bar.detail}</p>}
      <p class="quiet">
        {lane} · {duration((bar.to_ns - bar.from_ns) / 1e6)}
        {bar.errors > 0 && ` · ${bar.count > 1 ? plural(bar.errors, "error") : "failed"}`}
        {bar.pending && " · no end yet"}
        {bar.count > 1 && " · double-click to zoom in"}
      </p>
    </div>
  );
}
