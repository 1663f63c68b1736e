//! What secrets look like, as data.

/// One kind of secret.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Stable name.
    pub name: &'static str,
    pub(crate) shape: Shape,
}

/// How a kind is recognised.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// One of some beginnings, then at least so many characters of a sort, a digit among them. The beginning is part of the secret.
    Begins { with: &'static [&'static str], then: Sort, least: usize },
    /// The same, but the beginning stays, in any case of its letters.
    Follows { what: &'static [&'static str], then: Sort, least: usize },
    /// `-----BEGIN … NAME…-----` to the end of the block, or as far as it goes.
    Block { name: &'static str },
    /// `eyJ….….…`: three parts in base64, the first a JSON object.
    WebToken,
    /// `://USER:SECRET@`.
    InAddress,
    /// `NAME=SECRET`, `NAME: SECRET` or `"NAME": "SECRET"` where the end of the name says what it is. It has letters and digits, so that
    /// neither numbers nor words of a program are taken.
    Named { least: usize },
    /// `--NAME SECRET`, as commands are given it, where the end of the name says what it is.
    Flag { least: usize },
    /// What `Cookie:` and `Set-Cookie:` hold.
    Cookie,
    /// What people and forms call a password.
    Password,
    /// `NAME=SECRET` in a query or form, where the name says what it is.
    InQuery,
}

/// Which characters may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Letters and digits.
    Plain,
    /// Letters, digits, `-` and `_`.
    Token,
    /// Capitals and digits, exactly so many.
    Capitals,
    /// What base64 and tokens are written with: letters, digits and `-._~+/=`.
    Wide,
}

impl Sort {
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Sort::Plain => byte.is_ascii_alphanumeric(),
            Sort::Token => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Sort::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Sort::Wide => byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte),
        }
    }
}

const fn begins(name: &'static str, with: &'static [&'static str], then: Sort, least: usize) -> Kind {
    Kind { name, shape: Shape::Begins { with, then, least } }
}

/// What is known by the name before it.
pub(crate) const NAMED: &str = "named-secret";

/// All kinds; of two that fit at one place, the first counts.
pub const KINDS: &[Kind] = &[
    Kind { name: "private-key", shape: Shape::Block { name: "PRIVATE KEY" } },
    begins("anthropic-key", &["sk-ant-"], Sort::Token, 20),
    begins("langfuse-key", &["sk-lf-"], Sort::Token, 30),
    begins("openrouter-key", &["sk-or-v1-"], Sort::Plain, 32),
    begins("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-"], Sort::Token, 20),
    begins("google-key", &["AIza"], Sort::Token, 35),
    begins("google-token", &["ya29."], Sort::Wide, 20),
    begins("aws-key-id", &["AKIA", "ASIA", "AROA", "AIDA"], Sort::Capitals, 16),
    begins("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Sort::Plain, 36),
    begins("github-token", &["github_pat_"], Sort::Token, 30),
    begins("gitlab-token", &["glpat-", "gldt-", "glrt-", "glptt-"], Sort::Token, 20),
    begins("slack-token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"], Sort::Token, 20),
    begins("stripe-key", &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"], Sort::Plain, 16),
    begins("hugging-face-token", &["hf_"], Sort::Plain, 30),
    begins("groq-key", &["gsk_"], Sort::Plain, 40),
    begins("xai-key", &["xai-"], Sort::Plain, 40),
    begins("perplexity-key", &["pplx-"], Sort::Plain, 40),
    begins("replicate-token", &["r8_"], Sort::Plain, 36),
    begins("npm-token", &["npm_"], Sort::Plain, 36),
    begins("pypi-token", &["pypi-"], Sort::Token, 50),
    begins("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Sort::Plain, 60),
    begins("sendgrid-key", &["SG."], Sort::Wide, 60),
    Kind { name: "web-token", shape: Shape::WebToken },
    Kind {
        name: "bearer-token",
        shape: Shape::Follows { what: &["bearer ", "basic ", "token "], then: Sort::Wide, least: 20 },
    },
    Kind { name: "password-in-address", shape: Shape::InAddress },
    Kind { name: NAMED, shape: Shape::InQuery },
    Kind { name: NAMED, shape: Shape::Password },
    Kind { name: NAMED, shape: Shape::Cookie },
    Kind { name: NAMED, shape: Shape::Named { least: 8 } },
    Kind { name: NAMED, shape: Shape::Flag { least: 8 } },
];

/// How names of secrets end, in small letters and with `_` for `-`.
const ENDS: &[&str] = &[
    "api_key",
    "apikey",
    "secret",
    "password",
    "passwd",
    "access_key",
    "accesskey",
    "auth_token",
    "authtoken",
    "access_token",
    "accesstoken",
    "refresh_token",
    "refreshtoken",
    "private_key",
    "privatekey",
    "client_secret",
    "credential",
    "_token",
    "pgpass",
];

/// Whether the end of a name says that it is one of a secret. Headers and flags have a hyphen where programs have `_`.
pub(crate) fn is_named_so(name: &[u8]) -> bool {
    let plain = |byte: &u8| if *byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    let name: Vec<u8> = name.iter().map(plain).collect();
    ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
}
