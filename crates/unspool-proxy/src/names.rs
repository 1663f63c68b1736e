//! What a server on this machine may be called, and which pages may send to it.
//!
//! A browser can be made to send requests to this machine by any page, and a name can be made to lead here by whoever owns it. So only
//! names are listened to that nobody else owns.

use std::net::IpAddr;

/// The names of a server.
#[derive(Clone, Debug)]
pub struct Names {
    /// Only this machine reaches it.
    loopback: bool,
    more: Vec<String>,
}

impl Names {
    /// Those of this machine and these; where others reach it, every address, too.
    pub fn new<'a>(loopback: bool, more: impl IntoIterator<Item = &'a str>) -> Names {
        Names { loopback, more: more.into_iter().map(str::to_ascii_lowercase).collect() }
    }

    /// Whether a request may call us that. Only a name can be made to lead elsewhere than before, an address cannot.
    pub fn is_called(&self, authority: &str) -> bool {
        let host = host_of(authority).to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        if let Ok(address) = host.parse::<IpAddr>() {
            return address.is_loopback() || !self.loopback || self.more.iter().any(|name| name == host);
        }
        host == "localhost" || host.ends_with(".localhost") || self.more.iter().any(|name| name == host)
    }

    /// Whether a page with this origin is one of this machine. Programs that hold pages have origins of their own sort; a page that does not say
    /// where it is from may be anybody's.
    pub(crate) fn is_near(&self, origin: &str) -> bool {
        match origin.split_once("://") {
            Some(("http" | "https", authority)) => self.is_called(authority),
            other => other.is_some(),
        }
    }
}

/// A name or address without its port and brackets.
pub fn host_of(authority: &str) -> &str {
    let authority = authority.rsplit('@').next().unwrap_or_default();
    if let Some(bracketed) = authority.strip_prefix('[') {
        return bracketed.split(']').next().unwrap_or_default();
    }
    match authority.split_once(':') {
        // More than one colon and no brackets: an address as it is.
        Some((host, rest)) if !rest.contains(':') => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn pages_of_other_sites_are_not_near() {
        let names = Names::new(true, ["My.Box"]);
        for near in ["http://localhost:3000", "https://127.0.0.1", "http://my.box:1", "app://obsidian.md"] {
            assert!(names.is_near(near), "{near}");
        }
        for far in ["null", "", "https://evil.example", "http://localhost.evil.example", "http://10.0.0.1:80"]
        {
            assert!(!names.is_near(far), "{far}");
        }
    }
}
