// The frame of every page.
import { about, isReport } from "../api/report.ts";
import { moment, plural } from "../logic/words.ts";
import { Diff } from "../panels/Diff.tsx";
import { Dialogs } from "../panels/Dialogs.tsx";
import { Preferences } from "../panels/Preferences.tsx";
import { Issues } from "../panels/Issues.tsx";
import { Notices } from "../panels/Notices.tsx";
import { Reported } from "../panels/Reported.tsx";
import { Session } from "../panels/Session.tsx";
import { Sessions } from "../panels/Sessions.tsx";
import { Uploads } from "../panels/Uploads.tsx";
import { Usage } from "../panels/Usage.tsx";
import { MAX_LOOK_AGAIN_MS, overdue } from "../state/answers.ts";
import { isHelpOpen, isPaletteOpen, isPreferencesOpen } from "../state/commands.ts";
import { connected } from "../state/live.ts";
import { hasOthers } from "../state/report.ts";
import { go, openList, route } from "../state/route.ts";
import { trouble } from "../state/trouble.ts";

function Live() {
  const is = connected.value;
  if (is === undefined) return <span class="live quiet" role="status">connecting…</span>;
  const late = overdue.value;
  if (is && late > 0) return <span class="live off" role="status" title={`${plural(late, "view")} not answered within ${MAX_LOOK_AGAIN_MS / 1000} s (max_look_again_ms) and as old as that; asked for once more`}><span class="dot" aria-hidden="true" />the server is slow…</span>;
  return <span class={is ? "live on" : "live off"} role="status" title={is ? "What changes is shown as it does" : "The stream broke; nothing is lost, it goes on where it was"}><span class="dot" aria-hidden="true" />{is ? "live" : "reconnecting…"}</span>;
}

/** What this file is, in the place of the stream a server has. */
function About() {
  const { masked, asOf } = about;
  return <span class="live quiet" title="Everything shown is in this file; it reaches no network">report{asOf && ` of ${moment(asOf)}`}{masked !== undefined && ` · ${plural(masked, "secret")} masked`}</span>;
}

function Page() {
  switch (route.value.page) {
    case "session": return <Session />;
    case "issues": return <Issues />;
    case "usage": return <Usage />;
    case "diff": return <Diff />;
    default: return isReport ? <Reported /> : <Sessions />;
  }
}

/** Where what is of no one session is shown. */
const PLACES = [["usage", "Usage"], ["issues", "Issues"]] as const;

export function App() {
  const isList = route.value.page === "sessions";
  const home = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    if (hasOthers()) openList();
  };
  return (
    <>
      <div class="top">
        <a class="brand" href="/" onClick={home}>Unspool</a>
        {!isList && hasOthers() && <><span class="quiet" aria-hidden="true">/</span><a href="/" onClick={home}>Sessions</a></>}
        <span class="grow" />
        {isReport ? <About /> : <Live />}
        {!isReport && PLACES.map(([page, title]) => <a key={page} class="small" href={`/${page}`} onClick={(event) => { event.preventDefault(); go({ page, id: "", params: {} }); }}>{title}</a>)}
        <button class="small" onClick={() => (isPaletteOpen.value = true)}>Find <kbd>Ctrl K</kbd></button>
        <button class="small" title="Theme, density, first view (,)" onClick={() => (isPreferencesOpen.value = true)}>Preferences</button>
        {!isReport && <a class="small" href="/api/v1/docs" target="_blank" rel="noopener">API</a>}
        <button class="small" aria-label="Keys" onClick={() => (isHelpOpen.value = true)}>?</button>
      </div>
      {trouble.value && <div class="trouble" role="alert">{trouble.value.message}{trouble.value.hint && `: ${trouble.value.hint}`} <button class="small" onClick={() => (trouble.value = undefined)}>Close</button></div>}
      {!isReport && <Notices />}
      <Uploads />
      <Page />
      <Dialogs />
      {isPreferencesOpen.value && <Preferences />}
    </>
  );
}
