// One session: what it was, and its views, which all show the same choice and the same filter.
import { useEffect, useState } from "preact/hooks";
import { VIEWS, type View } from "../logic/route.ts";
import { count, duration, moment, plain, plural, sessionCost, sessionTokens, shortPath } from "../logic/words.ts";
import { isCompareOpen, isExportOpen } from "../state/commands.ts";
import { preferences, prefer } from "../state/preferences.ts";
import { openList, query, replaceParams, selectedEdge, setParams, view } from "../state/route.ts";
import { palette } from "../state/schema.ts";
import { line, path, queryTrouble, wanted } from "../state/session.ts";
import { lanesPx } from "../state/timeline.ts";
import { Fact, SplitBar, Status } from "../widgets/Small.tsx";
import { Wrong } from "../widgets/States.tsx";
import { Detail } from "./Detail.tsx";
import { Graph } from "./Graph.tsx";
import { Replay } from "./Replay.tsx";
import { splitShares } from "./split.ts";
import { Stats } from "./Stats.tsx";
import { Timeline } from "./Timeline.tsx";
import { Tree } from "./Tree.tsx";
import { Why } from "./Why.tsx";

const PAUSE_MS = 250;
/** Of the timeline, beside its lanes: tools, map and ruler. */
const TIMELINE_BESIDE_PX = 112;

function Header() {
  const { data: row } = line.value;
  const split = path.value.data?.path.split;
  if (!row) return <header class="session-head"><div class="skeleton" /></header>;
  const { tokens } = row;
  return (
    <header class="session-head">
      <div class="session-title">
        <h1 title={row.title ?? row.id}>{row.title ?? row.native_ids[0] ?? row.id}</h1>
        <Status status={row.status} />
      </div>
      <dl class="facts">
        <Fact name="took">{duration(row.duration_ms)}</Fact>
        <Fact name="steps">{count(row.steps)}</Fact>
        <Fact name="agents">{count(row.agents)}</Fact>
        <Fact name="errors">{row.errors > 0 ? <button class="link errors" onClick={() => setParams({ q: "is:error" })}>{count(row.errors)}</button> : "0"}</Fact>
        <Fact name="tokens" title={`${count(tokens.input)} in · ${count(tokens.cache_read)} read from cache · ${count(tokens.cache_write)} written to cache · ${count(tokens.output)} out · ${count(tokens.reasoning)} thinking${row.uncounted_calls > 0 ? ` · ${plural(row.uncounted_calls, "call")} reported none` : ""}`}>{sessionTokens(row)}</Fact>
        <Fact name="cost">{sessionCost(row)}</Fact>
      </dl>
      <SplitBar label="Time" shares={split ? splitShares(split, palette.value) : []}>
        <span class="grow" />
        <span class="session-from" title={row.cwd ?? ""}>{moment(row.started_at)}{row.cwd && ` · ${shortPath(row.cwd)}`} · {row.formats.join(", ")}</span>
      </SplitBar>
    </header>
  );
}

function Filter() {
  const [text, setText] = useState(query.value);
  useEffect(() => setText(query.value), [query.value]);
  useEffect(() => {
    if (text === query.peek()) return;
    const timer = setTimeout(() => replaceParams({ q: text }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const trouble = queryTrouble.value;
  const at = trouble?.position;
  return (
    <div class="filter">
      <input type="search" id="search" class={trouble ? "wrong" : ""} aria-invalid={trouble !== undefined} aria-label="Filter steps" placeholder="Filter steps: tool:Bash is:error, duration>5s, under:agent:Explore" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      {trouble ? <span class="filter-note errors" role="alert">{trouble.message}{at !== undefined && ` (at letter ${at + 1}${text[at] ? `: “${text.slice(at, at + Math.max(1, trouble.length ?? 1))}”` : ""})`}{trouble.hint && `: ${trouble.hint}`}</span> : wanted.value && <span class="filter-note quiet" role="status">{plural(wanted.value.size, "step")}</span>}
    </div>
  );
}

function Main({ shown }: { shown: View }) {
  switch (shown) {
    case "tree": return <Tree />;
    case "graph": return <Graph key="dag" drawn="dag" />;
    case "workflow": return <Graph key="workflow" drawn="workflow" />;
    case "stats": return <Stats />;
    default: return <div class="both" style={{ gridTemplateRows: `minmax(150px, min(52%, ${lanesPx.value + TIMELINE_BESIDE_PX}px)) minmax(0, 1fr)` }}><Timeline /><Tree /></div>;
  }
}

function Divider() {
  const drag = (event: PointerEvent) => {
    if (event.buttons !== 1) return;
    prefer({ detailPx: Math.max(280, Math.min(innerWidth - 400, innerWidth - event.clientX)) });
  };
  const key = (event: KeyboardEvent) => {
    const by = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (by !== undefined) prefer({ detailPx: Math.max(280, Math.min(innerWidth - 400, preferences.value.detailPx + by)) });
  };
  return <div class="divider" role="separator" aria-orientation="vertical" aria-label="Width of the step's panel" aria-valuenow={preferences.value.detailPx} aria-valuemin={280} aria-valuemax={2000} tabIndex={0} onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)} onPointerMove={drag} onKeyDown={key} />;
}

export function Session() {
  const error = line.value.error;
  if (error && !line.value.data) {
    return <main class="session"><Wrong error={error} /><p class="state"><button onClick={openList}>All sessions</button></p></main>;
  }
  const shown = view.value;
  return (
    <main class="session">
      <Header />
      <nav class="session-bar" aria-label="Views">
        <div role="tablist" class="tabs">{VIEWS.map((name, n) => <button key={name} role="tab" aria-selected={shown === name} title={`Key ${n + 1}`} onClick={() => setParams({ view: name === "timeline" ? "" : name })}>{plain(name)}</button>)}</div>
        <Filter />
        <Replay />
        <button onClick={() => (isCompareOpen.value = true)}>Compare…</button>
        <button onClick={() => (isExportOpen.value = true)}>Export…</button>
      </nav>
      <div class="session-body" style={{ gridTemplateColumns: `minmax(0, 1fr) 5px ${preferences.value.detailPx}px` }}>
        <div class="session-main"><Main shown={shown} /></div>
        <Divider />
        {selectedEdge.value !== "" ? <Why /> : <Detail />}
      </div>
    </main>
  );
}
