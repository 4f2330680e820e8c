//! Reading what a request asks of the proxy, and rebuilding it for the server: pure.
//!
//! The command controls every byte. hyper has parsed the request already and writes it anew from its parts, so
//! what could be read in two ways on the way in is written in one way on the way out. What is left to decide here:
//!
//! - Which host? The request target alone says; a `Host` header is replaced by the host that was judged, in the
//!   spelling that was judged, so that no server sees another name than the gate did. Two of them are an error.
//! - What is the proxy's own business? Hop-by-hop headers, those that `Connection` names, and everything meant
//!   for a proxy (credentials!) go no further, in either direction.
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

fn origin_form(uri: &Uri) -> Uri {
    uri.path_and_query().map_or_else(Uri::default, |path| Uri::from(path.clone()))
}
