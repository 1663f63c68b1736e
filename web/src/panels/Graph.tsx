// The graph of what led to what, and the workflow behind it: boxes and ways as the server placed them.
import { computed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { get } from "../api/client.ts";
import type { PlacedNodeDoc, Questions } from "../api/types.ts";
import { fitted, nodeAt, type Camera } from "../logic/camera.ts";
import { clamp } from "../logic/scale.ts";
import { plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { versionOf } from "../state/live.ts";
import { isLater, playedMs } from "../state/replay.ts";
import { query, route, select, selected, sessionId, setParams } from "../state/route.ts";
import { lookTitle, palette, words } from "../state/schema.ts";
import { chain, lightOf, queryTrouble, type Light } from "../state/session.ts";
import { timeline } from "../state/timeline.ts";
import { savePicture } from "../widgets/picture.ts";
import { Canvas, type Size } from "../widgets/Canvas.tsx";
import { Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";
import { drawGraph } from "./graph-draw.ts";
import { NodeTip } from "./NodeTip.tsx";
import { RunChoice, workflowAsked } from "./RunChoice.tsx";

const CLICK_PX = 4;
const SURE = [["", "all links"], ["0.8", "80 % sure"], ["1", "sure links"]] as const;
const ZOOM_PER_PX = 0.0015;

interface Hover {
  node: PlacedNodeDoc;
  x: number;
  y: number;
}

function lightOfNode(node: PlacedNodeDoc): Light {
  const first = timeline.value.data?.first_at;
  if (playedMs.value !== undefined && first && node.started_at && isLater(Date.parse(node.started_at) - Date.parse(first))) return "dim";
  let best: Light = node.step_ids.length === 0 ? "plain" : "dim";
  for (const step of node.step_ids) {
    const light = lightOf(step);
    if (light === "selected") return light;
    if (light === "chain" || best === "dim") best = light;
  }
  return best;
}

export function Graph({ drawn }: { drawn: "dag" | "workflow" }) {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const camera = useSignal<Camera | undefined>(undefined);
  const hover = useSignal<Hover | undefined>(undefined);
  const box = useRef<HTMLElement>(null);
  const press = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);
  const answer = useMemo(() => {
    // Only what the graph depends on: choosing a step asks for nothing.
    const key = computed(() => {
      const { params } = route.value;
      const { level, direction, sure } = params;
      const where = queryTrouble.value ? undefined : query.value;
      return JSON.stringify(drawn === "workflow" ? workflowAsked(params, where) : { level: level ?? "step", direction, where, min_confidence: sure ? Number(sure) : undefined });
    });
    return answerOf(() => {
      const [id, asked] = [sessionId.value, key.value];
      if (id === "") return undefined;
      versionOf(id).value;
      return { key: `${id} ${asked}`, get: (signal) => get("/api/v1/sessions/{id}/graph", { id }, JSON.parse(asked) as Questions["/api/v1/sessions/{id}/graph"], signal) };
    });
  }, [drawn]);
  useEffect(() => () => answer.stop(), [answer]);

  const { data: graph, error, loading } = answer.value;
  const shape = graph && `${graph.level} ${route.value.params["direction"] ?? ""} ${drawn} ${sessionId.value} ${query.value} ${route.value.params["runs"] ?? ""} ${route.value.params["of"] ?? ""}`;
  useEffect(() => {
    // Another graph is looked at from afar; the same one, grown, from where it was.
    camera.value = undefined;
  }, [shape]);

  const view = (): Camera => camera.value ?? (graph ? fitted(graph, size.value.width, size.value.height) : { x: 0, y: 0, zoom: 1 });
  const under = (x: number, y: number) => {
    const { x: left, y: top, zoom } = view();
    return graph && nodeAt(graph, (x - left) / zoom, (y - top) / zoom);
  };
  const choose = (node: PlacedNodeDoc | undefined) => {
    if (!node) return select(undefined);
    const at = node.step_ids.indexOf(selected.value);
    select(node.step_ids[(at + 1) % Math.max(1, node.step_ids.length)]);
  };
  const onWheel = (event: WheelEvent, x: number, y: number) => {
    const { x: left, y: top, zoom } = view();
    if (event.shiftKey) return void (camera.value = { zoom, x: left - (event.deltaX || event.deltaY), y: top });
    const next = clamp(zoom * Math.exp(-event.deltaY * ZOOM_PER_PX), 0.03, 3);
    camera.value = { zoom: next, x: x - ((x - left) / zoom) * next, y: y - ((y - top) / zoom) * next };
  };
  const onPointer = (event: PointerEvent, x: number, y: number) => {
    const held = press.current;
    if (event.type === "pointerdown" && event.button === 0) {
      press.current = { x, y, moved: false };
      (event.currentTarget as HTMLCanvasElement).setPointerCapture(event.pointerId);
    } else if (event.type === "pointermove" && held) {
      if (!held.moved && Math.hypot(x - held.x, y - held.y) < CLICK_PX) return;
      const { x: left, y: top, zoom } = view();
      camera.value = { zoom, x: left + x - held.x, y: top + y - held.y };
      press.current = { x, y, moved: true };
      hover.value = undefined;
    } else if (event.type === "pointerup") {
      press.current = undefined;
      if (held && !held.moved) choose(under(x, y));
    } else if (event.type === "pointermove") {
      const node = under(x, y);
      hover.value = node && { node, x, y };
    } else if (event.type === "pointerleave") hover.value = undefined;
  };
  const onKey = (event: KeyboardEvent) => {
    const { x, y, zoom } = view();
    const moves: Record<string, Camera | undefined> = {
      ArrowLeft: { zoom, x: x + 80, y }, ArrowRight: { zoom, x: x - 80, y }, ArrowUp: { zoom, x, y: y + 80 }, ArrowDown: { zoom, x, y: y - 80 },
      "+": { zoom: zoom * 1.25, x, y }, "=": { zoom: zoom * 1.25, x, y }, "-": { zoom: zoom / 1.25, x, y },
    };
    if (event.key === "0") camera.value = undefined;
    else if (moves[event.key]) camera.value = moves[event.key];
    else return;
    event.preventDefault();
  };

  // A step that was chosen elsewhere is flown to when it is out of sight.
  useEffect(() => {
    const node = graph?.nodes.find((one) => one.step_ids.includes(selected.value));
    if (!node || size.peek().width === 0) return;
    const { x, y, zoom } = view();
    const [cx, cy] = [x + (node.place.x + node.place.width / 2) * zoom, y + (node.place.y + node.place.height / 2) * zoom];
    const { width, height } = size.peek();
    if (cx > 20 && cy > 20 && cx < width - 20 && cy < height - 20) return;
    camera.value = { zoom, x: x + width / 2 - cx, y: y + height / 2 - cy };
  }, [selected.value, graph]);

  const level = route.value.params["level"] ?? "step";
  const direction = route.value.params["direction"] ?? "down";
  return (
    <section ref={box} class="graph" aria-label={drawn === "dag" ? "Graph" : "Workflow"}>
      <div class="tools">
        {drawn === "dag" && <div role="group" aria-label="What a node is" class="choice">{(words.value?.levels ?? []).map((name) => <button key={name} aria-pressed={level === name} onClick={() => setParams({ level: name === "step" ? "" : name })}>{plain(name)}</button>)}</div>}
        {drawn === "workflow" && <RunChoice />}
        <div role="group" aria-label="Direction" class="choice">{["down", "right"].map((name) => <button key={name} aria-pressed={direction === name} onClick={() => setParams({ direction: name === "down" ? "" : name })}>{name}</button>)}</div>
        {drawn === "dag" && <select class="small" aria-label="Links" value={route.value.params["sure"] ?? ""} onChange={(event) => setParams({ sure: event.currentTarget.value })}>{SURE.map(([value, title]) => <option key={value} value={value}>{title}</option>)}</select>}
        <span class="legend">{(graph?.looks ?? []).map((look) => <span key={look}><Swatch look={look} /> {lookTitle(look)}</span>)}</span>
        <span class="grow" />
        {graph && graph.level === "pattern" && route.value.params["of"] && <span class="quiet">{graph.title}</span>}
        {graph && <span class="quiet">{plural(graph.nodes.length, "node")}, {plural(graph.edges.length, "edge")}{loading && " …"}</span>}
        <button class="small" onClick={() => (camera.value = undefined)}>Fit</button>
        <button class="small" title="Save what is seen as a picture" onClick={() => savePicture(box.current, `${drawn}.png`, palette.value.paper)}>PNG</button>
      </div>
      {error ? <Wrong error={error} /> : !graph ? <Loading what={drawn === "dag" ? "the graph" : "the workflow"} /> : graph.nodes.length === 0 ? <Empty title="Nothing to draw"><p>No step is shown with this filter.</p></Empty> : (
        <div class="timeline-box">
          <Canvas label={`${graph.title}: ${plural(graph.nodes.length, "node")}`} size={size} onWheel={onWheel} onPointer={onPointer} onKeyDown={onKey} cursor={hover.value ? "pointer" : "grab"} onDoubleClick={() => (camera.value = undefined)}
            draw={(ctx, { width, height }) => answer.value.data && drawGraph(ctx, { graph: answer.value.data, camera: camera.value ?? fitted(answer.value.data, width, height), colours: palette.value, light: lightOfNode, hasChain: selected.value !== "" && (chain.value?.size ?? 0) > 0, hovered: hover.value?.node.id ?? "", selected: selected.value }, width, height)} />
          {hover.value && <NodeTip {...hover.value} width={size.value.width} height={size.value.height} />}
        </div>
      )}
    </section>
  );
}
