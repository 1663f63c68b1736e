// The list of sessions: find one, filter, see it change, drop a file.
import { useComputed } from "@preact/signals";
import { useState } from "preact/hooks";
import type { SessionLineDoc } from "../api/types.ts";
import { CHOICES, cleared, FLAGS, isNarrowed, type Choice } from "../logic/filters.ts";
import { actOf, type Act } from "../logic/keys.ts";
import { count, duration, moment, plain, plural, sessionCost, sessionTokens, shortPath } from "../logic/words.ts";
import { currentId, facets, isKnown, isLoading, isReading, listError, needRows, page, reload, unseen } from "../state/sessions.ts";
import { go, openSession, replaceParams, route } from "../state/route.ts";
import { issueAbout } from "../state/schema.ts";
import { chooseFiles } from "../state/uploads.ts";
import { List } from "../widgets/List.tsx";
import { Spark, Status } from "../widgets/Small.tsx";
import { Empty, Wrong } from "../widgets/States.tsx";
import { Start } from "./Start.tsx";

const ROW_PX = 44;
const PAGE_ROWS = 12;
const COLUMNS: { name: string; sort?: string; className: string; about?: string }[] = [
  { name: "Session", sort: "title", className: "c-title" },
  { name: "Activity", className: "c-spark", about: "When its steps began, from its start to its end" },
  { name: "Status", className: "c-status" },
  { name: "Started", sort: "started", className: "c-when" },
  { name: "Took", sort: "duration", className: "c-number" },
  { name: "Steps", sort: "steps", className: "c-number" },
  { name: "Sub-agents", sort: "subagents", className: "c-number" },
  { name: "Errors", sort: "errors", className: "c-number" },
  { name: "Issues", sort: "issues", className: "c-number", about: "What was not understood, not linked or drifted" },
  { name: "Tokens", sort: "tokens", className: "c-number" },
  { name: "Cost", sort: "cost", className: "c-number" },
];

export function openIssues(session: string): void {
  go({ page: "issues", id: "", params: { session } });
}

function plainClick(event: MouseEvent, act: () => void): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  act();
}

function Gaps({ row }: { row: SessionLineDoc }) {
  if (row.gaps.length === 0) return null;
  const about = `Incomplete. ${row.gaps.map(issueAbout).join(" ")}`;
  return <span class="gaps" role="img" aria-label={about} title={about}>◐</span>;
}

function Row({ row, isCurrent }: { row: SessionLineDoc; isCurrent: boolean }) {
  const from = [row.cwd && shortPath(row.cwd), row.models.join(", "), row.formats.map(plain).join(", ")].filter((part) => part);
  return (
    <div class={isCurrent ? "session-row current" : "session-row"}>
      <span class="c-title">
        <a class={row.title ? "row-title" : "row-title quiet"} href={`/sessions/${row.id}`} onClick={(event) => plainClick(event, () => openSession(row.id))} tabIndex={-1}>{row.title ?? row.native_ids[0] ?? row.id}</a>
        <span class="row-sub" title={from.join(" · ")}>{from.join(" · ")}</span>
      </span>
      <span class="c-spark"><Spark shares={row.activity} /></span>
      <span class="c-status"><Status status={row.status} /><Gaps row={row} /></span>
      <span class="c-when">{moment(row.started_at)}</span>
      <span class="c-number">{duration(row.duration_ms)}</span>
      <span class="c-number">{count(row.steps)}</span>
      <span class={row.subagents > 0 ? "c-number" : "c-number quiet"} title={row.agent_types.join(", ")}>{count(row.subagents)}</span>
      <span class="c-number">{row.errors > 0 ? <span class="errors">{count(row.errors)}</span> : <span class="quiet">0</span>}</span>
      <span class="c-number">{row.issues > 0 ? <a class="badge" href={`/issues?session=${row.id}`} title="What was odd in this session" aria-label={plural(row.issues, "issue")} tabIndex={-1} onClick={(event) => plainClick(event, () => openIssues(row.id))}>{count(row.issues)}</a> : <span class="quiet">0</span>}</span>
      <span class="c-number" title={row.uncounted_calls > 0 ? `${plural(row.uncounted_calls, "model call")} reported no tokens` : ""}>{sessionTokens(row)}</span>
      <span class="c-number">{sessionCost(row)}</span>
    </div>
  );
}

function wordsOf(name: string, value: string): string {
  if (name === "cwd") return shortPath(value);
  return name === "min_cost" ? `from $${value}` : name === "model" || name === "agent" ? value : plain(value);
}

function Pick({ choice }: { choice: Choice }) {
  const { name, label, any, fixed } = choice;
  const chosen = route.value.params[name] ?? "";
  const told = facets.value.data?.facets.find((facet) => facet.name === name);
  const options = fixed ? fixed.map(([value, words]) => ({ value, words })) : (told?.values ?? []).map(({ value, sessions }) => ({ value, words: `${wordsOf(name, value)} (${sessions})` }));
  const isMissing = chosen !== "" && !options.some(({ value }) => value === chosen);
  const more = told ? told.different - told.values.length : 0;
  if (!fixed && name === "source" && options.length < 2 && chosen === "") return null;
  return (
    <select class={chosen === "" ? "pick" : "pick chosen"} aria-label={label} title={label} value={chosen} onChange={(event) => replaceParams({ [name]: event.currentTarget.value })}>
      <option value="">{any}</option>
      {isMissing && <option value={chosen}>{wordsOf(name, chosen)}</option>}
      {options.map(({ value, words }) => <option key={value} value={value}>{words}</option>)}
      {more > 0 && <option disabled>{plural(more, "more value")} (max_facet_values)</option>}
    </select>
  );
}

function Filters() {
  const { params } = route.value;
  const { matching, unsearched } = page.value;
  return (
    <div class="filters" role="search">
      <input type="search" id="search" placeholder="Search words in sessions" aria-label="Search words in sessions" value={params["q"] ?? ""} onInput={(event) => replaceParams({ q: event.currentTarget.value })} />
      {CHOICES.map((choice) => <Pick key={choice.name} choice={choice} />)}
      <span class="flags">{FLAGS.map(({ name, label, about }) => <label key={name} class="check" title={about}><input type="checkbox" checked={params[name] === "true"} onChange={(event) => replaceParams({ [name]: event.currentTarget.checked ? "true" : "" })} /> {label}</label>)}</span>
      {isNarrowed(params) && <button class="small" onClick={() => replaceParams(cleared())}>Clear</button>}
      <span class="filters-count" role="status">{isKnown.value ? plural(matching, "session") : ""}{unsearched ? `, ${count(unsearched)} with these words not looked into (max_search_bytes)` : ""}{isLoading.value && isKnown.value ? " …" : ""}</span>
    </div>
  );
}

function Nothing() {
  if (!isNarrowed(route.value.params)) return <Start />;
  return <Empty title="No session matches"><button onClick={() => replaceParams(cleared())}>Clear the filters</button></Empty>;
}

function Heads() {
  const sort = route.value.params["sort"] ?? "started";
  const order = route.value.params["order"] ?? "desc";
  const sortBy = (name: string) => replaceParams({ sort: name === "started" ? "" : name, order: sort === name && order === "desc" ? "asc" : "" });
  return (
    <div class="session-row heads">
      {COLUMNS.map(({ name, sort: by, className, about }) => by
        ? <button key={name} class={`${className} ${sort === by ? "sorted" : ""}`} title={about ?? `Order by ${name.toLowerCase()}`} onClick={() => sortBy(by)}>{name}{sort === by && (order === "desc" ? " ↓" : " ↑")}</button>
        : <span key={name} class={className} title={about}>{name}</span>)}
    </div>
  );
}

function Skeletons() {
  return <div class="list-skeleton" role="status" aria-label="Loading sessions">{Array.from({ length: 12 }, (_, n) => <div key={n} class="session-row"><span class="c-title"><span class="skeleton" /><span class="skeleton short" /></span></div>)}</div>;
}

const MOVES: Partial<Record<Act, (at: number, end: number) => number>> = {
  down: (at) => at + 1,
  up: (at) => at - 1,
  pageDown: (at) => at + PAGE_ROWS,
  pageUp: (at) => at - PAGE_ROWS,
  first: () => 0,
  last: (_, end) => end,
};

function Rows({ rows }: { rows: readonly SessionLineDoc[] }) {
  const at = rows.findIndex(({ id }) => id === currentId.value);
  const [reveal, setReveal] = useState(at < 0 ? undefined : at);
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = actOf("list", event.key);
    const move = act && MOVES[act];
    if (move) {
      const next = Math.max(0, Math.min(rows.length - 1, move(at, rows.length - 1)));
      currentId.value = rows[next]?.id ?? "";
      setReveal(next);
    } else if (act === "take" && rows[at]) openSession(rows[at].id);
    else if (act === "issues" && rows[at]) openIssues(rows[at].id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <List total={page.value.matching} rowPx={ROW_PX} label="Sessions" reveal={reveal} onKeyDown={onKey}
      onSeen={(seen, top) => { isReading.value = top > 4; needRows(seen.end); }}
      row={(n) => rows[n] ? <Row row={rows[n]} isCurrent={n === at} /> : <div class="session-row"><span class="skeleton" /></div>} />
  );
}

export function Sessions() {
  const rows = useComputed(() => page.value.rows).value;
  const error = listError.value;
  // Where there is nothing, nothing can be filtered.
  const isEmpty = isKnown.value && !error && rows.length === 0 && !isNarrowed(route.value.params);
  return (
    <main class="sessions">
      <div class="sessions-head">
        {isEmpty ? <span class="grow" /> : <Filters />}
        <button onClick={chooseFiles}>Open files…</button>
      </div>
      {error && rows.length > 0 && <div class="trouble" role="alert">What is shown may be old: {error.message}{error.hint && `: ${error.hint}`} <button class="small" onClick={reload}>Try again</button></div>}
      {unseen.value > 0 && isReading.value && <button class="unseen" onClick={() => { currentId.value = ""; reload(); }}>{plural(unseen.value, "new session")}: show</button>}
      {error && rows.length === 0 ? <Wrong error={error} retry={reload} /> : !isKnown.value ? <><Heads /><Skeletons /></> : rows.length === 0 ? <Nothing /> : <><Heads /><Rows rows={rows} /></>}
    </main>
  );
}
