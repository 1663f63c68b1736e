// What lies over the page: the palette, the sheet of keys, the exports, the question for a token.
import type { ComponentChildren } from "preact";
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { address, get } from "../api/client.ts";
import { moment, plain } from "../logic/words.ts";
import { COMMANDS, isCompareOpen, isExportOpen, isHelpOpen, isPaletteOpen, VIEW_KEYS } from "../state/commands.ts";
import { isDark } from "../state/preferences.ts";
import { go, openSession, query, select, sessionId } from "../state/route.ts";
import { words } from "../state/schema.ts";
import { pictures, savePng, saveSvg } from "../widgets/picture.ts";
import { failed, giveToken, needsToken } from "../state/trouble.ts";

function Dialog({ open, label, children }: { open: Signal<boolean>; label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} aria-label={label} onClose={() => (open.value = false)} onClick={(event) => event.target === box.current && (open.value = false)}>
      {children}
    </dialog>
  );
}

interface Choice {
  title: string;
  note: string;
  run(): void;
}

const PAUSE_MS = 150;
/** So many of each sort are offered. */
const OFFERED = 8;

async function found(text: string): Promise<Choice[]> {
  const id = sessionId.peek();
  const sessions = get("/api/v1/sessions", {}, { q: text, limit: OFFERED }).then(({ sessions: rows }) => rows.map((row) => ({ title: row.title ?? row.id, note: "session", run: () => openSession(row.id) })));
  const steps = id === "" || text === "" ? [] : get("/api/v1/query", {}, { q: text, session: [id], limit: OFFERED }).then(({ sessions: hits }) => hits.flatMap((hit) => hit.steps.map((step) => ({ title: `${step.name ?? plain(step.kind)}  ${step.intent ?? step.preview ?? ""}`, note: step.is_error ? "step, failed" : "step", run: () => select(step.id) }))));
  const settled = await Promise.allSettled([steps, sessions]);
  return settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
}

function Palette() {
  const text = useSignal("");
  const others = useSignal<Choice[]>([]);
  const [at, setAt] = useState(0);
  useEffect(() => {
    const timer = setTimeout(() => void found(text.value).then((choices) => (others.value = choices)), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text.value]);
  const commands = COMMANDS.filter((command) => command.isThere() && command.title.toLowerCase().includes(text.value.toLowerCase()));
  const choices: Choice[] = [...commands.map((command) => ({ title: command.title, note: command.keys, run: command.run })), ...others.value];
  const take = (choice: Choice | undefined) => {
    isPaletteOpen.value = false;
    choice?.run();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(choices.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter") take(choices[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog open={isPaletteOpen} label="Find anything">
      <input autofocus class="palette-text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-label="Find anything" placeholder="A command, a session, or a query such as tool:Bash is:error" value={text.value} onInput={(event) => { text.value = event.currentTarget.value; setAt(0); }} onKeyDown={onKey} />
      <ul id="palette-list" role="listbox" class="palette-list" aria-label="Found">
        {choices.map((choice, n) => <li key={n} role="option" aria-selected={n === at} class={n === at ? "current" : ""} onClick={() => take(choice)}><span>{choice.title}</span><span class="quiet">{choice.note}</span></li>)}
      </ul>
    </Dialog>
  );
}

function Help() {
  return (
    <Dialog open={isHelpOpen} label="Keys">
      <h2>Keys</h2>
      <dl class="keys">
        {COMMANDS.filter((command) => command.keys !== "").map((command) => <div key={command.title}><dt><kbd>{command.keys}</kbd></dt><dd>{command.title}</dd></div>)}
        {VIEW_KEYS.map(([keys, title]) => <div key={title}><dt><kbd>{keys}</kbd></dt><dd>{title}</dd></div>)}
      </dl>
    </Dialog>
  );
}

function Export() {
  const id = sessionId.value;
  const url = (format: string, view: string) => address("/api/v1/sessions/{id}/export", { id }, { format, view, theme: format === "svg" ? (isDark.value ? "dark" : "light") : undefined, where: ["graph", "workflow"].includes(view) ? query.value : undefined });
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
          {(words.value?.formats ?? []).map((format) => (
            <tr key={format.name}>
              <th scope="row">{format.name}</th>
              <td>{format.about}</td>
              <td>{format.views.filter((view) => view !== "process").map((view) => <a key={view} class="small" href={url(format.name, view)} download>{view}</a>)}</td>
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
    const timer = setTimeout(() => void get("/api/v1/sessions", {}, { q: text.value, limit: OFFERED * 3 }).then(({ sessions }) => {
      rows.value = sessions.filter((row) => row.id !== id).map((row) => ({ title: row.title ?? row.id, note: moment(row.started_at), run: () => go({ page: "diff", id: "", params: { a: id, b: row.id } }) }));
    }, failed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text.value]);
  return (
    <Dialog open={isCompareOpen} label="Compare">
      <h2>Compare with</h2>
      <input autofocus class="palette-text" aria-label="Search words in sessions" placeholder="Search words in sessions" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
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
