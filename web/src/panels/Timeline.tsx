// The timeline: lanes per agent, bars per step, arrows between agents, and the range that is marked.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BarDoc, LaneDoc, TimelineArrowDoc, TimelineDoc } from "../api/types.ts";
import { endOf, GUTTER_PX, laneName } from "../logic/lanes.ts";
import { duration, plain, plural } from "../logic/words.ts";
import { preferences } from "../state/preferences.ts";
import { playedNs } from "../state/replay.ts";
import { selectedEdge } from "../state/route.ts";
import { palette } from "../state/schema.ts";
import { chain, lighter, onPath, path, point } from "../state/session.ts";
import { isGrowing, lanes, markedRange, nowNs, spanNs, timeline, widthPx } from "../state/timeline.ts";
import { Canvas, type Size } from "../widgets/Canvas.tsx";
import type { Paper } from "../widgets/paint.ts";
import { RequestTag } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";
import { draw, drawGrowing, type Scene } from "./timeline-draw.ts";
import { scaleOf, useHand, type Hover } from "./timeline-hand.ts";
import { OwnChoice, TimelineTools } from "./TimelineTools.tsx";

function pathDelayMs(first: string | null | undefined): number {
  const begun = path.value.data?.path.started_at;
  return begun && first ? Date.parse(begun) - Date.parse(first) : 0;
}

export function Timeline() {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const hover = useSignal<Hover | undefined>(undefined);
  const scrolled = useSignal(0);
  const hand = useHand(size, hover, scrolled);

  useEffect(() => size.subscribe(({ width }) => {
    if (width > GUTTER_PX) widthPx.value = width - GUTTER_PX;
  }), []);
  // What the pointer leaves is lit no more.
  useEffect(() => () => point(undefined), []);

  const { data, error, loading } = timeline.value;
  if (error && !data) return <Wrong error={error} />;
  if (!data) return loading ? <Loading what="the timeline" /> : null;
  if (data.total_bars === 0 && data.internal_steps > 0) return <Empty title="All steps are the client's own"><p class="quiet">Titles, quota, token counts and the like: nothing of an agent's work.</p><p><OwnChoice data={data} /></p></Empty>;
  if (data.total_bars === 0) return <Empty title="No step has a time"><p>The tree and the graph show them all.</p></Empty>;
  if (data.span_ns === 0 && data.total_bars > 1 && !isGrowing.value) return <Empty title="All steps have the same time"><p class="quiet">Their source tells when, but not what came first. The tree below and the graph show what led to what.</p></Empty>;

  const scene = (current: TimelineDoc): Scene => {
    const { path: isPath, arrows, sure, colouring } = preferences.value;
    const lit = chain.value;
    return {
      timeline: current, lanes: lanes.value.lanes, scale: scaleOf(size.value), scrolled: scrolled.value, spanNs: spanNs.value,
      strip: path.value.data?.strip ?? [], stripAtMs: pathDelayMs(current.first_at),
      arrows, sure, colouring, onPath: isPath ? onPath.value : undefined, light: lighter.value,
      lit: lit && ((seq) => lit.ends.has(seq) || lit.causes.has(seq) || lit.effects.has(seq)),
      hovered: hover.value?.bar?.step_id ?? "", hoveredArrow: hover.value?.arrow, chosenEdge: selectedEdge.value,
      colours: palette.value, playedNs: playedNs.value, isGrowing: isGrowing.value && playedNs.value === undefined, range: markedRange.value,
    };
  };
  const paint = (ctx: Paper, { width, height }: Size) => {
    const current = timeline.value.data;
    if (current) draw(ctx, scene(current), width, height);
  };
  const paintGrowing = (ctx: Paper, { width, height }: Size) => {
    const current = timeline.value.data;
    if (current && isGrowing.value) drawGrowing(ctx, scene(current), nowNs.value, width, height);
  };

  const { bar, arrow, lane } = hover.value ?? {};
  const laneOf = (n: number) => data.lanes[n];
  return (
    <section class="timeline" aria-label="Timeline">
      <TimelineTools data={data} />
      <div class="timeline-box">
        <Canvas name="timeline" background={palette.value.paper} label={`Timeline: ${plural(data.total_bars, "step")} in ${plural(data.lanes.length, "lane")}`} size={size} draw={paint} drawAbove={paintGrowing} {...hand} />
        {hover.value && bar && <BarTip bar={bar} hover={hover.value} width={size.value.width} lane={laneOf(bar.lane)} />}
        {hover.value && arrow && <ArrowTip arrow={arrow} hover={hover.value} width={size.value.width} />}
        {hover.value && lane !== undefined && <LaneTip lane={laneOf(lane)} hover={hover.value} width={size.value.width} />}
      </div>
    </section>
  );
}

const besides = ({ x, y }: Hover, width: number) => ({ ...(x > width - 340 ? { right: `${width - x + 12}px` } : { left: `${x + 14}px` }), top: `${y + 14}px` });

function BarTip({ bar, hover, width, lane }: { bar: BarDoc; hover: Hover; width: number; lane: LaneDoc | undefined }) {
  return (
    <div class="tip" style={besides(hover, width)}>
      {bar.count > 1 ? <b>{plural(bar.count, "step")}</b> : <b>{bar.label}</b>}{bar.request && <> <RequestTag request={bar.request} /></>}
      {bar.detail !== "" && <p>{bar.detail}</p>}
      <p class="quiet">
        {lane && `${lane.agents[bar.agent]?.label ?? laneName(lane)} · `}{duration((endOf(bar, nowNs.value) - bar.from_ns) / 1e6)}
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

/** So many agents of a lane are named. */
const MOST_NAMED = 8;

function LaneTip({ lane, hover, width }: { lane: LaneDoc | undefined; hover: Hover; width: number }) {
  if (!lane) return null;
  return (
    <div class="tip" style={besides(hover, width)}>
      {lane.agents.slice(0, MOST_NAMED).map((agent) => <p key={agent.id}><b>{agent.label}</b> {agent.detail} <span class={agent.status === "failed" ? "errors" : "quiet"}>{plain(agent.status)}</span></p>)}
      {lane.agents.length > MOST_NAMED && <p class="quiet">and {lane.agents.length - MOST_NAMED} more, one after the other</p>}
      <p class="quiet">{lane.errors > 0 && `${plural(lane.errors, "step")} failed · `}click to fold or open the lane</p>
    </div>
  );
}
