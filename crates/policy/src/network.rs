//! Network rules: which endpoints a command may reach, and which addresses may be dialed for them.
//!
//! [`NetworkPolicy`] reads its lists from end to end, which is obvious, and what
//! [`IndexedNetwork`](crate::IndexedNetwork) is held to. The page `docs/spec/hosts.md` shows what patterns
//! and lists mean.

use crate::address::carried_ipv4;
use crate::{AddressClass, Endpoint, Host, HostPattern, LocalAddresses, Origin};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// One entry of a host list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// Which endpoints.
    pub pattern: HostPattern,
    /// Who said so.
    pub origin: Origin,
}

/// The host lists. The order within a list has no meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// Reached without asking.
    pub allowed: Vec<HostRule>,
    /// Refused whatever allows them.
    pub denied: Vec<HostRule>,
    /// Other hosts are refused without asking.
    pub strict: bool,
    /// The lock by which only an administrator's hosts are allowed, where there is one. It decides nothing here;
    /// [`to_allow`](Self::to_allow) names it.
    pub lock: Option<Origin>,
    /// Commands may create Unix sockets. On Linux the filter cannot tell socket paths apart: all or none.
    pub unix_sockets: bool,
}

/// What the rules say of one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostVerdict<'a> {
    /// This rule lets it through.
    Allow(&'a HostRule),
    /// No rule speaks of it: a decider may decide, and without one it is refused.
    Ask,
    /// This rule refuses it; with `None`, the strict allow list does.
    Deny(Option<&'a HostRule>),
}

/// An address that passed [`NetworkPolicy::vet`]: the only thing that the proxy dials. It cannot be had in
/// any other way:
///
/// ```compile_fail
/// let _ = palisade_policy::Dialable("127.0.0.1:22".parse().unwrap());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialable(SocketAddr);

impl Dialable {
    /// The address and port to dial.
    pub fn address(self) -> SocketAddr {
        self.0
    }
}

/// Why none of the addresses that a host leads to may be dialed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VetError {
    /// The host has no address at all.
    #[error("the name has no address")]
    NoAddress,
    /// Every address is of a class that is reached only when allowed itself.
    #[error("leads to {class} ({address}), which is reached only when it is allowed itself")]
    Class {
        /// The first such address.
        address: IpAddr,
        /// What it is.
        class: AddressClass,
    },
    /// Every address is one that a deny rule names.
    #[error("leads to {address}, which is denied by {origin}")]
    Denied {
        /// The first such address.
        address: IpAddr,
        /// The rule that names it.
        origin: Box<Origin>,
    },
}

impl NetworkPolicy {
    /// What the rules say of `endpoint`: denied, then allowed, then strict, then asked. Of the rules of a
    /// list that match, the narrowest is named.
    ///
    /// A deny of an IPv4 address also denies the IPv6 addresses that carry it, in whatever form; an allow
    /// covers the address as it is written.
    ///
    /// `localhost`, the names below it, and the addresses they lead to mean the same servers. Hence, where no rule
    /// speaks of the endpoint itself, an allowed `127.0.0.1` or `[::1]` lets these names through as well, and
    /// `localhost:3000` all of them on that port.
    pub fn judge(&self, endpoint: &Endpoint) -> HostVerdict<'_> {
        self.lists().judge(endpoint)
    }

    /// Which of the addresses that `endpoint` leads to may be dialed, in the order given.
    ///
    /// The attacker controls the name, and so what it leads to: a public name that points at `127.0.0.1`
    /// must reach nothing local. Hence an address of a class other than [`AddressClass::Elsewhere`] passes
    /// only when the allow list names that very address (and port), or when it is a loopback address, the
    /// host is `localhost` or below it, and a rule lets it through that speaks of those alone: `*` opens no
    /// port of this machine. Where `localhost` is allowed on one port, its addresses pass there under whichever of
    /// their names they were asked for. An address that a deny rule names never passes, nor does one that carries it.
    pub fn vet(
        &self,
        endpoint: &Endpoint,
        addresses: &[IpAddr],
        own: &LocalAddresses,
    ) -> Result<Vec<Dialable>, VetError> {
        self.lists().vet(endpoint, addresses, own)
    }

    /// The rule because of which a connection to the loopback `address` on `port` may not be let through unless it is
    /// known which host was asked for: it denies that address, or a name that leads there.
    pub fn denies_by_some_name(&self, address: IpAddr, port: u16) -> Option<&HostRule> {
        let itself = Endpoint { host: Host::from(address), port };
        let may_match = |rule: &&HostRule| rule.pattern.may_match_localhost(port);
        self.lists().denying(&itself).or_else(|| self.denied.iter().find(may_match))
    }

    fn lists(&self) -> HostLists<&[HostRule]> {
        HostLists { allowed: &self.allowed, denied: &self.denied, strict: self.strict }
    }
}

/// A list of rules, however it is looked through.
pub(crate) trait HostRules<'a> {
    /// The narrowest rule that matches, and of equally narrow ones, which are equal, the last.
    fn narrowest(&self, endpoint: &Endpoint) -> Option<&'a HostRule>;
}

impl<'a> HostRules<'a> for &'a [HostRule] {
    fn narrowest(&self, endpoint: &Endpoint) -> Option<&'a HostRule> {
        let matching = self.iter().filter(|rule| rule.pattern.matches(endpoint));
        matching.max_by_key(|rule| rule.pattern.narrowness())
    }
}

/// What two lists mean together.
pub(crate) struct HostLists<L> {
    pub(crate) allowed: L,
    pub(crate) denied: L,
    pub(crate) strict: bool,
}

impl<'a, L: HostRules<'a>> HostLists<L> {
    pub(crate) fn judge(&self, endpoint: &Endpoint) -> HostVerdict<'a> {
        if let Some(rule) = self.denying(endpoint) {
            return HostVerdict::Deny(Some(rule));
        }
        let by_another_name = || self.allowed_by_another_name(endpoint);
        match self.allowed.narrowest(endpoint).or_else(by_another_name) {
            Some(rule) => HostVerdict::Allow(rule),
            None if self.strict => HostVerdict::Deny(None),
            None => HostVerdict::Ask,
        }
    }

    pub(crate) fn vet(
        &self,
        endpoint: &Endpoint,
        addresses: &[IpAddr],
        own: &LocalAddresses,
    ) -> Result<Vec<Dialable>, VetError> {
        let judged: Vec<Result<Dialable, VetError>> =
            addresses.iter().map(|address| self.vet_one(endpoint, *address, own)).collect();
        let first_error = judged.iter().find_map(|one| one.clone().err());
        let passed: Vec<Dialable> = judged.into_iter().flatten().collect();
        if passed.is_empty() { Err(first_error.unwrap_or(VetError::NoAddress)) } else { Ok(passed) }
    }

    fn vet_one(
        &self,
        endpoint: &Endpoint,
        address: IpAddr,
        own: &LocalAddresses,
    ) -> Result<Dialable, VetError> {
        let address = address.to_canonical();
        let itself = Endpoint { host: Host::from(address), port: endpoint.port };
        if let Some(rule) = self.denying(&itself) {
            return Err(VetError::Denied { address, origin: Box::new(rule.origin.clone()) });
        }
        let passes = match own.class(address) {
            AddressClass::Elsewhere => true,
            AddressClass::Loopback if self.allows_as_localhost(endpoint) => true,
            AddressClass::Loopback if self.allowing_localhost(endpoint).is_some() => true,
            _ => self.allowing_address(&itself).is_some(),
        };
        if passes {
            Ok(Dialable(SocketAddr::new(address, endpoint.port)))
        } else {
            Err(VetError::Class { address, class: own.class(address) })
        }
    }

    /// The rule that denies `endpoint`, or an IPv4 address that its address carries.
    fn denying(&self, endpoint: &Endpoint) -> Option<&'a HostRule> {
        let readings = std::iter::once(endpoint.clone()).chain(carried(endpoint));
        readings.into_iter().find_map(|reading| self.denied.narrowest(&reading))
    }

    /// The allow rule that names a server of this machine by another host than `endpoint` does.
    fn allowed_by_another_name(&self, endpoint: &Endpoint) -> Option<&'a HostRule> {
        if !endpoint.host.is_localhost() {
            return self.allowing_localhost(endpoint);
        }
        let at = |address| Endpoint { host: Host::Address(address), port: endpoint.port };
        let by_address = OF_LOCALHOST.into_iter().find_map(|address| self.allowing_address(&at(address)));
        by_address.or_else(|| self.allowing_localhost(endpoint))
    }

    /// The rule that allows `localhost` on one port, where `endpoint` means a server there. A rule without a port
    /// says nothing of other names: clients then find what is in the sandbox under them, not what is outside.
    fn allowing_localhost(&self, endpoint: &Endpoint) -> Option<&'a HostRule> {
        let means_it = match endpoint.host {
            Host::Address(address) => OF_LOCALHOST.contains(&address),
            Host::Name(_) => endpoint.host.is_localhost(),
        };
        let localhost = Endpoint { host: Host::Name("localhost".into()), port: endpoint.port };
        let is_exact = |rule: &&HostRule| rule.pattern.host().is_some() && rule.pattern.port().is_some();
        if means_it { self.allowed.narrowest(&localhost).filter(is_exact) } else { None }
    }

    /// The rule that names this very address. No pattern but `*` is broader than one that does and matches
    /// it as well, so the narrowest tells.
    fn allowing_address(&self, itself: &Endpoint) -> Option<&'a HostRule> {
        self.allowed.narrowest(itself).filter(|rule| rule.pattern.address().is_some())
    }

    /// Whether a rule for `localhost` or what is below it, and for nothing else, lets `endpoint` through. No
    /// pattern but `*` is broader than that and matches such a host, so the narrowest tells.
    fn allows_as_localhost(&self, endpoint: &Endpoint) -> bool {
        self.allowed.narrowest(endpoint).is_some_and(|rule| rule.pattern.is_localhost())
    }
}

/// The addresses that `localhost` leads to.
const OF_LOCALHOST: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// `endpoint` with each IPv4 address that its address carries in its place.
pub(crate) fn carried(endpoint: &Endpoint) -> impl Iterator<Item = Endpoint> {
    let carried = match endpoint.host {
        Host::Address(address) => carried_ipv4(address),
        Host::Name(_) => Vec::new(),
    };
    let port = endpoint.port;
    carried.into_iter().map(move |inner| Endpoint { host: Host::from(IpAddr::from(inner)), port })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(texts: &[&str]) -> Vec<HostRule> {
        texts
            .iter()
            .map(|text| HostRule {
                pattern: HostPattern::parse(text).expect(text),
                origin: Origin::flag("--test", text),
            })
            .collect()
    }

    fn policy(allowed: &[&str], denied: &[&str]) -> NetworkPolicy {
        NetworkPolicy { allowed: rules(allowed), denied: rules(denied), ..NetworkPolicy::default() }
    }

    fn endpoint(text: &str) -> Endpoint {
        Endpoint::parse(text, Some(443)).expect(text)
    }

    #[test]
    fn denied_then_allowed_then_strict_then_asked() {
        let mut policy = policy(&["*.example.com"], &["up.example.com"]);
        assert!(matches!(policy.judge(&endpoint("a.example.com")), HostVerdict::Allow(_)));
        assert!(matches!(policy.judge(&endpoint("up.example.com")), HostVerdict::Deny(Some(_))));
        assert_eq!(policy.judge(&endpoint("other.org")), HostVerdict::Ask);
        policy.strict = true;
        assert_eq!(policy.judge(&endpoint("other.org")), HostVerdict::Deny(None));
    }

    #[test]
    fn vetting() {
        let own = LocalAddresses::new(["192.0.2.7".parse().expect("an address")]);
        let check = |allowed: &[&str], denied: &[&str], host: &str, addresses: &[&str], dialed: &[&str]| {
            let addresses: Vec<IpAddr> = addresses.iter().map(|a| a.parse().expect("an address")).collect();
            let passed: Vec<String> = policy(allowed, denied)
                .vet(&endpoint(host), &addresses, &own)
                .unwrap_or_default()
                .into_iter()
                .map(|dialable| dialable.address().to_string())
                .collect();
            assert_eq!(passed, dialed, "{allowed:?} {denied:?} {host} {addresses:?}");
        };
        check(&["a.com"], &[], "a.com", &["93.184.216.34"], &["93.184.216.34:443"]);
        check(&["a.com"], &[], "a.com", &["127.0.0.1"], &[]);
        check(&["a.com"], &[], "a.com", &["127.0.0.1", "93.184.216.34"], &["93.184.216.34:443"]);
        check(&["*"], &[], "127.0.0.1:22", &["127.0.0.1"], &[]);
        check(&["*"], &[], "169.254.169.254:80", &["169.254.169.254"], &[]);
        check(&["*"], &[], "a.com", &["192.0.2.7"], &[]);
        check(&["a.com", "127.0.0.1:3000"], &[], "a.com:3000", &["127.0.0.1"], &["127.0.0.1:3000"]);
        check(&["a.com", "127.0.0.1:3000"], &[], "a.com:3001", &["127.0.0.1"], &[]);
        check(&["localhost"], &[], "localhost:80", &["127.0.0.1", "::1"], &["127.0.0.1:80", "[::1]:80"]);
        check(&["x.localhost"], &[], "x.localhost:80", &["192.0.2.7"], &[]);
        check(&["localhost"], &["127.0.0.1"], "localhost:80", &["127.0.0.1"], &[]);
        check(&["a.com"], &["93.184.216.34"], "a.com", &["93.184.216.34"], &[]);
        check(&["*"], &["127.0.0.1"], "a.com", &["::ffff:127.0.0.1"], &[]);
        check(&["a.com"], &[], "a.com", &[], &[]);
    }

    /// `*` must not open this machine's ports to a name that means this machine.
    #[test]
    fn localhost_is_dialed_only_for_a_rule_that_names_it() {
        let own = LocalAddresses::default();
        for (allowed, host, passes) in [
            ("localhost", "localhost:22", true),
            ("localhost:22", "localhost:22", true),
            ("localhost:23", "localhost:22", false),
            ("*.localhost", "x.localhost:22", true),
            ("*.localhost", "localhost:22", false),
            ("x.localhost", "x.localhost:22", true),
            ("x.localhost", "y.localhost:22", false),
            ("*", "localhost:22", false),
            ("*", "x.localhost:22", false),
            ("*:22", "x.localhost:22", false),
        ] {
            for address in ["127.0.0.1", "::1"] {
                let address = address.parse().expect("an address");
                let vetted = policy(&[allowed], &[]).vet(&endpoint(host), &[address], &own);
                assert_eq!(vetted.is_ok(), passes, "{allowed} {host} {address}");
            }
        }
    }

    /// `localhost` and its addresses mean the same servers, whichever of them a rule names.
    #[test]
    fn a_local_server_is_allowed_by_any_of_its_names() {
        let own = LocalAddresses::default();
        let all = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        for (allowed, denied, host, dialed) in [
            ("127.0.0.1:80", "x", "localhost:80", &["127.0.0.1:80"][..]),
            ("[::1]:80", "x", "a.localhost:80", &["[::1]:80"]),
            ("127.0.0.1", "x", "localhost:81", &["127.0.0.1:81"]),
            ("127.0.0.1:80", "x", "localhost:81", &[]),
            ("127.0.0.1:80", "localhost", "localhost:80", &[]),
            ("127.0.0.1:80", "*.localhost", "localhost:80", &["127.0.0.1:80"]),
            ("127.0.0.1:80", "*.localhost", "a.localhost:80", &[]),
            ("127.0.0.2:80", "x", "localhost:80", &[]),
            ("127.0.0.1:80", "x", "a.com:80", &[]),
            ("localhost:80", "x", "127.0.0.1:80", &["127.0.0.1:80"]),
            ("localhost:80", "x", "[::1]:80", &["[::1]:80"]),
            ("localhost:80", "x", "127.0.0.2:80", &[]),
            ("localhost:80", "127.0.0.1", "127.0.0.1:80", &[]),
            ("localhost:80", "x", "a.localhost:80", &["127.0.0.1:80", "[::1]:80"]),
            ("localhost", "x", "127.0.0.1:80", &[]),
            ("localhost", "x", "a.localhost:80", &[]),
            ("a.localhost:80", "x", "127.0.0.1:80", &[]),
        ] {
            let policy = policy(&[allowed], &[denied]);
            let endpoint = endpoint(host);
            let addresses = match endpoint.host {
                Host::Address(address) => vec![address],
                Host::Name(_) => all.to_vec(),
            };
            let passed = match policy.judge(&endpoint) {
                HostVerdict::Allow(_) => policy.vet(&endpoint, &addresses, &own).unwrap_or_default(),
                _ => Vec::new(),
            };
            let passed: Vec<String> = passed.into_iter().map(|one| one.address().to_string()).collect();
            assert_eq!(passed, dialed, "{allowed} without {denied}: {host}");
        }
        let named = policy(&["a.com", "localhost:80"], &[]);
        assert!(named.vet(&endpoint("a.com:80"), &all, &own).is_err(), "another name opens nothing local");
    }

    #[test]
    fn what_denies_a_local_server_by_some_name() {
        let at = |denied: &str| {
            policy(&[], &[denied]).denies_by_some_name(Ipv4Addr::LOCALHOST.into(), 80).is_some()
        };
        let deny =
            ["localhost", "localhost:80", "*.localhost", "a.localhost", "a.*.localhost:80", "127.0.0.1", "*"];
        assert_eq!(deny.map(at), [true; 7]);
        assert_eq!(["localhost:81", "[::1]", "*.a.com", "127.0.0.1:81", "127.0.0.2"].map(at), [false; 5]);
    }

    /// The ways in which an IPv6 address carries 10.0.0.5.
    const CARRYING: [&str; 13] = [
        "::ffff:10.0.0.5",
        "::ffff:0:10.0.0.5",
        "::10.0.0.5",
        "64:ff9b::10.0.0.5",
        "64:ff9b:1:a00:0:500::",
        "64:ff9b:1:a:0:5::",
        "64:ff9b:1:0:a:0:500::",
        "64:ff9b:1::10.0.0.5",
        "2002:a00:5::1",
        "2001:0:808:808::f5ff:fffa",
        "2001:0:a00:5::1",
        "2606::5efe:10.0.0.5",
        "2606::200:5efe:10.0.0.5",
    ];

    #[test]
    fn a_denied_address_is_denied_in_every_form_that_carries_it() {
        let own = LocalAddresses::default();
        let closed = policy(&["*"], &["10.0.0.5"]);
        let one_port = policy(&["*"], &["10.0.0.5:22"]);
        for text in CARRYING {
            let literal = endpoint(&format!("[{text}]"));
            assert!(matches!(closed.judge(&literal), HostVerdict::Deny(Some(_))), "{text}");
            assert!(matches!(one_port.judge(&literal), HostVerdict::Allow(_)), "{text}, on another port");
            let addresses = [text.parse().expect(text)];
            let vetted = closed.vet(&endpoint("a.com"), &addresses, &own);
            assert!(matches!(vetted, Err(VetError::Denied { .. })), "{text}: {vetted:?}");
            let vetted = policy(&["*"], &[]).vet(&endpoint("a.com"), &addresses, &own);
            assert!(vetted.is_ok(), "{text}, where nothing denies: {vetted:?}");
        }
        // An allow covers what it names and no other form of it.
        let open = policy(&["10.0.0.5"], &[]);
        assert_eq!(open.judge(&endpoint("[64:ff9b::10.0.0.5]")), HostVerdict::Ask);
    }

    /// Addresses that no public name may lead to.
    fn local_v4() -> impl Strategy<Value = Ipv4Addr> {
        (0..8usize, any::<[u8; 3]>()).prop_map(|(range, [a, b, c])| match range {
            0 => Ipv4Addr::new(127, a, b, c),
            1 => Ipv4Addr::new(169, 254, b, c),
            2 => Ipv4Addr::new(0, a, b, c),
            3 => Ipv4Addr::new(224 | a & 15, a, b, c),
            4 => Ipv4Addr::BROADCAST,
            5 => Ipv4Addr::new(100, 100, 100, 200),
            6 => Ipv4Addr::new(168, 63, 129, 16),
            _ => Ipv4Addr::new(192, 0, 2, 7),
        })
    }

    /// An address as sixteen bytes, of which some are set.
    fn with(mut bytes: [u8; 16], parts: &[(usize, &[u8])]) -> IpAddr {
        for (at, part) in parts {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        IpAddr::from(bytes)
    }

    /// Every form in which `inner` can be carried, with `any` wherever the form leaves bytes open.
    fn carriers(inner: Ipv4Addr, any: [u8; 16]) -> Vec<IpAddr> {
        let v4 = inner.octets();
        let inverted = v4.map(|byte| !byte);
        let nat64 =
            |rest: &[(usize, &[u8])]| with(any, &[&[(0, &[0, 0x64, 0xff, 0x9b, 0, 1][..])], rest].concat());
        vec![
            inner.into(),
            with([0; 16], &[(10, &[0xff, 0xff]), (12, &v4)]),
            with([0; 16], &[(8, &[0xff, 0xff]), (12, &v4)]),
            with([0; 16], &[(12, &v4)]),
            with([0; 16], &[(0, &[0, 0x64, 0xff, 0x9b]), (12, &v4)]),
            with(any, &[(0, &[0x20, 2]), (2, &v4)]),
            with(any, &[(0, &[0x20, 1, 0, 0]), (12, &inverted)]),
            with(any, &[(0, &[0x20, 1, 0, 0]), (4, &v4)]),
            with(any, &[(8, &[0, 0, 0x5e, 0xfe]), (12, &v4)]),
            with(any, &[(8, &[2, 0, 0x5e, 0xfe]), (12, &v4)]),
            // ISATAP inside 6to4 and Teredo: two addresses in one.
            with(any, &[(0, &[0x20, 2]), (8, &[0, 0, 0x5e, 0xfe]), (12, &v4)]),
            with(any, &[(0, &[0x20, 2]), (2, &v4), (8, &[0, 0, 0x5e, 0xfe])]),
            // The four lengths of a prefix within the local-use one.
            nat64(&[(6, &v4[..2]), (9, &v4[2..])]),
            nat64(&[(7, &v4[..1]), (9, &v4[1..])]),
            nat64(&[(9, &v4)]),
            nat64(&[(12, &v4)]),
        ]
    }

    /// IPv6 ranges that are closed whatever the rest of an address says, also where it carries a public one.
    fn closed_v6(any: [u8; 16]) -> Vec<IpAddr> {
        let isatap: &[(usize, &[u8])] = &[(8, &[0, 0, 0x5e, 0xfe, 8, 8, 8, 8])];
        let starts = [[0xfe, 0x80 | any[1] & 0x3f], [0xfe, 0xc0 | any[1] & 0x3f], [0xff, any[1]]];
        let plain = starts.iter().map(|start| with(any, &[(0, start)]));
        let carrying = starts.iter().map(|start| with(any, &[&[(0, &start[..])], isatap].concat()));
        plain.chain(carrying).collect()
    }

    /// In the local-use NAT64 prefix a reading as 0.0.0.0/8 is a wrong guess of the prefix's length.
    fn may_be_a_wrong_guess(inner: Ipv4Addr, address: IpAddr) -> bool {
        let IpAddr::V6(address) = address else { return false };
        inner.octets()[0] == 0 && address.segments()[..3] == [0x64, 0xff9b, 1]
    }

    proptest! {
        /// Law 6: no `Dialable` to a local, link-local or metadata address unless the address itself is
        /// allowed.
        #[test]
        fn nothing_local_passes_unless_itself_allowed(inner in local_v4(), bytes in any::<[u8; 16]>(), port in 1..=u16::MAX) {
            let own = LocalAddresses::new(["192.0.2.7".parse().expect("an address")]);
            let open = policy(&["*"], &[]);
            let asked = Endpoint { host: Host::parse("evil.example").expect("a host"), port };
            let closed = carriers(inner, bytes).into_iter().filter(|address| !may_be_a_wrong_guess(inner, *address));
            for address in closed.chain(closed_v6(bytes)) {
                prop_assert!(open.vet(&asked, &[address], &own).is_err(), "{} with {} inside", address, inner);
                let literal = Endpoint { host: Host::from(address), port };
                prop_assert!(open.vet(&literal, &[address], &own).is_err(), "{} with {} inside", address, inner);
                let named = policy(&["*", &literal.to_string()], &[]);
                prop_assert!(named.vet(&asked, &[address], &own).is_ok(), "{} named", address);
            }
        }

        /// Whatever the sixteen bytes, what passes is of an ordinary class, and no more passes than was
        /// asked for.
        #[test]
        fn what_passes_is_of_an_ordinary_class(bytes in any::<[u8; 16]>(), port in 1..=u16::MAX) {
            let own = LocalAddresses::default();
            let asked = Endpoint { host: Host::parse("evil.example").expect("a host"), port };
            let address = IpAddr::from(bytes).to_canonical();
            let vetted = policy(&["*"], &[]).vet(&asked, &[address], &own);
            match own.class(address) {
                AddressClass::Elsewhere => {
                    prop_assert_eq!(vetted.expect("passes")[0].address(), SocketAddr::new(address, port));
                }
                class => prop_assert_eq!(vetted, Err(VetError::Class { address, class })),
            }
        }

        /// A denied address passes in no form that carries it.
        #[test]
        fn nothing_that_carries_a_denied_address_passes(inner in any::<[u8; 4]>(), bytes in any::<[u8; 16]>()) {
            let inner = Ipv4Addr::from(inner);
            let closed = policy(&["*"], &[&inner.to_string()]);
            let own = LocalAddresses::default();
            for address in carriers(inner, bytes) {
                if may_be_a_wrong_guess(inner, address) {
                    continue;
                }
                prop_assert!(closed.vet(&endpoint("evil.example"), &[address], &own).is_err(), "{}", address);
                let literal = Endpoint { host: Host::from(address), port: 443 };
                prop_assert!(matches!(closed.judge(&literal), HostVerdict::Deny(_)), "{}", address);
            }
        }
    }
}
