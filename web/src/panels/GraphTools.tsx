// What of the graph is shown: its level, its direction, which links; and what is said when it is too large.
import type { ApiError } from "../api/client.ts";
import type { PlacedGraphDoc, PlacedNodeDoc } from "../api/types.ts";
import { count, plain, plural } from "../logic/words.ts";
import { foldAgent, graphLevel, openAgents, showLevel, shutAgents } from "../state/graph.ts";
import { preferences } from "../state/preferences.ts";
import { route, setParams, showView } from "../state/route.ts";
import { lookTitle, words } from "../state/schema.ts";
import { Swatch } from "../widgets/Small.tsx";
import { Wrong } from "../widgets/States.tsx";
import { RunChoice } from "./RunChoice.tsx";
import { ColourChoice, OwnChoice, PathChoice } from "./TimelineTools.tsx";

const SURE = [["", "all links"], ["0.8", "80 % sure"], ["1", "sure links"]] as const;

/** A graph that is refused because no level of it is small enough. */
export function TooMuch({ error }: { error: ApiError }) {
  return (
    <>
      <Wrong error={error} />
      {error.code === "too_many_nodes" && <OtherWays />}
    </>
  );
}

function OtherWays() {
  return (
    <p class="state other-ways">
      <button onClick={() => showView("workflow")}>Show the workflow: steps of one name are one node</button>
      <button onClick={() => setParams({ q: "is:error" })}>Only what failed</button>
    </p>
  );
}

/** Says that a coarser level is shown than was asked for, and why. */
export function Coarser({ graph }: { graph: PlacedGraphDoc }) {
  const { instead_of: instead } = graph;
  if (!instead) return null;
  return (
    <div class="tools notice" role="status">
      <span>A node per {plain(instead.level)} would be <b>{count(instead.nodes)} nodes</b>, more than `max_graph_nodes` (20,000): this is a node per {plain(graph.level)}. A filter makes it smaller.</span>
      <span class="grow" />
      <button class="small" onClick={() => setParams({ q: "is:error" })}>Only what failed</button>
      <button class="small" onClick={() => showView("workflow")}>Show the workflow</button>
    </div>
  );
}

interface ToolsProps {
  drawn: "dag" | "workflow";
  graph: PlacedGraphDoc | undefined;
  loading: boolean;
  chosen: PlacedNodeDoc | undefined;
  fit(): void;
}

export function GraphTools({ drawn, graph, loading, chosen, fit }: ToolsProps) {
  const level = graph?.instead_of ? graph.level : graphLevel();
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
      {graph && <OwnChoice data={graph} />}
      <ColourChoice />
      {drawn === "dag" && <PathChoice />}
      <button class="small" onClick={fit}>Fit</button>
    </div>
  );
}
