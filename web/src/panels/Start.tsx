// Nothing is there yet: what to do next.
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api/client.ts";
import { plural } from "../logic/words.ts";
import { answerOf } from "../state/answers.ts";
import { chooseFiles } from "../state/uploads.ts";
import { Copy } from "../widgets/Small.tsx";

const COMMANDS: readonly { command: string; about: string; takesServer: boolean }[] = [
  { command: "unspool hooks install", about: "Claude Code tells what it does, while it does it", takesServer: true },
  { command: "unspool otel-env codex", about: "what to set so that Codex sends here; also for claude and sdk", takesServer: true },
  { command: "unspool demo", about: "another server, with made-up sessions", takesServer: false },
];
const USUAL = ["127.0.0.1:4680", "localhost:4680"];

/** A server that is not at the usual address has to be named. */
export function serverFlag(): string {
  return USUAL.includes(location.host) ? "" : ` --server ${location.host}`;
}

function commandFor({ command, takesServer }: (typeof COMMANDS)[number]): string {
  return takesServer ? command + serverFlag() : command;
}

function Folders() {
  const health = useMemo(() => answerOf(() => ({ key: "health", get: (signal) => get("/api/v1/health", {}, {}, signal) })), []);
  useEffect(() => () => health.stop(), [health]);
  const { data } = health.value;
  if (!data) return null;
  const folders = data.watched_folders;
  if (!folders) return <p class="quiet">No folder is watched: the server was started with <code>--no-watch</code>.</p>;
  if (folders.length === 0) return <p class="quiet">The usual session folders are watched; none of them is there yet. Run an agent, and its session appears here.</p>;
  return (
    <>
      <p>{plural(folders.length, "folder")} {folders.length === 1 ? "is" : "are"} watched; sessions appear as they are written:</p>
      <ul class="folders">{folders.map((folder) => <li key={folder}><code>{folder}</code></li>)}</ul>
    </>
  );
}

export function Start() {
  return (
    <section class="start" aria-label="What to do next">
      <h2>Nothing here yet</h2>
      <button class="drop-here" onClick={chooseFiles}><b>Drop a transcript, trace or log here</b><span class="quiet">or choose files: anything an agent left behind</span></button>
      <Folders />
      <h3>From a terminal</h3>
      <dl class="start-commands">
        {COMMANDS.map((one) => <div key={one.command}><dt><code>{commandFor(one)}</code></dt><dd class="quiet">{one.about}</dd><dd><Copy text={commandFor(one)} label="Copy" /></dd></div>)}
      </dl>
      <p class="quiet">Everything stays on this machine.</p>
    </section>
  );
}
