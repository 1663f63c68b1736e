//! Bodies that nobody meant: whatever comes, there is an answer of a known form, and the server goes on.

use crate::running::Running;

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 8).unwrap() % end.max(1)
    }

    /// A body with a few bytes changed, cut, doubled or swapped.
    fn spoiled(&mut self, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(body.len());
            match self.below(4) {
                0 => body.truncate(at),
                1 => body.extend_from_within(at..),
                2 if !body.is_empty() => body[at] = u8::try_from(self.below(256)).unwrap(),
                _ => body.rotate_left(at),
            }
        }
        body
    }
}

const HOOK: &[u8] = br#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"a":[1,2,{"b":null}]}}"#;
const FLOW: &[u8] = br#"{"type":"step.started","session_id":"s","run_id":"r","step_id":"1","label":"tool_call","depends_on":["0"],"payload":{"name":"x"},"timestamp":1763200000000}"#;
const LINK: &[u8] = br#"{"action":"add","from":"t","to":"s0123","kind":"data","who":"ada","note":"n"}"#;
const FORM: &[u8] = b"--edge\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.jsonl\"\r\n\r\n{\"session_id\":\"s\",\"hook_event_name\":\"Stop\"}\r\n--edge--\r\n";

#[test]
fn spoiled_bodies_get_an_answer_of_a_known_form() {
    let server = Running::start();
    let mut numbers = Numbers(0x5eed_1234_5678_9abc);
    let packed = zstd::encode_all(HOOK, 1).unwrap();
    let form = ("Content-Type", "multipart/form-data; boundary=edge");
    for (path, headers, body) in [
        ("/v1/hooks", vec![], HOOK),
        ("/v1/ingest?name=a.jsonl", vec![], HOOK),
        ("/v1/ingest?name=a.jsonl.zst", vec![], &packed),
        ("/v1/hooks", vec![("Content-Encoding", "zstd")], &packed),
        ("/v1/ingest", vec![form], FORM),
        ("/api/v1/sessions/s/links", vec![], LINK),
        ("/v1/thoughtflow/events", vec![], FLOW),
        ("/v1/thoughtflow/sessions", vec![], FLOW),
        ("/v1/thoughtflow/sessions/s/runs/r/steps", vec![], FLOW),
    ] {
        for _ in 0..100 {
            let body = numbers.spoiled(body);
            let answer = server.request("POST", path, &headers, &body);
            match answer.status {
                200 => drop(answer.json()),
                400 | 404 | 409 | 413 | 415 => assert!(!answer.error().is_empty()),
                other => assert_eq!(other, 200, "{path}: {}", String::from_utf8_lossy(&body)),
            }
        }
    }
    assert_eq!(server.get("/api/v1/health").json()["status"], "ok");
}
