// The tree: rows of agents and their steps, opened and closed by agent.
import type { AgentRowDoc, StepRowDoc, TreeRowDoc } from "../api/types.ts";
import { count, duration, money, plural } from "../logic/words.ts";
import { isLater } from "../state/replay.ts";
import { select } from "../state/route.ts";
import { lightOf } from "../state/session.ts";
import { closeAll, needTree, onlyErrors, openAll, rowAt, selectedRow, shownStep, toggleAgent, treeAsked, treeError, treeRows } from "../state/tree.ts";
import { List } from "../widgets/List.tsx";
import { Guess, Status, Swatch } from "../widgets/Small.tsx";
import { Empty, Loading, Wrong } from "../widgets/States.tsx";

const ROW_PX = 26;
const INDENT_PX = 16;

function AgentRow({ row }: { row: AgentRowDoc }) {
  return (
    <div class="tree-row agent" role="treeitem" aria-expanded={!row.closed} aria-level={row.depth + 1}>
      <button class="twist" style={{ marginLeft: `${row.depth * INDENT_PX}px` }} onClick={() => toggleAgent(row.id, row.closed)} aria-label={row.closed ? `Open ${row.label}` : `Close ${row.label}`}>{row.closed ? "▸" : "▾"}</button>
      <span class="tree-text"><b>{row.label}</b> {row.inferred && <Guess />} <span class="quiet">{row.detail}</span></span>
      <span class="tree-facts">
        <Status status={row.status} />
        <span class="c-steps">{plural(row.closed ? row.subtree_totals.steps : row.totals.steps, "step")}</span>
        <span class="c-small">{row.subtree_totals.errors > 0 ? <span class="errors">{plural(row.subtree_totals.errors, "error")}</span> : ""}</span>
      </span>
    </div>
  );
}

function StepRow({ row }: { row: StepRowDoc }) {
  const light = lightOf(row.id, row.seq);
  const choose = () => select(light === "selected" ? undefined : row.id);
  return (
    <div class={`tree-row step is-${light}${isLater(row.elapsed_ms) ? " is-later" : ""}`} role="treeitem" aria-level={row.depth + row.indent + 2} aria-selected={light === "selected"} onClick={choose} title={row.error ?? row.detail}>
      <span class="tree-text" style={{ paddingLeft: `${(row.depth + 1) * INDENT_PX + Math.min(row.indent, 6) * 10}px` }}>
        <Swatch look={row.look} error={row.is_error} />
        <span class={row.is_error ? "label errors" : "label"}>{row.label}</span>
        <span class="quiet about">{row.is_error && row.error ? row.error : row.detail}</span>
        {row.inferred && <Guess />}
        {row.pending && <span class="running">no end yet</span>}
      </span>
      <span class="tree-facts">
        <span class="c-small">{row.tokens ? `${count(row.tokens)} tok` : ""}</span>
        <span class="c-small">{row.cost_usd ? money(row.cost_usd) : ""}</span>
        <span class="c-small strong">{duration(row.duration_ms)}</span>
        <span class="c-small quiet">+{duration(row.elapsed_ms)}</span>
      </span>
    </div>
  );
}

function Row({ row }: { row: TreeRowDoc | undefined }) {
  if (!row) return <div class="skeleton" />;
  if (row.row === "agent") return <AgentRow row={row} />;
  if (row.row === "step") return <StepRow row={row} />;
  return <div class="tree-row quiet" style={{ paddingLeft: `${(row.depth + 2) * INDENT_PX}px` }}>{plural(row.count, "step")} not shown</div>;
}

export function Tree() {
  const { total, known } = treeRows.value;
  if (treeError.value && !known) return <Wrong error={treeError.value} />;
  if (!known) return <Loading what="the tree" />;
  const { depth, open, shut, errors } = treeAsked.value;
  const isUsual = depth === undefined && open.length === 0 && shut.length === 0;
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    for (let n = (selectedRow.value ?? -1) + step; n >= 0 && n < total; n += step) {
      const row = rowAt(n);
      if (row?.row === "step") return select(row.id);
    }
  };
  return (
    <section class="tree" aria-label="Tree">
      <div class="tools">
        <span class="quiet">{plural(total, "row")}</span>
        <span class="grow" />
        <label class="check"><input type="checkbox" checked={errors} onChange={() => onlyErrors(!errors)} /> only errors and what led to them</label>
        <button class="small" onClick={openAll} disabled={isUsual}>Open all</button>
        <button class="small" onClick={closeAll}>Close agents</button>
      </div>
      {total === 0 ? <Empty title={errors ? "Nothing failed" : "No steps"} /> : (
        <List total={total} rowPx={ROW_PX} label="Steps" role="tree" reveal={shownStep.value === "" ? undefined : selectedRow.value} onSeen={needTree} onKeyDown={onKey} row={(n) => <Row row={rowAt(n)} />} />
      )}
    </section>
  );
}
