//! Secrets out of what is handed over.
//!
//! In: headers and paths. Out: the same with a keyed hash in the place of each secret: equal secrets stay equal, so that callers can be told
//! apart, and nobody without the key can try secrets out.

use crate::secrets::{Secrets, is_sure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use unspool_redact::{is_secret_name, is_secret_parameter};

/// How a masked value begins.
pub const MASKED: &str = "masked:";

/// Where clients in browsers put their key among the names of protocols, which are short.
const PROTOCOLS: HeaderName = header::SEC_WEBSOCKET_PROTOCOL;
const MAX_PROTOCOL_BYTES: usize = 24;
/// What a cookie is set to is a secret of its own from this length on.
const LEAST_COOKIE: usize = 16;

/// What is masked, and the key it is done with.
#[derive(Clone)]
pub struct Masks {
    key: [u8; 32],
    more: Arc<[HeaderName]>,
}

impl Masks {
    /// The usual headers and these.
    pub fn new(key: [u8; 32], more: Vec<HeaderName>) -> Masks {
        Masks { key, more: more.into() }
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

    /// What a request proves itself with.
    pub(crate) fn secrets(&self, headers: &HeaderMap, path: &str) -> Secrets {
        let mut all = Vec::new();
        for (name, value) in headers {
            let Ok(value) = std::str::from_utf8(value.as_bytes()) else { continue };
            if *name == PROTOCOLS {
                let long = value.split(',').map(str::trim).filter(|name| name.len() > MAX_PROTOCOL_BYTES);
                // A name and the key that it names.
                all.extend(long.map(|name| name.rsplit('.').next().unwrap_or(name).into()));
            } else if self.is_secret(name) {
                proofs(name, value, &mut all);
            }
        }
        let query = path.split_once('?').map(|(_, query)| query).unwrap_or_default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            // Where it is masked in the path itself, any name with a percent is not taken at its word; here it would take its value out of everything
            // that is said.
            if is_secret_parameter(name) {
                all.push(value.into());
            }
        }
        Secrets::new(all, |text| self.mask(text.as_bytes()))
    }

    /// Headers in their order, without secrets.
    pub(crate) fn headers(&self, headers: &HeaderMap, secrets: &Secrets) -> Vec<(HeaderName, HeaderValue)> {
        let safe = |(name, value): (&HeaderName, &HeaderValue)| {
            let masked = if self.is_secret(name) {
                Some(self.mask(value.as_bytes()))
            } else if *name == PROTOCOLS {
                Some(self.protocols(value))
            } else {
                // Some hold an address: where to go, where one came from, where to upload to.
                match std::str::from_utf8(value.as_bytes()) {
                    Ok(value) => self.said(value, secrets),
                    Err(_) => return (name.clone(), odd(value, secrets)),
                }
            };
            let masked = masked.and_then(|masked| HeaderValue::try_from(masked).ok());
            (name.clone(), masked.unwrap_or_else(|| value.clone()))
        };
        headers.iter().map(safe).collect()
    }

    /// A text that may hold an address or a secret of the caller, without secrets; none when it has none.
    fn said(&self, text: &str, secrets: &Secrets) -> Option<String> {
        let safe = self.address(text);
        secrets.hide_text(safe.as_deref().unwrap_or(text)).or(safe)
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
    pub(crate) fn path(&self, path: &str, secrets: &Secrets) -> String {
        self.said(path, secrets).unwrap_or_else(|| path.into())
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

/// A value that is no text, without secrets.
fn odd(value: &HeaderValue, secrets: &Secrets) -> HeaderValue {
    let safe = secrets.hide(value.as_bytes()).and_then(|safe| HeaderValue::from_bytes(&safe).ok());
    safe.unwrap_or_else(|| value.clone())
}

/// The secrets in a header that holds some: what follows the name of a scheme, what a cookie is set to, a parameter whose name says so.
fn proofs(name: &HeaderName, value: &str, all: &mut Vec<String>) {
    let value = value.trim();
    let unquoted = |value: &str| value.trim().trim_matches('"').to_string();
    if name.as_str().contains("cookie") {
        // Most cookies say what somebody likes, in a word.
        let values =
            value.split(';').filter_map(|pair| pair.split_once('=')).map(|(_, value)| unquoted(value));
        all.extend(values.filter(|value| value.len() >= LEAST_COOKIE && is_sure(value)));
        return;
    }
    let (scheme, proof) = value.split_once(' ').unwrap_or(("", value));
    let proof = proof.trim();
    let parameters = proof.split([',', ';']).filter_map(|pair| pair.split_once('='));
    all.extend(parameters.filter(|(name, _)| is_secret_name(name.trim())).map(|(_, value)| unquoted(value)));
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(user) = STANDARD_NO_PAD.decode(proof.trim_end_matches('='))
        && let Ok(user) = String::from_utf8(user)
    {
        // Some APIs take a key for the name of a user. Names that are words are masked only where they are said to be keys.
        all.extend(
            user.split_once(':').into_iter().flat_map(|(name, password)| [name, password]).map(Into::into),
        );
        all.push(user);
    }
    all.push(proof.into());
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
    use super::{Masks, Secrets};
    use http::{HeaderMap, HeaderName, HeaderValue};

    #[test]
    fn equal_secrets_stay_equal_and_are_gone() {
        let masks = Masks::new([7; 32], vec![HeaderName::from_static("x-mine")]);
        let mut headers = HeaderMap::new();
        for name in ["authorization", "x-amz-security-token", "cookie", "x-mine", "accept"] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static("sk-1"));
        }
        headers.append("set-cookie", HeaderValue::from_static("sk-2"));
        let safe = masks.headers(&headers, &Secrets::default());
        let values: Vec<&str> = safe.iter().map(|(_, value)| value.to_str().unwrap()).collect();
        assert_eq!(&values[1..4], [values[0]; 3]);
        assert_eq!(values[4], "sk-1");
        assert!(values[0].starts_with("masked:") && values[5].starts_with("masked:"));
        assert_ne!(values[0], values[5]);
        assert_ne!(Masks::new([8; 32], Vec::new()).headers(&headers, &Secrets::default())[0].1, values[0]);
    }

    #[test]
    fn keys_among_protocols_are_masked() {
        let masks = Masks::new([7; 32], Vec::new());
        let said = "realtime, openai-insecure-api-key.sk-proj-1,openai-beta.realtime-v1";
        let headers = [("sec-websocket-protocol", said)];
        let headers =
            headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let safe = masks.headers(&headers.into_iter().collect(), &Secrets::default());
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
        let path = |path: &str| masks.path(path, &Secrets::default());
        let safe = path("/v1/x?key=sk-1&alt=sse&Api_Key=sk-1&%6bey=sk-1&X-Amz-Signature=sk-1&keys=2&key=");
        assert!(!safe.contains("sk-1"), "{safe}");
        assert!(safe.starts_with("/v1/x?key=masked:") && safe.ends_with("&keys=2&key="), "{safe}");
        assert!(safe.contains("&alt=sse&Api_Key=masked:"), "{safe}");
        assert_eq!(path("/v1/a%2Fb?x=1&y"), "/v1/a%2Fb?x=1&y");
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
            let safe = masks.headers(&headers.into_iter().collect(), &Secrets::default());
            let safe = safe[0].1.to_str().unwrap();
            assert!(safe.contains(kept) && !safe.contains("sk-1") && safe.contains("masked:"), "{safe}");
        }
        let plain = "Mozilla/5.0 (what? a=b; key) mail@h.example";
        let headers = [(HeaderName::from_static("user-agent"), HeaderValue::from_static(plain))];
        assert_eq!(masks.headers(&headers.into_iter().collect(), &Secrets::default())[0].1, plain);
    }

    #[test]
    fn what_a_caller_proves_itself_with_is_known_by_its_parts() {
        let masks = Masks::new([7; 32], vec![HeaderName::from_static("x-mine")]);
        for (name, value, said, is_hidden) in [
            ("authorization", "Bearer sk-a1b2c3d4", "no key: sk-a1b2c3d4", true),
            ("authorization", "sk-a1b2c3d4", "no key: sk-a1b2c3d4", true),
            ("x-api-key", "sk-a1b2c3d4", "no key: sk-a1b2c3d4", true),
            ("x-mine", "sk-a1b2c3d4", "no key: sk-a1b2c3d4", true),
            ("authorization", "Basic dXNlcjpodW50ZXIyMw==", "user:hunter23", true),
            ("authorization", "Basic dXNlcjpodW50ZXIyMw==", "dXNlcjpodW50ZXIyMw==", true),
            ("authorization", "Basic dXNlcjpodW50ZXIyMw==", "password hunter23", true),
            ("authorization", "Basic dXNlcjpodW50ZXIyMw", "password hunter23", true),
            ("authorization", "Basic dXNlcjpodW50ZXIyMw==", "the user said so", false),
            ("authorization", "Basic c2tfdGVzdF80ZUMzOUhxOg==", "no such key: sk_test_4eC39Hq.", true),
            ("authorization", "Token token=abc123def456", "no such token abc123def456", true),
            ("authorization", "Token token=\"abc123def456\"", "no such token abc123def456", true),
            ("authorization", "Token token=abc123def456", "token=abc123def456", true),
            ("authorization", "key=abc123def456", "no such key abc123def456", true),
            ("authorization", "Digest username=bobby123, nonce=abc123def456", "bobby123 abc123def456", false),
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=AKIA/1/x, SignedHeaders=host;x-amz-date, Signature=ab12cd34",
                "ab12cd34",
                true,
            ),
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=AKIA/1/x, SignedHeaders=host;x-amz-date, Signature=ab12cd34",
                "AWS4-HMAC-SHA256 x-amz-date",
                false,
            ),
            ("cookie", "lang=en_US.UTF-8; sid=0123456789abcdef01", "sid 0123456789abcdef01", true),
            ("cookie2", "lang=en_US.UTF-8; sid=0123456789abcdef01", "en_US.UTF-8", false),
            (
                "sec-websocket-protocol",
                "realtime, openai-insecure-api-key.sk-proj-a1b2c3",
                "sk-proj-a1b2c3",
                true,
            ),
            ("accept", "sk-a1b2c3d4", "sk-a1b2c3d4", false),
        ] {
            let headers = [(HeaderName::from_static(name), HeaderValue::from_static(value))];
            let secrets = masks.secrets(&headers.into_iter().collect(), "/v1/x");
            assert_eq!(secrets.hide(said.as_bytes()).is_some(), is_hidden, "{name}: {value}: {said}");
        }
        for (query, is_hidden) in [
            ("models%5B%5D=gpt-4o-mini", false),
            ("a%20b=gpt-4o-mini", false),
            ("%6bey=gpt-4o-mini", true),
            ("auth%5Btoken%5D=gpt-4o-mini", true),
            ("key[]=gpt-4o-mini", true),
        ] {
            let secrets = masks.secrets(&HeaderMap::new(), &format!("/v1/x?{query}"));
            assert_eq!(secrets.hide(b"{\"model\":\"gpt-4o-mini\"}").is_some(), is_hidden, "{query}");
            let is_kept = masks.path(&format!("/v1/x?{query}"), &secrets).contains("mini");
            assert!(!is_kept, "a path is masked with care: {query}");
        }
        let secrets = masks.secrets(&HeaderMap::new(), "/v1/x?alt=sse&key=a1b2c3d4e5");
        assert!(secrets.hide(b"the key a1b2c3d4e5").is_some());
        assert_eq!(masks.path("/bot-a1b2c3d4e5/x", &secrets).split('/').count(), 3);
        assert!(!masks.path("/bot-a1b2c3d4e5/x", &secrets).contains("a1b2"));
        let echo = [(HeaderName::from_static("x-echo"), HeaderValue::from_static("was a1b2c3d4e5"))];
        let safe = masks.headers(&echo.into_iter().collect(), &secrets);
        assert!(safe[0].1.to_str().unwrap().starts_with("was masked:"), "{safe:?}");
        for said in [&b"\xc3\xa9 a1b2c3d4e5"[..], b"\xe9 a1b2c3d4e5"] {
            let echo = [(HeaderName::from_static("x-echo"), HeaderValue::from_bytes(said).unwrap())];
            let safe = masks.headers(&echo.into_iter().collect(), &secrets);
            let is_there = safe[0].1.as_bytes().windows(10).any(|part| part == b"a1b2c3d4e5");
            assert!(!is_there && safe[0].1.len() > 2, "{safe:?}");
        }
    }
}
