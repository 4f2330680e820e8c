//! What the rules say of one host, to clients that ask the proxy and to those that connect themselves.
//!
//! The latter reach what listens in the sandbox, by whatever name or spelling they come to its address.

use super::{Answer, or_by_option, take_away, whose};
use crate::failure::Failure;
use palisade_policy::{
    AddressClass, Effect, Endpoint, Host, HostError, HostExplanation, HostPattern, HostRule, HostVerdict,
    NetworkPolicy, Origin, VetError,
};
use palisade_proxy::Lookup;
use palisade_settings::Loaded;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a host was named without a port.
const DEFAULT_PORT: u16 = 443;

/// How many steps are tried for one answer.
const MOST_STEPS: usize = 16;

/// One thing that somebody can do.
enum Step {
    Allow,
    /// Deny it, under the name or address that counts.
    Deny(Endpoint),
    TakeAway(Origin),
}

pub(super) fn answer(loaded: &Loaded, text: &OsStr) -> Result<Answer, Failure> {
    let network = &loaded.policy.network;
    let text = text.to_string_lossy();
    let endpoint = Endpoint::parse(&text, Some(DEFAULT_PORT))
        .map_err(|error| Failure::of_call("HOST_INVALID", format!("{text:?}: {}", no_host(&text, &error))))?;
    let (answer, step) = judge(network, &endpoint)?;
    // A lock on hosts says itself whose they have to be.
    let whose = if network.lock.is_none() { whose(&loaded.dropped) } else { String::new() };
    let changes = changes(network, &endpoint, answer.effect, step, &whose)?;
    Ok(Answer { changes, ..answer })
}

/// The answer under one policy, and what could be done about what decides.
fn judge(network: &NetworkPolicy, endpoint: &Endpoint) -> Result<(Answer, Option<Step>), Failure> {
    if let Some((loopback, rule)) = reached_unspecified(network, endpoint) {
        return Ok((of_unspecified(endpoint, &loopback, rule), Some(Step::Deny(loopback))));
    }
    let HostExplanation { verdict, also } = network.explain(endpoint);
    let mut answer = Answer {
        question: format!("host {endpoint}"),
        real: None,
        effect: Effect::Deny,
        because: String::new(),
        rule: None,
        also: also.iter().map(|(list, rule)| (list.to_string(), rule.origin.clone())).collect(),
        changes: Vec::new(),
        note: note(network, endpoint, &verdict),
    };
    let step = match verdict {
        HostVerdict::Allow(rule) => match vet(network, endpoint)? {
            None => {
                answer.effect = Effect::Allow;
                answer.rule = Some(rule.origin.clone());
                Some(Step::Deny(endpoint.clone()))
            }
            Some(error) => answer.refuse_address(&error),
        },
        HostVerdict::Deny(Some(rule)) => {
            answer.rule = Some(rule.origin.clone());
            Some(Step::TakeAway(rule.origin.clone()))
        }
        HostVerdict::Deny(None) => {
            answer.because = "it is not on the allow list, and the list is strict: nobody is asked".into();
            Some(Step::Allow)
        }
        HostVerdict::Ask => {
            answer.because = "it is not on the allow list, and `palisade run` has nobody to ask".into();
            Some(Step::Allow)
        }
    };
    Ok((answer, step))
}

/// The steps, from the first on, after which the verdict is another; none where it stays.
fn changes(
    network: &NetworkPolicy,
    endpoint: &Endpoint,
    effect: Effect,
    mut step: Option<Step>,
    whose: &str,
) -> Result<Vec<String>, Failure> {
    let mut supposed = network.clone();
    let mut said = Vec::new();
    while let Some(next) = step.filter(|_| said.len() < MOST_STEPS) {
        said.push(next.said(network, endpoint, whose));
        if !next.take(&mut supposed, endpoint) {
            break;
        }
        let (after, further) = judge(&supposed, endpoint)?;
        if after.effect != effect {
            return Ok(said);
        }
        step = further;
    }
    Ok(Vec::new())
}

impl Step {
    /// For a person. `whose` are the settings in which an entry counts, where that are not all.
    fn said(&self, network: &NetworkPolicy, endpoint: &Endpoint, whose: &str) -> String {
        match self {
            Step::Allow => {
                let remedy = format!("{}{whose}", network.to_allow(endpoint));
                or_by_option(&remedy, network, &endpoint.to_string())
            }
            Step::Deny(endpoint) => {
                let entry = endpoint.entry();
                format!(
                    "add \"{entry}\" to sandbox.network.deniedDomains, or give --deny-host {entry} for one run"
                )
            }
            Step::TakeAway(origin) => take_away(origin),
        }
    }

    /// Takes the step; whether it makes a difference.
    fn take(&self, network: &mut NetworkPolicy, asked: &Endpoint) -> bool {
        let (list, endpoint) = match self {
            Step::Allow => (&mut network.allowed, asked),
            Step::Deny(endpoint) => (&mut network.denied, endpoint),
            Step::TakeAway(origin) => {
                let before = network.denied.len();
                network.denied.retain(|rule| rule.origin != *origin);
                return network.denied.len() < before;
            }
        };
        let entry = endpoint.entry();
        let Ok(pattern) = HostPattern::parse(&entry) else { return false };
        list.push(HostRule { pattern, origin: Origin::flag("", &entry) });
        true
    }
}

/// What is wrong with a text that should name a host. Most slips are the same as in a rule, whose reader says more.
fn no_host(text: &str, error: &HostError) -> String {
    HostPattern::parse(text).err().map_or_else(|| error.to_string(), |error| error.to_string())
}

/// Why none of the addresses of an allowed endpoint would be dialed, as far as they are known without a look-up.
fn vet(network: &NetworkPolicy, endpoint: &Endpoint) -> Result<Option<VetError>, Failure> {
    let addresses: Vec<IpAddr> = match &endpoint.host {
        Host::Address(address) => vec![*address],
        host if host.is_localhost() => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        Host::Name(_) => return Ok(None),
    };
    let own = Lookup::system().own_addresses();
    let own = own.map_err(|error| Failure::new("SANDBOX_LAUNCH", error.to_string()))?;
    Ok(network.vet(endpoint, &addresses, &own).err())
}

impl Answer {
    /// Says that a rule allows the host but not the address that it is.
    fn refuse_address(&mut self, error: &VetError) -> Option<Step> {
        self.because = format!("it {error}");
        match error {
            VetError::Denied { origin, .. } => {
                self.rule = Some((**origin).clone());
                Some(Step::TakeAway((**origin).clone()))
            }
            VetError::Class {
                class: AddressClass::Loopback | AddressClass::LinkLocal | AddressClass::ThisMachine,
                ..
            } => Some(Step::Allow),
            VetError::Class { .. } | VetError::NoAddress => None,
        }
    }
}

fn note(network: &NetworkPolicy, endpoint: &Endpoint, verdict: &HostVerdict<'_>) -> Option<String> {
    if !matches!(endpoint.host, Host::Name(_)) || endpoint.host.is_localhost() {
        return None;
    }
    if matches!(verdict, HostVerdict::Allow(_)) {
        let to_itself = "should the name lead to an address of this machine or to a metadata service, it is refused all the same";
        return Some(to_itself.into());
    }
    let mut loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()].into_iter();
    let at = loopback.find(|address| listens(network, *address, endpoint.port).is_some())?;
    Some(format!(
        "should /etc/hosts lead the name to {at}, clients that connect without the proxy reach what is allowed there"
    ))
}

/// The rule by which clients that connect themselves reach this machine's `port` at its own loopback `address`.
fn listens(network: &NetworkPolicy, address: IpAddr, port: u16) -> Option<&HostRule> {
    if network.denies_by_some_name(address, port).is_some() {
        return None;
    }
    network.allowed.iter().find(|rule| {
        let is_it = match rule.pattern.host() {
            Some(Host::Address(named)) => *named == address,
            Some(Host::Name(name)) => &**name == "localhost",
            None => false,
        };
        is_it && rule.pattern.port() == Some(port)
    })
}

/// Where the kernel leads a connection to no address in particular, if something listens there.
fn reached_unspecified<'a>(
    network: &'a NetworkPolicy,
    endpoint: &Endpoint,
) -> Option<(Endpoint, &'a HostRule)> {
    let address: IpAddr = match endpoint.host {
        Host::Address(IpAddr::V4(address)) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        Host::Address(IpAddr::V6(address)) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        _ => return None,
    };
    let loopback = Endpoint { host: Host::from(address), port: endpoint.port };
    Some((loopback, listens(network, address, endpoint.port)?))
}

fn of_unspecified(asked: &Endpoint, loopback: &Endpoint, rule: &HostRule) -> Answer {
    Answer {
        question: format!("host {asked}"),
        real: None,
        effect: Effect::Allow,
        because: String::new(),
        rule: Some(rule.origin.clone()),
        also: Vec::new(),
        changes: Vec::new(),
        note: Some(format!(
            "clients that connect without the proxy reach {loopback} by it; the proxy itself leads nowhere by it"
        )),
    }
}
