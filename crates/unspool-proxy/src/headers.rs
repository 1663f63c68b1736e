//! Headers that speak of one connection only, and go no further.

use http::header::{CONNECTION, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Those that always do; `Connection` may name others.
const OF_CONNECTION: [&str; 3] = ["keep-alive", "proxy-connection", "http2-settings"];

/// Whether somebody asks to speak another protocol from here on.
pub(crate) fn asks_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE) && named_by_connection(headers).any(|name| name == UPGRADE)
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
    use super::{asks_upgrade, clean, clean_request};
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
    }
}
