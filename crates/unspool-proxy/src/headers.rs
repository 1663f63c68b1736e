//! Headers that speak of one connection only, and go no further. All others stay in the order they came in.

use http::header::{CONNECTION, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Those that always do; `Connection` may name others.
const OF_CONNECTION: [&str; 3] = ["keep-alive", "proxy-connection", "http2-settings"];

/// Whether somebody asks to speak another protocol from here on. HTTP/2 is none: whoever offers it goes on in HTTP/1.1 as well.
pub(crate) fn asks_upgrade(headers: &HeaderMap) -> bool {
    let other = |protocol: &HeaderValue| !protocol.as_bytes().eq_ignore_ascii_case(b"h2c");
    headers.get_all(UPGRADE).iter().any(other) && named_by_connection(headers).any(|name| name == UPGRADE)
}

/// What goes on of a request that is otherwise said to us alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GoesOn {
    /// What both sides have to know of another protocol.
    pub(crate) upgrade: bool,
    /// The place of the host's name, which the name of the upstream takes.
    pub(crate) host: bool,
}

/// Takes out of a request what is said to us alone.
pub(crate) fn clean_request(headers: &mut HeaderMap, goes_on: GoesOn) {
    let lists = headers.get_all(TE).iter().filter_map(|te| te.to_str().ok());
    let wants_trailers = lists.flat_map(|list| list.split(',')).any(|one| {
        one.split(';').next().is_some_and(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
    });
    // Whoever waits to be told to go on is told by us.
    clean_but(headers, goes_on.upgrade, |name| match *name {
        HOST => Some(goes_on.host),
        TE => Some(wants_trailers),
        // A body without a length goes on as one, also where that is unusual.
        TRANSFER_ENCODING => Some(true),
        EXPECT => Some(false),
        _ => None,
    });
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Takes out of an answer what is said about its connection, but for what both sides have to know of another protocol.
pub(crate) fn clean_answer(headers: &mut HeaderMap, upgrades: bool) {
    clean_but(headers, upgrades, |_| None);
}

/// `stays` may decide for itself whether a header goes on.
fn clean_but(headers: &mut HeaderMap, upgrades: bool, stays: impl Fn(&HeaderName) -> Option<bool>) {
    let named: Vec<HeaderName> = named_by_connection(headers).collect();
    let is_of_connection = |name: &HeaderName| match *name {
        CONNECTION | UPGRADE => !upgrades,
        TRANSFER_ENCODING => true,
        _ => OF_CONNECTION.contains(&name.as_str()) || named.contains(name),
    };
    take_out(headers, |name| stays(name).map_or_else(|| is_of_connection(name), |stays| !stays));
    if upgrades {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    }
}

/// Takes out some names. `HeaderMap::remove` would put the last header in the place of each.
fn take_out(headers: &mut HeaderMap, goes: impl Fn(&HeaderName) -> bool) {
    if !headers.keys().any(&goes) {
        return;
    }
    let mut kept = HeaderMap::with_capacity(headers.len());
    let mut staying = None;
    for (name, value) in std::mem::take(headers) {
        // More values of a name come without it.
        if let Some(name) = name {
            staying = (!goes(&name)).then_some(name);
        }
        if let Some(name) = &staying {
            kept.append(name.clone(), value);
        }
    }
    *headers = kept;
}

fn named_by_connection(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    let lists = headers.get_all(CONNECTION).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).filter_map(|name| name.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{GoesOn, asks_upgrade, clean_answer, clean_request};
    use http::{HeaderMap, HeaderName, HeaderValue};

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        all.iter().map(pair).collect()
    }

    /// Names and values in their order.
    fn in_order(headers: &HeaderMap) -> Vec<(&str, &str)> {
        headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect()
    }

    #[test]
    fn what_speaks_of_the_connection_goes_no_further() {
        let mut one = headers(&[
            ("host", "localhost"),
            ("connection", "keep-alive, X-Mine, TE"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("expect", "100-continue"),
            ("te", "gzip;q=0.5, trailers"),
            ("accept-encoding", "gzip, br"),
            ("x-api-key", "k"),
            ("x-twice", "1"),
            ("x-twice", "2"),
            ("accept", "*/*"),
        ]);
        clean_request(&mut one, GoesOn::default());
        let kept = [
            ("te", "trailers"),
            ("accept-encoding", "gzip, br"),
            ("x-api-key", "k"),
            ("x-twice", "1"),
            ("x-twice", "2"),
            ("accept", "*/*"),
        ];
        assert_eq!(in_order(&one), kept);
        let mut answer = headers(&[("connection", "close"), ("host", "x"), ("te", "x"), ("set-cookie", "a")]);
        clean_answer(&mut answer, false);
        assert_eq!(in_order(&answer), [("host", "x"), ("te", "x"), ("set-cookie", "a")]);
    }

    #[test]
    fn the_host_and_the_form_of_a_body_keep_their_place() {
        let mut one = headers(&[("host", "localhost"), ("transfer-encoding", "chunked"), ("accept", "*/*")]);
        clean_request(&mut one, GoesOn { host: true, upgrade: false });
        assert_eq!(
            in_order(&one),
            [("host", "localhost"), ("transfer-encoding", "chunked"), ("accept", "*/*")]
        );
    }

    #[test]
    fn an_upgrade_is_asked_for_by_both_headers() {
        assert!(asks_upgrade(&headers(&[("connection", "Upgrade"), ("upgrade", "websocket")])));
        assert!(!asks_upgrade(&headers(&[("connection", "close"), ("upgrade", "h2c")])));
        assert!(!asks_upgrade(&headers(&[("connection", "upgrade")])));
        let offer = [("connection", "Upgrade, HTTP2-Settings"), ("upgrade", "h2c"), ("http2-settings", "AA")];
        assert!(!asks_upgrade(&headers(&offer)), "what goes on in HTTP is none");
    }

    #[test]
    fn what_both_sides_must_know_of_an_upgrade_goes_on() {
        let mut one = headers(&[
            ("host", "localhost"),
            ("connection", "keep-alive, Upgrade, X-Mine"),
            ("upgrade", "websocket"),
            ("x-mine", "1"),
            ("sec-websocket-key", "k"),
        ]);
        clean_request(&mut one, GoesOn { host: true, upgrade: true });
        let kept = [
            ("host", "localhost"),
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-key", "k"),
        ];
        assert_eq!(in_order(&one), kept);
        let mut answer = headers(&[("connection", "upgrade"), ("upgrade", "websocket"), ("keep-alive", "1")]);
        clean_answer(&mut answer, true);
        assert_eq!(in_order(&answer), [("connection", "Upgrade"), ("upgrade", "websocket")]);
    }
}
