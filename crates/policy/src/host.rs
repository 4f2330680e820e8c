//! Hosts, endpoints and host patterns: one line of `network.allowedDomains` and its like.
//!
//! # What a host is
//!
//! A host arrives as text from a command (a CONNECT target, a SOCKS request) and from settings. Both are
//! read by [`Host::parse`], which follows the WHATWG rules of the `url` crate, so that each host has one
//! spelling: lower case, IDNA in ASCII, no trailing dot, an IPv4 address in dotted decimal whatever numeric
//! form it came in (`0x7f.1`, `2130706433`, `0177.0.0.1`), IPv4-mapped IPv6 as the IPv4 address. Names with
//! control characters, `%`, `@`, `/` and the like, and over-long ones, are no hosts, so no pattern matches them.
//!
//! # Grammar of a pattern
//!
//! | text | matches |
//! |---|---|
//! | `example.com` | that host only |
//! | `*.example.com` | every name below it at any depth, not `example.com` itself |
//! | `bedrock.*.amazonaws.com` | exactly one label in place of the `*` |
//! | `*` | every host |
//! | `127.0.0.1`, `[::1]` | that address, in any spelling |
//! | any of these with `:443` | the same, on that port only |
//!
//! Refused with a reason: a scheme (`https://…`), a path, user information, several `*`, a `*` that is not a
//! whole label, IPv6 without brackets, a leading or trailing dot, a port that is no number from 1 to 65535.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A host in its one normal spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name: lower-case ASCII, no trailing dot, at most 253 bytes in labels of 1 to 63.
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
    /// A byte that no host name holds.
    #[error("the host holds {0:?}, which no host name may")]
    Character(char),
    /// Two dots in a row, or one at the start.
    #[error("the host name has an empty label")]
    EmptyLabel,
    /// Several colons outside brackets.
    #[error("an IPv6 address must stand in brackets")]
    BareIpv6,
    /// Anything else that the WHATWG rules refuse: bad IDNA, an IPv4 address with a part out of range.
    #[error("not a valid host name or address")]
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
        let bracketed = text.starts_with('[');
        let forbidden = |c: &char| {
            c.is_control()
                || c.is_whitespace()
                || "%@/\\?#<>^|\"`{}".contains(*c)
                || (*c == '*' && !bracketed)
        };
        if let Some(c) = text.chars().find(forbidden) {
            return Err(HostError::Character(c));
        }
        if !bracketed && text.contains(':') {
            return Err(HostError::BareIpv6);
        }
        match url::Host::parse(text).map_err(|_| HostError::Invalid)? {
            url::Host::Domain(name) => Self::name(name),
            url::Host::Ipv4(address) => Ok(Host::Address(address.into())),
            url::Host::Ipv6(address) => Ok(Host::from(IpAddr::from(address))),
        }
    }

    fn name(name: String) -> Result<Self, HostError> {
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
fn split_port(text: &str) -> Result<(&str, Option<&str>), HostError> {
    let host_end = if text.starts_with('[') { text.find(']').ok_or(HostError::Invalid)? } else { 0 };
    match text[host_end..].split_once(':') {
        None => Ok((text, None)),
        Some((_, port)) if port.contains(':') => Err(HostError::BareIpv6),
        Some((rest, port)) => Ok((&text[..host_end + rest.len()], Some(port))),
    }
}

fn parse_port(digits: &str) -> Option<u16> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|&port| all_digits && port != 0)
}

/// A compiled host pattern. See the module's documentation for the grammar.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPattern {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Hosts {
    Any,
    Exact(Host),
    /// `*.base`, kept as `.base`.
    Below(Box<str>),
    /// `before.*.after`, kept as `before.` and `.after`.
    OneLabel(Box<str>, Box<str>),
}

/// Why a text is not a host pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostPatternError {
    /// `https://example.com`.
    #[error("has a scheme; write the host alone, such as \"{0}\"")]
    Scheme(String),
    /// `example.com/path`.
    #[error("has a path; a rule covers a whole host, so write the host alone")]
    Path,
    /// `user@example.com`.
    #[error("has user information; write the host alone")]
    UserInfo,
    /// `*.*.example.com`.
    #[error("has more than one *")]
    SeveralStars,
    /// `foo*.example.com`, `example.*`.
    #[error("has a * that is neither a whole first nor a whole middle label")]
    PartialStar,
    /// `.example.com`, `example.com.`.
    #[error("starts or ends with a dot; write \"*.\" in front to cover the names below a host")]
    Dot,
    /// `example.com:http`, `example.com:0`.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// See [`HostError`].
    #[error("{0}")]
    Host(#[from] HostError),
}

impl HostPattern {
    /// Compiles the pattern `text`.
    pub fn parse(text: &str) -> Result<Self, HostPatternError> {
        if let Some((_, rest)) = text.split_once("://") {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            return Err(HostPatternError::Scheme(host.into()));
        }
        if text.contains('/') {
            return Err(HostPatternError::Path);
        }
        if text.contains('@') {
            return Err(HostPatternError::UserInfo);
        }
        let (host, port) = split_port(text)?;
        let port = port.map(|digits| parse_port(digits).ok_or(HostPatternError::Port)).transpose()?;
        Ok(HostPattern { hosts: Hosts::parse(host)?, port })
    }

    /// Whether the pattern matches.
    pub fn matches(&self, endpoint: &Endpoint) -> bool {
        self.port.is_none_or(|port| port == endpoint.port) && self.hosts.matches(&endpoint.host)
    }

    /// The address, where the pattern is one that names an address.
    pub fn address(&self) -> Option<IpAddr> {
        match self.hosts {
            Hosts::Exact(Host::Address(address)) => Some(address),
            _ => None,
        }
    }

    /// The one host that the pattern matches, where it is of that kind.
    pub fn host(&self) -> Option<&Host> {
        match &self.hosts {
            Hosts::Exact(host) => Some(host),
            _ => None,
        }
    }

    /// The one port that the pattern is limited to.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl Hosts {
    fn parse(host: &str) -> Result<Self, HostPatternError> {
        if host == "*" {
            return Ok(Hosts::Any);
        }
        if host.len() > 1 && (host.starts_with('.') || host.ends_with('.')) {
            return Err(HostPatternError::Dot);
        }
        match host.matches('*').count() {
            0 => Ok(Hosts::Exact(Host::parse(host)?)),
            1 => Self::parse_star(host),
            _ => Err(HostPatternError::SeveralStars),
        }
    }

    /// Normalises the labels around the star by the rules for a whole name, with an ordinary label in the
    /// star's place.
    fn parse_star(host: &str) -> Result<Self, HostPatternError> {
        let labels: Vec<&str> = host.split('.').collect();
        let star = labels.iter().position(|label| *label == "*").ok_or(HostPatternError::PartialStar)?;
        if star + 1 == labels.len() {
            return Err(HostPatternError::PartialStar);
        }
        let base = Host::parse(&labels[star + 1..].join("."))?;
        let Host::Name(base) = base else { return Err(HostError::Invalid.into()) };
        let after = format!(".{base}").into_boxed_str();
        if star == 0 {
            return Ok(Hosts::Below(after));
        }
        match Host::parse(&format!("{}.x{after}", labels[..star].join(".")))? {
            Host::Name(whole) => {
                let before = &whole[..whole.len() - after.len() - 1];
                Ok(Hosts::OneLabel(before.into(), after))
            }
            Host::Address(_) => Err(HostError::Invalid.into()),
        }
    }

    fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Hosts::Any, _) => true,
            (Hosts::Exact(exact), host) => exact == host,
            (Hosts::Below(base), Host::Name(name)) => name.len() > base.len() && name.ends_with(&**base),
            (Hosts::OneLabel(before, after), Host::Name(name)) => name
                .strip_prefix(&**before)
                .and_then(|rest| rest.strip_suffix(&**after))
                .is_some_and(|label| !label.is_empty() && !label.contains('.')),
            (Hosts::Below(_) | Hosts::OneLabel(..), Host::Address(_)) => false,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Any => f.write_str("*")?,
            Hosts::Exact(host) => host.fmt(f)?,
            Hosts::Below(base) => write!(f, "*{base}")?,
            Hosts::OneLabel(before, after) => write!(f, "{before}*{after}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The IPv4 address that an IPv6 one carries, in any of the ways that lead a packet to it.
pub(crate) fn embedded_ipv4(address: Ipv6Addr) -> Option<std::net::Ipv4Addr> {
    let s = address.segments();
    let tail = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Some([a, b, c, d].into())
    };
    match s {
        // Mapped (RFC 4291), and translated (RFC 2765).
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => tail(high, low),
        // Compatible (RFC 4291, deprecated); `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) != (0, 0) && (high, low) != (0, 1) => tail(high, low),
        // NAT64 (RFC 6052, RFC 8215).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => tail(high, low),
        [0x64, 0xff9b, 1, .., high, low] => tail(high, low),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => tail(high, low),
        // Teredo (RFC 4380): the client's address, inverted.
        [0x2001, 0, .., high, low] => tail(!high, !low),
        // ISATAP (RFC 5214).
        [.., 0 | 0x200, 0x5efe, high, low] => tail(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(text: &str) -> String {
        Host::parse(text).map_or_else(|error| format!("{error:?}"), |host| host.to_string())
    }

    #[test]
    fn each_host_has_one_spelling() {
        for (text, normal) in [
            ("Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("exam\u{ad}ple.com", "example.com"),
            ("127.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("０x7f.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("[0:0::1]", "[::1]"),
            ("[::ffff:127.0.0.1]", "127.0.0.1"),
            ("_srv.example.com", "_srv.example.com"),
        ] {
            assert_eq!(host(text), normal, "{text}");
        }
    }

    #[test]
    fn what_is_no_host() {
        for text in [
            "",
            ".",
            "..",
            ".a",
            "a..b",
            "a b",
            "a\0b",
            "a%00b",
            "a%2eb",
            "u@h",
            "a/b",
            "a\\b",
            "::1",
            "[::1",
            "[::1%25lo]",
            "256.1.1.1",
            "1.2.3.4.5",
            "0x100000000",
            "a\u{7f}",
            "a\r\nb",
            "*.x",
            "xn--\u{fffd}",
        ] {
            assert!(Host::parse(text).is_err(), "{text:?} is read as {}", host(text));
        }
        assert_eq!(Host::parse(&"a".repeat(64)), Err(HostError::TooLong));
        assert!(Host::parse(&"a.".repeat(127)).is_ok(), "253 bytes and the root's dot");
        assert_eq!(Host::parse(&"ab.".repeat(90)), Err(HostError::TooLong));
    }

    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let compiled = HostPattern::parse(pattern).expect(pattern);
        let matches = |text: &&str| compiled.matches(&Endpoint::parse(text, Some(443)).expect(text));
        assert!(yes.iter().all(matches), "{pattern} should match all of {yes:?}");
        assert!(!no.iter().any(matches), "{pattern} should match none of {no:?}");
    }

    #[test]
    fn patterns() {
        check("github.com", &["github.com", "GITHUB.com."], &["a.github.com", "xgithub.com"]);
        check("*.example.com", &["a.example.com", "a.b.example.com"], &["example.com", "xexample.com"]);
        check(
            "bedrock.*.amazonaws.com",
            &["bedrock.us-east-1.amazonaws.com"],
            &["bedrock.evil.attacker.amazonaws.com", "bedrock.a.amazonaws.com.x", "bedrock.amazonaws.com"],
        );
        check("*", &["a", "1.2.3.4", "[::1]:80"], &[]);
        check("*:80", &["a:80"], &["a"]);
        check("127.0.0.1", &["127.1:1", "[::ffff:7f00:1]:9"], &["127.0.0.2", "localhost"]);
        check("127.0.0.1:3000", &["0x7f000001:3000"], &["127.0.0.1:3001"]);
        check("[::1]", &["[::1]:8"], &["127.0.0.1", "localhost"]);
        check("[::1]:8", &["[0::1]:8"], &["[::1]:9"]);
        check("*.BÜCHER.example", &["a.xn--bcher-kva.example"], &["bücher.example"]);
    }

    #[test]
    fn refused_patterns_say_why() {
        for (text, reason) in [
            ("https://example.com/x", "write the host alone, such as \"example.com\""),
            ("example.com/x", "path"),
            ("u@example.com", "user information"),
            ("*.*.example.com", "more than one *"),
            ("*.a.*", "more than one *"),
            ("foo*.example.com", "whole"),
            ("example.*", "whole"),
            ("::1", "brackets"),
            (".example.com", "dot"),
            ("example.com.", "dot"),
            ("example.com:0", "1 to 65535"),
            ("example.com:99999", "1 to 65535"),
            ("example.com:+80", "1 to 65535"),
            ("example.com:", "1 to 65535"),
            ("*.1.2", "not a valid"),
            ("", "empty"),
        ] {
            let error = HostPattern::parse(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn parsing_is_total_and_normalising_idempotent(text in "\\PC{0,40}") {
            if let Ok(host) = Host::parse(&text) {
                prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
            }
            let _ = HostPattern::parse(&text);
        }

        #[test]
        fn a_pattern_shown_is_the_same_pattern(text in "[a*]{1,2}\\.[a-c*]{1,3}\\.(com|[0-9]{1,3})(:[0-9]{1,5})?") {
            if let Ok(pattern) = HostPattern::parse(&text) {
                prop_assert_eq!(HostPattern::parse(&pattern.to_string()), Ok(pattern));
            }
        }
    }
}
