//! Where the proxy listens inside the sandbox. Who listens there, and what it lets through, is decided elsewhere.

use crate::environment::ProxyPorts;
use palisade_policy::{Endpoint, Host, NetworkPolicy};
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
        let direct: Vec<(Endpoint, SocketAddr)> = network
            .allowed
            .iter()
            .flat_map(|rule| Self::direct(rule.pattern.host(), rule.pattern.port()))
            .collect();
        let is_free = |port: &u16| direct.iter().all(|(_, address)| address.port() != *port);
        let mut free = PROXY_PORTS.filter(is_free).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let proxy = ProxyPorts {
            http: free.next().unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 61_080))),
            socks: free.next().unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 61_081))),
        };
        Listen { proxy, direct }
    }

    fn direct(host: Option<&Host>, port: Option<u16>) -> Vec<(Endpoint, SocketAddr)> {
        let (Some(host), Some(port)) = (host, port) else { return Vec::new() };
        let addresses: &[IpAddr] = match host {
            Host::Address(address) if address.is_loopback() => std::slice::from_ref(address),
            host if *host == Host::Name("localhost".into()) => {
                &[IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
            }
            _ => &[],
        };
        let endpoint = Endpoint { host: host.clone(), port };
        addresses.iter().map(|address| (endpoint.clone(), SocketAddr::new(*address, port))).collect()
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        [self.proxy.http, self.proxy.socks].into_iter().chain(self.direct.iter().map(|(_, at)| *at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{HostPattern, HostRule, Origin};

    #[test]
    fn allowed_loopback_endpoints_get_listeners_of_their_own() {
        let rule = |text: &str| HostRule {
            pattern: HostPattern::parse(text).expect(text),
            origin: Origin::flag("--test", text),
        };
        let network = NetworkPolicy {
            allowed: [
                "127.0.0.1:3000",
                "[::1]:61080",
                "localhost:81",
                "example.com:80",
                "127.0.0.1",
                "10.0.0.1:80",
            ]
            .map(rule)
            .into(),
            ..NetworkPolicy::default()
        };
        let listen = Listen::choose(&network);
        let shown: Vec<String> = listen.addresses().iter().map(SocketAddr::to_string).collect();
        let expected = [
            "127.0.0.1:61081",
            "127.0.0.1:61082",
            "127.0.0.1:3000",
            "[::1]:61080",
            "127.0.0.1:81",
            "[::1]:81",
        ];
        assert_eq!(shown, expected);
    }
}
