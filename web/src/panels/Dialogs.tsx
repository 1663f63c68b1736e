// What lies over the page: the palette, the sheet of keys, the exports, the question for a token.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { address, get } from "../api/client.ts";
import { isReport } from "../api/report.ts";
import { heard, sheetParts } from "../logic/keys.ts";
import { moment } from "../logic/words.ts";
import { COMMANDS, isCompareOpen, isExportOpen, isHelpOpen, isPaletteOpen } from "../state/commands.ts";
import { isDark } from "../state/preferences.ts";
import { go, query, route, sessionId, view } from "../state/route.ts";
import { words } from "../state/schema.ts";
import { pictures, savePng, saveSvg } from "../widgets/picture.ts";
import { failed, giveToken, needsToken } from "../state/trouble.ts";
import { Save } from "../widgets/save.tsx";
import { Dialog } from "../widgets/Dialog.tsx";
import { Palette } from "./Palette.tsx";

interface Choice {
  title: string;
  note: string;
  run(): void;
}

const PAUSE_MS = 150;
/** So many of each sort are offered. */
const OFFERED = 8;

function Help() {
  return (
    <Dialog open={isHelpOpen} label="Keys">
      <h2>Keys</h2>
      {sheetParts(heard(route.value.page, view.value)).map((part) => (
        <section key={part.title}>
          <h3>{part.title}</h3>
          <dl class="keys">{part.keys.map(({ shown, title }) => <div key={title}><dt>{shown.map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{title}</dd></div>)}</dl>
        </section>
      ))}
      <h3>Everywhere here</h3>
      <dl class="keys">{COMMANDS.filter((command) => command.keys !== "" && (command.isThere() || command.keys === "Escape")).map((command) => <div key={command.title}><dt><kbd>{command.keys}</kbd></dt><dd>{command.title}</dd></div>)}</dl>
    </Dialog>
  );
}

function Export() {
  const id = sessionId.value;
  const url = (format: string, view: string) => address("/api/v1/sessions/{id}/export", { id }, { format, view, theme: format === "svg" ? (isDark.value ? "dark" : "light") : undefined, where: ["graph", "workflow"].includes(view) ? query.value : undefined });
  const report = (redact: boolean) => address("/api/v1/sessions/{id}/report", { id }, { redact: redact || undefined });
  return (
    <Dialog open={isExportOpen} label="Export">
      {pictures.value.length > 0 && <div class="tools-line on-screen">
        <b>What is on screen</b>
        {pictures.value.map((picture) => picture()).map((one) => [
          <button key={`${one.name} svg`} class="small" onClick={() => saveSvg(one)}>{one.name} as SVG</button>,
          <button key={`${one.name} png`} class="small" onClick={() => savePng(one)}>{one.name} as PNG</button>,
        ])}
      </div>}
      <h2>Export this session</h2>
      <table class="exports">
        <tbody>
          {!isReport && (
            <tr>
              <th scope="row">HTML report</th>
              <td>this page with this session in one file, which needs no server and no network</td>
              <td><Save url={report(false)} failed={failed}>as it is</Save><Save url={report(true)} failed={failed}>secrets masked</Save></td>
            </tr>
          )}
          {(words.value?.formats ?? []).map((format) => (
            <tr key={format.name}>
              <th scope="row">{format.name}</th>
              <td>{format.about}</td>
              <td>{format.views.filter((view) => view !== "process").map((view) => <Save key={view} url={url(format.name, view)} failed={failed}>{view}</Save>)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}

function Compare() {
  const text = useSignal("");
  const rows = useSignal<Choice[]>([]);
  const id = sessionId.value;
  useEffect(() => {
    const timer = setTimeout(() => void get("/api/v1/sessions", {}, isReport ? {} : { q: text.value, limit: OFFERED * 3 }).then(({ sessions }) => {
      rows.value = sessions.filter((row) => row.id !== id).map((row) => ({ title: row.title ?? row.id, note: moment(row.started_at), run: () => go({ page: "diff", id: "", params: { a: id, b: row.id } }) }));
    }, failed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text.value]);
  return (
    <Dialog open={isCompareOpen} label="Compare">
      <h2>Compare with</h2>
      {!isReport && <input autofocus class="palette-text" aria-label="Search words in sessions" placeholder="Search words in sessions" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />}
      <ul class="palette-list">{rows.value.map((row, n) => <li key={n}><button class="link" onClick={() => { isCompareOpen.value = false; row.run(); }}>{row.title}</button><span class="quiet">{row.note}</span></li>)}</ul>
    </Dialog>
  );
}

function Token() {
  const text = useSignal("");
  return (
    <Dialog open={needsToken} label="Token">
      <h2>This server asks for a token</h2>
      <p class="quiet">`unspool token create --scope read` makes one. It is kept until this tab is closed.</p>
      <form onSubmit={(event) => { event.preventDefault(); giveToken(text.value.trim()); }}>
        <input autofocus type="password" aria-label="Token" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} /> <button>Go on</button>
      </form>
    </Dialog>
  );
}

export function Dialogs() {
  return (
    <>
      {isPaletteOpen.value && <Palette />}
      {isHelpOpen.value && <Help />}
      {isExportOpen.value && sessionId.value !== "" && <Export />}
      {isCompareOpen.value && sessionId.value !== "" && <Compare />}
      {needsToken.value && <Token />}
    </>
  );
}
