//! Network rules: which endpoints a command may reach, and which addresses may be dialed for them.

use crate::{AddressClass, Endpoint, Host, HostPattern, LocalAddresses, Origin};
use std::net::{IpAddr, SocketAddr};

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
    /// What the rules say of `endpoint`: denied, then allowed, then strict, then asked.
    pub fn judge(&self, endpoint: &Endpoint) -> HostVerdict<'_> {
        if let Some(rule) = matching(&self.denied, endpoint) {
            return HostVerdict::Deny(Some(rule));
        }
        match matching(&self.allowed, endpoint) {
            Some(rule) => HostVerdict::Allow(rule),
            None if self.strict => HostVerdict::Deny(None),
            None => HostVerdict::Ask,
        }
    }

    /// Which of the addresses that `endpoint` leads to may be dialed, in the order given.
    ///
    /// The attacker controls the name, and so what it leads to: a public name that points at `127.0.0.1` must
    /// reach nothing local. Hence an address of a class other than [`AddressClass::Elsewhere`] passes only
    /// when the allow list names that very address (and port), or when it is a loopback address and the
    /// host is `localhost` or below it. An address that a deny rule names never passes.
    pub fn vet(
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
        let as_endpoint = Endpoint { host: Host::from(address), port: endpoint.port };
        if let Some(rule) = matching(&self.denied, &as_endpoint) {
            return Err(VetError::Denied { address, origin: Box::new(rule.origin.clone()) });
        }
        let class = own.class(address);
        let itself_allowed = self
            .allowed
            .iter()
            .any(|rule| rule.pattern.address().is_some() && rule.pattern.matches(&as_endpoint));
        let localhost = class == AddressClass::Loopback && endpoint.host.is_localhost();
        if class == AddressClass::Elsewhere || itself_allowed || localhost {
            Ok(Dialable(SocketAddr::new(address, endpoint.port)))
        } else {
            Err(VetError::Class { address, class })
        }
    }
}

fn matching<'a>(list: &'a [HostRule], endpoint: &Endpoint) -> Option<&'a HostRule> {
    list.iter().find(|rule| rule.pattern.matches(endpoint))
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

    proptest! {
        /// Law 6: no `Dialable` to a local, link-local or metadata address unless the address itself is allowed.
        #[test]
        fn nothing_local_passes_unless_itself_allowed(bytes in any::<[u8; 16]>(), shape in 0..8usize, port in 1..=u16::MAX) {
            let v4 = [[127, bytes[0], bytes[1], bytes[2]], [169, 254, 169, 254], [0, bytes[0], 0, 0], [192, 0, 2, 7]][shape % 4];
            let address = if shape < 4 { IpAddr::from(v4) } else {
                IpAddr::from(std::net::Ipv4Addr::from(v4).to_ipv6_mapped())
            };
            let own = LocalAddresses::new(["192.0.2.7".parse().expect("an address")]);
            let open = policy(&["*"], &[]);
            let asked = Endpoint { host: Host::parse("evil.example").expect("a host"), port };
            prop_assert!(open.vet(&asked, &[address], &own).is_err());
            let literal = format!("{}:{port}", Host::from(address));
            prop_assert!(policy(&["*", &literal], &[]).vet(&asked, &[address], &own).is_ok());
            // Whatever the sixteen bytes, what passes is of an ordinary class.
            let any = IpAddr::from(bytes);
            if let Ok(passed) = open.vet(&asked, &[any], &own) {
                prop_assert_eq!(own.class(passed[0].address().ip()), AddressClass::Elsewhere);
            }
        }
    }
}
