//! Where the proxy listens inside the sandbox. Who listens there, and what it lets through, is decided elsewhere.
//!
//! The command connects to an address, and by which name it came there nobody can tell. So a listener stands for a
//! server of this machine only where no rule denies one of the names that lead to it; elsewhere the proxy is asked,
//! which is told the name.

use crate::environment::ProxyPorts;
use palisade_policy::{Endpoint, Host, HostRule, NetworkPolicy};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where to listen inside: the proxy's two ports, and each loopback endpoint of this machine that the policy
/// allows on one port.
pub(crate) struct Listen {
    pub(crate) proxy: ProxyPorts,
    pub(crate) direct: Vec<(Endpoint, SocketAddr)>,
}

/// The proxy's ports inside, each in a network namespace of its own: above the range from which Linux picks
/// ports by itself, so that no server of the command's gets one by chance.
const PROXY_PORTS: std::ops::RangeFrom<u16> = 61_080..;

impl Listen {
    pub(crate) fn choose(network: &NetworkPolicy) -> Self {
        let direct: Vec<(Endpoint, SocketAddr)> =
            network.allowed.iter().flat_map(|rule| Self::direct(network, rule)).collect();
        let is_free = |port: &u16| direct.iter().all(|(_, address)| address.port() != *port);
        let mut free = PROXY_PORTS.filter(is_free).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let proxy = ProxyPorts {
            http: free.next().unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 61_080))),
            socks: free.next().unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 61_081))),
        };
        Listen { proxy, direct }
    }

    fn direct(network: &NetworkPolicy, rule: &HostRule) -> Vec<(Endpoint, SocketAddr)> {
        let (Some(host), Some(port)) = (rule.pattern.host(), rule.pattern.port()) else { return Vec::new() };
        let endpoint = Endpoint { host: host.clone(), port };
        let is_open = |address: &IpAddr| network.denies_by_some_name(*address, port).is_none();
        let addresses = loopback_addresses(host).into_iter().filter(is_open);
        addresses.map(|address| (endpoint.clone(), SocketAddr::new(address, port))).collect()
    }

    /// Whether clients that connect to `host` themselves reach all the servers of this machine that `rule` opens to
    /// them under that name. `host` is one that means the loopback interface.
    pub(crate) fn reaches(network: &NetworkPolicy, rule: &HostRule, host: &Host) -> bool {
        if !opens(rule, host) {
            return true;
        }
        let (Some(named), Some(port)) = (rule.pattern.host(), rule.pattern.port()) else { return false };
        let addresses = loopback_addresses(named);
        let is_open = |address: &IpAddr| network.denies_by_some_name(*address, port).is_none();
        !addresses.is_empty() && addresses.iter().all(is_open)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        [self.proxy.http, self.proxy.socks].into_iter().chain(self.direct.iter().map(|(_, at)| *at)).collect()
    }
}

/// The loopback addresses that `host` leads to, where it is one of them or `localhost`.
fn loopback_addresses(host: &Host) -> Vec<IpAddr> {
    match host {
        Host::Address(address) if address.is_loopback() => vec![*address],
        Host::Name(name) if &**name == "localhost" => {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        }
        _ => Vec::new(),
    }
}

/// Whether `rule` may open servers under the name `host` or, as what is said of `localhost` counts for them too, under
/// names below it. See [`NetworkPolicy::judge`].
fn opens(rule: &HostRule, host: &Host) -> bool {
    match host {
        Host::Name(_) => {
            rule.pattern.is_localhost()
                || rule.pattern.host().is_some_and(|named| !loopback_addresses(named).is_empty())
        }
        Host::Address(address) => {
            let named = rule.pattern.host().map(loopback_addresses).unwrap_or_default();
            named.contains(address) && (rule.pattern.address().is_some() || rule.pattern.port().is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{HostPattern, Origin};

    fn rules(texts: &[&str]) -> Vec<HostRule> {
        let rule = |text: &&str| HostRule {
            pattern: HostPattern::parse(text).expect(text),
            origin: Origin::flag("--test", text),
        };
        texts.iter().map(rule).collect()
    }

    fn addresses(allowed: &[&str], denied: &[&str]) -> Vec<String> {
        let network =
            NetworkPolicy { allowed: rules(allowed), denied: rules(denied), ..NetworkPolicy::default() };
        Listen::choose(&network).addresses().iter().map(SocketAddr::to_string).collect()
    }

    #[test]
    fn allowed_loopback_endpoints_get_listeners_of_their_own() {
        let allowed =
            ["127.0.0.1:3000", "[::1]:61080", "localhost:81", "example.com:80", "127.0.0.1", "10.0.0.1:80"];
        let expected = [
            "127.0.0.1:61081",
            "127.0.0.1:61082",
            "127.0.0.1:3000",
            "[::1]:61080",
            "127.0.0.1:81",
            "[::1]:81",
        ];
        assert_eq!(addresses(&allowed, &[]), expected);
    }

    #[test]
    fn where_a_name_is_denied_no_listener_lets_it_in_by_its_address() {
        for denied in ["localhost", "*.localhost", "a.localhost:80", "*:80", "*"] {
            let found = addresses(&["127.0.0.1:80", "localhost:80"], &[denied]);
            assert_eq!(found, ["127.0.0.1:61080", "127.0.0.1:61081"], "{denied}");
        }
        assert_eq!(addresses(&["localhost:80"], &["127.0.0.1"])[2..], ["[::1]:80"]);
        assert_eq!(addresses(&["127.0.0.1:80"], &["localhost:81", "a.com"])[2..], ["127.0.0.1:80"]);
    }
}
