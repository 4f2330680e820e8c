//! Reading what a request asks of the proxy, and rebuilding it for the server: pure.
//!
//! The command controls every byte. hyper has parsed the request already and writes it anew from its parts,
//! so what could be read in two ways on the way in is written in one way on the way out. What is left to
//! decide here:
//!
//! - Which host? The request target alone says; a `Host` header is replaced by the host that was judged, in
//!   the spelling that was judged, so that no server sees another name than the gate did. Two of them are an
//!   error.
//! - What is the proxy's own business? Hop-by-hop headers, those that `Connection` names, and everything
//!   meant for a proxy (credentials!) go no further, in either direction.
//! - What is no business of a proxy? Requests for the proxy itself, other schemes, switching protocols.

use hyper::header::{
    CONNECTION, EXPECT, HOST, HeaderName, HeaderValue, InvalidHeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
    VIA,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode, Uri, Version};
use palisade_policy::{Endpoint, HostError};

/// The port of an `http://` URL that names none.
const HTTP_PORT: u16 = 80;
/// Hop-by-hop without being registered constants of the library.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A tunnel.
    Tunnel(Endpoint),
    /// To be passed on to this server.
    Forward(Endpoint),
}

/// Why a request cannot be served at all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadRequest {
    /// It does not name a host that can be read as one.
    Host { target: String, reason: String },
    /// It is of a kind that this proxy does not serve.
    Kind(StatusCode, &'static str),
}

/// Reads what the request asks for.
pub(crate) fn read(request: &Parts) -> Result<Wish, BadRequest> {
    if request.headers.get_all(HOST).iter().count() > 1 {
        return Err(bad("the request has several Host headers"));
    }
    if request.method == Method::CONNECT {
        return read_tunnel(&request.uri).map(Wish::Tunnel);
    }
    if asks_for_other_protocol(&request.headers) {
        let text = "this proxy does not switch protocols inside a plain HTTP request; use a CONNECT tunnel";
        return Err(BadRequest::Kind(StatusCode::NOT_IMPLEMENTED, text));
    }
    read_absolute(&request.uri).map(Wish::Forward)
}

/// `CONNECT host:port`.
fn read_tunnel(uri: &Uri) -> Result<Endpoint, BadRequest> {
    match uri.authority() {
        Some(authority) if uri.scheme().is_none() && uri.path_and_query().is_none() => {
            let has_port = !authority.as_str().ends_with(']') && authority.as_str().contains(':');
            if !has_port {
                return Err(bad("the target of CONNECT needs a port, such as example.com:443"));
            }
            Endpoint::parse(authority.as_str(), None).map_err(|error| no_host(authority.as_str(), &error))
        }
        _ => Err(bad("the target of CONNECT is not of the form host:port")),
    }
}

/// `GET http://host/path`.
fn read_absolute(uri: &Uri) -> Result<Endpoint, BadRequest> {
    let Some(authority) = uri.authority() else {
        return Err(bad("this is a proxy, not a web server: a request has to name the whole URL"));
    };
    match uri.scheme_str() {
        Some("http") => Endpoint::parse(authority.as_str(), Some(HTTP_PORT))
            .map_err(|error| no_host(authority.as_str(), &error)),
        Some("https") => Err(bad("an https URL has to be asked for through a CONNECT tunnel")),
        _ => Err(bad("only http URLs can be asked for, and anything else through a CONNECT tunnel")),
    }
}

/// An offer of cleartext HTTP/2 alone is not meant: it may be ignored, and then it is.
fn asks_for_other_protocol(headers: &HeaderMap) -> bool {
    tokens(headers, &UPGRADE).any(|token| !token.eq_ignore_ascii_case("h2c"))
}

fn bad(text: &'static str) -> BadRequest {
    BadRequest::Kind(StatusCode::BAD_REQUEST, text)
}

fn no_host(target: &str, error: &HostError) -> BadRequest {
    BadRequest::Host { target: target.into(), reason: error.to_string() }
}

/// Rebuilds a request for the server of `endpoint`.
pub(crate) fn for_server(request: &mut Parts, endpoint: &Endpoint) -> Result<(), InvalidHeaderValue> {
    for_next_hop(&mut request.headers);
    // The proxy itself has answered, or will answer, an expected `100 Continue`.
    request.headers.remove(EXPECT);
    request.headers.insert(HOST, host_header(endpoint)?);
    request.uri = origin_form(&request.uri);
    request.version = Version::HTTP_11;
    Ok(())
}

/// Whether a request may be sent a second time when a connection turns out to have been closed: it changes
/// nothing by its method (RFC 9110, section 9.2.2) and has no body.
pub(crate) fn is_repeatable(request: &Parts, has_body: bool) -> bool {
    !has_body && matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Removes what concerns one connection only, and whatever is meant for a proxy.
pub(crate) fn for_next_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> =
        tokens(headers, &CONNECTION).filter_map(|token| token.parse().ok()).collect();
    let for_proxies: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("proxy-")).cloned().collect();
    let always = [CONNECTION, KEEP_ALIVE, HTTP2_SETTINGS, TE, TRANSFER_ENCODING, UPGRADE, VIA];
    for name in named.into_iter().chain(for_proxies).chain(always) {
        headers.remove(name);
    }
}

/// The comma-separated values of a header, however many lines they are spread over.
fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

fn host_header(endpoint: &Endpoint) -> Result<HeaderValue, InvalidHeaderValue> {
    let text = if endpoint.port == HTTP_PORT { endpoint.host.to_string() } else { endpoint.to_string() };
    HeaderValue::try_from(text)
}

/// The path and query alone. A URL may have neither before its fragment; what is sent has a path always.
fn origin_form(uri: &Uri) -> Uri {
    match uri.path_and_query() {
        Some(path) if path != "/" => Uri::from(path.clone()),
        _ => Uri::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn parts(method: &str, target: &str, headers: &[(&str, &str)]) -> Option<Parts> {
        let request = Request::builder().method(method).uri(target);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        Some(request.body(()).ok()?.into_parts().0)
    }

    fn answer(method: &str, target: &str) -> String {
        match parts(method, target, &[]).map(|parts| read(&parts)) {
            None => "unreadable".into(),
            Some(Ok(Wish::Tunnel(endpoint))) => format!("tunnel {endpoint}"),
            Some(Ok(Wish::Forward(endpoint))) => format!("forward {endpoint}"),
            Some(Err(BadRequest::Host { target, .. })) => format!("no host: {target}"),
            Some(Err(BadRequest::Kind(status, text))) => format!("{} {text}", status.as_u16()),
        }
    }

    #[test]
    fn targets() {
        for (method, target, expected) in [
            ("CONNECT", "example.com:443", "tunnel example.com:443"),
            ("CONNECT", "Example.COM.:80", "tunnel example.com:80"),
            ("CONNECT", "[0::1]:443", "tunnel [::1]:443"),
            ("CONNECT", "2130706433:80", "tunnel 127.0.0.1:80"),
            ("CONNECT", "127.1:80", "tunnel 127.0.0.1:80"),
            ("CONNECT", "0x7f.1:80", "tunnel 127.0.0.1:80"),
            ("GET", "http://example.com/x", "forward example.com:80"),
            ("GET", "http://example.com", "forward example.com:80"),
            ("GET", "HTTP://EXAMPLE.com:8080?q", "forward example.com:8080"),
            ("GET", "http://[::1]:9/", "forward [::1]:9"),
            ("GET", "http://0177.0.0.1:9/", "forward 127.0.0.1:9"),
            ("GET", "http://evil.test#@allowed.test/", "forward evil.test:80"),
        ] {
            assert_eq!(answer(method, target), expected, "{method} {target}");
        }
    }

    #[test]
    fn what_is_no_target() {
        for (method, target, expected) in [
            ("CONNECT", "a.test\r\nX: y.allowed.test:443", "unreadable"),
            ("CONNECT", "a.test\0.allowed.test:443", "unreadable"),
            ("CONNECT", "a.test%00.evil.test:443", "unreadable"),
            ("CONNECT", "a.test\t:443", "unreadable"),
            ("CONNECT", "a.test:443:80", "unreadable"),
            ("CONNECT", "[::1:443", "unreadable"),
            ("CONNECT", "a.test", "400 the target of CONNECT needs a port, such as example.com:443"),
            ("CONNECT", "[::1]", "400 the target of CONNECT needs a port, such as example.com:443"),
            ("CONNECT", "/", "400 the target of CONNECT is not of the form host:port"),
            ("CONNECT", "http://a.test/", "400 the target of CONNECT is not of the form host:port"),
            ("CONNECT", "a.test:99999", "no host: a.test:99999"),
            ("CONNECT", "a.test:0", "no host: a.test:0"),
            ("CONNECT", "a.test:", "no host: a.test:"),
            ("CONNECT", ":443", "no host: :443"),
            ("CONNECT", "u@a.test:443", "no host: u@a.test:443"),
            ("GET", "http://allowed.test@evil.test/", "no host: allowed.test@evil.test"),
            ("GET", "http://a.test:80@evil.test:80/", "no host: a.test:80@evil.test:80"),
            ("GET", "http://evil.test\\@allowed.test/", "unreadable"),
            ("GET", "http://1.2.3.4.5/", "no host: 1.2.3.4.5"),
            ("GET", "/", "400 this is a proxy, not a web server: a request has to name the whole URL"),
            ("OPTIONS", "*", "400 this is a proxy, not a web server: a request has to name the whole URL"),
            ("GET", "https://a.test/", "400 an https URL has to be asked for through a CONNECT tunnel"),
            (
                "GET",
                "ftp://a.test/",
                "400 only http URLs can be asked for, and anything else through a CONNECT tunnel",
            ),
            (
                "GET",
                "a.test:80",
                "400 only http URLs can be asked for, and anything else through a CONNECT tunnel",
            ),
        ] {
            assert_eq!(answer(method, target), expected, "{method} {target:?}");
        }
    }

    #[test]
    fn several_hosts_and_other_protocols() {
        let check = |headers: &[(&str, &str)], expected: Option<u16>| {
            let read = read(&parts("GET", "http://a.test/", headers).expect("readable"));
            let status = match read {
                Err(BadRequest::Kind(status, _)) => Some(status.as_u16()),
                _ => None,
            };
            assert_eq!(status, expected, "{headers:?}");
        };
        check(&[("Host", "b.test")], None);
        check(&[("Host", "a.test"), ("Host", "a.test")], Some(400));
        check(&[("Upgrade", "websocket"), ("Connection", "Upgrade")], Some(501));
        check(&[("Upgrade", "h2c, websocket")], Some(501));
        check(&[("Upgrade", "h2c"), ("Connection", "Upgrade, HTTP2-Settings")], None);
    }

    fn sent(target: &str, headers: &[(&str, &str)]) -> String {
        let mut parts = parts("GET", target, headers).expect("readable");
        let Ok(Wish::Forward(endpoint)) = read(&parts) else { panic!("{target} is not forwarded") };
        for_server(&mut parts, &endpoint).expect("a host is a valid header value");
        let mut lines: Vec<String> = parts
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        lines.sort();
        format!("{} {}", parts.uri, lines.join("; "))
    }

    #[test]
    fn what_the_server_gets() {
        for (target, headers, expected) in [
            ("http://A.test/p?q=1#f", &[][..], "/p?q=1 host: a.test"),
            ("http://a.test:80", &[], "/ host: a.test"),
            ("http://a.test:81?q", &[], "/?q host: a.test:81"),
            ("http://a.test#f", &[], "/ host: a.test"),
            ("http://a.test:81#", &[], "/ host: a.test:81"),
            ("http://a.test/#f", &[], "/ host: a.test"),
            ("http://a.test?q#f", &[], "/?q host: a.test"),
            ("http://a.test?#f", &[], "/? host: a.test"),
            ("http://a.test#?q", &[], "/ host: a.test"),
            ("http://[0::1]:81/", &[], "/ host: [::1]:81"),
            ("http://127.1/", &[("Host", "allowed.test")], "/ host: 127.0.0.1"),
            (
                "http://a.test/",
                &[
                    ("Proxy-Authorization", "Basic c2VjcmV0"),
                    ("Proxy-Connection", "keep-alive"),
                    ("Connection", "keep-alive, x-secret"),
                    ("Connection", "X-Other"),
                    ("X-Secret", "1"),
                    ("X-Other", "1"),
                    ("Keep-Alive", "5"),
                    ("TE", "trailers"),
                    ("Via", "1.1 x"),
                    ("Expect", "100-continue"),
                    ("Upgrade", "h2c"),
                    ("X-Stays", "1"),
                ],
                "/ host: a.test; x-stays: 1",
            ),
            ("http://a.test/", &[("Connection", "host"), ("Host", "b.test")], "/ host: a.test"),
        ] {
            assert_eq!(sent(target, headers), expected, "{target} {headers:?}");
        }
    }

    #[test]
    fn what_may_be_sent_twice() {
        for (method, has_body, expected) in [
            ("GET", false, true),
            ("HEAD", false, true),
            ("GET", true, false),
            ("POST", false, false),
            ("DELETE", false, false),
        ] {
            let parts = parts(method, "http://a.test/", &[]).expect("readable");
            assert_eq!(is_repeatable(&parts, has_body), expected, "{method}, body: {has_body}");
        }
    }
}
