//! Asking a running server.

use crate::commands::hook::USUAL_SERVER;
use crate::error::CliError;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long the server may take to be there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A server by its address.
pub(crate) struct RunningServer {
    host: String,
}

impl RunningServer {
    /// The one that is named, or `$UNSPOOL_SERVER`, or the one at the usual address.
    pub(crate) fn named(named: Option<&str>) -> RunningServer {
        let set = std::env::var("UNSPOOL_SERVER").ok().filter(|value| !value.is_empty());
        let named = named.map(String::from).or(set).unwrap_or_else(|| USUAL_SERVER.into());
        RunningServer { host: named.trim_start_matches("http://").trim_end_matches('/').into() }
    }

    /// Where it is.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// A document.
    pub(crate) fn document(&self, path: &str) -> Result<Value, CliError> {
        Ok(serde_json::from_slice(&self.bytes(path)?)?)
    }

    /// What a path answers.
    pub(crate) fn bytes(&self, path: &str) -> Result<Vec<u8>, CliError> {
        self.answered(&format!("GET {path} HTTP/1.0\r\n"), "")
    }

    /// What it answers to a document that is sent to it.
    pub(crate) fn post(&self, path: &str, document: &Value) -> Result<Value, CliError> {
        let body = document.to_string();
        let head = format!(
            "POST {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        Ok(serde_json::from_slice(&self.answered(&head, &body)?)?)
    }

    /// Whether somebody listens there.
    pub(crate) fn reach(&self) -> io::Result<()> {
        self.connect().map(drop)
    }

    /// The id of the session that a name is, or is the unique beginning of.
    pub(crate) fn session(&self, name: &str) -> Result<String, CliError> {
        let mut found: Vec<String> = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.document(&format!("/api/v1/sessions?limit=1000{cursor}"))?;
            for row in page["sessions"].as_array().into_iter().flatten() {
                let native = row["native_ids"].as_array().into_iter().flatten();
                let ids = native.chain([&row["id"]]).filter_map(Value::as_str);
                let begins: Vec<&str> = ids.filter(|id| id.starts_with(name)).collect();
                if begins.contains(&name) {
                    return Ok(name.into());
                }
                found.extend(begins.first().map(ToString::to_string));
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={}", encoded(next)),
                None => break,
            }
        }
        match found.as_slice() {
            [] => Err(CliError::Data {
                why: format!("no session of the server at {} matches `{name}`", self.host),
                hint: Some(format!(
                    "http://{} shows what it has; an id or a unique start of one works",
                    self.host
                )),
            }),
            [one] => Ok(one.clone()),
            _ => Err(CliError::AmbiguousSession { prefix: name.into(), candidates: found }),
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let address = self.host.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)
    }

    fn answered(&self, head: &str, body: &str) -> Result<Vec<u8>, CliError> {
        let unreachable = |error: io::Error| CliError::Data {
            why: format!("no server answers at {}: {error}", self.host),
            hint: Some("start it with `unspool serve`, or name another with --server".into()),
        };
        let (status, body) = self.ask(head, body).map_err(unreachable)?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = |name: &str| answer["error"][name].as_str().map(String::from);
        let why = text("message").unwrap_or_else(|| format!("the server answered {status}"));
        Err(CliError::Data { why, hint: text("hint") })
    }

    /// Asks as HTTP/1.0 does, so that the answer ends with the connection.
    fn ask(&self, head: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let token = std::env::var("UNSPOOL_TOKEN").ok().filter(|token| !token.is_empty());
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        write!(stream, "{head}Host: {}\r\n{token}\r\n{body}", self.host)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let bad = || io::Error::new(io::ErrorKind::InvalidData, "that is no answer of a server");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(bad)?;
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(bad)?;
        Ok((status, answer.split_off(end + 4)))
    }
}

/// A text as a part of a path.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}
