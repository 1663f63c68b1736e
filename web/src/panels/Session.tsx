// One session: what it was, and its views, which all show the same choice and the same filter.
import { VIEWS, type View } from "../logic/route.ts";
import { plain } from "../logic/words.ts";
import { isCompareOpen, isExportOpen } from "../state/commands.ts";
import { preferences, prefer } from "../state/preferences.ts";
import { hasOthers } from "../state/report.ts";
import { openList, selectedEdge, showView, view } from "../state/route.ts";
import { line } from "../state/session.ts";
import { lanesPx } from "../state/timeline.ts";
import { Wrong } from "../widgets/States.tsx";
import { Detail } from "./Detail.tsx";
import { Graph } from "./Graph.tsx";
import { Header } from "./Header.tsx";
import { QueryBox } from "./QueryBox.tsx";
import { Replay } from "./Replay.tsx";
import { Runs } from "./Runs.tsx";
import { Stats } from "./Stats.tsx";
import { Timeline } from "./Timeline.tsx";
import { Tree } from "./Tree.tsx";
import { Link } from "./Link.tsx";

/** Of the timeline, beside its lanes: tools, map and ruler. */
const TIMELINE_BESIDE_PX = 112;

function Main({ shown }: { shown: View }) {
  switch (shown) {
    case "tree": return <Tree />;
    case "graph": return <Graph key="dag" drawn="dag" />;
    case "workflow": return <Graph key="workflow" drawn="workflow" />;
    case "runs": return <Runs />;
    case "stats": return <Stats />;
    default: return <div class="both" style={{ gridTemplateRows: `minmax(150px, min(52%, ${lanesPx.value + TIMELINE_BESIDE_PX}px)) minmax(0, 1fr)` }}><Timeline /><Tree /></div>;
  }
}

/** On large screens everything is drawn larger; pointers tell pixels of the screen. */
const zoom = () => (document.body as { currentCSSZoom?: number }).currentCSSZoom ?? 1;

function Divider() {
  const drag = (event: PointerEvent) => {
    if (event.buttons !== 1) return;
    const [room, at] = [innerWidth / zoom(), event.clientX / zoom()];
    prefer({ detailPx: Math.max(280, Math.min(room - 400, room - at)) });
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
        <div role="tablist" class="tabs">{VIEWS.map((name, n) => <button key={name} role="tab" aria-selected={shown === name} title={`Key ${n + 1}`} onClick={() => showView(name)}>{plain(name)}</button>)}</div>
        <QueryBox />
        <Replay />
        {hasOthers() && <button onClick={() => (isCompareOpen.value = true)}>Compare…</button>}
        <button onClick={() => (isExportOpen.value = true)}>Export…</button>
      </nav>
      <div class="session-body" style={{ gridTemplateColumns: `minmax(0, 1fr) 5px ${preferences.value.detailPx}px` }}>
        <div class="session-main"><Main shown={shown} /></div>
        <Divider />
        {selectedEdge.value !== "" ? <Link /> : <Detail />}
      </div>
    </main>
  );
}
