// How the contexts of a session's agents grew: tokens in the window at every model call, and where it was compacted.
import { useState } from "preact/hooks";
import type { AgentContextDoc, ContextDoc, ContextPointDoc } from "../api/types.ts";
import { areaPath, linePath, nearest, spread, type Spot } from "../logic/chart.ts";
import { count, duration, plural } from "../logic/words.ts";
import { select, selected } from "../state/route.ts";
import { Partial } from "../widgets/States.tsx";

const WIDTH = 1000;
const HEIGHT = 180;
/** Looks whose colours the lines have, in order of their fullest call. */
const LOOKS = ["model", "tool", "agent", "user", "memory", "run", "control", "other"];

const lookOf = (n: number) => LOOKS[n % LOOKS.length] ?? "other";

interface Line {
  agent: AgentContextDoc;
  spots: Spot<ContextPointDoc>[];
  look: string;
}

function Chart({ lines, most, spanMs, isByTime }: { lines: Line[]; most: number; spanMs: number; isByTime: boolean }) {
  const [near, setNear] = useState<{ line: Line; spot: Spot<ContextPointDoc> } | undefined>(undefined);
  const look = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
    const found = nearest(lines.map((line) => line.spots), x, y);
    const line = found && lines[found.line];
    setNear(found && line ? { line, spot: found.spot } : undefined);
  };
  const chosen = lines.flatMap((line) => line.spots.filter((spot) => spot.of.step_id === selected.value).map((spot) => ({ line, spot })))[0];
  const shown = near ?? chosen;
  const words = shown && `${shown.line.agent.label}: ${count(shown.spot.of.tokens)} tokens at call ${shown.spot.of.call}${shown.spot.of.calls > 1 ? `, the fullest of ${shown.spot.of.calls}` : ""}${shown.spot.of.at_ms === null ? "" : `, +${duration(shown.spot.of.at_ms)}`}`;
  return (
    <figure class="growth">
      <div class="growth-box">
        <span class="growth-most">{count(most)}</span>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Tokens in the context over ${isByTime ? "time" : "calls"}: ${lines.map(({ agent }) => `${agent.label} up to ${count(agent.peak_tokens)}`).join(", ")}`} onMouseMove={look} onMouseLeave={() => setNear(undefined)} onClick={() => near && select(near.spot.of.step_id)}>
          {[0.25, 0.5, 0.75].map((share) => <line key={share} class="growth-grid" x1={0} x2={WIDTH} y1={HEIGHT * share} y2={HEIGHT * share} />)}
          {lines.map(({ agent, spots, look: name }, n) => (
            <g key={agent.agent_id} style={{ color: `var(--look-${name})` }}>
              {n === 0 && <path class="growth-area" d={areaPath(spots, HEIGHT)} />}
              <path class="growth-line" d={linePath(spots)} />
              {agent.compactions.map((cut) => {
                const before = spots.findLast((spot) => spot.of.call <= cut.after_call) ?? spots[0];
                return before && <line key={cut.step_id} class="growth-cut" x1={before.x} x2={before.x} y1={0} y2={HEIGHT}><title>{`Compacted${cut.before_tokens ? ` from ${count(cut.before_tokens)}` : ""}${cut.after_tokens ? ` to ${count(cut.after_tokens)} tokens` : ""}`}</title></line>;
              })}
            </g>
          ))}
          {shown && <line class="growth-at" x1={shown.spot.x} x2={shown.spot.x} y1={0} y2={HEIGHT} />}
        </svg>
        {shown && <i class="growth-dot" style={{ left: `${(100 * shown.spot.x) / WIDTH}%`, top: `${(100 * shown.spot.y) / HEIGHT}%`, background: `var(--look-${shown.line.look})` }} />}
      </div>
      <figcaption class="quiet"><span>0</span><span role="status">{words ?? "Dashed: the context was compacted. Click for the call."}</span><span>{isByTime ? duration(spanMs) : ""}</span></figcaption>
    </figure>
  );
}

export function Context({ context, spanMs }: { context: ContextDoc; spanMs: number }) {
  if (context.agents.length === 0) return <p class="quiet">No call says how many tokens it was given.</p>;
  const most = context.agents[0]?.peak_tokens ?? 0;
  const isByTime = spanMs > 0 && context.agents.every((agent) => agent.points.every((point) => point.at_ms !== null && point.at_ms !== undefined));
  const calls = Math.max(1, ...context.agents.map((agent) => agent.calls));
  const lines = context.agents.map((agent, n): Line => ({
    agent,
    look: lookOf(n),
    spots: spread(agent.points, (point) => (isByTime ? (point.at_ms ?? 0) / spanMs : (point.call - 1) / Math.max(1, calls - 1)), (point) => point.tokens / Math.max(1, most), WIDTH, HEIGHT),
  }));
  return (
    <>
      <Chart lines={lines} most={most} spanMs={spanMs} isByTime={isByTime} />
      <ul class="growth-agents">
        {lines.map(({ agent, look }) => (
          <li key={agent.agent_id}>
            <i class="swatch" style={{ background: `var(--look-${look})` }} /> <b>{agent.label}</b> <span class="quiet growth-about">{agent.detail}</span>
            <span class="grow" />
            <span>{plural(agent.calls, "call")}, up to <button class="link" onClick={() => select(agent.points.find((point) => point.tokens === agent.peak_tokens)?.step_id)}>{count(agent.peak_tokens)}</button></span>
            {agent.compactions.map((cut, n) => <button key={cut.step_id} class="link" onClick={() => select(cut.step_id)}>compaction{agent.compactions.length > 1 ? ` ${n + 1}` : ""}{cut.before_tokens && cut.after_tokens ? ` ${count(cut.before_tokens)} → ${count(cut.after_tokens)}` : ""}</button>)}
          </li>
        ))}
      </ul>
      {context.agents_left_out > 0 && <Partial>{plural(context.agents_left_out, "agent")} with smaller contexts left out (max_context_agents).</Partial>}
    </>
  );
}
