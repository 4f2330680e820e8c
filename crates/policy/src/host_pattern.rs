//! Host patterns: one line of `network.allowedDomains` and its like.
//!
//! # Grammar
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
//! whole label, IPv6 without brackets, a leading or trailing dot, a port that is no number from 1 to 65535,
//! and what is [no host](crate::Host::parse).
//!
//! A text that can be read in several ways is refused where it allows, and read in all of them where it
//! denies ([`HostPattern::parse_deny`]).
//!
//! A pattern is shown in its one normal spelling, which reads back as the same pattern. Every row of the page
//! `docs/spec/hosts.md` is a test.

use crate::host::{Endpoint, Host, HostError, parse_port, split_port};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A compiled host pattern. See the module's documentation for the grammar.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPattern {
    hosts: Hosts,
    port: Option<u16>,
}

/// Which hosts a pattern matches, whatever the port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Hosts {
    Any,
    Exact(Host),
    /// `*.base`, kept as `.base`.
    Below(Box<str>),
    /// `before.*.after`, kept as `before.` and `.after`.
    OneLabel(Box<str>, Box<str>),
}

/// How narrow a pattern is, in ascending order. Of two patterns that match one endpoint, those that are
/// equally narrow are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Narrowness {
    hosts: HostsNarrowness,
    has_port: bool,
}

/// Longer ends, and longer starts, leave fewer hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum HostsNarrowness {
    Any,
    Below { end: usize },
    OneLabel { end: usize, start: usize },
    Exact,
}

/// Why a text is not a host pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostPatternError {
    /// `https://example.com`. Holds what to write instead.
    #[error("has a scheme; write the host alone, such as \"{0}\"")]
    Scheme(String),
    /// `WebFetch(domain:example.com)`. Holds what to write instead.
    #[error("is written as in a permission rule; write the host alone, such as \"{0}\"")]
    Rule(String),
    /// `example.com/path`.
    #[error("has a path; a rule covers a whole host, so write the host alone")]
    Path,
    /// `10.0.0.0/8`.
    #[error("is a range of addresses, which no rule can name; name each address, or a host")]
    Range,
    /// `user@example.com`.
    #[error("has user information; write the host alone")]
    UserInfo,
    /// `*.*.example.com`.
    #[error("has more than one *")]
    SeveralStars,
    /// `foo*.example.com`, `example.*`.
    #[error(
        "has a * that is neither a whole first nor a whole middle label; write it as one, as in \"*.example.com\""
    )]
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
    /// Compiles the pattern `text`, for a list of allows.
    pub fn parse(text: &str) -> Result<Self, HostPatternError> {
        let shown = |host: &str| Self::parse(host).map_or("example.com".into(), |host| host.to_string());
        if let Some((_, rest)) = text.split_once("://") {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            return Err(HostPatternError::Scheme(shown(host)));
        }
        if let Some(host) = in_rule(text) {
            return Err(HostPatternError::Rule(shown(host)));
        }
        if let Some((start, length)) = text.split_once('/') {
            let is_range =
                is_address(start) && !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            return Err(if is_range { HostPatternError::Range } else { HostPatternError::Path });
        }
        if text.contains('@') {
            return Err(HostPatternError::UserInfo);
        }
        let (host, port) = split_port(text)?;
        let port = port.map(|digits| parse_port(digits).ok_or(HostPatternError::Port)).transpose()?;
        Ok(HostPattern { hosts: Hosts::parse(host)?, port })
    }

    /// Every pattern that `text` may be meant as: what to put on a list of denials, which may cover too much
    /// but nothing too little. Most texts have one reading; these have more, and some of them only here:
    ///
    /// - several colons without brackets (`::1:80`) are an address, or an address and a port;
    /// - four decimal numbers of which some start with a zero (`010.0.0.5`) are octal where programs read
    ///   addresses, and decimal to many people.
    pub fn parse_deny(text: &str) -> Result<Vec<Self>, HostPatternError> {
        let parsed = Self::parse(text);
        let mut readings = [bare_ipv6(text), padded_ipv4(text)].concat();
        match parsed {
            Ok(pattern) => readings.insert(0, pattern),
            Err(error) if readings.is_empty() => return Err(error),
            Err(_) => {}
        }
        Ok(readings)
    }

    fn exact(address: impl Into<IpAddr>, port: Option<u16>) -> Self {
        HostPattern { hosts: Hosts::Exact(Host::from(address.into())), port }
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

    /// Whether all that the pattern matches is `localhost` or below it.
    pub fn is_localhost(&self) -> bool {
        match &self.hosts {
            Hosts::Any => false,
            Hosts::Exact(host) => host.is_localhost(),
            Hosts::Below(after) | Hosts::OneLabel(_, after) => after.ends_with(".localhost"),
        }
    }

    /// Whether the pattern matches `localhost` or a name below it, on `port`.
    pub(crate) fn may_match_localhost(&self, port: u16) -> bool {
        (self.is_localhost() || self.hosts == Hosts::Any) && self.port.is_none_or(|own| own == port)
    }

    /// The one port that the pattern is limited to.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    pub(crate) fn narrowness(&self) -> Narrowness {
        let hosts = match &self.hosts {
            Hosts::Any => HostsNarrowness::Any,
            Hosts::Exact(_) => HostsNarrowness::Exact,
            Hosts::Below(end) => HostsNarrowness::Below { end: end.len() },
            Hosts::OneLabel(start, end) => HostsNarrowness::OneLabel { end: end.len(), start: start.len() },
        };
        Narrowness { hosts, has_port: self.port.is_some() }
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

/// The host of a text that is written as in a permission rule. A host may be called `domain`, and have a port.
fn in_rule(text: &str) -> Option<&str> {
    let is_port = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    let alone = || text.strip_prefix("domain:").filter(|rest| !is_port(rest));
    let rest = text.strip_prefix("WebFetch(domain:").or_else(alone)?;
    rest.trim_end_matches(')').rsplit("domain:").next()
}

/// The readings of an IPv6 address that lacks its brackets.
fn bare_ipv6(text: &str) -> Vec<HostPattern> {
    let address = |text: &str| text.parse::<Ipv6Addr>().ok();
    let whole = address(text).map(|address| HostPattern::exact(address, None));
    let with_port = text.rsplit_once(':').and_then(|(host, port)| {
        let port = parse_port(port)?;
        Some(HostPattern::exact(address(host)?, Some(port)))
    });
    whole.into_iter().chain(with_port).collect()
}

/// The decimal reading of an IPv4 address of which some numbers start with a zero.
fn padded_ipv4(text: &str) -> Vec<HostPattern> {
    let Ok((host, port)) = split_port(text) else { return Vec::new() };
    let is_padded = host.split('.').any(|number| number.len() > 1 && number.starts_with('0'));
    let numbers: Option<Vec<u8>> = host.split('.').map(decimal).collect();
    let port = port.map(parse_port);
    match (numbers.as_deref(), port) {
        (Some(&[a, b, c, d]), None | Some(Some(_))) if is_padded => {
            vec![HostPattern::exact(Ipv4Addr::new(a, b, c, d), port.flatten())]
        }
        _ => Vec::new(),
    }
}

fn decimal(number: &str) -> Option<u8> {
    number.bytes().all(|digit| digit.is_ascii_digit()).then(|| number.parse().ok()).flatten()
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

fn is_address(text: &str) -> bool {
    text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn which_patterns_are_localhost_alone() {
        for (text, expected) in [
            ("localhost", true),
            ("localhost:80", true),
            ("x.localhost", true),
            ("*.localhost", true),
            ("*.x.localhost", true),
            ("a.*.localhost", true),
            ("*", false),
            ("*:80", false),
            ("*.xlocalhost", false),
            ("localhost.com", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(HostPattern::parse(text).expect(text).is_localhost(), expected, "{text}");
        }
    }

    /// The longest texts that are read at all have no further readings either.
    #[test]
    fn an_empty_text_and_an_endless_one_are_refused() {
        let endless = ["1:", "0", "0.", "domain:", "://"].map(|text| text.repeat(100_000));
        for text in endless.into_iter().chain([String::new()]) {
            assert!(HostPattern::parse(&text).is_err());
            assert!(HostPattern::parse_deny(&text).is_err());
        }
    }

    proptest! {
        /// Full-width letters, stars, dots and signs map to ASCII ones.
        #[test]
        fn a_pattern_shown_is_the_same_pattern(text in "[a-c*＊．。＇｀$～\u{ad}]{1,3}\\.[a-c*＊]{1,3}\\.(com|[0-9]{1,3})(:[0-9]{1,5})?") {
            if let Ok(pattern) = HostPattern::parse(&text) {
                prop_assert_eq!(HostPattern::parse(&pattern.to_string()), Ok(pattern));
            }
        }

        #[test]
        fn parsing_is_total(text in "\\PC{0,40}") {
            if let Ok(pattern) = HostPattern::parse(&text) {
                prop_assert_eq!(HostPattern::parse(&pattern.to_string()), Ok(pattern));
            }
        }

        /// A denial has the reading of an allow among its own.
        #[test]
        fn a_denial_has_every_reading_of_an_allow(text in "[0-9a-f:.\\[\\]]{0,20}|0?[0-9]{1,3}(\\.[0-9]{1,3}){3}(:[0-9]{1,5})?|\\PC{0,20}") {
            match (HostPattern::parse(&text), HostPattern::parse_deny(&text)) {
                (Ok(allowed), Ok(denied)) => prop_assert!(denied.contains(&allowed)),
                (Ok(allowed), Err(error)) => prop_assert!(false, "{} is {}", allowed, error),
                (Err(_), _) => {}
            }
        }
    }
}
