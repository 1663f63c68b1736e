// Everything that can be gone to: commands, sessions, and of the session looked at its agents, findings and steps.
import { get } from "../api/client.ts";
import { moment, plain } from "../logic/words.ts";
import { COMMANDS, openPalette } from "./commands.ts";
import { openSession, select, sessionId } from "./route.ts";

export interface Thing {
  /** By which it is known again. */
  key: string;
  title: string;
  /** What it is. */
  sort: string;
  note: string;
  run(): void;
}

/** Newest sessions that are known by their titles without asking. */
const NEWEST = 200;
/** So many that were looked for are offered. */
const OFFERED = 8;

export function commandThings(): Thing[] {
  return COMMANDS.filter((command) => command.isThere() && command.run !== openPalette).map(({ title, keys, run }) => ({ key: `command ${title}`, title, sort: "command", note: keys, run }));
}

async function newest(): Promise<Thing[]> {
  const { sessions } = await get("/api/v1/sessions", {}, { limit: NEWEST });
  return sessions.map((row) => ({ key: `session ${row.id}`, title: row.title ?? row.native_ids[0] ?? row.id, sort: "session", note: moment(row.started_at), run: () => openSession(row.id) }));
}

async function agents(id: string): Promise<Thing[]> {
  const { agents: all } = await get("/api/v1/sessions/{id}/values", { id });
  return all.map((agent) => ({ key: `agent ${agent.id}`, title: [agent.type ?? "agent", agent.name].filter((part) => part).join(": "), sort: "agent", note: agent.errors > 0 ? `${agent.steps} steps, ${agent.errors} failed` : `${agent.steps} steps`, run: () => select(agent.first_step) }));
}

async function findings(id: string): Promise<Thing[]> {
  const { sessions } = await get("/api/v1/sessions/{id}/findings", { id });
  const all = sessions.flatMap((session) => session.findings);
  return all.map((one, n) => ({ key: `finding ${id} ${n}`, title: one.title, sort: "finding", note: plain(one.code), run: () => select(one.step_ids[0]) }));
}

async function settled(all: Promise<Thing[]>[]): Promise<Thing[]> {
  const answers = await Promise.allSettled(all);
  return answers.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
}

/** What is known by its name. */
export function namedThings(): Promise<Thing[]> {
  const id = sessionId.peek();
  return settled(id === "" ? [newest()] : [agents(id), findings(id), newest()]);
}

/** What has to be looked for: steps by a query, sessions by words in them. */
export function lookedFor(text: string): Promise<Thing[]> {
  const id = sessionId.peek();
  const sessions = get("/api/v1/sessions", {}, { q: text, limit: OFFERED }).then(({ sessions: rows }) => rows.map((row): Thing => ({ key: `session ${row.id}`, title: row.title ?? row.native_ids[0] ?? row.id, sort: "session", note: moment(row.started_at), run: () => openSession(row.id) })));
  const steps = get("/api/v1/query", {}, { q: text, session: [id], limit: OFFERED }).then(({ sessions: hits }) => hits.flatMap((hit) => hit.steps.map((step): Thing => ({ key: `step ${step.id}`, title: `${step.name ?? plain(step.kind)}  ${step.intent ?? step.preview ?? ""}`, sort: "step", note: step.is_error ? "failed" : plain(step.kind), run: () => select(step.id) }))));
  return settled(id === "" ? [sessions] : [steps, sessions]);
}
