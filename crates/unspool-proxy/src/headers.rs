//! Headers that speak of one connection only, and go no further.

use http::header::{CONNECTION, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Those that always do; `Connection` may name others.
const OF_CONNECTION: [&str; 3] = ["keep-alive", "proxy-connection", "http2-settings"];

/// Whether somebody asks to speak another protocol from here on. HTTP/2 is none: whoever offers it goes on in HTTP/1.1 as well.
pub(crate) fn asks_upgrade(headers: &HeaderMap) -> bool {
    let other = |protocol: &HeaderValue| !protocol.as_bytes().eq_ignore_ascii_case(b"h2c");
    headers.get_all(UPGRADE).iter().any(other) && named_by_connection(headers).any(|name| name == UPGRADE)
}

/// Takes out of a message what `clean` takes out, but for what both sides have to know of another protocol.
pub(crate) fn keep_upgrade(headers: &mut HeaderMap, clean: impl FnOnce(&mut HeaderMap)) {
    let asked: Vec<HeaderValue> = headers.get_all(UPGRADE).iter().cloned().collect();
    clean(headers);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    for protocol in asked {
        headers.append(UPGRADE, protocol);
    }
}

/// Takes out of a request what is said to us alone.
pub(crate) fn clean_request(headers: &mut HeaderMap) {
    let wants_trailers = headers.get_all(TE).iter().any(|te| te.as_bytes().eq_ignore_ascii_case(b"trailers"));
    clean(headers);
    // The name of the upstream takes its place; and whoever waits to be told to go on is told by us.
    headers.remove(HOST);
    headers.remove(EXPECT);
    headers.remove(TE);
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Takes out of a message what is said about its connection.
pub(crate) fn clean(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = named_by_connection(headers).collect();
        for name in named {
            headers.remove(name);
        }
        headers.remove(CONNECTION);
    }
    headers.remove(TRANSFER_ENCODING);
    headers.remove(UPGRADE);
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}

fn named_by_connection(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    let lists = headers.get_all(CONNECTION).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).filter_map(|name| name.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{asks_upgrade, clean, clean_request, keep_upgrade};
    use http::{HeaderMap, HeaderName, HeaderValue};

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        all.iter().map(pair).collect()
    }

    #[test]
    fn what_speaks_of_the_connection_goes_no_further() {
        let mut one = headers(&[
            ("connection", "keep-alive, X-Mine"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("host", "localhost"),
            ("expect", "100-continue"),
            ("te", "trailers"),
            ("accept-encoding", "gzip, br"),
            ("x-api-key", "k"),
        ]);
        clean_request(&mut one);
        assert_eq!(one, headers(&[("accept-encoding", "gzip, br"), ("x-api-key", "k"), ("te", "trailers")]));
        let mut answer = headers(&[("connection", "close"), ("host", "x"), ("set-cookie", "a")]);
        clean(&mut answer);
        assert_eq!(answer, headers(&[("host", "x"), ("set-cookie", "a")]));
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
            ("connection", "keep-alive, Upgrade, X-Mine"),
            ("upgrade", "websocket"),
            ("x-mine", "1"),
            ("host", "localhost"),
            ("sec-websocket-key", "k"),
        ]);
        keep_upgrade(&mut one, clean_request);
        assert_eq!(
            one,
            headers(&[("sec-websocket-key", "k"), ("connection", "Upgrade"), ("upgrade", "websocket")])
        );
    }
}
