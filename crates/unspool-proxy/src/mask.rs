//! Secrets out of what is handed over.
//!
//! In: headers and paths. Out: the same with a keyed hash in the place of each secret: equal secrets stay equal, so that callers can be told
//! apart, and nobody without the key can try secrets out.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::fmt::Write as _;
use std::ops::Range;
use unspool_redact::is_secret_name;

/// How a masked value begins.
pub const MASKED: &str = "masked:";

/// Where clients in browsers put their key among the names of protocols, which are short.
const PROTOCOLS: HeaderName = header::SEC_WEBSOCKET_PROTOCOL;
const MAX_PROTOCOL_BYTES: usize = 24;

/// What is masked, and the key it is done with.
#[derive(Clone)]
pub struct Masks {
    key: [u8; 32],
    more: Vec<HeaderName>,
}

impl Masks {
    /// The usual headers and these.
    pub fn new(key: [u8; 32], more: Vec<HeaderName>) -> Masks {
        Masks { key, more }
    }

    fn is_secret(&self, name: &HeaderName) -> bool {
        is_secret_name(name.as_str()) || self.more.contains(name)
    }

    /// What stands in the place of a secret.
    fn mask(&self, secret: &[u8]) -> String {
        let hash = blake3::keyed_hash(&self.key, secret);
        let mut masked = String::from(MASKED);
        for byte in &hash.as_bytes()[..8] {
            let _ = write!(masked, "{byte:02x}");
        }
        masked
    }

    /// Headers in their order, without secrets.
    pub(crate) fn headers(&self, headers: &HeaderMap) -> Vec<(HeaderName, HeaderValue)> {
        let safe = |(name, value): (&HeaderName, &HeaderValue)| {
            let masked = if self.is_secret(name) {
                Some(self.mask(value.as_bytes()))
            } else if *name == PROTOCOLS {
                Some(self.protocols(value))
            } else {
                // Some hold an address: where to go, where one came from, where to upload to.
                value.to_str().ok().and_then(|value| self.address(value))
            };
            let masked = masked.and_then(|masked| HeaderValue::try_from(masked).ok());
            (name.clone(), masked.unwrap_or_else(|| value.clone()))
        };
        headers.iter().map(safe).collect()
    }

    /// Names of protocols, without keys.
    fn protocols(&self, all: &HeaderValue) -> String {
        let all = String::from_utf8_lossy(all.as_bytes());
        let safe = all.split(',').map(str::trim).map(|name| {
            if name.len() > MAX_PROTOCOL_BYTES { self.mask(name.as_bytes()) } else { name.into() }
        });
        safe.collect::<Vec<String>>().join(", ")
    }

    /// A path and query without secrets.
    pub(crate) fn path(&self, path: &str) -> String {
        self.address(path).unwrap_or_else(|| path.into())
    }

    /// An address, or a part of one, without secrets; none when it has none.
    fn address(&self, said: &str) -> Option<String> {
        if !said.contains(['=', '@']) {
            return None;
        }
        let mut safe = String::new();
        let mut has_secret = false;
        for part in said.split_inclusive(['?', '&', '#', ';']) {
            let (pair, end) = part.split_at(part.len() - usize::from(part.ends_with(['?', '&', '#', ';'])));
            let secret = match pair.split_once('=') {
                Some((name, value)) if is_secret_name(name) && !value.is_empty() => {
                    Some(name.len() + 1..pair.len())
                }
                _ => user_in(pair),
            };
            if let Some(secret) = secret {
                let _ = write!(
                    safe,
                    "{}{}{}",
                    &pair[..secret.start],
                    self.mask(pair[secret.clone()].as_bytes()),
                    &pair[secret.end..]
                );
                has_secret = true;
            } else {
                safe.push_str(pair);
            }
            safe.push_str(end);
        }
        has_secret.then_some(safe)
    }
}

/// Where user and password of an address are.
fn user_in(said: &str) -> Option<Range<usize>> {
    let start = said.find("://")? + 3;
    let end = said[start..].find('/').map_or(said.len(), |end| start + end);
    let user = said[start..end].rfind('@')?;
    Some(start..start + user)
}

#[cfg(test)]
mod tests {
    use super::Masks;
    use http::{HeaderMap, HeaderName, HeaderValue};

    #[test]
    fn equal_secrets_stay_equal_and_are_gone() {
        let masks = Masks::new([7; 32], vec![HeaderName::from_static("x-mine")]);
        let mut headers = HeaderMap::new();
        for name in ["authorization", "x-amz-security-token", "cookie", "x-mine", "accept"] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static("sk-1"));
        }
        headers.append("set-cookie", HeaderValue::from_static("sk-2"));
        let safe = masks.headers(&headers);
        let values: Vec<&str> = safe.iter().map(|(_, value)| value.to_str().unwrap()).collect();
        assert_eq!(&values[1..4], [values[0]; 3]);
        assert_eq!(values[4], "sk-1");
        assert!(values[0].starts_with("masked:") && values[5].starts_with("masked:"));
        assert_ne!(values[0], values[5]);
        assert_ne!(Masks::new([8; 32], Vec::new()).headers(&headers)[0].1, values[0]);
    }

    #[test]
    fn keys_among_protocols_are_masked() {
        let masks = Masks::new([7; 32], Vec::new());
        let said = "realtime, openai-insecure-api-key.sk-proj-1,openai-beta.realtime-v1";
        let headers = [("sec-websocket-protocol", said)];
        let headers =
            headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let safe = masks.headers(&headers.into_iter().collect());
        let safe = safe[0].1.to_str().unwrap();
        assert!(!safe.contains("sk-proj") && !safe.contains("key"), "{safe}");
        assert!(
            safe.starts_with("realtime, masked:") && safe.ends_with(", openai-beta.realtime-v1"),
            "{safe}"
        );
    }

    #[test]
    fn keys_in_a_query_are_masked_and_nothing_else() {
        let masks = Masks::new([7; 32], Vec::new());
        let safe =
            masks.path("/v1/x?key=sk-1&alt=sse&Api_Key=sk-1&%6bey=sk-1&X-Amz-Signature=sk-1&keys=2&key=");
        assert!(!safe.contains("sk-1"), "{safe}");
        assert!(safe.starts_with("/v1/x?key=masked:") && safe.ends_with("&keys=2&key="), "{safe}");
        assert!(safe.contains("&alt=sse&Api_Key=masked:"), "{safe}");
        assert_eq!(masks.path("/v1/a%2Fb?x=1&y"), "/v1/a%2Fb?x=1&y");
    }

    #[test]
    fn addresses_in_headers_keep_all_but_their_secrets() {
        let masks = Masks::new([7; 32], Vec::new());
        for (name, value, kept) in [
            (
                "location",
                "https://h.example/up?id=3&key=sk-1#access_token=sk-1",
                "https://h.example/up?id=3&key=",
            ),
            ("referer", "http://user:sk-1@h.example/a?b=c", "@h.example/a?b=c"),
            ("referer", "http://h.example/?key=sk-1&next=http://u:sk-1@i.example/", "@i.example/"),
            ("x-goog-upload-url", "/upload?upload_id=9;token=sk-1", "/upload?upload_id=9;token="),
        ] {
            let headers = [(HeaderName::from_static(name), HeaderValue::from_static(value))];
            let safe = masks.headers(&headers.into_iter().collect());
            let safe = safe[0].1.to_str().unwrap();
            assert!(safe.contains(kept) && !safe.contains("sk-1") && safe.contains("masked:"), "{safe}");
        }
        let plain = "Mozilla/5.0 (what? a=b; key) mail@h.example";
        let headers = [(HeaderName::from_static("user-agent"), HeaderValue::from_static(plain))];
        assert_eq!(masks.headers(&headers.into_iter().collect())[0].1, plain);
    }
}
