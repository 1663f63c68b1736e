//! Secrets out of what is handed over.
//!
//! In: headers and paths. Out: the same with a keyed hash in the place of each secret: equal secrets stay equal, so that callers can be told
//! apart, and nobody without the key can try secrets out.

use http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt::Write as _;

/// How a masked value begins.
pub const MASKED: &str = "masked:";

/// Headers whose values are secrets.
const SECRET_HEADERS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
    "cookie",
    "set-cookie",
];

/// Parameters of a query whose values are secrets.
const SECRET_PARAMETERS: [&str; 9] = [
    "key",
    "api_key",
    "api-key",
    "apikey",
    "token",
    "access_token",
    "auth_token",
    "subscription-key",
    "client_secret",
];

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
        SECRET_HEADERS.contains(&name.as_str()) || self.more.contains(name)
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
            let masked =
                self.is_secret(name).then(|| HeaderValue::try_from(self.mask(value.as_bytes())).ok());
            (name.clone(), masked.flatten().unwrap_or_else(|| value.clone()))
        };
        headers.iter().map(safe).collect()
    }

    /// A path and query without secrets.
    pub(crate) fn path(&self, path: &str) -> String {
        let Some((path, query)) = path.split_once('?') else { return path.into() };
        let mut safe = format!("{path}?");
        for (n, pair) in query.split('&').enumerate() {
            if n > 0 {
                safe.push('&');
            }
            match pair.split_once('=') {
                Some((name, value)) if is_secret_parameter(name) && !value.is_empty() => {
                    let _ = write!(safe, "{name}={}", self.mask(value.as_bytes()));
                }
                _ => safe.push_str(pair),
            }
        }
        safe
    }
}

/// Names that are written with percents are not taken at their word.
fn is_secret_parameter(name: &str) -> bool {
    name.contains('%') || SECRET_PARAMETERS.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

#[cfg(test)]
mod tests {
    use super::Masks;
    use http::{HeaderMap, HeaderName, HeaderValue};

    #[test]
    fn equal_secrets_stay_equal_and_are_gone() {
        let masks = Masks::new([7; 32], vec![HeaderName::from_static("x-mine")]);
        let mut headers = HeaderMap::new();
        for name in ["authorization", "x-api-key", "cookie", "x-mine", "accept"] {
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
    fn keys_in_a_query_are_masked_and_nothing_else() {
        let masks = Masks::new([7; 32], Vec::new());
        let safe = masks.path("/v1/x?key=sk-1&alt=sse&Api_Key=sk-1&%6bey=sk-1&keys=2&key=");
        assert!(!safe.contains("sk-1"), "{safe}");
        assert!(safe.starts_with("/v1/x?key=masked:") && safe.ends_with("&keys=2&key="), "{safe}");
        assert!(safe.contains("&alt=sse&Api_Key=masked:"), "{safe}");
        assert_eq!(masks.path("/v1/a%2Fb?x=1&y"), "/v1/a%2Fb?x=1&y");
    }
}
