// Rows of the tree, in blocks as they are needed; agents that somebody opened or closed.
import { effect, signal } from "@preact/signals";
import { get, type ApiError } from "../api/client.ts";
import type { TreeRowDoc } from "../api/types.ts";
import { blocksOf, type Seen } from "../logic/rows.ts";
import { versionOf } from "./live.ts";
import { route, selected, sessionId } from "./route.ts";
import { asApiError } from "./trouble.ts";

const BLOCK = 200;
/** Agents this deep are closed by "close all". */
const SHUT_DEPTH = 0;

interface Asked {
  depth: number | undefined;
  open: readonly string[];
  shut: readonly string[];
  errors: boolean;
}

export interface Rows {
  total: number;
  blocks: ReadonlyMap<number, readonly TreeRowDoc[]>;
  known: boolean;
}

const NO_ROWS: Rows = { total: 0, blocks: new Map(), known: false };
const USUAL: Asked = { depth: undefined, open: [], shut: [], errors: false };

export const treeRows = signal<Rows>(NO_ROWS);
export const treeError = signal<ApiError | undefined>(undefined);
export const treeAsked = signal<Asked>(USUAL);
/** The row of the step that is looked at. */
export const selectedRow = signal<number | undefined>(undefined);

let turn = 0;
let seen: Seen = { first: 0, end: BLOCK };
const underWay = new Set<number>();

export function rowAt(n: number): TreeRowDoc | undefined {
  return treeRows.value.blocks.get(Math.floor(n / BLOCK))?.[n % BLOCK];
}

async function loadBlock(block: number, mine: number, isFresh: boolean): Promise<void> {
  const id = sessionId.peek();
  if (id === "" || underWay.has(block)) return;
  underWay.add(block);
  const { depth, open, shut, errors } = treeAsked.peek();
  try {
    const window = { from: block * BLOCK, to: (block + 1) * BLOCK };
    const answer = await get("/api/v1/sessions/{id}/tree", { id }, { ...window, depth, open: [...open], shut: [...shut], errors: errors || undefined });
    if (mine !== turn) return;
    const blocks = new Map(isFresh && underWay.size === 1 ? [] : treeRows.peek().blocks);
    blocks.set(block, answer.rows);
    treeRows.value = { total: answer.total_rows, blocks, known: true };
    treeError.value = undefined;
  } catch (error) {
    if (mine === turn) treeError.value = asApiError(error);
  } finally {
    if (mine === turn) underWay.delete(block);
  }
}

/** Makes sure that these rows are there, or under way. */
export function needTree(rows: Seen): void {
  seen = rows;
  for (const block of blocksOf(rows, BLOCK)) if (!treeRows.peek().blocks.has(block)) void loadBlock(block, turn, false);
}

function refresh(): void {
  turn += 1;
  underWay.clear();
  const blocks = blocksOf(seen, BLOCK);
  for (const block of blocks.length > 0 ? blocks : [0]) void loadBlock(block, turn, true);
}

async function find(step: string): Promise<void> {
  const id = sessionId.peek();
  const { depth, open, shut, errors } = treeAsked.peek();
  try {
    const answer = await get("/api/v1/sessions/{id}/tree", { id }, { from: 0, to: 0, depth, open: [...open], shut: [...shut], errors: errors || undefined, find: step });
    if (selected.peek() === step) selectedRow.value = answer.found_row ?? undefined;
  } catch {
    selectedRow.value = undefined;
  }
}

export function toggleAgent(id: string, isClosed: boolean): void {
  const { open, shut } = treeAsked.value;
  const without = (list: readonly string[]) => list.filter((one) => one !== id);
  treeAsked.value = { ...treeAsked.value, open: isClosed ? [...without(open), id] : without(open), shut: isClosed ? without(shut) : [...without(shut), id] };
}

export function openAll(): void {
  treeAsked.value = { ...treeAsked.value, depth: undefined, open: [], shut: [] };
}

export function closeAll(): void {
  treeAsked.value = { ...treeAsked.value, depth: SHUT_DEPTH, open: [], shut: [] };
}

export function onlyErrors(errors: boolean): void {
  treeAsked.value = { ...treeAsked.value, errors };
}

let shown = "";
effect(() => {
  const id = sessionId.value;
  if (id === "" || route.value.page !== "session") return;
  versionOf(id).value;
  if (id !== shown) {
    shown = id;
    seen = { first: 0, end: BLOCK };
    treeRows.value = NO_ROWS;
    treeAsked.value = USUAL;
  }
  treeAsked.value;
  refresh();
});

effect(() => {
  treeAsked.value;
  if (selected.value !== "" && sessionId.value !== "") void find(selected.value);
  else selectedRow.value = undefined;
});
