// Rows of the tree, in blocks as they are needed; agents that somebody opened or closed.
import { computed, effect, signal } from "@preact/signals";
import { get, type ApiError } from "../api/client.ts";
import type { TreeRowDoc } from "../api/types.ts";
import { blocksOf, type Seen } from "../logic/rows.ts";
import { Overdue } from "../logic/turns.ts";
import { lookedAgain, ONCE_MORE_MS } from "./answers.ts";
import { versionOf } from "./live.ts";
import { route, selected, selectedEdge, sessionId, setParams, view } from "./route.ts";
import { asApiError } from "./trouble.ts";

const BLOCK = 200;
/** Views that show the tree. */
const WITH_TREE: readonly string[] = ["timeline", "tree"];
/** Agents below this are closed by "close all", and none is that deep for "open all". */
const SHUT_DEPTH = 0;
const ALL_DEPTHS = 1_000_000;

interface Folded {
  /** Agents are open down to this depth; nothing for those that did most of the work. */
  depth: number | undefined;
  open: readonly string[];
  shut: readonly string[];
}

/** With the filters of the address. */
interface Asked extends Folded {
  /** Only agents that are called so. */
  agent: string;
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
const USUAL: Folded = { depth: undefined, open: [], shut: [] };

export const treeRows = signal<Rows>(NO_ROWS);
export const treeError = signal<ApiError | undefined>(undefined);
/** Which agents somebody opened or closed. */
const folded = signal<Folded>(USUAL);
const onlyOf = computed(() => route.value.params["agent"] ?? "");
const isOnlyErrors = computed(() => route.value.params["errors"] === "true");
export const treeAsked = computed<Asked>(() => ({ ...folded.value, agent: onlyOf.value, errors: isOnlyErrors.value }));
/** The step that is brought into sight: the one that is looked at, or what the link leads to that is. */
export const shownStep = computed(() => (selected.value !== "" ? selected.value : (selectedEdge.value.split("..")[1] ?? "")));
/** The row of it. */
export const selectedRow = signal<number | undefined>(undefined);
/** The row the keyboard is at, when it is that of an agent. */
export const cursorRow = signal<number | undefined>(undefined);
/** Ids of the agents and steps above the step that is looked at. */
export const pathAbove = signal<ReadonlySet<string>>(new Set());

/** Grows when rows are to be looked at again. */
let turn = 0;
/** Grows when other rows are asked for; answers to the question before are of no use. */
let question = 0;
let seen: Seen = { first: 0, end: BLOCK };
const underWay = new Set<number>();

export function rowAt(n: number): TreeRowDoc | undefined {
  return treeRows.value.blocks.get(Math.floor(n / BLOCK))?.rows[n % BLOCK];
}

function filterOf({ depth, agent, open, shut, errors }: Asked) {
  return { depth, agent, busiest: depth === undefined || undefined, open: [...open], shut: [...shut], errors: errors || undefined };
}

async function loadBlock(block: number, mine: number, isAgain = false): Promise<void> {
  const id = sessionId.peek();
  if (id === "" || underWay.has(block)) return;
  underWay.add(block);
  const asked = question;
  try {
    const window = { from: block * BLOCK, to: (block + 1) * BLOCK };
    const load = (signal?: AbortSignal) => get("/api/v1/sessions/{id}/tree", { id }, { ...window, ...filterOf(treeAsked.peek()) }, signal);
    const answer = await (isAgain ? lookedAgain.add(load) : load());
    const blocks = new Map(treeRows.peek().blocks);
    if (asked !== question || (blocks.get(block)?.turn ?? 0) > mine) return;
    blocks.set(block, { turn: mine, rows: answer.rows });
    treeRows.value = { total: answer.total_rows, blocks, known: true };
    treeError.value = undefined;
  } catch (error) {
    if (asked !== question) return;
    treeError.value = asApiError(error);
    if (error instanceof Overdue) setTimeout(() => asked === question && void lookAgain(), ONCE_MORE_MS);
  } finally {
    if (mine === turn) underWay.delete(block);
  }
}

/** Makes sure that these rows are there, or under way. */
export function needTree(rows: Seen): void {
  seen = rows;
  for (const block of blocksOf(rows, BLOCK)) if (treeRows.peek().blocks.get(block)?.turn !== turn) void loadBlock(block, turn);
}

function refresh(isAgain: boolean): Promise<unknown> {
  turn += 1;
  underWay.clear();
  const blocks = blocksOf(seen, BLOCK);
  return Promise.all((blocks.length > 0 ? blocks : [0]).map((block) => loadBlock(block, turn, isAgain)));
}

let [isLooking, isDue] = [false, false];

/** Looks at the same rows again; what changes while that is under way is looked at once, behind it. */
async function lookAgain(): Promise<void> {
  isDue = true;
  if (isLooking) return;
  isLooking = true;
  while (isDue) {
    isDue = false;
    await refresh(true);
  }
  isLooking = false;
}

/** Looks for the row of a step; agents around it that are closed are opened, so that choosing it elsewhere shows it here. */
async function find(step: string): Promise<void> {
  const id = sessionId.peek();
  const [asked, cursor] = [treeAsked.peek(), cursorRow.peek()];
  try {
    const answer = await get("/api/v1/sessions/{id}/tree", { id }, { from: 0, to: 0, ...filterOf(asked), find: step });
    if (shownStep.peek() !== step || treeAsked.peek() !== asked) return;
    selectedRow.value = answer.found_row ?? undefined;
    // Whoever went on by keys meanwhile stays where that led.
    if (cursorRow.peek() === cursor) cursorRow.value = undefined;
    pathAbove.value = new Set([...answer.found_agents, ...answer.found_above]);
    const closed = answer.found_agents.filter((agent) => !asked.open.includes(agent));
    if (answer.found_row === null && step !== revealed && closed.length > 0) {
      folded.value = { depth: asked.depth, open: [...asked.open, ...closed], shut: asked.shut.filter((agent) => !closed.includes(agent)) };
    }
    revealed = step;
  } catch {
    selectedRow.value = undefined;
  }
}

/** The step that was brought into sight; agents that are closed after that stay closed. */
let revealed = "";

export function toggleAgent(id: string, isClosed: boolean): void {
  const { depth, open, shut } = folded.value;
  const without = (list: readonly string[]) => list.filter((one) => one !== id);
  folded.value = { depth, open: isClosed ? [...without(open), id] : without(open), shut: isClosed ? without(shut) : [...without(shut), id] };
}

export function openAll(): void {
  folded.value = { ...USUAL, depth: ALL_DEPTHS };
}

export function closeAll(): void {
  folded.value = { ...USUAL, depth: SHUT_DEPTH };
}

/** Opens the agents that did most of the work, as at first. */
export function openUsual(): void {
  folded.value = USUAL;
}

export function onlyAgent(agent: string): void {
  setParams({ agent });
}

export function onlyErrors(errors: boolean): void {
  setParams({ errors: errors ? "true" : "" });
}

let shown = "";
let lastAsked: Asked | undefined;
effect(() => {
  const id = sessionId.value;
  if (id === "") return;
  // Where it is not shown, it is not looked at again.
  if (WITH_TREE.includes(view.value)) versionOf(id).value;
  const isAgain = id === shown && treeAsked.value === lastAsked;
  if (!isAgain) question += 1;
  lastAsked = treeAsked.value;
  if (id !== shown) {
    shown = id;
    seen = { first: 0, end: BLOCK };
    treeRows.value = NO_ROWS;
    folded.value = USUAL;
    lastAsked = treeAsked.value;
    cursorRow.value = undefined;
    revealed = "";
  }
  if (isAgain) void lookAgain();
  else void refresh(false);
});

effect(() => {
  treeAsked.value;
  if (shownStep.value !== "" && sessionId.value !== "") void find(shownStep.value);
  else {
    selectedRow.value = undefined;
    pathAbove.value = new Set();
    revealed = "";
  }
});
