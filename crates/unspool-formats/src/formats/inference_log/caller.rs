//! Who calls, as the headers of a request and its user id say.

use crate::json::{Json, Kind, Malformed, RawStr};
use std::borrow::Cow;

/// The headers that say who calls.
#[derive(Default)]
pub(super) struct Headers<'a> {
    pub(super) session: Option<RawStr<'a>>,
    pub(super) agent: Option<RawStr<'a>>,
    pub(super) parent_agent: Option<RawStr<'a>>,
    pub(super) class: Option<RawStr<'a>>,
    pub(super) agent_type: Option<RawStr<'a>>,
    pub(super) user_agent: Option<RawStr<'a>>,
    pub(super) request_id: Option<RawStr<'a>>,
    /// What our own proxy left of the caller's keys, by their place in `KEYS`.
    keys: [Option<RawStr<'a>>; KEYS.len()],
}

/// How what is left of a key begins.
const MASKED: &[u8] = b"masked:";

/// Headers with a key of the caller, those that tell callers apart best first: keys stay, tokens are made anew every hour, and what is said to
/// a proxy on the way may be the same for a whole house. Other headers may be masked, too, and differ from request to request.
const KEYS: [&str; 6] = [
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
    "authorization",
    "proxy-authorization",
];

/// How many of them count more than a key in the query.
const KEYS_BEFORE_QUERY: usize = 4;

/// Parameters of a query that hold such a key, in the same order.
const KEY_PARAMETERS: [&str; 8] =
    ["key", "api_key", "api-key", "apikey", "subscription-key", "access_token", "auth_token", "token"];

impl<'a> Headers<'a> {
    /// Reads an object of headers, or a list of pairs.
    pub(super) fn read(&mut self, json: &mut Json<'a>) -> Result<(), Malformed> {
        match json.kind()? {
            Kind::Object => json.object(|json, key| {
                // Some recorders keep every value of a header.
                let value = if json.kind()? == Kind::Array {
                    let mut first = None;
                    json.array(|json| {
                        let value = json.string()?;
                        first = first.or(value);
                        Ok(())
                    })?;
                    first
                } else {
                    json.string()?
                };
                self.take(key, value);
                Ok(())
            }),
            Kind::Array => json.array(|json| {
                if json.kind()? == Kind::Object {
                    let (mut name, mut value) = (None, None);
                    json.object(|json, key| {
                        match key {
                            b"name" => name = json.string()?,
                            b"value" => value = json.string()?,
                            _ => json.skip()?,
                        }
                        Ok(())
                    })?;
                    if let Some(name) = name {
                        self.take(name.raw, value);
                    }
                    return Ok(());
                }
                if json.kind()? != Kind::Array {
                    return json.skip();
                }
                let mut pair = [None; 2];
                let mut n = 0;
                json.array(|json| {
                    let value = json.string()?;
                    if let Some(slot) = pair.get_mut(n) {
                        *slot = value;
                    }
                    n += 1;
                    Ok(())
                })?;
                if let Some(name) = pair[0] {
                    self.take(name.raw, pair[1]);
                }
                Ok(())
            }),
            _ => json.skip(),
        }
    }

    fn take(&mut self, name: &[u8], value: Option<RawStr<'a>>) {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let slot = match name.len() {
            24 if is("x-claude-code-session-id") => &mut self.session,
            22 if is("x-claude-code-agent-id") => &mut self.agent,
            29 if is("x-claude-code-parent-agent-id") => &mut self.parent_agent,
            27 if is("x-claude-code-request-class") => &mut self.class,
            24 if is("x-claude-code-agent-type") => &mut self.agent_type,
            10 if is("user-agent") => &mut self.user_agent,
            10 if is("request-id") => &mut self.request_id,
            12 if is("x-request-id") && self.request_id.is_none() => &mut self.request_id,
            _ => {
                if let Some(value) = value.filter(|value| value.raw.starts_with(MASKED))
                    && let Some(n) = KEYS.iter().position(|key| is(key))
                {
                    self.keys[n] = self.keys[n].or(Some(value));
                }
                return;
            }
        };
        *slot = value.filter(|value| !value.is_empty()).or(*slot);
    }

    /// What is left of the key a request was made with, whatever order its headers came in.
    pub(super) fn caller<'s>(&'s self, target: &'s str) -> &'s str {
        let (keys, tokens) = self.keys.split_at(KEYS_BEFORE_QUERY);
        // What is left of a key has no escapes.
        let first = |some: &'s [Option<RawStr<'a>>]| {
            some.iter().flatten().find_map(|value| std::str::from_utf8(value.raw).ok())
        };
        first(keys).or_else(|| key_in_query(target)).or_else(|| first(tokens)).unwrap_or_default()
    }
}

/// What is left of a key in the query of a path.
fn key_in_query(target: &str) -> Option<&str> {
    let (_, query) = target.split_once('?')?;
    KEY_PARAMETERS.iter().find_map(|name| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let found =
            pairs.find(|(key, value)| key.eq_ignore_ascii_case(name) && value.as_bytes().starts_with(MASKED));
        found.map(|(_, value)| value)
    })
}

/// The session in a user id: `user_…_session_<uuid>`, or JSON with a session id.
pub(super) fn session_of_user(user: &str) -> Cow<'_, str> {
    if let Some((_, session)) = user.rsplit_once("_session_") {
        return Cow::Borrowed(session);
    }
    let mut session = None;
    let mut json = Json::new(user.as_bytes());
    if json.kind() == Ok(Kind::Object) {
        let _ = json.object(|json, key| {
            match key {
                b"session_id" => session = json.string()?,
                _ => json.skip()?,
            }
            Ok(())
        });
    }
    Cow::Owned(session.map(RawStr::decode).unwrap_or_default().into_owned())
}

/// The version in a client's name for itself, `claude-cli/2.1.0 (…)`.
pub(super) fn version_of_client(client: &str) -> &str {
    let rest = client.strip_prefix("claude-cli/").unwrap_or_default();
    rest.split(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Headers;
    use crate::json::Json;

    fn caller(headers: &str, target: &str) -> String {
        let mut read = Headers::default();
        read.read(&mut Json::new(headers.as_bytes())).unwrap();
        read.caller(target).to_string()
    }

    #[test]
    fn a_caller_is_known_by_the_key_that_counts_most_in_any_order() {
        let all = [
            "proxy-authorization",
            "Authorization",
            "ocp-apim-subscription-key",
            "x-goog-api-key",
            "api-key",
            "X-Api-Key",
        ];
        for (n, name) in all.iter().enumerate() {
            let mut headers: Vec<String> =
                all[..=n].iter().map(|name| format!(r#"["{name}","masked:{name}"]"#)).collect();
            for _ in 0..2 {
                assert_eq!(caller(&format!("[{}]", headers.join(",")), "/v1/x"), format!("masked:{name}"));
                headers.reverse();
            }
        }
    }

    #[test]
    fn a_key_in_the_query_counts_before_tokens() {
        let headers = r#"[["authorization","masked:token"]]"#;
        assert_eq!(caller(headers, "/v1/x?alt=sse&KEY=masked:aa"), "masked:aa");
        assert_eq!(caller(headers, "/v1/x?token=masked:bb&api_key=masked:cc"), "masked:cc");
        assert_eq!(caller(headers, "/v1/x?key=plain&keys=masked:dd"), "masked:token");
        assert_eq!(caller(r#"[["x-goog-api-key","masked:ee"]]"#, "/v1/x?key=masked:ff"), "masked:ee");
    }

    #[test]
    fn other_masked_headers_and_keys_in_the_clear_name_nobody() {
        let headers = r#"[["cookie","masked:aa"],["idempotency-key","masked:bb"],["x-api-key","sk-1"]]"#;
        assert_eq!(caller(headers, "/v1/x?client_secret=masked:cc"), "");
    }
}
