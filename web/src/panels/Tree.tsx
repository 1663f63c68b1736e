// The tree: rows of agents and their steps, opened and closed by agent.
import type { AgentRowDoc, StepRowDoc, TreeRowDoc } from "../api/types.ts";
import { actOf, type Act } from "../logic/keys.ts";
import { count, duration, money, plural } from "../logic/words.ts";
import { rowPx } from "../state/preferences.ts";
import { isLater } from "../state/replay.ts";
import { select } from "../state/route.ts";
import { lightOf, numbers } from "../state/session.ts";
import { timeline } from "../state/timeline.ts";
import { closeAll, cursorRow, needTree, onlyAgent, onlyErrors, openAll, openUsual, pathAbove, rowAt, selectedRow, shownStep, toggleAgent, treeAsked, treeError, treeRows } from "../state/tree.ts";
import { List } from "../widgets/List.tsx";
import { Guess, RequestTag, Status, Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";

const INDENT_PX = 16;
/** Single agents that are offered to filter by, beside their types: `max_offered_agents`. */
const MAX_OFFERED_AGENTS = 100;

const MOST_LETTERS = 60;
const shortened = (text: string) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text);

/** What names of agents mean that nobody gave. */
const MEANINGS: Record<string, string> = { main: "The agent that a person talks to", internal: "The client's own work, such as finding a title", agent: "A sub-agent whose type no record names" };

/** The id of a row's element, so that the list can say which one the keyboard is at. */
const rowId = (n: number) => `tree-${n}`;

/** The row the keyboard is at: an agent's, or that of the step that is looked at. */
const current = () => cursorRow.value ?? selectedRow.value;

function usageWords(row: AgentRowDoc): string {
  const { usage, cost_usd: cost } = row.subtree_totals;
  if (!usage) return "";
  return `${count(usage.input)} in · ${count(usage.cache_read)} cached · ${count(usage.cache_write)} written · ${count(usage.output)} out · ${count(usage.reasoning)} thinking${cost ? ` · ${money(cost)}` : ""}`;
}

function AgentRow({ row, n }: { row: AgentRowDoc; n: number }) {
  const sums = row.subtree_totals;
  const isOnPath = pathAbove.value.has(row.id);
  const toggle = () => toggleAgent(row.id, row.closed);
  return (
    <div id={rowId(n)} class={`tree-row agent${isOnPath ? " is-above" : ""}${cursorRow.value === n ? " is-cursor" : ""}`} role="row" aria-expanded={!row.closed} aria-level={row.depth + 1} aria-rowindex={n + 1} onDblClick={toggle}>
      <span role="gridcell" class="tree-text">
        <button class="twist" tabIndex={-1} style={{ marginLeft: `${row.depth * INDENT_PX}px` }} onClick={toggle} aria-label={row.closed ? `Open ${row.label}` : `Close ${row.label}`}>{row.closed ? "▸" : "▾"}</button>
        <b title={MEANINGS[row.label.startsWith("internal ") ? "internal" : row.label]}>{row.label}</b> {row.inferred && <Guess />} <span class="quiet">{row.detail}</span>
      </span>
      <span role="gridcell" class="tree-facts" title={usageWords(row)}>
        <Status status={row.status} />
        <span class="c-small">{sums.errors > 0 ? <span class="errors">{plural(sums.errors, "error")}</span> : ""}</span>
        <span class="c-steps">{plural(sums.steps, "step")}</span>
        <span class="c-small">{row.subtree_tokens ? `${count(row.subtree_tokens)} tok` : ""}</span>
        <span class="c-small">{sums.cost_usd ? money(sums.cost_usd) : ""}</span>
        <span class="c-small strong">{duration(sums.duration_ms)}</span>
      </span>
    </div>
  );
}

function StepRow({ row, n }: { row: StepRowDoc; n: number }) {
  const light = lightOf(row.id, row.seq);
  const isOnPath = pathAbove.value.has(row.id);
  const choose = () => select(light === "selected" ? undefined : row.id);
  return (
    <div id={rowId(n)} class={`tree-row step is-${light}${isOnPath ? " is-above" : ""}${isLater(row.elapsed_ms) ? " is-later" : ""}`} role="row" aria-level={row.depth + row.indent + 2} aria-rowindex={n + 1} aria-selected={light === "selected"} onClick={choose} title={row.error ?? row.detail}>
      <span role="gridcell" class="tree-text" style={{ paddingLeft: `${(row.depth + 1) * INDENT_PX + Math.min(row.indent, 6) * 10}px` }}>
        <Swatch look={row.look} error={row.is_error} />
        <span class={row.is_error ? "label errors" : "label"}>{row.label}</span>
        {row.request && <RequestTag request={row.request} />}
        <span class="quiet about">{row.is_error && row.error ? row.error : row.detail}</span>
        {row.inferred && <Guess />}
        {row.pending && <span class="running">no end yet</span>}
      </span>
      <span role="gridcell" class="tree-facts">
        <span class="c-small">{row.tokens ? `${count(row.tokens)} tok` : ""}</span>
        <span class="c-small">{row.cost_usd ? money(row.cost_usd) : ""}</span>
        <span class="c-small strong">{duration(row.duration_ms)}</span>
        <span class="c-small quiet">{row.elapsed_ms === null || row.elapsed_ms === undefined ? "–" : `+${duration(row.elapsed_ms)}`}</span>
      </span>
    </div>
  );
}

function Row({ row, n }: { row: TreeRowDoc | undefined; n: number }) {
  if (!row) return <div class="skeleton" />;
  if (row.row === "agent") return <AgentRow row={row} n={n} />;
  if (row.row === "step") return <StepRow row={row} n={n} />;
  return <div id={rowId(n)} class="tree-row quiet" role="row" aria-rowindex={n + 1}><span role="gridcell" style={{ paddingLeft: `${(row.depth + 2) * INDENT_PX}px` }}>{plural(row.count, "step")} not shown</span></div>;
}

/** Goes to a row: a step is chosen, an agent has the keyboard. */
function goTo(n: number): void {
  const row = rowAt(n);
  if (!row) return;
  if (row.row === "step") {
    cursorRow.value = undefined;
    selectedRow.value = n;
    select(row.id);
  } else cursorRow.value = n;
}

/** The row of the agent around a row: the nearest one before it that lies less deep. */
function agentAround(n: number): number | undefined {
  const row = rowAt(n);
  if (!row || row.row === "hidden") return undefined;
  const depth = row.row === "agent" ? row.depth - 1 : row.depth;
  for (let at = n - 1; at >= 0; at -= 1) {
    const before = rowAt(at);
    if (!before) return undefined;
    if (before.row === "agent" && before.depth <= depth) return at;
  }
  return undefined;
}

/** Keys of a treegrid. */
function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const total = treeRows.peek().total;
  const at = current() ?? -1;
  const row = rowAt(at);
  const page = Math.max(1, Math.floor((event.currentTarget as HTMLElement).clientHeight / rowPx.peek()) - 1);
  const act = actOf("tree", event.key);
  const jumps: Partial<Record<Act, number>> = { down: at + 1, up: at - 1, pageDown: at + page, pageUp: at - page, first: 0, last: total - 1 };
  const jump = act && jumps[act];
  if (jump !== undefined) {
    const step = jump < at ? -1 : 1;
    let to = Math.max(0, Math.min(total - 1, jump));
    while (rowAt(to)?.row === "hidden" && to + step >= 0 && to + step < total) to += step;
    goTo(to);
  } else if (act === "right" && row?.row === "agent") {
    if (row.closed) toggleAgent(row.id, true);
    else goTo(at + 1);
  } else if (act === "left" && row) {
    const around = agentAround(at);
    if (row.row === "agent" && !row.closed) toggleAgent(row.id, false);
    else if (around !== undefined) goTo(around);
  } else if (act === "open" && row?.row === "agent") toggleAgent(row.id, row.closed);
  else if (act === "openAll") openAll();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Types of agents, and single agents where there are few. */
function AgentFilter() {
  const types = (numbers.value.data?.agent_types.rows ?? []).filter((row) => row.query !== null && row.query !== undefined);
  const agents = (timeline.value.data?.lanes ?? []).flatMap((lane) => lane.agents);
  const { agent } = treeAsked.value;
  if (agents.length < 2) return null;
  return (
    <select class="small" aria-label="Agent" value={agent} onChange={(event) => onlyAgent(event.currentTarget.value)}>
      <option value="">all agents</option>
      <optgroup label="by type">{types.map((row) => <option key={row.name} value={row.name.replace(/^\((.*)\)$/, "$1")}>{row.name} ({row.count})</option>)}</optgroup>
      <optgroup label={agents.length > MAX_OFFERED_AGENTS ? `one of ${agents.length}; the first ${MAX_OFFERED_AGENTS}` : "one"}>{agents.slice(0, MAX_OFFERED_AGENTS).map((one) => <option key={one.id} value={one.id}>{one.detail === "" ? one.label : `${one.label} · ${shortened(one.detail)}`}</option>)}</optgroup>
    </select>
  );
}

export function Tree() {
  const { total, known } = treeRows.value;
  if (treeError.value && !known) return <Wrong error={treeError.value} />;
  if (!known) return <Loading what="the tree" rows={6} />;
  const { depth, open, shut, errors, agent } = treeAsked.value;
  const isUsual = depth === undefined && open.length === 0 && shut.length === 0;
  const at = current();
  return (
    <section class="tree" aria-label="Tree">
      <div class="tools">
        <span class="quiet">{plural(total, "row")}</span>
        <AgentFilter />
        <span class="grow" />
        <label class="check"><input type="checkbox" checked={errors} onChange={() => onlyErrors(!errors)} /> only errors and what led to them</label>
        <button class="small" onClick={openUsual} disabled={isUsual} title="Open the agents that did more than 66 % of the work">Busiest</button>
        <button class="small" onClick={openAll}>Open all</button>
        <button class="small" onClick={closeAll}>Close agents</button>
      </div>
      {treeError.value && <p class="partial" role="alert">Some rows could not be had: {treeError.value.message}</p>}
      {total === 0 ? <Empty title={errors ? "Nothing failed" : agent !== "" ? "No such agent" : "No steps"} /> : (
        <List total={total} rowPx={rowPx.value} label="Steps" role="treegrid" active={at === undefined ? undefined : rowId(at)} reveal={cursorRow.value ?? (shownStep.value === "" ? undefined : selectedRow.value)} onSeen={needTree} onKeyDown={onKey} row={(n) => <Row row={rowAt(n)} n={n} />} />
      )}
    </section>
  );
}
