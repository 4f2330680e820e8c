//! Host lists prepared for many questions: the same answers as [`NetworkPolicy`] gives, in a time that does
//! not grow with the lists.
//!
//! A name is looked up as it stands and by each of its ends that a `*` can stand before, so a question costs
//! one or two look-ups in a hash table for each label of the name, whatever the number of rules. The
//! command chooses the name: the worst one has 127 labels of one letter.
//!
//! It states no precedence: which list wins is written down once, for both.

use crate::host_pattern::Hosts;
use crate::network::{HostLists, HostRules};
use crate::{Dialable, Endpoint, Host, HostRule, HostVerdict, LocalAddresses, NetworkPolicy, VetError};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// A [`NetworkPolicy`] that is asked about many endpoints.
#[derive(Debug, Clone)]
pub struct IndexedNetwork {
    policy: NetworkPolicy,
    allowed: HostIndex,
    denied: HostIndex,
}

impl IndexedNetwork {
    /// Prepares `policy`, in a time that grows with its lists.
    pub fn new(policy: NetworkPolicy) -> Self {
        IndexedNetwork {
            allowed: HostIndex::new(&policy.allowed),
            denied: HostIndex::new(&policy.denied),
            policy,
        }
    }

    /// The rules themselves.
    pub fn policy(&self) -> &NetworkPolicy {
        &self.policy
    }

    /// What [`NetworkPolicy::judge`] says.
    pub fn judge(&self, endpoint: &Endpoint) -> HostVerdict<'_> {
        self.lists().judge(endpoint)
    }

    /// What [`NetworkPolicy::vet`] says.
    pub fn vet(
        &self,
        endpoint: &Endpoint,
        addresses: &[IpAddr],
        own: &LocalAddresses,
    ) -> Result<Vec<Dialable>, VetError> {
        self.lists().vet(endpoint, addresses, own)
    }

    fn lists(&self) -> HostLists<Indexed<'_>> {
        HostLists {
            allowed: Indexed { rules: &self.policy.allowed, index: &self.allowed },
            denied: Indexed { rules: &self.policy.denied, index: &self.denied },
            strict: self.policy.strict,
        }
    }
}

/// The rules that name the same hosts, by their port: places in the list that is indexed.
type ByPort = BTreeMap<Option<u16>, usize>;

/// Where the rules of one list stand, by what they match. Of equal rules the last counts.
#[derive(Debug, Clone, Default)]
struct HostIndex {
    any: ByPort,
    exact: HashMap<Host, ByPort>,
    /// By what stands behind the `*`, its dot included.
    by_end: HashMap<Box<str>, End>,
}

/// The rules whose `*` stands before one and the same end of a name.
#[derive(Debug, Clone, Default)]
struct End {
    below: ByPort,
    /// By what stands before the `*`, its dot included.
    one_label: HashMap<Box<str>, ByPort>,
}

impl HostIndex {
    fn new(rules: &[HostRule]) -> Self {
        let mut index = HostIndex::default();
        for (place, rule) in rules.iter().enumerate() {
            index.by_port(rule.pattern.hosts()).insert(rule.pattern.port(), place);
        }
        index
    }

    fn by_port(&mut self, hosts: &Hosts) -> &mut ByPort {
        match hosts {
            Hosts::Any => &mut self.any,
            Hosts::Exact(host) => self.exact.entry(host.clone()).or_default(),
            Hosts::Below(end) => &mut self.by_end.entry(end.clone()).or_default().below,
            Hosts::OneLabel(start, end) => {
                let end = self.by_end.entry(end.clone()).or_default();
                end.one_label.entry(start.clone()).or_default()
            }
        }
    }

    /// The places of rules that match, the narrowest of them included.
    fn matching(&self, endpoint: &Endpoint) -> impl Iterator<Item = usize> {
        let exact = self.exact.get(&endpoint.host);
        let name = match &endpoint.host {
            Host::Name(name) if !self.by_end.is_empty() => &**name,
            _ => "",
        };
        let by_end = name.match_indices('.').flat_map(|(dot, _)| self.matching_end(name, dot));
        exact.into_iter().chain(by_end).chain([&self.any]).filter_map(|rules| on_port(rules, endpoint.port))
    }

    /// The rules with a `*` before the end of `name` that starts at `dot`.
    fn matching_end(&self, name: &str, dot: usize) -> impl Iterator<Item = &ByPort> {
        let start = name[..dot].rfind('.').map_or(0, |dot| dot + 1);
        self.by_end
            .get(&name[dot..])
            .into_iter()
            .flat_map(move |end| std::iter::once(&end.below).chain(end.one_label.get(&name[..start])))
    }
}

/// Among rules for the same hosts, the one for this port alone is narrower than the one for all.
fn on_port(rules: &ByPort, port: u16) -> Option<usize> {
    rules.get(&Some(port)).or_else(|| rules.get(&None)).copied()
}

#[derive(Clone, Copy)]
struct Indexed<'a> {
    rules: &'a [HostRule],
    index: &'a HostIndex,
}

impl<'a> HostRules<'a> for Indexed<'a> {
    fn narrowest(&self, endpoint: &Endpoint) -> Option<&'a HostRule> {
        let narrowness = |place: &usize| (self.rules[*place].pattern.narrowness(), *place);
        self.index.matching(endpoint).max_by_key(narrowness).map(|place| &self.rules[place])
    }
}
