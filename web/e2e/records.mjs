// Records of a large session, for measuring.

export const SESSION = "5e55a9e0-0c0a-4b0d-9d3e-00000000beef";

/** A session of a main agent that calls tools, and lets every hundredth call be done by a sub-agent. */
export function* records(wanted) {
  let at = Date.parse("2026-01-01T00:00:00Z");
  let made = 0;
  let parent = null;
  const uuid = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  const stamp = (ms) => new Date((at += ms)).toISOString();
  yield { type: "user", uuid: uuid(0), parentUuid: null, sessionId: SESSION, timestamp: stamp(10), message: { role: "user", content: "Do a great deal of work" } };
  parent = uuid(0);
  for (let n = 1; made < wanted; n += 1) {
    const tool = ["Bash", "Read", "Edit", "Grep"][n % 4];
    const id = `toolu_${n}`;
    const [asked, answered] = [uuid(2 * n), uuid(2 * n + 1)];
    yield { type: "assistant", uuid: asked, parentUuid: parent, sessionId: SESSION, timestamp: stamp(200 + (n % 7) * 90), message: { id: `msg_${n}`, role: "assistant", model: "claude-opus-4-7", content: [{ type: "tool_use", id, name: tool, input: { command: `work on part ${n}` } }], usage: { input_tokens: 10, output_tokens: 20 } } };
    yield { type: "user", uuid: answered, parentUuid: asked, sessionId: SESSION, timestamp: stamp(50 + (n % 11) * 120), message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: n % 97 === 0 ? "it failed" : "done", is_error: n % 97 === 0 }] } };
    parent = answered;
    made += 2;
  }
}
