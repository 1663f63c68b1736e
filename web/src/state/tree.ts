// Rows of the tree, in blocks as they are needed; agents that somebody opened or closed.
import { computed, effect, signal } from "@preact/signals";
import { get, type ApiError } from "../api/client.ts";
import type { TreeRowDoc } from "../api/types.ts";
import { blocksOf, type Seen } from "../logic/rows.ts";
import { versionOf } from "./live.ts";
import { selected, selectedEdge, sessionId } from "./route.ts";
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

/** Rows as they were when they were asked for; older ones stay until newer ones are there. */
interface Block {
  turn: number;
  rows: readonly TreeRowDoc[];
}

export interface Rows {
  total: number;
  blocks: ReadonlyMap<number, Block>;
  known: boolean;
}

const NO_ROWS: Rows = { total: 0, blocks: new Map(), known: false };
const USUAL: Asked = { depth: undefined, open: [], shut: [], errors: false };

export const treeRows = signal<Rows>(NO_ROWS);
export const treeError = signal<ApiError | undefined>(undefined);
export const treeAsked = signal<Asked>(USUAL);
/** The step that is brought into sight: the one that is looked at, or what the link leads to that is. */
export const shownStep = computed(() => (selected.value !== "" ? selected.value : (selectedEdge.value.split("..")[1] ?? "")));
/** The row of it. */
export const selectedRow = signal<number | undefined>(undefined);

/** Grows when rows are to be looked at again. */
let turn = 0;
/** Grows when other rows are asked for; answers to the question before are of no use. */
let question = 0;
let seen: Seen = { first: 0, end: BLOCK };
const underWay = new Set<number>();

export function rowAt(n: number): TreeRowDoc | undefined {
  return treeRows.value.blocks.get(Math.floor(n / BLOCK))?.rows[n % BLOCK];
}

async function loadBlock(block: number, mine: number): Promise<void> {
  const id = sessionId.peek();
  if (id === "" || underWay.has(block)) return;
  underWay.add(block);
  const { depth, open, shut, errors } = treeAsked.peek();
  const asked = question;
  try {
    const window = { from: block * BLOCK, to: (block + 1) * BLOCK };
    const answer = await get("/api/v1/sessions/{id}/tree", { id }, { ...window, depth, open: [...open], shut: [...shut], errors: errors || undefined });
    const blocks = new Map(treeRows.peek().blocks);
    if (asked !== question || (blocks.get(block)?.turn ?? 0) > mine) return;
    blocks.set(block, { turn: mine, rows: answer.rows });
    treeRows.value = { total: answer.total_rows, blocks, known: true };
    treeError.value = undefined;
  } catch (error) {
    if (asked === question) treeError.value = asApiError(error);
  } finally {
    if (mine === turn) underWay.delete(block);
  }
}

/** Makes sure that these rows are there, or under way. */
export function needTree(rows: Seen): void {
  seen = rows;
  for (const block of blocksOf(rows, BLOCK)) if (treeRows.peek().blocks.get(block)?.turn !== turn) void loadBlock(block, turn);
}

function refresh(): void {
  turn += 1;
  underWay.clear();
  const blocks = blocksOf(seen, BLOCK);
  for (const block of blocks.length > 0 ? blocks : [0]) void loadBlock(block, turn);
}

async function find(step: string): Promise<void> {
  const id = sessionId.peek();
  const { depth, open, shut, errors } = treeAsked.peek();
  try {
    const answer = await get("/api/v1/sessions/{id}/tree", { id }, { from: 0, to: 0, depth, open: [...open], shut: [...shut], errors: errors || undefined, find: step });
    if (shownStep.peek() === step) selectedRow.value = answer.found_row ?? undefined;
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
let lastAsked: Asked = USUAL;
effect(() => {
  const id = sessionId.value;
  if (id === "") return;
  versionOf(id).value;
  if (id !== shown || treeAsked.value !== lastAsked) question += 1;
  lastAsked = treeAsked.value;
  if (id !== shown) {
    shown = id;
    seen = { first: 0, end: BLOCK };
    treeRows.value = NO_ROWS;
    lastAsked = treeAsked.value = USUAL;
  }
  refresh();
});

effect(() => {
  treeAsked.value;
  if (shownStep.value !== "" && sessionId.value !== "") void find(shownStep.value);
  else selectedRow.value = undefined;
});
