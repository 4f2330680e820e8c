//! Hosts and endpoints: what a command asks for.
//!
//! A host arrives as text from a command (a CONNECT target, a SOCKS request) and from settings. Both are
//! read by [`Host::parse`], which follows the WHATWG rules of the `url` crate, so that each host has one
//! spelling: lower case, IDNA in ASCII, no trailing dot, an IPv4 address in dotted decimal whatever numeric
//! form it came in (`0x7f.1`, `2130706433`, `0177.0.0.1`), IPv4-mapped IPv6 as the IPv4 address.
//!
//! A name holds letters, digits, `-`, `_` and `.`, nothing else, whatever Unicode's mapping made of its
//! characters: names are shown in remedies that people paste into a shell, and a `*` that came out of a
//! full-width `＊` would make a pattern of a name. Over-long names are no hosts. What is no host is matched by
//! no pattern. The page `docs/spec/hosts.md` has examples of each, all of which are tests.

use std::fmt;
use std::net::IpAddr;

/// A host in its one normal spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name: `a` to `z`, digits, `-`, `_` and `.`; no trailing dot, at most 253 bytes in labels of 1 to 63.
    Name(Box<str>),
    /// An address; never an IPv4-mapped IPv6 one.
    Address(IpAddr),
}

/// Why a text is not a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Nothing before the port.
    #[error("the host is empty")]
    Empty,
    /// More than 253 bytes, or a label of more than 63.
    #[error("the host name is too long")]
    TooLong,
    /// A character that no host name holds, as written or as Unicode's mapping leaves it.
    #[error("the host holds {0:?}, which no host name may")]
    Character(char),
    /// Two dots in a row, or one at the start.
    #[error("the host name has an empty label")]
    EmptyLabel,
    /// Several colons outside brackets.
    #[error("an IPv6 address must stand in brackets")]
    BareIpv6,
    /// Anything else that the WHATWG rules refuse: bad IDNA, an IPv4 address with a part out of range.
    #[error("not a valid host name or address; write one such as \"example.com\" or \"192.0.2.1\"")]
    Invalid,
}

impl Host {
    /// Reads a host as it stands in a URL: a name, an IPv4 address, or an IPv6 address in brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if text.len() > 1024 {
            return Err(HostError::TooLong);
        }
        // What `url` would decode, skip or refuse without saying which character it was.
        let forbidden = |c: &char| c.is_control() || c.is_whitespace() || "%@/\\?#<>^|*".contains(*c);
        if let Some(c) = text.chars().find(forbidden) {
            return Err(HostError::Character(c));
        }
        if !text.starts_with('[') && text.contains(':') {
            return Err(HostError::BareIpv6);
        }
        match url::Host::parse(text).map_err(|_| HostError::Invalid)? {
            url::Host::Domain(name) => Self::name(name),
            url::Host::Ipv4(address) => Ok(Host::Address(address.into())),
            url::Host::Ipv6(address) => Ok(Host::from(IpAddr::from(address))),
        }
    }

    /// Takes a name as the mapping left it, which lets through more than host names are made of.
    fn name(name: String) -> Result<Self, HostError> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if let Some(c) = name.chars().find(|c| !allowed(*c)) {
            return Err(HostError::Character(c));
        }
        if name.len() > 253 || name.split('.').any(|label| label.len() > 63) {
            return Err(HostError::TooLong);
        }
        if name.split('.').any(str::is_empty) {
            return Err(HostError::EmptyLabel);
        }
        Ok(Host::Name(name.into()))
    }

    /// Whether this is `localhost` or a name below it, which mean this machine by definition (RFC 6761) and
    /// are never asked of a name server.
    pub fn is_localhost(&self) -> bool {
        matches!(self, Host::Name(name) if &**name == "localhost" || name.ends_with(".localhost"))
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        Host::Address(address.to_canonical())
    }
}

/// As in a URL: IPv6 in brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// The host and port that a command asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// The host.
    pub host: Host,
    /// The TCP port.
    pub port: u16,
}

impl Endpoint {
    /// Reads `host:port`; without a port `default_port` is taken, where there is one.
    pub fn parse(text: &str, default_port: Option<u16>) -> Result<Self, HostError> {
        let (host, port) = split_port(text)?;
        let port = match port {
            Some(digits) => parse_port(digits).ok_or(HostError::Invalid)?,
            None => default_port.ok_or(HostError::Invalid)?,
        };
        Ok(Endpoint { host: Host::parse(host)?, port })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// `host` or `host:digits`, where the host may be an IPv6 address in brackets.
pub(crate) fn split_port(text: &str) -> Result<(&str, Option<&str>), HostError> {
    let host_end = if text.starts_with('[') { text.find(']').ok_or(HostError::Invalid)? } else { 0 };
    match text[host_end..].split_once(':') {
        None => Ok((text, None)),
        Some((_, port)) if port.contains(':') => Err(HostError::BareIpv6),
        Some((rest, port)) => Ok((&text[..host_end + rest.len()], Some(port))),
    }
}

pub(crate) fn parse_port(digits: &str) -> Option<u16> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|&port| all_digits && port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(text: &str) -> String {
        Host::parse(text).map_or_else(|error| format!("{error:?}"), |host| host.to_string())
    }

    #[test]
    fn how_long_a_name_may_be() {
        assert!(Host::parse(&"a".repeat(63)).is_ok());
        assert_eq!(Host::parse(&"a".repeat(64)), Err(HostError::TooLong));
        assert!(Host::parse(&"a.".repeat(127)).is_ok(), "253 bytes and the root's dot");
        assert_eq!(Host::parse(&"ab.".repeat(90)), Err(HostError::TooLong));
        assert_eq!(Host::parse(&"a".repeat(100_000)), Err(HostError::TooLong));
        assert_eq!(Host::parse(""), Err(HostError::Empty));
    }

    /// Every ASCII character that is no part of a name, as it is and in the full-width form that maps to it.
    #[test]
    fn a_name_is_of_letters_digits_hyphens_underscores_and_dots() {
        let signs = (' '..='~').filter(|c| !c.is_ascii_alphanumeric() && !"-_.".contains(*c));
        let wide = signs.clone().filter_map(|c| char::from_u32(u32::from(c) - 0x20 + 0xff00));
        for c in signs.chain(wide) {
            for text in [format!("a{c}b.com"), format!("{c}.com"), format!("a.{c}"), format!("{c}")] {
                assert!(Host::parse(&text).is_err(), "{text:?} is read as {}", host(&text));
            }
        }
        assert_eq!(Host::parse("\u{ff0a}.com"), Err(HostError::Character('*')));
        assert_eq!(Host::parse("a$(b).com"), Err(HostError::Character('$')));
    }

    proptest! {
        #[test]
        fn a_name_holds_what_names_hold(text in "[\u{21}-\u{7e}\u{ff01}-\u{ff5e}a-c.]{0,12}|\\PC{0,12}") {
            if let Ok(Host::Name(name)) = Host::parse(&text) {
                let allowed = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
                prop_assert!(name.bytes().all(allowed), "{:?} is read as {}", text, name);
            }
        }

        #[test]
        fn parsing_is_total_and_normalising_idempotent(text in "\\PC{0,40}") {
            if let Ok(host) = Host::parse(&text) {
                prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
            }
        }
    }
}
