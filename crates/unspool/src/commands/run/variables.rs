//! The variables that say where an API is: what they say now, and what the command is told in their place.
//!
//! A command's key is for the API its variable names. So requests go on to exactly that, or the command is not run.

use crate::commands::proxy::wrong_upstream;
use crate::error::CliError;
use http::Uri;
use serde_json::{Map, Value};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use unspool_server::{Upstream, run_path, shown, split_run};

/// The variable that says where an API is, its route, its usual address, and what clients add to an address of their own.
const VARIABLES: [(&str, &str, &str, &str); 2] = [
    ("ANTHROPIC_BASE_URL", "anthropic", "https://api.anthropic.com", ""),
    ("OPENAI_BASE_URL", "openai", "https://api.openai.com", "/v1"),
];

/// What variables say now.
pub(super) fn said(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A variable of the command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) name: &'static str,
    /// The user and password that the address had: the client sends them on.
    user: String,
    path: String,
}

impl Told {
    /// What it is told: the way through a proxy, by which its requests are told apart from those of others.
    pub(super) fn value(&self, proxy: SocketAddr, run: &str) -> String {
        let mut proxy = proxy;
        match proxy.ip() {
            // All addresses of this machine, of which a client takes one.
            IpAddr::V4(ip) if ip.is_unspecified() => proxy.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => proxy.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("http://{}{proxy}{}{}", self.user, run_path(run), self.path)
    }
}

/// For a proxy of our own: where requests go, and what the command is told. What a variable says already is gone on to.
pub(super) fn of_own_proxy(
    named: Vec<Upstream>,
    said: impl Fn(&str) -> Option<String>,
) -> Result<(Vec<Upstream>, Vec<Told>), CliError> {
    let is_named = !named.is_empty();
    let (mut upstreams, mut told) = (named, Vec::new());
    for (name, route, usual, added) in VARIABLES {
        if upstreams.iter().any(|upstream| upstream.name == route) {
            told.push(Told { name, user: String::new(), path: format!("/{route}{added}") });
        } else if !is_named {
            // An address of the user's own has everything in it.
            let (place, added) = said(name).map_or_else(|| (usual.into(), added), |said| (said, ""));
            let (user, place) = split_user(&place);
            let upstream = Upstream::parse(&format!("{route}={place}"));
            upstreams.push(upstream.map_err(|error| wrong_upstream(&format!("${name}: {error}")))?);
            told.push(Told { name, user, path: format!("/{route}{added}") });
        }
    }
    Ok((upstreams, told))
}

/// For the proxy of a server, whose routes lead where they lead: what the command is told. A variable that names another place is an error.
pub(super) fn of_server(
    routes: &Map<String, Value>,
    proxy: SocketAddr,
    said: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Told>, CliError> {
    let mut told = Vec::new();
    for (name, route, _, added) in VARIABLES {
        let upstream = routes.get(route).and_then(Value::as_str);
        let Some(said) = said(name) else {
            let path = format!("/{route}{added}");
            told.extend(upstream.map(|_| Told { name, user: String::new(), path }));
            continue;
        };
        let (user, place) = split_user(&said);
        if let Some(path) = behind_proxy(&place, proxy) {
            told.push(Told { name, user, path });
        } else if let Some(upstream) = upstream {
            let Some(rest) = below(&place, upstream) else {
                return Err(CliError::Usage {
                    why: format!(
                        "${name} is {}, and the server's proxy carries /{route} to {upstream}",
                        shown(&said)
                    ),
                    hint: "unset the variable, start the server with an --upstream NAME=URL that leads there, or choose another --data-dir",
                });
            };
            told.push(Told { name, user, path: format!("/{route}{rest}") });
        }
    }
    Ok(told)
}

/// The user of an address, with its `@`, and the address without.
fn split_user(address: &str) -> (String, String) {
    let start = address.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = address.split_at(start);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => (rest[..=at].into(), format!("{scheme}{}", &rest[at + 1..])),
        None => (String::new(), address.into()),
    }
}

/// The path of an address, if that is the one of a proxy.
fn behind_proxy(address: &str, proxy: SocketAddr) -> Option<String> {
    let address: Uri = address.parse().ok()?;
    if address.scheme_str() != Some("http") || port(&address) != Some(proxy.port()) {
        return None;
    }
    let host = address.host()?.trim_start_matches('[').trim_end_matches(']');
    let ip: Option<IpAddr> = host.parse().ok();
    let is_here = ip.map_or_else(|| host.eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback());
    let listens_here = proxy.ip().is_loopback() || proxy.ip().is_unspecified();
    let is_it = ip == Some(proxy.ip()) || (is_here && listens_here);
    is_it.then(|| split_run(address.path()).1.trim_end_matches('/').into())
}

/// What an address has behind another one; nothing when it leads elsewhere.
fn below(address: &str, base: &str) -> Option<String> {
    let (address, base): (Uri, Uri) = (address.parse().ok()?, base.parse().ok()?);
    let is_host = address.host()?.eq_ignore_ascii_case(base.host()?);
    if !is_host
        || address.scheme() != base.scheme()
        || port(&address) != port(&base)
        || address.query().is_some()
    {
        return None;
    }
    let rest = address.path().trim_end_matches('/').strip_prefix(base.path().trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.into())
}

fn port(address: &Uri) -> Option<u16> {
    let usual = match address.scheme_str() {
        Some("http") => Some(80),
        Some("https") => Some(443),
        _ => None,
    };
    address.port_u16().or(usual)
}

#[cfg(test)]
mod tests {
    use super::{Told, of_own_proxy, of_server};
    use serde_json::json;
    use std::net::SocketAddr;
    use unspool_server::Upstream;

    const RUN: &str = "0123456789abcdef";

    fn values(told: &[Told], proxy: &str) -> Vec<String> {
        let proxy: SocketAddr = proxy.parse().unwrap();
        told.iter().map(|one| one.value(proxy, RUN)).collect()
    }

    fn anthropic(said: &'static str) -> impl Fn(&str) -> Option<String> {
        move |name: &str| (name == "ANTHROPIC_BASE_URL").then(|| said.into())
    }

    #[test]
    fn an_own_proxy_goes_on_to_where_a_variable_points() {
        let (upstreams, told) = of_own_proxy(Vec::new(), anthropic("http://u:p%40w@gateway/base")).unwrap();
        let urls: Vec<String> = upstreams.iter().map(|one| one.url.to_string()).collect();
        assert_eq!(urls, ["http://gateway/base", "https://api.openai.com/"]);
        assert_eq!(
            values(&told, "127.0.0.1:9"),
            [
                "http://u:p%40w@127.0.0.1:9/~run-0123456789abcdef/anthropic",
                "http://127.0.0.1:9/~run-0123456789abcdef/openai/v1"
            ]
        );
        let named = vec![Upstream::parse("openai=http://x").unwrap()];
        let (upstreams, told) = of_own_proxy(named, anthropic("http://u:p@gateway")).unwrap();
        assert_eq!((upstreams.len(), told.len(), told[0].name), (1, 1, "OPENAI_BASE_URL"));
        let wrong = of_own_proxy(Vec::new(), anthropic("ftp://u:PW@gateway")).unwrap_err().to_string();
        assert!(wrong.contains("$ANTHROPIC_BASE_URL") && !wrong.contains("PW"), "{wrong}");
    }

    #[test]
    fn the_proxy_of_a_server_is_used_where_it_leads_where_the_variable_does() {
        let routes = json!({"anthropic": "http://Gateway:80/base/", "openai": "https://api.openai.com/"});
        let routes = routes.as_object().unwrap();
        let proxy: SocketAddr = "127.0.0.1:4690".parse().unwrap();
        let path = |said: &'static str| {
            let told = of_server(routes, proxy, anthropic(said)).map_err(|error| error.to_string())?;
            let value = told[0].value(proxy, RUN);
            Ok::<_, String>(value.replace("/~run-0123456789abcdef", ""))
        };
        for (said, told) in [
            ("http://gateway/base", "http://127.0.0.1:4690/anthropic"),
            ("http://u:p@gateway/base/v1/", "http://u:p@127.0.0.1:4690/anthropic/v1"),
            ("http://127.0.0.1:4690/anthropic", "http://127.0.0.1:4690/anthropic"),
            ("http://localhost:4690/openai/v1", "http://127.0.0.1:4690/openai/v1"),
            ("http://127.0.0.1:4690/~run-aaaaaaaaaaaaaaaa/anthropic", "http://127.0.0.1:4690/anthropic"),
        ] {
            assert_eq!(path(said).as_deref(), Ok(told), "{said}");
        }
        for said in [
            "http://gateway",
            "http://gateway/based",
            "https://gateway/base",
            "http://gateway:81/base",
            "http://u:PW@other/base",
            "http://127.0.0.1:4691/anthropic",
            "no address:PW@x",
        ] {
            let why = path(said).unwrap_err();
            assert!(why.contains("carries /anthropic to http://Gateway:80/base/"), "{why}");
            assert!(!why.contains("PW"), "{why}");
        }
        let unset = of_server(routes, proxy, |_| None).unwrap();
        assert_eq!(
            values(&unset, "0.0.0.0:4690"),
            [
                "http://127.0.0.1:4690/~run-0123456789abcdef/anthropic",
                "http://127.0.0.1:4690/~run-0123456789abcdef/openai/v1"
            ]
        );
        // Without a route of that name, the variable is left alone.
        let none = json!({"mine": "http://x"});
        assert_eq!(of_server(none.as_object().unwrap(), proxy, anthropic("http://y")).unwrap(), []);
    }
}
