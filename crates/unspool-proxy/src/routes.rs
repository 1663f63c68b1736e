//! Which upstream a path leads to, and for whom.

use http::Uri;
use http::uri::PathAndQuery;

/// An API that requests are carried to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The first part of the paths that lead to it.
    pub name: String,
    /// Where it is; what it has of a path comes before that of a request.
    pub url: Uri,
}

/// Why something names no upstream.
#[derive(Debug, thiserror::Error)]
#[error("`{said}` is no upstream: {why}")]
pub struct BadUpstream {
    said: String,
    why: &'static str,
}

/// An address as it may be shown: without the user, password and query it may have, whether it can be read or not.
pub fn shown(address: &str) -> String {
    // Before the last `@`, since a password that was not encoded may have anything in it.
    let (start, place) = match address.rsplit_once('@') {
        Some((before, place)) => {
            let named = || before.find('=').map_or(0, |at| at + 1);
            let start = before.find("://").map_or_else(named, |at| at + 3);
            (format!("{}…@", &before[..start]), place)
        }
        None => (String::new(), address),
    };
    match place.split_once('?') {
        Some((place, _)) => format!("{start}{place}?…"),
        None => format!("{start}{place}"),
    }
}

impl Upstream {
    /// Reads `NAME=URL`.
    pub fn parse(said: &str) -> Result<Upstream, BadUpstream> {
        let bad = |why| BadUpstream { said: shown(said), why };
        let (name, url) = said.split_once('=').ok_or_else(|| bad("write NAME=URL"))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_plain) || name.chars().all(|c| c == '.') {
            return Err(bad("a name has letters, digits, `-`, `_` and `.`"));
        }
        let url: Uri = url.parse().map_err(|_| bad("its URL cannot be read"))?;
        if !matches!(url.scheme_str(), Some("http" | "https")) || url.authority().is_none() {
            return Err(bad("its URL begins with http:// or https:// and names a host"));
        }
        if url.query().is_some() {
            return Err(bad("its URL has a query"));
        }
        if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(bad("its URL has a user or a password"));
        }
        Ok(Upstream { name: name.into(), url })
    }

    /// Where a path behind the route leads to.
    fn uri(&self, rest: &str) -> Option<Uri> {
        let base = self.url.path().trim_end_matches('/');
        let mut parts = self.url.clone().into_parts();
        let path = match rest.as_bytes().first() {
            Some(b'/') => format!("{base}{rest}"),
            Some(_) => format!("{base}/{rest}"),
            None if base.is_empty() => "/".into(),
            None => base.into(),
        };
        parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
        Uri::from_parts(parts).ok()
    }
}

/// How the paths of a command begin, written plainly or as some clients write it.
const OF_RUN: [&str; 2] = ["/~run-", "/%7Erun-"];
/// How many digits tell one command from another.
const RUN_DIGITS: usize = 16;

/// The first part of the paths of a command's requests, by which they are told apart from those of others. No upstream has such a name.
pub fn run_path(run: &str) -> String {
    format!("{}{run}", OF_RUN[0])
}

/// The command that a path belongs to, and the path without that.
pub fn split_run(asked: &str) -> (Option<&str>, &str) {
    let behind = OF_RUN.iter().find_map(|start| asked.strip_prefix(start));
    let split = behind.and_then(|behind| behind.split_at_checked(RUN_DIGITS));
    let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    match split {
        Some((run, rest))
            if run.bytes().all(is_digit) && matches!(rest.bytes().next(), None | Some(b'/' | b'?')) =>
        {
            (Some(run), rest)
        }
        _ => (None, asked),
    }
}

/// Where a request goes.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    pub(crate) upstream: &'a Upstream,
    pub(crate) uri: Uri,
    /// Path and query behind the route.
    pub(crate) rest: &'a str,
    /// The command it belongs to, if the path says so.
    pub(crate) run: Option<&'a str>,
}

/// All upstreams.
#[derive(Clone, Debug)]
pub struct Routes {
    upstreams: Vec<Upstream>,
}

impl Routes {
    /// Two of one name are an error.
    pub fn new(upstreams: Vec<Upstream>) -> Result<Routes, BadUpstream> {
        for (n, one) in upstreams.iter().enumerate() {
            if upstreams[..n].iter().any(|other| other.name == one.name) {
                let said = format!("{}={}", one.name, one.url);
                return Err(BadUpstream { said, why: "another one has this name" });
            }
        }
        Ok(Routes { upstreams })
    }

    /// All of them.
    pub fn all(&self) -> &[Upstream] {
        &self.upstreams
    }

    /// Where a path and query lead to, as they came.
    pub(crate) fn find<'a>(&'a self, asked: &'a str) -> Option<Route<'a>> {
        let (run, asked) = split_run(asked);
        let path = match asked.strip_prefix('/') {
            Some(path) => path,
            None if run.is_some() => asked,
            None => return None,
        };
        let end = path.find(['/', '?']).unwrap_or(path.len());
        let named = self.upstreams.iter().find(|one| one.name == path[..end]);
        let (upstream, rest) = match (named, self.upstreams.as_slice()) {
            (Some(named), _) => (named, &path[end..]),
            (None, [only]) => (only, asked),
            (None, _) => return None,
        };
        Some(Route { upstream, uri: upstream.uri(rest)?, rest, run })
    }
}

#[cfg(test)]
mod tests {
    use super::{Routes, Upstream};

    fn routes(all: &[&str]) -> Routes {
        Routes::new(all.iter().map(|said| Upstream::parse(said).unwrap()).collect()).unwrap()
    }

    #[test]
    fn paths_lead_to_upstreams_as_they_came() {
        let two = routes(&["a=https://api.example", "b=http://127.0.0.1:8/base/"]);
        let found = |routes: &Routes, path: &str| routes.find(path).map(|route| route.uri.to_string());
        for (path, uri) in [
            ("/a/v1/messages?beta=true", "https://api.example/v1/messages?beta=true"),
            ("/a", "https://api.example/"),
            ("/a?x", "https://api.example/?x"),
            ("/a//x/../%2e%2F?q=%20+&r=a/b", "https://api.example//x/../%2e%2F?q=%20+&r=a/b"),
            ("/b/v1", "http://127.0.0.1:8/base/v1"),
            ("/b", "http://127.0.0.1:8/base"),
        ] {
            assert_eq!(found(&two, path).as_deref(), Some(uri), "{path}");
        }
        for path in ["/", "/c/v1", "/A/v1", "*", "/v1/messages", "/ab/v1"] {
            assert_eq!(found(&two, path), None, "{path}");
        }
        let one = routes(&["a=https://api.example"]);
        assert_eq!(found(&one, "/v1/messages").as_deref(), Some("https://api.example/v1/messages"));
        assert_eq!(found(&one, "/a/v1").as_deref(), Some("https://api.example/v1"));
    }

    #[test]
    fn the_command_of_a_path_is_told_and_goes_no_further() {
        let run = "0123456789abcdef";
        let one = routes(&["a=https://api.example/base"]);
        for (path, rest, uri) in [
            ("/~run-0123456789abcdef/a/v1?x", "/v1?x", "https://api.example/base/v1?x"),
            ("/%7Erun-0123456789abcdef/a/v1", "/v1", "https://api.example/base/v1"),
            ("/~run-0123456789abcdef/v1", "/v1", "https://api.example/base/v1"),
            ("/~run-0123456789abcdef", "", "https://api.example/base"),
            ("/~run-0123456789abcdef?x", "?x", "https://api.example/base/?x"),
        ] {
            let found = one.find(path).unwrap();
            assert_eq!(
                (found.run, found.rest, found.uri.to_string().as_str()),
                (Some(run), rest, uri),
                "{path}"
            );
        }
        // What only looks like one is a path like any other.
        for path in
            ["/~run-0123456789abcde/a", "/~run-0123456789abcdeg/a", "/~run-0123456789abcdef0/a", "/~x/a"]
        {
            let found = one.find(path).unwrap();
            assert_eq!((found.run, found.rest), (None, path));
        }
        assert!(Upstream::parse("~run-0123456789abcdef=http://x").is_err());
        assert!(routes(&["a=http://x", "b=http://y"]).find("/~run-0123456789abcdef/v1").is_none());
    }

    #[test]
    fn what_is_no_upstream_says_why() {
        for bad in
            ["a", "=http://x", "a=", "a=ftp://x", "a=/x", "a/b=http://x", "a=http://x?y", "a=http://u:p@x"]
        {
            assert!(Upstream::parse(bad).is_err(), "{bad}");
        }
        for (said, shown) in [
            ("a=http://u:PW@x", "a=http://…@x"),
            ("a=http://u:P/W@x/y?key=PW", "a=http://…@x/y?…"),
            ("a=http://u:P?W@x", "a=http://…@x"),
            ("a=u:PW@x", "a=…@x"),
            ("PW@x", "…@x"),
            ("a=http://x?key=PW", "a=http://x?…"),
            ("a=ftp://x", "a=ftp://x"),
        ] {
            let why = Upstream::parse(said).unwrap_err().to_string();
            assert!(why.starts_with(&format!("`{shown}` is no upstream")), "{why}");
        }
        let twice = ["a=http://x", "a=http://y"].map(|said| Upstream::parse(said).unwrap());
        assert!(Routes::new(twice.into()).is_err());
    }
}
