// The graph of what led to what, and the workflow behind it: boxes and ways as the server placed them.
import { computed, useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { get } from "../api/client.ts";
import { readInPieces } from "../api/pieces.ts";
import type { PlacedEdgeDoc, PlacedGraphDoc, PlacedNodeDoc, Questions } from "../api/types.ts";
import { fitted, nodeAt, zoomedAt, type Camera } from "../logic/camera.ts";
import { actOf, type Act } from "../logic/keys.ts";
import type { Light } from "../logic/light.ts";
import { clamp } from "../logic/scale.ts";
import { plain, plural } from "../logic/words.ts";
import { edgeAt } from "../logic/ways.ts";
import { answerOf } from "../state/answers.ts";
import { foldAgent, graphLevel, openAgents, shutAgents } from "../state/graph.ts";
import { versionOf } from "../state/live.ts";
import { preferences } from "../state/preferences.ts";
import { isLater, playedMs } from "../state/replay.ts";
import { query, route, select, selected, selectedEdge, selectLink, sessionId } from "../state/route.ts";
import { palette } from "../state/schema.ts";
import { chain, lighter, onPath, point, queryTrouble, type Lighter } from "../state/session.ts";
import { isFull, timeline } from "../state/timeline.ts";
import { Canvas, type Size } from "../widgets/Canvas.tsx";
import { Empty, Loading } from "../widgets/States.tsx";
import { useCamera } from "./graph-camera.ts";
import { drawGraph } from "./graph-draw.ts";
import { NodeTip } from "./NodeTip.tsx";
import { Coarser, GraphTools, TooMuch } from "./GraphTools.tsx";
import { workflowAsked } from "./RunChoice.tsx";

const CLICK_PX = 4;
/** A press that is nearer hits an arrow. */
const NEAR_PX = 6;
const ZOOM_PER_PX = 0.0015;
const LEAST_ZOOM = 0.01;
const MOST_ZOOM = 3;
/** Keys move by so much. */
const KEY_PX = 80;

interface Hover {
  node?: PlacedNodeDoc | undefined;
  edge?: PlacedEdgeDoc | undefined;
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

export function Graph({ drawn }: { drawn: "dag" | "workflow" }) {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const hover = useSignal<Hover | undefined>(undefined);
  const turn = useSignal(0);
  const press = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);
  const answer = useMemo(() => {
    // Only what the graph depends on: choosing a step asks for nothing.
    const key = computed(() => {
      const { params } = route.value;
      const { direction, sure } = params;
      const where = queryTrouble.value ? undefined : query.value;
      return JSON.stringify(drawn === "workflow" ? workflowAsked(params, where) : { level: graphLevel(), direction, where, open: openAgents(), shut: shutAgents(), min_confidence: sure ? Number(sure) : undefined, full: isFull.value || undefined, fit: true, all_steps: true });
    });
    return answerOf(() => {
      const [id, asked] = [sessionId.value, key.value];
      if (id === "") return undefined;
      turn.value;
      const question = JSON.parse(asked) as Question;
      // Agents that are folded or opened leave it the same graph.
      const shape = JSON.stringify({ ...question, open: [], shut: [] });
      return { key: id, part: asked, get: async (signal) => ({ shape, graph: await get("/api/v1/sessions/{id}/graph", { id }, question, signal, readInPieces) }) };
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
  const { camera, view, moveTo } = useCamera(data, size);
  useEffect(() => () => point(undefined), []);
  const lights = useComputed(() => {
    const light = lighter.value;
    return (answer.value.data?.graph.nodes ?? []).map((node) => lightOfNode(node, light));
  });

  const isOnPath = useComputed(() => {
    const [is, positions] = [drawn === "dag" && preferences.value.path, onPath.value];
    return is ? (answer.value.data?.graph.nodes ?? []).map((node) => node.seqs.some((seq) => positions.has(seq))) : [];
  });

  const under = (x: number, y: number) => {
    const { x: left, y: top, zoom } = view();
    return graph && nodeAt(graph, (x - left) / zoom, (y - top) / zoom);
  };
  const arrowUnder = (x: number, y: number) => {
    const { x: left, y: top, zoom } = view();
    return graph && edgeAt(graph, (x - left) / zoom, (y - top) / zoom, NEAR_PX / zoom);
  };
  const choose = (x: number, y: number) => {
    const node = under(x, y);
    const link = node ? undefined : arrowUnder(x, y)?.link;
    if (link) return selectLink(link);
    if (!node) return select(undefined);
    const at = node.step_ids.indexOf(selected.value);
    select(node.step_ids[(at + 1) % Math.max(1, node.step_ids.length)]);
  };
  const onWheel = (event: WheelEvent, x: number, y: number) => {
    const { x: left, y: top, zoom } = view();
    if (event.shiftKey) return moveTo({ zoom, x: left - (event.deltaX || event.deltaY), y: top });
    moveTo(zoomedAt(view(), clamp(zoom * Math.exp(-event.deltaY * ZOOM_PER_PX), LEAST_ZOOM, MOST_ZOOM), x, y));
  };
  const onPointer = (event: PointerEvent, x: number, y: number) => {
    const held = press.current;
    if (event.type === "pointerdown" && event.button === 0) {
      press.current = { x, y, moved: false };
      (event.currentTarget as HTMLCanvasElement).setPointerCapture(event.pointerId);
    } else if (event.type === "pointermove" && held) {
      if (!held.moved && Math.hypot(x - held.x, y - held.y) < CLICK_PX) return;
      const { x: left, y: top, zoom } = view();
      moveTo({ zoom, x: left + x - held.x, y: top + y - held.y });
      press.current = { x, y, moved: true };
      leave();
    } else if (event.type === "pointerup") {
      press.current = undefined;
      if (held && !held.moved) choose(x, y);
    } else if (event.type === "pointermove") {
      const node = under(x, y);
      const edge = node ? undefined : arrowUnder(x, y);
      if (node || edge || hover.peek()) hover.value = node || edge ? { node, edge, x, y } : undefined;
      point(edge?.link ? [edge.link] : node && (node.kind === "agent" && node.id.startsWith("a") ? [node.id] : node.step_ids));
    } else if (event.type === "pointerleave") leave();
  };
  const leave = () => {
    hover.value = undefined;
    point(undefined);
  };
  const fold = (x: number, y: number) => {
    const node = under(x, y);
    const agent = graph && agentAt(graph, node, view(), x, y);
    if (!agent || drawn === "workflow") moveTo(undefined);
    else foldAgent(agent, node?.id !== agent);
  };
  const onKey = (event: KeyboardEvent) => {
    const { x, y, zoom } = view();
    const { width, height } = size.peek();
    const zoomed = (by: number) => zoomedAt(view(), clamp(zoom * by, LEAST_ZOOM, MOST_ZOOM), width / 2, height / 2);
    const moves: Partial<Record<Act, Camera>> = {
      left: { zoom, x: x + KEY_PX, y }, right: { zoom, x: x - KEY_PX, y }, up: { zoom, x, y: y + KEY_PX }, down: { zoom, x, y: y - KEY_PX },
      zoomIn: zoomed(1.25), zoomOut: zoomed(1 / 1.25),
    };
    const act = actOf("graph", event.key);
    if (!act || event.metaKey || event.ctrlKey) return;
    moveTo(moves[act]);
    event.preventDefault();
  };

  const chosen = graph?.nodes.find((node) => node.step_ids.includes(selected.value));
  return (
    <section class="graph" aria-label={drawn === "dag" ? "Graph" : "Workflow"}>
      <GraphTools drawn={drawn} graph={graph} loading={loading} chosen={chosen} fit={() => moveTo(undefined)} />
      {error && !loading ? <TooMuch error={error} /> : !graph ? <Loading what={drawn === "dag" ? "the graph" : "the workflow"} /> : graph.nodes.length === 0 ? <Empty title="Nothing to draw"><p>No step is shown with this filter.</p></Empty> : (
        <>
        <Coarser graph={graph} />
        <div class="timeline-box">
          <Canvas name={drawn === "dag" ? "graph" : "workflow"} background={palette.value.paper} label={`${graph.title}: ${plural(graph.nodes.length, "node")}`} size={size} onWheel={onWheel} onPointer={onPointer} onKeyDown={onKey} cursor={hover.value ? "pointer" : "grab"} onDoubleClick={(_, x, y) => fold(x, y)}
            draw={(ctx, { width, height }) => answer.value.data && drawGraph(ctx, { graph: answer.value.data.graph, camera: camera.value ?? fitted(answer.value.data.graph, width, height), colours: palette.value, colouring: preferences.value.colouring, lights: lights.value, onPath: isOnPath.value, hasChain: chain.value !== undefined, hovered: hover.value?.node?.id ?? "", hoveredLink: hover.value?.edge, chosenLink: selectedEdge.value, selected: selected.value }, width, height)} />
          {hover.value?.node && <NodeTip {...hover.value} node={hover.value.node} width={size.value.width} height={size.value.height} />}
          {hover.value?.edge && <EdgeTip edge={hover.value.edge} hover={hover.value} width={size.value.width} />}
        </div>
        </>
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

function EdgeTip({ edge, hover: { x, y }, width }: { edge: PlacedEdgeDoc; hover: Hover; width: number }) {
  return (
    <div class="tip" style={{ ...(x > width - 340 ? { right: `${width - x + 12}px` } : { left: `${x + 14}px` }), top: `${y + 14}px` }}>
      <b>{plain(edge.relation)}</b>{edge.count > 1 && ` ×${edge.count}`} {edge.label}
      <p class="quiet">{edge.inferred ? `inferred, ${Math.round(edge.confidence * 100)} % sure` : "exact"}{edge.is_error && " · carries an error"} · click for why{edge.count > 1 && " the first of them is there"}</p>
    </div>
  );
}
