// What of the timeline is shown, and what its colours and lines mean.
import type { TimelineDoc } from "../api/types.ts";
import { count, percent, plural } from "../logic/words.ts";
import { prefer, preferences, type Arrows } from "../state/preferences.ts";
import { lookTitle, palette } from "../state/schema.ts";
import { isFull, markedRange, showFull, showWindow, shownWindow } from "../state/timeline.ts";
import { Swatch } from "../widgets/Small.tsx";
import { TimelineRange } from "./TimelineRange.tsx";

const ARROWS: [keyof Arrows, string, string][] = [
  ["tool", "tools", "Solid: a call and what its result led to"],
  ["spawn", "starts", "Dashed: an agent starts another"],
  ["return", "answers", "Dashed: an agent answers the one that started it"],
  ["other", "other", "Solid: spans in spans, what was said again, what goes on after a cut"],
  ["error", "errors", "Red and dashed: what carries an error"],
];

/** Types of agents with their colours, each once. */
function agentTypes(data: TimelineDoc): [string, number][] {
  return [...new Map(data.lanes.flatMap((lane) => lane.agents.map((agent) => [agent.label, agent.colour] as [string, number])))];
}

/** So many types of agents are named; lanes name them all. */
const MOST_TYPES = 8;

function Legend({ data }: { data: TimelineDoc }) {
  if (preferences.value.colouring === "agent") {
    const types = agentTypes(data);
    return (
      <span class="legend">
        {types.slice(0, MOST_TYPES).map(([name, colour]) => <span key={name}><span class="swatch" style={{ background: palette.value.agent(colour) }} aria-hidden="true" /> {name}</span>)}
        {types.length > MOST_TYPES && <span>and {types.length - MOST_TYPES} more</span>}
      </span>
    );
  }
  const looks = [...new Set(data.bars.map((bar) => bar.look))];
  return <span class="legend">{looks.map((look) => <span key={look}><Swatch look={look} /> {lookTitle(look)}</span>)}</span>;
}

export function ColourChoice() {
  const { colouring } = preferences.value;
  return (
    <label class="check">
      <span class="quiet">colours by</span>
      <select class="small" aria-label="Colours by" value={colouring} onChange={(event) => prefer({ colouring: event.currentTarget.value === "agent" ? "agent" : "kind" })}>
        <option value="kind">kind of step</option>
        <option value="agent">type of agent</option>
      </select>
    </label>
  );
}

/** What held the session up is underlined, if somebody wants that. */
export function PathChoice() {
  const { path } = preferences.value;
  return <label class="check"><input type="checkbox" checked={path} onChange={() => prefer({ path: !path })} /> critical path</label>;
}

function ArrowChoice({ data }: { data: TimelineDoc }) {
  const { arrows, sure } = preferences.value;
  return (
    <div class="tools-line" role="group" aria-label="Arrows">
      <span class="quiet">arrows</span>
      {ARROWS.map(([name, word, title]) => (
        <label key={name} class="check" title={title}>
          <input type="checkbox" checked={arrows[name]} onChange={() => prefer({ arrows: { ...arrows, [name]: !arrows[name] } })} /> <i class={`line line-${name}`} aria-hidden="true" /> {word}
        </label>
      ))}
      <label class="check" title="Arrows that are believed less are hidden; dotted ones are inferred">
        sure <input type="range" aria-label="Least confidence" min="0" max="100" step="5" value={Math.round(sure * 100)} onInput={(event) => prefer({ sure: Number(event.currentTarget.value) / 100 })} /> <output>{sure === 0 ? "any" : `≥ ${Math.round(sure * 100)} %`}</output>
      </label>
      <span class="grow" />
      {data.arrows_left_out > 0 && <span class="quiet" role="status">{plural(data.arrows_left_out, "arrow")} more than `max_arrows`: zoom in</span>}
      {data.arrows_left_out === 0 && data.arrows_too_short > 0 && <span class="quiet" title={`${plural(data.arrows_too_short, "arrow")} (${percent(data.arrows_too_short, data.arrows_too_short + data.arrows.length)}) cannot be seen at this zoom`}>{data.arrows_too_short} too short</span>}
    </div>
  );
}

/** What the client asked for itself: hidden until asked for, and counted. */
export function OwnChoice({ data }: { data: Pick<TimelineDoc, "internal_steps" | "internal_errors"> }) {
  const { internal_steps: steps, internal_errors: errors } = data;
  if (steps === 0) return null;
  const words = `${count(steps)}${isFull.value ? "" : " hidden"}${errors > 0 ? `, ${count(errors)} failed` : ""}`;
  return (
    <label class="check" title="Titles, quota, token counts and the like: requests of the client, not of an agent's work">
      <input type="checkbox" checked={isFull.value} onChange={() => showFull(!isFull.value)} /> client's own <span class={errors > 0 ? "errors" : "quiet"}>({words})</span>
    </label>
  );
}

export function TimelineTools({ data }: { data: TimelineDoc }) {
  const { fold } = preferences.value;
  return (
    <div class="tools">
      <Legend data={data} />
      <span class="grow" />
      {data.untimed_steps > 0 && <span class="quiet">{plural(data.untimed_steps, "step")} without a time</span>}
      <OwnChoice data={data} />
      <ColourChoice />
      <PathChoice />
      {data.idle.length > 0 && <label class="check" title="Long stretches in which nothing happened are drawn short"><input type="checkbox" checked={fold} onChange={() => prefer({ fold: !fold })} /> fold gaps</label>}
      <button class="small" onClick={() => showWindow(undefined)} disabled={!shownWindow.value}>Whole session</button>
      {markedRange.value ? <TimelineRange /> : <ArrowChoice data={data} />}
    </div>
  );
}
