// Sessions as large as they get, made up: many steps, many agents, many sessions, and one that goes on.

const uuid = (kind, n) => `0000000${kind}-0000-4000-8000-${String(n).padStart(12, "0")}`;
const TOOLS = ["Bash", "Read", "Edit", "Grep"];

function clock(start) {
  let at = Date.parse(start);
  return (ms) => new Date((at += ms)).toISOString();
}

const message = (kind, n, content, usage = true) => ({ id: `msg_${kind}_${n}`, role: "assistant", model: "claude-opus-4-7", content, ...(usage && { usage: { input_tokens: 10, output_tokens: 20 } }) });
const call = (kind, n, name, input) => ({ type: "tool_use", id: `toolu_${kind}_${n}`, name, input });
const result = (kind, n, isError) => ({ type: "tool_result", tool_use_id: `toolu_${kind}_${n}`, content: isError ? "it failed" : "done", is_error: isError });

/** A main agent that calls so many tools at once, again and again. */
export function* manySteps(session, kind, steps, atOnce = 1) {
  const stamp = clock("2026-01-01T00:00:00Z");
  const record = (n, parent, type, said) => ({ type, uuid: uuid(kind, n), parentUuid: parent === undefined ? null : uuid(kind, parent), sessionId: session, timestamp: stamp(type === "user" ? 50 + (n % 11) * 120 : 200 + (n % 7) * 90), message: said });
  yield record(0, undefined, "user", { role: "user", content: "Do a great deal of work" });
  let [last, calls] = [0, 0];
  for (let made = 0, n = 1; made < steps; made += 1 + atOnce, n += 2) {
    const numbers = Array.from({ length: atOnce }, () => (calls += 1));
    yield record(n, last, "assistant", message(kind, n, numbers.map((one) => call(kind, one, TOOLS[one % TOOLS.length], { command: `work on part ${one}` }))));
    yield record(n + 1, n, "user", { role: "user", content: numbers.map((one) => result(kind, one, one % 97 === 0)) });
    last = n + 1;
  }
}

/** A main agent that starts so many others, which work at the same time, each in a file of its own. */
export function manyAgents(session, kind, agents) {
  const begin = Date.parse("2026-01-02T00:00:00Z");
  const stamp = (ms) => new Date(begin + ms).toISOString();
  const work = agents * 200 + 60_000;
  const main = [{ type: "user", uuid: uuid(kind, 0), parentUuid: null, sessionId: session, timestamp: stamp(0), message: { role: "user", content: "Let many work" } }];
  const say = (n, type, ms, said, more = {}) => {
    main.push({ type, uuid: uuid(kind, n), parentUuid: main.at(-1).uuid, sessionId: session, timestamp: stamp(ms), ...more, message: said });
  };
  const files = [];
  for (let n = 1; n <= agents; n += 1) {
    const agentId = `a${String(n).padStart(7, "0")}`;
    const started = n * 200;
    say(10 * n, "assistant", started, message(kind, n, [call(kind, n, "Task", { subagent_type: ["Explore", "Plan", "test-runner"][n % 3], description: `part ${n}`, prompt: `Do part ${n}` })]));
    const own = (at, parent, type, ms, said) => ({ type, isSidechain: true, agentId, uuid: uuid(kind, at), parentUuid: parent === undefined ? null : uuid(kind, parent), sessionId: session, timestamp: stamp(started + ms), message: said });
    const lines = [own(10 * n + 2, undefined, "user", 50, { role: "user", content: `Do part ${n}` })];
    for (let at = 0; at < 2; at += 1) {
      lines.push(own(10 * n + 3 + 2 * at, 10 * n + 2 + 2 * at, "assistant", 100 + (at * work) / 2, message(kind, `${n}_${at}`, [call(kind, `${n}_${at}`, "Bash", { command: "make" })])));
      lines.push(own(10 * n + 4 + 2 * at, 10 * n + 3 + 2 * at, "user", ((at + 1) * work) / 2, { role: "user", content: [result(kind, `${n}_${at}`, false)] }));
    }
    files.push([`big/${session}/subagents/agent-${agentId}.jsonl`, lines]);
  }
  for (let n = 1; n <= agents; n += 1) say(10 * n + 1, "user", n * 200 + work + 400, { role: "user", content: [result(kind, n, false)] }, { toolUseResult: { agentId: `a${String(n).padStart(7, "0")}`, status: "completed" } });
  return [[`big/${session}.jsonl`, main], ...files];
}

/** So many sessions of a question and an answer. */
export function manySessions(count) {
  const stamp = clock("2026-01-03T00:00:00Z");
  return Array.from({ length: count }, (_, n) => {
    const session = uuid(9, n);
    const user = { type: "user", uuid: uuid(7, 2 * n), parentUuid: null, sessionId: session, timestamp: stamp(60_000), message: { role: "user", content: `Question ${n} of many` } };
    const answer = { type: "assistant", uuid: uuid(7, 2 * n + 1), parentUuid: user.uuid, sessionId: session, timestamp: stamp(2_000), message: message("many", n, [{ type: "text", text: "An answer" }]) };
    return [`many/${session}.jsonl`, [user, answer]];
  });
}

const asText = (records) => records.map((record) => JSON.stringify(record)).join("\n");
const PIECE_BYTES = 16 << 20;
/** Files in one form; the server takes no more. */
const FORM_FILES = 1000;

/** Gives a server a session in pieces of bounded size. */
export async function feedSteps(server, session, records) {
  let [piece, bytes, n] = [[], 0, 0];
  const send = async () => {
    if (piece.length > 0) await server.put(`big/${session}-${n++}.jsonl`, piece.join("\n"));
    [piece, bytes] = [[], 0];
  };
  for (const record of records) {
    const line = JSON.stringify(record);
    piece.push(line);
    if ((bytes += line.length) > PIECE_BYTES) await send();
  }
  await send();
}

/** Gives a server many files. */
export async function feedFiles(server, files) {
  for (let from = 0; from < files.length; from += FORM_FILES) {
    const form = new FormData();
    for (const [name, records] of files.slice(from, from + FORM_FILES)) form.append("file", new Blob([asText(records)]), name);
    const response = await fetch(`${server.base}/v1/ingest`, { method: "POST", body: form });
    if (!response.ok) throw new Error(await response.text());
  }
}

/** Sends so many events a second to a session of its own until the answer is called. */
export async function goOn(server, session, perSecond) {
  const tell = async (events) => {
    const response = await fetch(`${server.base}/v1/thoughtflow/events`, { method: "POST", body: events.map((event) => JSON.stringify({ session_id: session, ...event })).join("\n") });
    if (!response.ok) throw new Error(await response.text());
  };
  const now = () => new Date().toISOString();
  const run = { conversation_id: `conv_${session}` };
  await tell([{ type: "session.created", started_at: now() }, { type: "conversation.started", ...run, channel: "text", started_at: now() }]);
  const state = { sent: 0, is: true };
  const began = Date.now();
  const loop = (async () => {
    while (state.is) {
      const due = Math.floor(((Date.now() - began) / 1000) * perSecond);
      const events = [];
      for (; state.sent < due; state.sent += 2) {
        const step = `step_${state.sent}`;
        events.push({ type: "step.started", ...run, step_id: step, label: `work ${state.sent}`, depends_on: state.sent > 0 ? [`step_${state.sent - 2}`] : [], timestamp: now() });
        events.push({ type: "step.completed", ...run, step_id: step, timestamp: now() });
      }
      if (events.length > 0) await tell(events);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  })();
  return async () => {
    state.is = false;
    await loop;
    return { sent: state.sent, perSecond: Math.round(state.sent / ((Date.now() - began) / 1000)) };
  };
}
