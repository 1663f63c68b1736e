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
    /// What our own proxy left of the caller's key.
    pub(super) caller: Option<RawStr<'a>>,
}

/// How what is left of a key begins.
const MASKED: &[u8] = b"masked:";

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
            13 | 9 | 7 if is("authorization") || is("x-api-key") || is("api-key") => {
                self.caller = self.caller.or(value.filter(|value| value.raw.starts_with(MASKED)));
                return;
            }
            _ => return,
        };
        *slot = value.filter(|value| !value.is_empty()).or(*slot);
    }
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
