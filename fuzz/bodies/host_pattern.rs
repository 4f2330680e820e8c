//! What must hold of a host pattern and an endpoint, whatever their bytes. The input is the pattern, a line feed, and
//! the endpoint. It panics where something does not hold.

use palisade_policy::{
    Endpoint, Host, HostPattern, HostRule, HostVerdict, IndexedNetwork, NetworkPolicy, Origin,
};

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, asked) = text.split_once('\n').unwrap_or((text, "localhost:80"));
    let endpoint = Endpoint::parse(asked, Some(443)).ok();
    endpoint.iter().for_each(holds_names_only);
    let allowed = HostPattern::parse(pattern).ok();
    let denied = HostPattern::parse_deny(pattern).unwrap_or_default();
    assert!(allowed.iter().all(|allowed| denied.contains(allowed)), "a denial has the reading of an allow");
    for pattern in denied {
        assert_eq!(
            HostPattern::parse(&pattern.to_string()).as_ref(),
            Ok(&pattern),
            "what is shown reads back"
        );
        endpoint.iter().for_each(|endpoint| is_judged_alike(&pattern, endpoint));
    }
}

fn holds_names_only(endpoint: &Endpoint) {
    assert_eq!(
        Endpoint::parse(&endpoint.to_string(), None).as_ref(),
        Ok(endpoint),
        "what is shown reads back"
    );
    if let Host::Name(name) = &endpoint.host {
        let is_of_a_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
        assert!(name.bytes().all(is_of_a_name) && name.len() <= 253, "{name:?} is no name");
    }
}

fn is_judged_alike(pattern: &HostPattern, endpoint: &Endpoint) {
    let rule = HostRule { pattern: pattern.clone(), origin: Origin::flag("--host", "") };
    let network = NetworkPolicy { allowed: vec![rule], ..NetworkPolicy::default() };
    let verdict = network.judge(endpoint);
    let (is_allowed, matches) = (verdict != HostVerdict::Ask, pattern.matches(endpoint));
    // A server of this machine is allowed by another of its names as well.
    assert!(is_allowed == matches || (is_allowed && is_local(&endpoint.host)));
    assert_eq!(IndexedNetwork::new(network.clone()).judge(endpoint), verdict);
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Address(address) => address.is_loopback(),
        Host::Name(_) => host.is_localhost(),
    }
}
