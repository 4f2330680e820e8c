//! Writes a profile. The words are Seatbelt's, the decisions are the confinement's: nothing here decides
//! about a path.
//!
//! # The order of a profile
//!
//! Operations are written so that it makes no difference whether Seatbelt lets the last matching rule decide
//! or the one for the most specific operation, about which accounts differ: a rule for one operation of a
//! group always follows every rule for the group.
//!
//! 1. `base.sbpl`: everything denied; processes, services and facts that any program needs.
//! 2. Unix sockets, where the policy opens them.
//! 3. Reads: allowed, then each change broad to narrow. Hiding takes loading, running and (where Unix
//!    sockets are open) connecting along.
//! 4. Writes: each change broad to narrow.
//! 5. Pins: no making, renaming or removing of whatever holds a path where anything changes.
//! 6. Traversal: the hidden directories above something readable can be looked at, not listed. `/` can be
//!    listed always, since the dynamic loader aborts without.
//! 7. `devices.sbpl`: devices that are there whatever the rules, as on Linux.
//! 8. The network: the proxy's ports, which nothing above can take away.

use crate::Profile;
use crate::expression::quoted;
use palisade_policy::{
    AbsPath, Access, Confinement, Effect, FileRule, FileSets, OrderedRule, OrderedRules, PathPattern,
    WildcardError,
};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

const BASE: &str = include_str!("base.sbpl");
const DEVICES: &str = include_str!("devices.sbpl");
const UNIX_SOCKETS: &str = include_str!("unix-sockets.sbpl");

/// Links at the top of every Mac's file system. The kernel judges an access by where they lead.
const ALIASES: [&[u8]; 3] = [b"etc", b"tmp", b"var"];

/// Text and parameters together, in bytes. The system limits a command line to 1 MiB, environment included, and
/// the compiler of profiles takes seconds for some thousand rules.
const LARGEST: usize = 256 * 1024;

/// Why a confinement has no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A file rule still has wildcards.
    #[error(transparent)]
    Wildcard(#[from] WildcardError),
    /// There are too many file rules.
    #[error("the profile would take {bytes} bytes, and the limit is {limit}: there are too many file rules")]
    TooLarge {
        /// What text and parameters take together.
        bytes: usize,
        /// What they may take.
        limit: usize,
    },
}

/// The profile that confines one command. `proxy_ports` are the TCP ports of the command's proxy on
/// loopback; with none nothing can be connected to.
pub fn profile(confinement: &Confinement, proxy_ports: &[NonZeroU16]) -> Result<Profile, ProfileError> {
    let mut writer = Writer { text: BASE.into(), ..Writer::default() };
    let unix_sockets = confinement.network.unix_sockets;
    if unix_sockets {
        writer.text.push_str(UNIX_SOCKETS);
    }
    if confinement.files_disabled {
        writer.write_section("Files are not isolated", "(allow file* file-link file-clone)");
    } else {
        let files = in_both_spellings(&confinement.files);
        let passed = confinement.links.keys().chain(confinement.stepped_out_of.keys());
        let passed =
            passed.flat_map(|link| std::iter::once(link.clone()).chain(other_spelling(link))).collect();
        writer.write_files(&files.lower()?, &passed, unix_sockets);
        writer.text.push_str(DEVICES);
    }
    writer.write_network(proxy_ports);
    writer.finish()
}

#[derive(Default)]
struct Writer {
    text: String,
    parameters: Vec<(String, Vec<u8>)>,
    /// The parameter that already stands for a path.
    known: BTreeMap<AbsPath, usize>,
}

impl Writer {
    fn write_section(&mut self, title: &str, first: &str) {
        self.text.push_str(&format!("\n; {title}\n{first}\n"));
    }

    fn write_network(&mut self, proxy_ports: &[NonZeroU16]) {
        self.text.push_str("\n; The network: the proxy\n");
        for port in proxy_ports {
            let endpoint = quoted(format!("localhost:{port}").as_bytes());
            self.text.push_str(&format!("(allow network-outbound (remote tcp {endpoint}))\n"));
        }
    }

    fn write_files(&mut self, rules: &OrderedRules<'_>, passed: &BTreeSet<AbsPath>, unix_sockets: bool) {
        let reading = if unix_sockets {
            "file-read* file-map-executable process-exec* network-outbound"
        } else {
            "file-read* file-map-executable process-exec*"
        };
        self.write_section("Reads", "(allow file-read*)");
        for rule in rules.changes(Access::Read) {
            self.write_rule(rule.read.effect, reading, "subpath", &rule.path);
        }
        self.text.push_str("\n; Writes\n");
        for rule in rules.changes(Access::Write) {
            self.write_rule(rule.write.effect, "file-write*", "subpath", &rule.path);
        }
        self.text.push_str("\n; Pins\n");
        for path in pinned(rules, passed) {
            self.write_rule(Effect::Deny, "file-write-create file-write-unlink", "literal", &path);
        }
        self.write_traversal(rules);
    }

    fn write_traversal(&mut self, rules: &OrderedRules<'_>) {
        self.write_section("Traversal", "(allow file-read-data file-read-metadata (literal \"/\"))");
        for path in traversed(rules) {
            self.write_rule(Effect::Allow, "file-read-metadata", "literal", &path);
        }
    }

    /// `/` and everything below it is simply everything, and needs no filter.
    fn write_rule(&mut self, effect: Effect, operations: &str, filter: &str, path: &AbsPath) {
        let action = match effect {
            Effect::Allow => "allow",
            Effect::Deny => "deny",
        };
        let rule = if path.is_root() && filter == "subpath" {
            format!("({action} {operations})\n")
        } else {
            format!(
                "({action} {operations} ({filter} (param {})))\n",
                quoted(self.parameter(path).as_bytes())
            )
        };
        self.text.push_str(&rule);
    }

    fn parameter(&mut self, path: &AbsPath) -> String {
        let number = *self.known.entry(path.clone()).or_insert(self.parameters.len());
        let name = format!("P{number}");
        if number == self.parameters.len() {
            self.parameters.push((name.clone(), path.as_bytes().to_vec()));
        }
        name
    }

    fn finish(self) -> Result<Profile, ProfileError> {
        let parameters: usize = self.parameters.iter().map(|(name, value)| name.len() + value.len()).sum();
        let bytes = self.text.len() + parameters;
        if bytes > LARGEST {
            return Err(ProfileError::TooLarge { bytes, limit: LARGEST });
        }
        Ok(Profile { text: self.text, parameters: self.parameters })
    }
}

/// Every place where reads or writes change.
fn changes<'a>(rules: &'a OrderedRules<'_>) -> impl Iterator<Item = &'a OrderedRule<'a>> {
    [Access::Read, Access::Write].into_iter().flat_map(|access| rules.changes(access))
}

/// Whatever is writable and holds a place where anything changes, or what must stay since others pass it, that included.
/// Elsewhere writes are denied altogether, and renaming and removing with them.
fn pinned(rules: &OrderedRules<'_>, passed: &BTreeSet<AbsPath>) -> BTreeSet<AbsPath> {
    changes(rules)
        .map(|rule| &rule.path)
        .chain(passed)
        .flat_map(AbsPath::ancestors)
        .filter(|path| rules.judge(Access::Write, path).effect == Effect::Allow)
        .collect()
}

/// The hidden directories above something readable.
fn traversed(rules: &OrderedRules<'_>) -> BTreeSet<AbsPath> {
    rules
        .changes(Access::Read)
        .filter(|rule| rule.read.effect == Effect::Allow)
        .flat_map(|rule| rule.path.ancestors())
        .filter(|path| rules.judge(Access::Read, path).effect == Effect::Deny)
        .collect()
}

/// The rules, with a second one for each that names a path with another spelling.
fn in_both_spellings(files: &FileSets) -> FileSets {
    let FileSets { allow_write, deny_write, deny_read, allow_read } = files;
    let both = |list: &Vec<FileRule>| list.iter().flat_map(spellings).collect();
    FileSets {
        allow_write: both(allow_write),
        deny_write: both(deny_write),
        deny_read: both(deny_read),
        allow_read: both(allow_read),
    }
}

/// A rule with wildcards is passed on as it is, for lowering to refuse it.
fn spellings(rule: &FileRule) -> impl Iterator<Item = FileRule> {
    let other = Some(rule.pattern.as_literal())
        .filter(|_| !rule.pattern.has_wildcards())
        .and_then(other_spelling)
        .map(|path| FileRule { pattern: PathPattern::literal(path), origin: rule.origin.clone() });
    std::iter::once(rule.clone()).chain(other)
}

/// `/private/tmp/x` for `/tmp/x`, and the other way round.
fn other_spelling(path: &AbsPath) -> Option<AbsPath> {
    let (short, other) = match path.as_bytes().strip_prefix(b"/private") {
        Some(rest @ [b'/', ..]) => (rest, rest.to_vec()),
        _ => (path.as_bytes(), [b"/private", path.as_bytes()].concat()),
    };
    let first = short.split(|&byte| byte == b'/').nth(1)?;
    AbsPath::new(other).ok().filter(|_| ALIASES.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{NetworkPolicy, Origin};

    fn rules(paths: &[&str]) -> Vec<FileRule> {
        let rule = |path: &&str| FileRule {
            pattern: PathPattern::literal(AbsPath::new(path).expect("absolute")),
            origin: Origin::flag("--test", path),
        };
        paths.iter().map(rule).collect()
    }

    fn ordinary() -> Confinement {
        Confinement {
            files: FileSets {
                allow_write: rules(&["/Users/u/project", "/private/var/folders/zz/palisade-1"]),
                deny_write: rules(&["/Users/u/project/.git/hooks", "/Users/u/project/.mcp.json"]),
                deny_read: rules(&["/Users/u", "/Users/u/project/\"secret\"\n"]),
                allow_read: rules(&["/Users/u/.gitconfig"]),
            },
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
            stepped_out_of: BTreeMap::new(),
            files_disabled: false,
            network: NetworkPolicy::default(),
            working_directory: AbsPath::root(),
        }
    }

    fn ports(ports: &[u16]) -> Vec<NonZeroU16> {
        ports.iter().filter_map(|port| NonZeroU16::new(*port)).collect()
    }

    #[test]
    fn an_ordinary_confinement() {
        insta::assert_snapshot!(profile(&ordinary(), &ports(&[3128, 1080])).expect("small"));
    }

    /// What the profile says beyond its base.
    fn beyond_base(confinement: &Confinement) -> String {
        let text = profile(confinement, &ports(&[3128])).expect("small").text;
        text.strip_prefix(BASE).expect("starts with the base").into()
    }

    #[test]
    fn files_not_isolated() {
        let confinement = Confinement { files_disabled: true, ..ordinary() };
        insta::assert_snapshot!(beyond_base(&confinement));
    }

    #[test]
    fn unix_sockets_open_but_not_the_hidden_ones() {
        let mut confinement = ordinary();
        confinement.network.unix_sockets = true;
        confinement.files = FileSets { deny_read: rules(&["/var/run/docker.sock"]), ..FileSets::default() };
        insta::assert_snapshot!(beyond_base(&confinement));
    }

    #[test]
    fn without_a_proxy_nothing_can_be_connected_to() {
        let text = profile(&ordinary(), &[]).expect("small").text;
        assert!(!text.contains("(allow network"), "{text}");
    }
}
