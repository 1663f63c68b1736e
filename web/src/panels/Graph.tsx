// The graph of what led to what, and the workflow behind it: boxes and ways as the server placed them.
import { computed, useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { get, type ApiError } from "../api/client.ts";
import type { PlacedGraphDoc, PlacedNodeDoc, Questions } from "../api/types.ts";
import { anchored, between, fitted, flownTo, nodeAt, type Camera } from "../logic/camera.ts";
import { clamp } from "../logic/scale.ts";
import { plain, plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { foldAgent, graphLevel, openAgents, showLevel, shutAgents } from "../state/graph.ts";
import { versionOf } from "../state/live.ts";
import { preferences } from "../state/preferences.ts";
import { isLater, playedMs } from "../state/replay.ts";
import { query, route, select, selected, sessionId, setParams } from "../state/route.ts";
import { lookTitle, palette, words } from "../state/schema.ts";
import { chain, lighter, point, queryTrouble, type Light, type Lighter } from "../state/session.ts";
import { timeline } from "../state/timeline.ts";
import { Canvas, type Size } from "../widgets/Canvas.tsx";
import { Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";
import { drawGraph } from "./graph-draw.ts";
import { NodeTip } from "./NodeTip.tsx";
import { RunChoice, workflowAsked } from "./RunChoice.tsx";
import { ColourChoice } from "./TimelineTools.tsx";

const CLICK_PX = 4;
const SURE = [["", "all links"], ["0.8", "80 % sure"], ["1", "sure links"]] as const;
const ZOOM_PER_PX = 0.0015;
const LEAST_ZOOM = 0.01;

interface Hover {
  node: PlacedNodeDoc;
  x: number;
  y: number;
}

function lightOfNode(node: PlacedNodeDoc, light: Lighter): Light {
  const first = timeline.value.data?.first_at;
  if (playedMs.value !== undefined && first && node.started_at && isLater(Date.parse(node.started_at) - Date.parse(first))) return "dim";
  let best: Light = node.step_ids.length === 0 ? "plain" : "dim";
  for (let n = 0; n < node.step_ids.length; n += 1) {
    const one = light(node.step_ids[n] ?? "", node.seqs[n] ?? -1);
    if (one === "selected") return one;
    if (one === "chain" || best === "dim") best = one;
  }
  return best;
}

type Question = Questions["/api/v1/sessions/{id}/graph"];

const PAUSE_MS_PER_NODE = 1;
const LONGEST_PAUSE_MS = 5_000;
const FLIGHT_MS = 260;
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

export function Graph({ drawn }: { drawn: "dag" | "workflow" }) {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const camera = useSignal<Camera | undefined>(undefined);
  const hover = useSignal<Hover | undefined>(undefined);
  const turn = useSignal(0);
  const flight = useRef(0);
  const seen = useRef<{ shape: string; graph: PlacedGraphDoc } | undefined>(undefined);
  const press = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);
  const answer = useMemo(() => {
    // Only what the graph depends on: choosing a step asks for nothing.
    const key = computed(() => {
      const { params } = route.value;
      const { direction, sure } = params;
      const where = queryTrouble.value ? undefined : query.value;
      return JSON.stringify(drawn === "workflow" ? workflowAsked(params, where) : { level: graphLevel(), direction, where, open: openAgents(), shut: shutAgents(), min_confidence: sure ? Number(sure) : undefined });
    });
    return answerOf(() => {
      const [id, asked] = [sessionId.value, key.value];
      if (id === "") return undefined;
      turn.value;
      const question = JSON.parse(asked) as Question;
      // Agents that are folded or opened leave it the same graph.
      const shape = JSON.stringify({ ...question, open: [], shut: [] });
      return { key: id, part: asked, get: async (signal) => ({ shape, graph: await get("/api/v1/sessions/{id}/graph", { id }, question, signal) }) };
    });
  }, [drawn]);
  useEffect(() => () => answer.stop(), [answer]);
  // A graph of many nodes is asked for again less often, so that it can be moved while the session goes on.
  useEffect(() => {
    let waiting = 0;
    let known = versionOf(sessionId.value).peek();
    const stop = versionOf(sessionId.value).subscribe((version) => {
      if (version === known || waiting !== 0) return;
      waiting = window.setTimeout(() => {
        waiting = 0;
        known = versionOf(sessionId.peek()).peek();
        turn.value += 1;
      }, Math.min(LONGEST_PAUSE_MS, (answer.peek().data?.graph.nodes.length ?? 0) * PAUSE_MS_PER_NODE));
    });
    return () => {
      stop();
      window.clearTimeout(waiting);
    };
  }, [answer, sessionId.value]);

  const { data, error, loading } = answer.value;
  const graph = data?.graph;
  useEffect(() => {
    if (!data) return;
    const before = seen.current;
    seen.current = data;
    // Another graph is looked at from afar. The same one, grown or folded, is looked at from where it was: what is in the middle stays there.
    if (before?.shape !== data.shape) camera.value = undefined;
    else if (before.graph !== data.graph) {
      const { width, height } = size.peek();
      camera.value = anchored(before.graph, data.graph, camera.peek() ?? fitted(before.graph, width, height), width, height);
    }
  }, [data]);
  useEffect(() => () => {
    cancelAnimationFrame(flight.current);
    point(undefined);
  }, []);
  const lights = useComputed(() => {
    const light = lighter.value;
    return (answer.value.data?.graph.nodes ?? []).map((node) => lightOfNode(node, light));
  });

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
    cancelAnimationFrame(flight.current);
    const next = clamp(zoom * Math.exp(-event.deltaY * ZOOM_PER_PX), LEAST_ZOOM, 3);
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
      leave();
    } else if (event.type === "pointerup") {
      press.current = undefined;
      if (held && !held.moved) choose(under(x, y));
    } else if (event.type === "pointermove") {
      const node = under(x, y);
      if (node || hover.peek()) hover.value = node && { node, x, y };
      point(node && (node.kind === "agent" && node.id.startsWith("a") ? [node.id] : node.step_ids));
    } else if (event.type === "pointerleave") leave();
  };
  const leave = () => {
    hover.value = undefined;
    point(undefined);
  };
  const fold = (x: number, y: number) => {
    const node = under(x, y);
    const agent = graph && agentAt(graph, node, view(), x, y);
    if (!agent || drawn === "workflow") camera.value = undefined;
    else foldAgent(agent, node?.id !== agent);
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
    const { width, height } = size.peek();
    const from = view();
    const to = node && width > 0 ? flownTo(from, node.place, width, height) : undefined;
    if (!to) return;
    cancelAnimationFrame(flight.current);
    const begun = performance.now();
    const fly = () => {
      const share = isCalm.matches ? 1 : clamp((performance.now() - begun) / FLIGHT_MS, 0, 1);
      camera.value = between(from, to, share);
      if (share < 1) flight.current = requestAnimationFrame(fly);
    };
    fly();
  }, [selected.value, graph, size.value.width > 0]);

  const chosen = graph?.nodes.find((node) => node.step_ids.includes(selected.value));
  return (
    <section class="graph" aria-label={drawn === "dag" ? "Graph" : "Workflow"}>
      <GraphTools drawn={drawn} graph={graph} loading={loading} chosen={chosen} fit={() => (camera.value = undefined)} />
      {error && !loading ? <TooMuch error={error} drawn={drawn} /> : !graph ? <Loading what={drawn === "dag" ? "the graph" : "the workflow"} /> : graph.nodes.length === 0 ? <Empty title="Nothing to draw"><p>No step is shown with this filter.</p></Empty> : (
        <div class="timeline-box">
          <Canvas name={drawn === "dag" ? "graph" : "workflow"} background={palette.value.paper} label={`${graph.title}: ${plural(graph.nodes.length, "node")}`} size={size} onWheel={onWheel} onPointer={onPointer} onKeyDown={onKey} cursor={hover.value ? "pointer" : "grab"} onDoubleClick={(_, x, y) => fold(x, y)}
            draw={(ctx, { width, height }) => answer.value.data && drawGraph(ctx, { graph: answer.value.data.graph, camera: camera.value ?? fitted(answer.value.data.graph, width, height), colours: palette.value, colouring: preferences.value.colouring, lights: lights.value, hasChain: chain.value !== undefined, hovered: hover.value?.node.id ?? "", selected: selected.value }, width, height)} />
          {hover.value && <NodeTip {...hover.value} width={size.value.width} height={size.value.height} />}
        </div>
      )}
    </section>
  );
}

/** The agent that a double click means: a node that is one, or the innermost box around the place. */
function agentAt(graph: PlacedGraphDoc, node: PlacedNodeDoc | undefined, { x: left, y: top, zoom }: Camera, x: number, y: number): string | undefined {
  if (node?.kind === "agent") return node.id;
  const [px, py] = [(x - left) / zoom, (y - top) / zoom];
  return graph.groups.findLast(({ place }) => px >= place.x && px <= place.x + place.width && py >= place.y && py <= place.y + place.height)?.id;
}

/** What is refused because it is too large, with the next coarser level to go to. */
function TooMuch({ error, drawn }: { error: ApiError; drawn: "dag" | "workflow" }) {
  const levels = words.value?.levels ?? [];
  const coarser = error.code === "too_many_nodes" && drawn === "dag" ? levels[levels.indexOf(graphLevel()) + 1] : undefined;
  return (
    <>
      <Wrong error={error} />
      {coarser && <p class="state"><button onClick={() => showLevel(coarser)}>Show a node per {plain(coarser)}</button></p>}
    </>
  );
}

interface ToolsProps {
  drawn: "dag" | "workflow";
  graph: PlacedGraphDoc | undefined;
  loading: boolean;
  chosen: PlacedNodeDoc | undefined;
  fit(): void;
}

function GraphTools({ drawn, graph, loading, chosen, fit }: ToolsProps) {
  const level = graphLevel();
  const direction = route.value.params["direction"] ?? "down";
  const isChanged = openAgents().length > 0 || shutAgents().length > 0;
  const agent = chosen?.kind === "agent" ? chosen.id : chosen?.group_id;
  return (
    <div class="tools">
      {drawn === "dag" && <div role="group" aria-label="What a node is" class="choice">{(words.value?.levels ?? []).map((name) => <button key={name} aria-pressed={level === name} onClick={() => showLevel(name)}>{plain(name)}</button>)}</div>}
      {drawn === "dag" && <div role="group" aria-label="Agents" class="choice">
        <button aria-pressed={level === "agent" && !isChanged} onClick={() => showLevel("agent")} title="One node per agent">aggregated</button>
        <button aria-pressed={level === "step" && !isChanged} onClick={() => showLevel("step")} title="One node per step">expanded</button>
      </div>}
      {drawn === "dag" && agent && level !== "run" && <button class="small" onClick={() => foldAgent(agent, chosen?.id !== agent)} title="Or double-click the agent">{chosen?.id === agent ? "Expand" : "Fold"} this agent</button>}
      {drawn === "workflow" && <RunChoice />}
      <div role="group" aria-label="Direction" class="choice">{["down", "right"].map((name) => <button key={name} aria-pressed={direction === name} onClick={() => setParams({ direction: name === "down" ? "" : name })}>{name}</button>)}</div>
      {drawn === "dag" && <select class="small" aria-label="Links" value={route.value.params["sure"] ?? ""} onChange={(event) => setParams({ sure: event.currentTarget.value })}>{SURE.map(([value, title]) => <option key={value} value={value}>{title}</option>)}</select>}
      <span class="legend">{(preferences.value.colouring === "agent" ? [] : (graph?.looks ?? [])).map((look) => <span key={look}><Swatch look={look} /> {lookTitle(look)}</span>)}</span>
      <span class="grow" />
      {graph && graph.level === "pattern" && route.value.params["of"] && <span class="quiet">{graph.title}</span>}
      {graph && <span class="quiet">{plural(graph.nodes.length, "node")}, {plural(graph.edges.length, "edge")}{loading && " …"}</span>}
      <ColourChoice />
      <button class="small" onClick={fit}>Fit</button>
    </div>
  );
}
