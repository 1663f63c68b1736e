// The list of sessions: find one, filter, see it change, drop a file.
import { useComputed } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import type { SessionLineDoc } from "../api/types.ts";
import { count, duration, moment, plural, sessionCost, sessionTokens, shortPath } from "../logic/words.ts";
import { isKnown, isLoading, isReading, listError, needRows, page, reload, sendFiles, unseen, uploads } from "../state/sessions.ts";
import { openSession, replaceParams, route } from "../state/route.ts";
import { List } from "../widgets/List.tsx";
import { Status } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";

const ROW_PX = 44;
const SORTS = ["started", "ended", "steps", "errors", "tokens", "cost", "title"];
const COLUMNS: { name: string; sort?: string; className: string }[] = [
  { name: "Session", sort: "title", className: "c-title" },
  { name: "Status", className: "c-status" },
  { name: "Started", sort: "started", className: "c-when" },
  { name: "Duration", className: "c-number" },
  { name: "Steps", sort: "steps", className: "c-number" },
  { name: "Agents", className: "c-number" },
  { name: "Errors", sort: "errors", className: "c-number" },
  { name: "Tokens", sort: "tokens", className: "c-number" },
  { name: "Cost", sort: "cost", className: "c-number" },
];

function Row({ row, isCurrent }: { row: SessionLineDoc; isCurrent: boolean }) {
  const open = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    openSession(row.id);
  };
  return (
    <a class={isCurrent ? "session-row current" : "session-row"} href={`/sessions/${row.id}`} onClick={open} tabIndex={-1}>
      <span class="c-title">
        <span class={row.title ? "row-title" : "row-title quiet"}>{row.title ?? row.native_ids[0] ?? row.id}</span>
        <span class="row-sub">
          {row.formats.join(", ")}
          {row.cwd && ` · ${shortPath(row.cwd)}`}
        </span>
      </span>
      <span class="c-status"><Status status={row.status} /></span>
      <span class="c-when">{moment(row.started_at)}</span>
      <span class="c-number">{duration(row.duration_ms)}</span>
      <span class="c-number">{count(row.steps)}</span>
      <span class="c-number">{count(row.agents)}</span>
      <span class="c-number">{row.errors > 0 ? <span class="errors">{count(row.errors)}</span> : <span class="quiet">0</span>}</span>
      <span class="c-number" title={row.uncounted_calls > 0 ? `${plural(row.uncounted_calls, "model call")} reported no tokens` : ""}>
        {sessionTokens(row)}
      </span>
      <span class="c-number">{sessionCost(row)}</span>
    </a>
  );
}

function Filters() {
  const { params } = route.value;
  const set = (name: string) => (event: Event) => replaceParams({ [name]: (event.currentTarget as HTMLInputElement | HTMLSelectElement).value });
  return (
    <div class="filters" role="search">
      <input type="search" id="search" placeholder="Search words in sessions" aria-label="Search words in sessions" value={params["q"] ?? ""} onInput={set("q")} />
      <select aria-label="Status" value={params["status"] ?? ""} onChange={set("status")}>
        <option value="">Any status</option>
        {["running", "completed", "failed", "unknown"].map((status) => <option key={status} value={status}>{status}</option>)}
      </select>
      <select aria-label="Began" value={params["since"] ?? ""} onChange={set("since")}>
        <option value="">Any time</option>
        {["hour", "day", "week", "month"].map((word) => <option key={word} value={word}>last {word}</option>)}
      </select>
      <label class="check"><input type="checkbox" checked={params["errors"] === "true"} onChange={(event) => replaceParams({ errors: event.currentTarget.checked ? "true" : "" })} /> with errors</label>
      <select aria-label="Order" value={params["sort"] ?? ""} onChange={set("sort")}>
        {SORTS.map((sort) => <option key={sort} value={sort === "started" ? "" : sort}>by {sort}</option>)}
      </select>
      <span class="filters-count" role="status">{isKnown.value ? plural(page.value.matching, "session") : ""}{page.value.complete ? "" : ", perhaps more (max_search_bytes)"}{isLoading.value && isKnown.value ? " …" : ""}</span>
    </div>
  );
}

function Uploads() {
  const { busy, done, failed } = uploads.value;
  if (busy === 0 && done.length === 0 && failed.length === 0) return null;
  const clear = () => (uploads.value = { busy: 0, done: [], failed: [] });
  return (
    <div class="uploads" role="status">
      <div>
        {busy > 0 && <p>Sending {plural(busy, "file")}…</p>}
        {done.map((file) => <p key={file.name}>{file.name}: {file.format ? `read as ${file.format}, ${plural(file.records, "record")}` : file.reason}</p>)}
        {failed.map((text) => <p key={text} class="errors">{text}</p>)}
      </div>
      {busy === 0 && <button class="small" onClick={clear}>Close</button>}
    </div>
  );
}

function Nothing() {
  const { q, status, errors, since } = route.value.params;
  if (q || status || errors || since) {
    return (
      <Empty title="No session matches">
        <button onClick={() => replaceParams({ q: "", status: "", errors: "", since: "" })}>Clear the filters</button>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing here yet">
      <p>Drop a transcript, trace or log here, or send some from a terminal:</p>
      <pre class="code">{"unspool demo --write demo        # an example\nunspool serve                    # watches the usual session folders\nunspool hooks install            # Claude Code tells what it does, live\nunspool otel-env                 # what to set so that others send here"}</pre>
      <p class="quiet">Everything stays on this machine.</p>
    </Empty>
  );
}

export function Sessions() {
  const [current, setCurrent] = useState(-1);
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const rows = useComputed(() => page.value.rows).value;
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 12, PageUp: -12 }[event.key];
    if (step !== undefined) setCurrent(Math.max(0, Math.min(rows.length - 1, current + step)));
    else if (event.key === "Enter" && rows[current]) openSession(rows[current].id);
    else return;
    event.preventDefault();
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void sendFiles([...(event.dataTransfer?.files ?? [])]);
  };
  const sort = route.value.params["sort"] ?? "started";
  const order = route.value.params["order"] ?? "desc";
  const sortBy = (name: string) => replaceParams({ sort: name, order: sort === name && order === "desc" ? "asc" : "" });
  return (
    <main class={isOver ? "sessions over" : "sessions"} onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={(event) => event.currentTarget === event.target && setOver(false)} onDrop={drop}>
      <div class="sessions-head">
        <Filters />
        <input ref={input} type="file" multiple hidden onChange={(event) => void sendFiles([...(event.currentTarget.files ?? [])])} />
        <button onClick={() => input.current?.click()}>Open files…</button>
      </div>
      <Uploads />
      {unseen.value > 0 && isReading.value && <button class="unseen" onClick={() => { setCurrent(0); reload(); }}>{plural(unseen.value, "new session")}: show</button>}
      {listError.value ? <Wrong error={listError.value} retry={reload} /> : !isKnown.value ? <Loading what="sessions" /> : rows.length === 0 ? <Nothing /> : (
        <>
          <div class="session-row heads">
            {COLUMNS.map((column) => column.sort
              ? <button key={column.name} class={`${column.className} ${sort === column.sort ? "sorted" : ""}`} onClick={() => sortBy(column.sort ?? "")}>{column.name}{sort === column.sort && (order === "desc" ? " ↓" : " ↑")}</button>
              : <span key={column.name} class={column.className}>{column.name}</span>)}
          </div>
          <List total={page.value.matching} rowPx={ROW_PX} label="Sessions" reveal={current < 0 ? undefined : current} onKeyDown={onKey}
            onSeen={(seen, top) => { isReading.value = top > 4; needRows(seen.end); }}
            row={(n) => rows[n] ? <Row row={rows[n]} isCurrent={n === current} /> : <div class="skeleton" />} />
        </>
      )}
    </main>
  );
}
