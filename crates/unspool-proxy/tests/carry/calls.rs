//! Calls over sockets: another implementation of the protocol on both sides, and what is told of what they said.

use crate::running::Running;
use flate2::{Compress, Compression, FlushCompress};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use tungstenite::Message;
use tungstenite::handshake::server::{Request, Response};
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use unspool_proxy::{Cut, Loss, Room, Seen, Way};
use unspool_testkit::PATIENCE;
use unspool_testkit::socket::{self, Socket, close, hear, say};

fn start(speak: impl FnOnce(Socket) + Send + 'static) -> Running {
    Running::start(socket::api(speak), &Room::new(1 << 20, 1 << 18), |_| {})
}

fn open(running: &Running) -> Socket {
    let headers = [("Authorization", "Bearer sk-1"), ("session_id", "s1")];
    socket::open(&running.address.to_string(), "/api/v1/responses?key=sk-2", &headers)
}

fn ask(words: &str) -> Value {
    json!({"type": "response.create", "model": "gpt-5.5", "input": [{"role": "user", "content": words}]})
}

/// What answers a call.
fn events(id: &str) -> Vec<Value> {
    vec![
        json!({"type": "response.created", "response": {"id": id}}),
        json!({"type": "response.output_text.delta", "delta": "Hi\n"}),
        json!({"type": "response.completed", "response": {"id": id, "usage": {"input_tokens": 3}}}),
    ]
}

fn answer(socket: &mut Socket, id: &str) {
    for event in events(id) {
        say(socket, &event);
    }
}

fn sse(events: &[Value]) -> String {
    let mut all = String::new();
    for event in events {
        write!(all, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).unwrap();
    }
    all
}

#[test]
fn a_call_is_told_as_the_exchange_it_would_be() {
    let running = start(|mut socket| {
        hear(&mut socket);
        answer(&mut socket, "resp_1");
        hear(&mut socket);
        answer(&mut socket, "resp_2");
        while socket.read().is_ok() {}
    });
    let mut client = open(&running);
    say(&mut client, &ask("Hello"));
    let heard: Vec<Value> = (0..3).map(|_| hear(&mut client)).collect();
    assert_eq!(heard, events("resp_1"));
    let mut second = ask("Again");
    second["previous_response_id"] = json!("resp_1");
    say(&mut client, &second);
    while hear(&mut client)["type"] != "response.completed" {}
    close(client);

    let all = running.keeper.all_over(3);
    let (handshake, over, _) = &all[2];
    assert_eq!((handshake.method.as_str(), handshake.socket.as_deref()), ("GET", None));
    let over = over.as_ref().unwrap();
    let [up, down] = **over.socket.as_ref().unwrap();
    assert_eq!((over.status.unwrap().as_u16(), up.messages, down.messages), (101, 2, 6));
    assert_eq!((up.unread, down.unread, running.room.lost_in_all()), (0, 0, 0));
    assert_eq!(Way::ALL.map(|way| running.room.sockets.went(way)), [up, down]);
    assert_eq!(running.room.exchanges(), 3);
    for ((sent, response, failure), (asked, id)) in
        all.iter().zip([(ask("Hello"), "resp_1"), (second, "resp_2")])
    {
        assert_eq!((sent.method.as_str(), sent.socket.as_ref()), ("POST", Some(&handshake.exchange)));
        assert_eq!((&sent.path, &sent.upstream), (&handshake.path, &handshake.upstream));
        assert!(!sent.path.contains("sk-2"), "{}", sent.path);
        let names: Vec<&str> = sent.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["host", "session_id", "authorization"]);
        assert!(sent.headers[2].1.to_str().unwrap().starts_with("masked:"));
        let mut body: Value = serde_json::from_slice(&sent.body.bytes).unwrap();
        body["type"] = json!("response.create");
        assert_eq!(body, asked);
        assert!(!String::from_utf8_lossy(&sent.body.bytes).contains("response.create"));
        let response = response.as_ref().unwrap();
        assert_eq!((response.status.unwrap().as_u16(), response.cut, failure), (200, None, &None));
        assert_eq!(String::from_utf8_lossy(&response.body.bytes), sse(&events(id)));
    }
}

/// The request is told when it has been sent, not when its answer has ended.
#[test]
fn a_call_that_runs_is_told() {
    let running = start(|mut socket| while socket.read().is_ok() {});
    let mut client = open(&running);
    say(&mut client, &ask("Hello"));
    let deadline = std::time::Instant::now() + PATIENCE;
    let is_told = |seen: &Seen| matches!(seen, Seen::Sent(sent) if sent.socket.is_some());
    while !running.keeper.0.lock().unwrap().iter().any(is_told) {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    close(client);
}

#[test]
fn parts_and_commands_between_them_are_one_call() {
    let running = start(|mut socket| {
        hear(&mut socket);
        let text = events("resp_1")[0].to_string();
        let (first, rest) = text.split_at(20);
        let part = |words: &str, sort, last| {
            Message::Frame(Frame::message(words.to_string(), OpCode::Data(sort), last))
        };
        socket.send(part(first, Data::Text, false)).unwrap();
        socket.send(Message::Ping("there?".into())).unwrap();
        socket.send(part(rest, Data::Continue, true)).unwrap();
        events("resp_1")[1..].iter().for_each(|event| say(&mut socket, event));
        while socket.read().is_ok() {}
    });
    let mut client = open(&running);
    say(&mut client, &ask("Hello"));
    while hear(&mut client)["type"] != "response.completed" {}
    close(client);
    let (_, response, _) = running.keeper.all_over(2).remove(0);
    assert_eq!(String::from_utf8_lossy(&response.unwrap().body.bytes), sse(&events("resp_1")));
}

/// Both sides pack, each message for itself or one behind the other.
#[test]
#[expect(clippy::result_large_err, reason = "so the other implementation wants it")]
fn packed_messages_are_read() {
    for (agreed, is_joint) in [
        ("permessage-deflate", true),
        ("permessage-deflate; server_no_context_takeover; client_no_context_takeover", false),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let agree = |_: &Request, mut response: Response| {
                response.headers_mut().insert("Sec-WebSocket-Extensions", agreed.parse().unwrap());
                Ok(response)
            };
            let mut socket = tungstenite::accept_hdr(stream, agree).unwrap();
            let mut packer = Packer::new(is_joint);
            for id in ["resp_1", "resp_2"] {
                // This implementation cannot unpack.
                assert!(socket.get_mut().read(&mut [0; 4096]).unwrap() > 0);
                for event in events(id) {
                    socket.send(packer.message(&event)).unwrap();
                }
            }
            while socket.read().is_ok() {}
        });
        let running = Running::start(address, &Room::new(1 << 20, 1 << 18), |_| {});
        let mut client = open(&running);
        let mut packer = Packer::new(is_joint);
        for words in ["Hello", "Hello again"] {
            client.send(packer.message(&ask(words))).unwrap();
            assert!(client.get_mut().read(&mut [0; 4096]).unwrap() > 0);
        }
        let all = running.keeper.all_over(2);
        for ((sent, response, _), (words, id)) in
            all.iter().zip([("Hello", "resp_1"), ("Hello again", "resp_2")])
        {
            assert!(String::from_utf8_lossy(&sent.body.bytes).contains(&format!("\"{words}\"")), "{agreed}");
            let response = response.as_ref().unwrap();
            assert_eq!(String::from_utf8_lossy(&response.body.bytes), sse(&events(id)), "{agreed}");
        }
        drop(client);
    }
}

struct Packer {
    packer: Compress,
    is_joint: bool,
}

impl Packer {
    fn new(is_joint: bool) -> Packer {
        Packer { packer: Compress::new(Compression::default(), false), is_joint }
    }

    fn message(&mut self, message: &Value) -> Message {
        let mut out = Vec::with_capacity(10_000);
        self.packer.compress_vec(message.to_string().as_bytes(), &mut out, FlushCompress::Sync).unwrap();
        out.truncate(out.len() - 4);
        if !self.is_joint {
            self.packer.reset();
        }
        let mut frame = Frame::message(out, OpCode::Data(Data::Text), true);
        frame.header_mut().rsv1 = true;
        Message::Frame(frame)
    }
}

#[test]
fn what_fails_is_told_with_its_status_and_the_next_call_is_another() {
    let failed = json!({"type": "error", "status": 400, "error": {"code": "previous_response_not_found"}});
    let begun = json!({"type": "response.created", "response": {"id": "resp_2"}});
    let overloaded = json!({"type": "error", "error": {"code": "overloaded"}});
    let said = [failed.clone(), begun.clone(), overloaded.clone()];
    let running = start(move |mut socket| {
        hear(&mut socket);
        say(&mut socket, &said[0]);
        hear(&mut socket);
        said[1..].iter().for_each(|event| say(&mut socket, event));
        say(&mut socket, &json!({"type": "response.failed", "response": {"id": "resp_2"}}));
        hear(&mut socket);
        answer(&mut socket, "resp_3");
        while socket.read().is_ok() {}
    });
    let mut client = open(&running);
    for (words, last) in [("One", "error"), ("Two", "response.failed"), ("Three", "response.completed")] {
        say(&mut client, &ask(words));
        while hear(&mut client)["type"] != last {}
    }
    close(client);
    let all = running.keeper.all_over(4);
    let told: Vec<(u16, String)> = all[..3]
        .iter()
        .map(|(_, response, _)| response.as_ref().unwrap())
        .map(|one| (one.status.unwrap().as_u16(), String::from_utf8_lossy(&one.body.bytes).into_owned()))
        .collect();
    assert_eq!(told[0], (400, sse(&[failed])));
    assert_eq!(told[1], (200, sse(&[begun, overloaded])));
    assert_eq!(told[2], (200, sse(&events("resp_3"))));
}

/// A client that asks for more before it was answered.
#[test]
fn answers_belong_to_calls_in_their_order() {
    let running = start(|mut socket| {
        (0..3).for_each(|_| drop(hear(&mut socket)));
        let first = events("resp_1");
        say(&mut socket, &first[0]);
        say(&mut socket, &json!({"type": "error", "status": 409, "error": {"code": "too_many"}}));
        first[1..].iter().for_each(|event| say(&mut socket, event));
        answer(&mut socket, "resp_2");
        while socket.read().is_ok() {}
    });
    let mut client = open(&running);
    for words in ["One", "Two", "Three"] {
        say(&mut client, &ask(words));
    }
    (0..7).for_each(|_| drop(hear(&mut client)));
    close(client);
    let all = running.keeper.all_over(4);
    let told: Vec<(String, u16)> = all[..3]
        .iter()
        .map(|(sent, response, _)| {
            let body: Value = serde_json::from_slice(&sent.body.bytes).unwrap();
            let words = body["input"][0]["content"].as_str().unwrap().to_string();
            (words, response.as_ref().unwrap().status.unwrap().as_u16())
        })
        .collect();
    let expected = [("Three", 409), ("One", 200), ("Two", 200)];
    assert_eq!(told, expected.map(|(words, status)| (words.to_string(), status)));
}

#[test]
fn a_call_without_an_end_says_who_went_away() {
    let running = start(|mut socket| {
        hear(&mut socket);
        say(&mut socket, &events("resp_1")[0]);
        while socket.read().is_ok() {}
    });
    let mut client = open(&running);
    say(&mut client, &ask("Hello"));
    hear(&mut client);
    drop(client);
    let (_, response, failure) = running.keeper.all_over(2).remove(0);
    assert_eq!((response.unwrap().cut, failure), (Some(Cut::Client), None));

    let running = start(|mut socket| {
        hear(&mut socket);
        say(&mut socket, &events("resp_1")[0]);
    });
    let mut client = open(&running);
    say(&mut client, &ask("Hello"));
    while client.read().is_ok() {}
    drop(client);
    let (_, response, failure) = running.keeper.all_over(2).remove(0);
    assert_eq!((response.unwrap().cut, failure.unwrap().sort), (Some(Cut::Upstream), "broken"));
}

#[test]
fn what_is_not_read_is_counted_and_said() {
    let running = start(|mut socket| {
        say(&mut socket, &json!({"type": "session.created", "session": {"id": "sess_1"}}));
        hear(&mut socket);
        socket.send(Message::binary(vec![0, 1, 2])).unwrap();
        say(&mut socket, &json!({"type": "response.done", "response": {"id": "resp_1"}}));
        while socket.read().is_ok() {}
    });
    let mut client = open(&running);
    hear(&mut client);
    // The Realtime API asks by the same name.
    say(&mut client, &json!({"type": "response.create", "response": {"instructions": "Greet"}}));
    hear(&mut client);
    close(client);
    let all = running.keeper.all_over(1);
    let [up, down] = **all[0].1.as_ref().unwrap().socket.as_ref().unwrap();
    assert_eq!((up.messages, up.unread, down.messages, down.unread), (1, 1, 3, 3));
    assert_eq!((running.room.lost(Loss::Unread), running.room.lost_in_all()), (1, 1), "once for a socket");
    assert!(running.get().contains("x-unspool-recording: lost 1\r\n"));
}

/// Messages that only speak of calls, before or behind them.
#[test]
fn what_stands_around_calls_is_no_loss() {
    let running = start(|mut socket| {
        hear(&mut socket);
        answer(&mut socket, "resp_1");
        hear(&mut socket);
        say(&mut socket, &json!({"type": "codex.rate_limits"}));
        while socket.read().is_ok() {}
    });
    let mut client = open(&running);
    say(&mut client, &ask("Hello"));
    while hear(&mut client)["type"] != "response.completed" {}
    say(&mut client, &json!({"type": "response.processed", "response_id": "resp_1"}));
    hear(&mut client);
    close(client);
    let all = running.keeper.all_over(2);
    let [up, down] = **all[1].1.as_ref().unwrap().socket.as_ref().unwrap();
    assert_eq!((up.unread, down.unread, running.room.lost_in_all()), (1, 1, 0));
}

#[test]
fn without_room_messages_go_on_and_losses_are_counted() {
    let large = "x".repeat(200_000);
    let room = Room::new(150_000, 1 << 20);
    let sent = large.clone();
    let address = socket::api(move |mut socket| {
        for n in 0..3 {
            assert!(hear(&mut socket)["input"][0]["content"] == sent.as_str());
            answer(&mut socket, &format!("resp_{n}"));
        }
        while socket.read().is_ok() {}
    });
    let running = Running::start(address, &room, |_| {});
    let mut client = open(&running);
    for _ in 0..3 {
        say(&mut client, &ask(&large));
        while hear(&mut client)["type"] != "response.completed" {}
    }
    close(client);
    drop(running.keeper.all_over(1));
    assert_eq!(room.lost(Loss::NoRoom), 3, "one for each call");
    assert_eq!((room.held(), Arc::strong_count(&room) > 1), (0, true));
}

#[test]
fn calls_belong_to_the_command_of_their_socket() {
    let running = start(|mut socket| {
        hear(&mut socket);
        answer(&mut socket, "resp_1");
        while socket.read().is_ok() {}
    });
    let path = "/~run-0123456789abcdef/api/v1/responses";
    let mut client = socket::open(&running.address.to_string(), path, &[]);
    say(&mut client, &ask("Hello"));
    while hear(&mut client)["type"] != "response.completed" {}
    close(client);
    for (sent, _, _) in running.keeper.all_over(2) {
        assert_eq!((sent.run.as_deref(), sent.path.as_str()), (Some("0123456789abcdef"), "/v1/responses"));
    }
}
