//! Names that say that what they name is a secret: of headers, of parameters of a query.

use percent_encoding::percent_decode_str;

/// A name with a word that ends like this, but for a number behind it, names a secret. Words are parted by `-`, `_` and `.`; `tokens` counts
/// something and is none.
const ENDS: [&str; 20] = [
    "key",
    "token",
    "secret",
    "auth",
    "authorization",
    "authentication",
    "bearer",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "signature",
    "sig",
    "jwt",
    "hmac",
];

/// Words that name a secret where they stand alone: a `bypass` and a `compass` are none.
const WORDS: [&str; 3] = ["pass", "cred", "creds"];

/// Whether a value of this name is to be kept from others. It errs on the side of secrets: `idempotency-key` is taken for one.
pub fn is_secret_name(name: &str) -> bool {
    // Names that are written with percents are not taken at their word.
    name.contains('%') || name.split(['-', '_', '.']).any(is_secret_word)
}

/// Whether a parameter of a query is a secret by its name, as that is meant: `models%5B%5D` is `models[]`, and no secret.
pub fn is_secret_parameter(name: &str) -> bool {
    let decoded = percent_decode_str(name).decode_utf8_lossy();
    decoded.split(['%', '[', ']']).any(is_secret_name)
}

fn is_secret_word(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let ends = |end: &&str| {
        let start = word.len().checked_sub(end.len());
        start.is_some_and(|start| word.as_bytes()[start..].eq_ignore_ascii_case(end.as_bytes()))
    };
    ENDS.iter().any(ends) || WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::{is_secret_name, is_secret_parameter};

    #[test]
    fn parameters_are_known_by_what_their_names_mean() {
        for name in ["key", "%6bey", "key[]", "auth%5Btoken%5D", "api%5Fkey", "api%5fkey"] {
            assert!(is_secret_parameter(name), "{name}");
        }
        for name in ["models%5B%5D", "a%20b", "100%", "page%5Bsize%5D", "", "%ff"] {
            assert!(!is_secret_parameter(name), "{name}");
        }
    }

    #[test]
    fn names_of_secrets_are_known_and_others_left_alone() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "cf-aig-authorization",
            "x-api-key",
            "api-key",
            "x-goog-api-key",
            "ocp-apim-subscription-key",
            "x-portkey-api-key",
            "x-amz-security-token",
            "x-auth-token",
            "helicone-auth",
            "Set-Cookie",
            "cookie2",
            "Set-Cookie2",
            "x-cookies",
            "x-api-key-2",
            "token1",
            "x-hub-signature-256",
            "x-amz-hmac",
            "key",
            "apiKey",
            "access_token",
            "refresh_token",
            "X-Amz-Signature",
            "X-Amz-Credential",
            "sig",
            "client_secret",
            "password",
            "X-Pass",
            "x-creds",
            "user_pass",
            "%6bey",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "accept",
            "content-type",
            "user-agent",
            "anthropic-version",
            "anthropic-beta",
            "anthropic-organization-id",
            "anthropic-ratelimit-tokens-remaining",
            "x-claude-code-session-id",
            "x-request-id",
            "x-stainless-runtime",
            "max_tokens",
            "keys",
            "x-amz-content-sha256",
            "x-b3-traceid",
            "2",
            "alt",
            "beta",
            "design",
            "x-cache-bypass",
            "x-compass",
            "sacred",
            "",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
