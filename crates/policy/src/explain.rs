//! Why a verdict is what it is, and what else speaks of the same path or host: for people who want to know
//! what to change.
//!
//! A deny that decides hides others behind it: to take it away helps only when no other rule of a deny list
//! covers the same. So an explanation lists every rule that was considered. It decides nothing itself, and
//! finds its words elsewhere: origins know the file and the line.

use crate::network::carried;
use crate::{
    AbsPath, Access, Endpoint, FileRule, FileSets, FileVerdict, Host, HostRule, HostVerdict, NetworkPolicy,
};
use std::cmp::Reverse;
use std::fmt;

/// One of the lists of [`FileSets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileList {
    /// [`FileSets::allow_write`].
    AllowWrite,
    /// [`FileSets::deny_write`].
    DenyWrite,
    /// [`FileSets::deny_read`].
    DenyRead,
    /// [`FileSets::allow_read`].
    AllowRead,
}

/// A file verdict and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileExplanation<'a> {
    /// What [`FileSets::judge`] says.
    pub verdict: FileVerdict<'a>,
    /// The list that the deciding rule stands in. A write can be denied by a rule of
    /// [`DenyRead`](FileList::DenyRead): what is hidden cannot be written.
    pub list: Option<FileList>,
    /// The other rules that cover the path and that a verdict on this access looks at, the narrowest first.
    pub also: Vec<(FileList, &'a FileRule)>,
}

/// One of the lists of [`NetworkPolicy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostList {
    /// [`NetworkPolicy::allowed`].
    Allowed,
    /// [`NetworkPolicy::denied`].
    Denied,
}

/// A host verdict and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostExplanation<'a> {
    /// What [`NetworkPolicy::judge`] says.
    pub verdict: HostVerdict<'a>,
    /// The other rules that match, denials first and of each list the narrowest first.
    pub also: Vec<(HostList, &'a HostRule)>,
}

impl FileSets {
    /// [`judge`](Self::judge), with all the rules that it looked at.
    pub fn explain(&self, access: Access, path: &AbsPath) -> FileExplanation<'_> {
        let verdict = self.judge(access, path);
        let lists = [
            (FileList::DenyRead, &self.deny_read),
            (FileList::AllowRead, &self.allow_read),
            (FileList::DenyWrite, &self.deny_write),
            (FileList::AllowWrite, &self.allow_write),
        ];
        let mut covering: Vec<(FileList, &FileRule)> = lists
            .into_iter()
            .filter(|(list, _)| access == Access::Write || *list != FileList::DenyWrite)
            .flat_map(|(list, rules)| rules.iter().map(move |rule| (list, rule)))
            .filter(|(_, rule)| rule.pattern.covers(path).is_some())
            .collect();
        covering.sort_by_key(|(_, rule)| Reverse(rule.pattern.covers(path)));
        let deciding = covering.iter().position(|(_, rule)| is_same(verdict.rule, rule));
        let list = deciding.map(|at| covering.remove(at).0);
        FileExplanation { verdict, list, also: covering }
    }
}

impl NetworkPolicy {
    /// [`judge`](Self::judge), with all the rules that match.
    pub fn explain(&self, endpoint: &Endpoint) -> HostExplanation<'_> {
        let verdict = self.judge(endpoint);
        let deciding = match verdict {
            HostVerdict::Allow(rule) | HostVerdict::Deny(Some(rule)) => Some(rule),
            HostVerdict::Ask | HostVerdict::Deny(None) => None,
        };
        let readings: Vec<Endpoint> = std::iter::once(endpoint.clone()).chain(carried(endpoint)).collect();
        let denied = matching(HostList::Denied, &self.denied, &readings);
        let allowed = matching(HostList::Allowed, &self.allowed, &readings[..1]);
        let mut also = [denied, allowed].concat();
        also.retain(|(_, rule)| !is_same(deciding, rule));
        HostExplanation { verdict, also }
    }
}

impl NetworkPolicy {
    /// For a person: what would allow `endpoint`, which no rule denies. In settings: who reads it may have no command line.
    pub fn to_allow(&self, endpoint: &Endpoint) -> String {
        let entry = endpoint.entry();
        match &self.lock {
            Some(lock) => format!(
                "add \"{entry}\" to sandbox.network.allowedDomains of managed settings; no others count, by {lock}"
            ),
            None => format!("add \"{entry}\" to sandbox.network.allowedDomains"),
        }
    }
}

impl Endpoint {
    /// The entry of a host list that is to name this. An address or localhost without a port would be every service of
    /// a machine, all those on this one's loopback among them, so these have the port; other names have none.
    pub fn entry(&self) -> String {
        match &self.host {
            Host::Name(name) if !self.host.is_localhost() => name.to_string(),
            Host::Name(_) | Host::Address(_) => self.to_string(),
        }
    }
}

/// The rules that match one of `readings`, the narrowest first.
fn matching<'a>(
    list: HostList,
    rules: &'a [HostRule],
    readings: &[Endpoint],
) -> Vec<(HostList, &'a HostRule)> {
    let matches = |rule: &&HostRule| readings.iter().any(|reading| rule.pattern.matches(reading));
    let mut matching: Vec<_> = rules.iter().filter(matches).map(|rule| (list, rule)).collect();
    matching.sort_by_key(|(_, rule)| Reverse(rule.pattern.narrowness()));
    matching
}

/// Whether the two are one: equal rules may stand in several lists.
fn is_same<T>(deciding: Option<&T>, rule: &T) -> bool {
    deciding.is_some_and(|deciding| std::ptr::eq(deciding, rule))
}

/// The key of the list in settings.
impl fmt::Display for FileList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileList::AllowWrite => "allowWrite",
            FileList::DenyWrite => "denyWrite",
            FileList::DenyRead => "denyRead",
            FileList::AllowRead => "allowRead",
        })
    }
}

/// The key of the list in settings.
impl fmt::Display for HostList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostList::Allowed => "allowedDomains",
            HostList::Denied => "deniedDomains",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Anchor, HostPattern, Origin, PathPattern};

    fn files(texts: &[&str]) -> Vec<FileRule> {
        let anchor = Anchor { base: AbsPath::root(), home: None };
        let rule = |text: &&str| FileRule {
            pattern: PathPattern::parse(text, &anchor).expect(text),
            origin: Origin::flag("--test", text),
        };
        texts.iter().map(rule).collect()
    }

    fn hosts(texts: &[&str]) -> Vec<HostRule> {
        let rule = |text: &&str| HostRule {
            pattern: HostPattern::parse(text).expect(text),
            origin: Origin::flag("--test", text),
        };
        texts.iter().map(rule).collect()
    }

    /// `denyRead /a: allowRead /, …`: what decided and what else was considered.
    fn shown<'a, L: fmt::Display>(decided: String, also: impl Iterator<Item = (L, &'a Origin)>) -> String {
        let also: Vec<String> = also.map(|(list, origin)| format!("{list} {}", origin.text)).collect();
        format!("{decided}: {}", also.join(", "))
    }

    #[test]
    fn a_path_with_all_the_rules_that_speak_of_it() {
        let sets = FileSets {
            allow_write: files(&["/p", "/p/a"]),
            deny_write: files(&["/p/a/b", "/other"]),
            deny_read: files(&["/p/*", "/", "/q"]),
            allow_read: files(&["/p", "/p/a/b"]),
        };
        let explain = |access, path: &str| {
            let explanation = sets.explain(access, &AbsPath::new(path).expect("absolute"));
            let rule = explanation.verdict.rule.map_or("nothing", |rule| &rule.origin.text);
            let list = explanation.list.map_or(String::new(), |list| format!(" {list}"));
            let decided = format!("{:?} by{list} {rule}", explanation.verdict.effect);
            shown(decided, explanation.also.iter().map(|(list, rule)| (*list, &rule.origin)))
        };
        assert_eq!(
            explain(Access::Read, "/p/a/x"),
            "Deny by denyRead /p/*: allowWrite /p/a, allowRead /p, allowWrite /p, denyRead /"
        );
        assert_eq!(
            explain(Access::Write, "/p/a/b"),
            "Deny by denyWrite /p/a/b: allowRead /p/a/b, denyRead /p/*, allowWrite /p/a, allowRead /p, allowWrite /p, denyRead /"
        );
        assert_eq!(explain(Access::Write, "/q"), "Deny by denyRead /q: denyRead /");
        assert_eq!(FileSets::default().explain(Access::Write, &AbsPath::root()).list, None);
    }

    #[test]
    fn a_host_with_all_the_rules_that_speak_of_it() {
        let network = NetworkPolicy {
            allowed: hosts(&["*", "*.b", "a.b:443", "10.0.0.1"]),
            denied: hosts(&["*.b:80", "a.b:80", "10.0.0.1"]),
            ..NetworkPolicy::default()
        };
        let explain = |text: &str| {
            let endpoint = Endpoint::parse(text, None).expect(text);
            let explanation = network.explain(&endpoint);
            let decided = match explanation.verdict {
                HostVerdict::Allow(rule) => format!("allowed by {}", rule.pattern),
                HostVerdict::Deny(rule) => {
                    format!("denied by {}", rule.map_or("nothing".into(), |rule| rule.pattern.to_string()))
                }
                HostVerdict::Ask => "asked".into(),
            };
            shown(decided, explanation.also.iter().map(|(list, rule)| (*list, &rule.origin)))
        };
        assert_eq!(explain("a.b:443"), "allowed by a.b:443: allowedDomains *.b, allowedDomains *");
        assert_eq!(
            explain("a.b:80"),
            "denied by a.b:80: deniedDomains *.b:80, allowedDomains *.b, allowedDomains *"
        );
        assert_eq!(explain("[64:ff9b::10.0.0.1]:1"), "denied by 10.0.0.1: allowedDomains *");
    }
}
