//! Which upstream a path leads to.

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

impl Upstream {
    /// Reads `NAME=URL`.
    pub fn parse(said: &str) -> Result<Upstream, BadUpstream> {
        let bad = |why| BadUpstream { said: said.into(), why };
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

/// Where a request goes.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    pub(crate) upstream: &'a Upstream,
    pub(crate) uri: Uri,
    /// Path and query behind the route.
    pub(crate) rest: &'a str,
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
        let path = asked.strip_prefix('/')?;
        let end = path.find(['/', '?']).unwrap_or(path.len());
        let named = self.upstreams.iter().find(|one| one.name == path[..end]);
        let (upstream, rest) = match (named, self.upstreams.as_slice()) {
            (Some(named), _) => (named, &path[end..]),
            (None, [only]) => (only, asked),
            (None, _) => return None,
        };
        Some(Route { upstream, uri: upstream.uri(rest)?, rest })
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
    fn what_is_no_upstream_says_why() {
        for bad in
            ["a", "=http://x", "a=", "a=ftp://x", "a=/x", "a/b=http://x", "a=http://x?y", "a=http://u:p@x"]
        {
            assert!(Upstream::parse(bad).is_err(), "{bad}");
        }
        let twice = ["a=http://x", "a=http://y"].map(|said| Upstream::parse(said).unwrap());
        assert!(Routes::new(twice.into()).is_err());
    }
}
