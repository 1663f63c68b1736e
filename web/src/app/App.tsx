// The frame of every page.
import { Diff } from "../panels/Diff.tsx";
import { Dialogs } from "../panels/Dialogs.tsx";
import { Issues } from "../panels/Issues.tsx";
import { Session } from "../panels/Session.tsx";
import { Sessions } from "../panels/Sessions.tsx";
import { Uploads } from "../panels/Uploads.tsx";
import { isHelpOpen, isPaletteOpen } from "../state/commands.ts";
import { connected } from "../state/live.ts";
import { prefer, preferences, type Theme } from "../state/preferences.ts";
import { go, openList, route } from "../state/route.ts";
import { trouble } from "../state/trouble.ts";

function Live() {
  const is = connected.value;
  if (is === undefined) return <span class="live quiet" role="status">connecting…</span>;
  return <span class={is ? "live on" : "live off"} role="status" title={is ? "What changes is shown as it does" : "The stream broke; nothing is lost, it goes on where it was"}><span class="dot" aria-hidden="true" />{is ? "live" : "reconnecting…"}</span>;
}

function Page() {
  switch (route.value.page) {
    case "session": return <Session />;
    case "issues": return <Issues />;
    case "diff": return <Diff />;
    default: return <Sessions />;
  }
}

export function App() {
  const isList = route.value.page === "sessions";
  const home = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    openList();
  };
  return (
    <>
      <div class="top">
        <a class="brand" href="/" onClick={home}>Unspool</a>
        {!isList && <><span class="quiet" aria-hidden="true">/</span><a href="/" onClick={home}>Sessions</a></>}
        <span class="grow" />
        <Live />
        <a class="small" href="/issues" onClick={(event) => { event.preventDefault(); go({ page: "issues", id: "", params: {} }); }}>Issues</a>
        <button class="small" onClick={() => (isPaletteOpen.value = true)}>Find <kbd>Ctrl K</kbd></button>
        <select class="small" aria-label="Theme" value={preferences.value.theme} onChange={(event) => prefer({ theme: event.currentTarget.value as Theme })}>
          <option value="system">system</option><option value="light">light</option><option value="dark">dark</option>
        </select>
        <a class="small" href="/api/v1/docs" target="_blank" rel="noopener">API</a>
        <button class="small" aria-label="Keys" onClick={() => (isHelpOpen.value = true)}>?</button>
      </div>
      {trouble.value && <div class="trouble" role="alert">{trouble.value.message}{trouble.value.hint && `: ${trouble.value.hint}`} <button class="small" onClick={() => (trouble.value = undefined)}>Close</button></div>}
      <Uploads />
      <Page />
      <Dialogs />
    </>
  );
}
