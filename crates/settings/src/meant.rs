//! Which key a name was meant for that is none: written in another case or with a slip of the pen, in the wrong section,
//! with dots, with blanks around it, in other words for the same (`blockRead`, `deniedHosts`), with letters that only
//! look the same.
//!
//! It compares names and says nothing about what becomes of the key. A name may be a repository's, and there may be
//! many: letters are only compared where few of them differ.

mod look;

use crate::keys::{FILESYSTEM, KEYS, Key, Kind, NETWORK, PERMISSIONS, Support};
pub(crate) use look::look;
use std::sync::LazyLock;

/// No key is as long as this many letters, and comparing takes time.
pub(crate) const LONGEST_COMPARED: usize = 40;
/// How many letters of a name with dots are looked at.
const LONGEST_WITH_SECTIONS: usize = 1_000;
/// A name is almost another when it takes one slip in this many letters to get there, and not more than so many.
const LETTERS_PER_SLIP: usize = 4;
const MOST_SLIPS: usize = 3;

impl Key {
    /// The key that is read and that `name`, in `section` or deeper, was plainly meant for.
    pub(crate) fn meant(section: &str, name: &str) -> Option<&'static Key> {
        let name = &*look(name, LONGEST_WITH_SECTIONS);
        let (above, name) = match name.trim().rsplit_once('.') {
            None => (None, name.trim()),
            Some((above, name)) => (above.rsplit('.').next(), name.trim()),
        };
        let held_by =
            above.and_then(|above| by_letters(section, above.trim())).filter(|key| key.is_section());
        if above.is_some() && held_by.is_none() && section.is_empty() {
            return None;
        }
        let section = held_by.map_or(section.into(), Key::full_name);
        let said = words(name);
        let by_look = by_side(&section, &said).or_else(|| by_letters(&section, name));
        by_look.or_else(|| by_words(&section, &said)).or_else(|| by_letters(&section, &without_blanks(name)))
    }

    /// The key that `name` in `section` may have been meant for: one much like it, best one of the same section.
    pub(crate) fn nearest(section: &str, name: &str) -> Option<&'static Key> {
        const ALIKE: f64 = 0.85;
        const SAME_SECTION: f64 = 0.05;
        let name = &*look(name, LONGEST_COMPARED + 1);
        if is_long(name) {
            return None;
        }
        let letters = name.to_ascii_lowercase();
        let score = |key: &Key| {
            let bonus = if key.section == section { SAME_SECTION } else { 0.0 };
            strsim::jaro_winkler(&letters, &key.name.to_ascii_lowercase()) + bonus
        };
        let alike = KEYS.iter().filter(|key| !key.section.is_empty() && is_same_half(section, key));
        let alike = alike.filter(|key| !is_opposite(name, key.name));
        let best = alike.map(|key| (score(key), key)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        best.filter(|(score, _)| *score >= ALIKE).map(|(_, key)| key)
    }

    fn is_section(&self) -> bool {
        matches!(self.support, Support::Read(Kind::Section, ..))
    }
}

/// Whether a key sounds as though it should close something.
pub(crate) fn sounds_like_deny(name: &str) -> bool {
    let name = &*look(name, LONGEST_WITH_SECTIONS);
    let letters = without_blanks(name).to_ascii_lowercase();
    let parts =
        ["deny", "denied", "block", "forbid", "disallow", "hide", "hidden", "exclude", "restrict", "protect"];
    parts.iter().any(|part| letters.contains(part)) || words(name).contains(&DENY.into())
}

/// Letters with blanks between them are read as a word.
fn without_blanks(name: &str) -> String {
    name.split_whitespace().collect()
}

fn is_long(name: &str) -> bool {
    name.chars().count() > LONGEST_COMPARED
}

/// A key that is read, and what others are compared with: a file may hold a hundred thousand that are none.
struct Known {
    key: &'static Key,
    /// Its name in small letters.
    letters: String,
    alphabet: u32,
    words: Vec<Box<str>>,
}

static READABLE: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let is_read = |key: &&Key| matches!(key.support, Support::Read(..));
    let known = |key: &'static Key| Known {
        key,
        letters: key.name.to_ascii_lowercase(),
        alphabet: alphabet(key.name),
        words: words(key.name),
    };
    KEYS.iter().filter(is_read).map(known).collect()
});

/// Whether both are about the sandbox, or both about permissions.
fn is_same_half(section: &str, key: &Key) -> bool {
    section.starts_with(PERMISSIONS) == (key.section == PERMISSIONS)
}

/// `network.deny` and its like: the shortest key of that section with the word.
fn by_side(section: &str, said: &[Box<str>]) -> Option<&'static Key> {
    let [side] = said else { return None };
    if ![DENY, ALLOW].contains(&&**side) || ![FILESYSTEM, NETWORK, PERMISSIONS].contains(&section) {
        return None;
    }
    let with_it = READABLE.iter().filter(|known| known.key.section == section && known.words.contains(side));
    with_it.map(|known| known.key).min_by_key(|key| key.name.len())
}

/// The key with the fewest slips between it and `name`, in this order: of the section, of its half, of the other.
fn by_letters(section: &str, name: &str) -> Option<&'static Key> {
    if is_long(name) {
        return None;
    }
    let letters = name.to_ascii_lowercase();
    let alphabet = alphabet(&letters);
    let near = READABLE.iter().filter_map(|known| Some((slips(&letters, alphabet, known)?, known.key)));
    let near = near.filter(|(slips, key)| *slips == 0 || !is_opposite(name, key.name));
    let rank = |key: &Key| match (key.section == section, is_same_half(section, key)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    near.min_by_key(|(slips, key)| (*slips, rank(key))).map(|(_, key)| key)
}

/// How many letters are wrong in `letters`, small ones, to be that key; `None` where those are too many.
fn slips(letters: &str, alphabet: u32, known: &Known) -> Option<usize> {
    let name = &known.letters;
    let most = (name.len() / LETTERS_PER_SLIP).min(MOST_SLIPS);
    // Each slip changes two letters of the alphabet at most.
    let differ = (alphabet ^ known.alphabet).count_ones() as usize;
    if name.len().abs_diff(letters.chars().count()) > most || differ > 2 * most {
        return None;
    }
    Some(strsim::osa_distance(letters, name)).filter(|slips| *slips <= most)
}

/// Which letters of ASCII a name holds, one bit for each.
fn alphabet(name: &str) -> u32 {
    name.bytes().filter(u8::is_ascii).fold(0, |set, byte| set | 1 << (byte.to_ascii_lowercase() % 32))
}

/// The key that says the same in other words, of which there must be two.
fn by_words(section: &str, said: &[Box<str>]) -> Option<&'static Key> {
    if said.len() < 2 || !said.iter().any(|word| [DENY, ALLOW].contains(&&**word)) {
        return None;
    }
    let same = READABLE.iter().filter(|known| known.words == said).map(|known| known.key);
    same.min_by_key(|key| (key.section != section, !is_same_half(section, key)))
}

/// Whether one of the names speaks of denying and the other of allowing.
fn is_opposite(one: &str, other: &str) -> bool {
    let sides = |name: &str| {
        let words = words(name);
        [DENY, ALLOW].map(|side| words.iter().any(|word| **word == *side))
    };
    matches!((sides(one), sides(other)), ([true, false], [false, true]) | ([false, true], [true, false]))
}

const DENY: &str = "deny";
const ALLOW: &str = "allow";

/// The words of a name such as `denyRead`, sorted, each in one spelling for all that mean the same.
fn words(name: &str) -> Vec<Box<str>> {
    if is_long(name) {
        return Vec::new();
    }
    let mut words: Vec<String> = Vec::new();
    let mut is_inside = false;
    for c in name.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() || !is_inside {
                words.push(String::new());
            }
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        is_inside = c.is_alphanumeric();
    }
    let mut words: Vec<Box<str>> = words.iter().map(|word| one_spelling(word).into()).collect();
    words.sort();
    words
}

fn one_spelling(word: &str) -> &str {
    match word {
        "deny" | "denies" | "denied" | "denylist" | "block" | "blocks" | "blocked" | "blocklist"
        | "blacklist" | "forbid" | "forbidden" | "disallow" | "disallowed" | "unallowed" | "refuse"
        | "refused" | "prohibit" | "prohibited" | "no" | "not" | "never" | "dont" | "hide" | "hidden"
        | "protect" | "protected" | "restrict" | "restricted" => DENY,
        "allow" | "allows" | "allowed" | "allowlist" | "permit" | "permitted" | "whitelist" => ALLOW,
        "reads" | "reading" => "read",
        "writes" | "writing" => "write",
        "domains" | "host" | "hosts" => "domain",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{CREDENTIALS, SANDBOX, TOP};

    #[test]
    fn what_may_have_been_meant() {
        for (section, name, meant) in [
            (SANDBOX, "enable", "sandbox.enabled"),
            (SANDBOX, "Enabled", "sandbox.enabled"),
            (SANDBOX, "allowedDomains", "sandbox.network.allowedDomains"),
            (SANDBOX, "filesytem", "sandbox.filesystem"),
            (SANDBOX, "autoAllow", "sandbox.autoAllowBashIfSandboxed"),
            (SANDBOX, "excludeCommands", "sandbox.excludedCommands"),
            (NETWORK, "allow", "sandbox.network.allowedDomains"),
            (NETWORK, "allowedHosts", "sandbox.network.allowedDomains"),
            (NETWORK, "strictAllowList", "sandbox.network.strictAllowlist"),
            (NETWORK, "disallowDomains", "-"),
            (FILESYSTEM, "allowWrites", "sandbox.filesystem.allowWrite"),
            (FILESYSTEM, "mandatoryDenySearchDepth", "-"),
            (SANDBOX, "git", "-"),
            (SANDBOX, "", "-"),
            (PERMISSIONS, "allowed", "permissions.allow"),
            (PERMISSIONS, "defaultmode", "permissions.defaultMode"),
        ] {
            let found = Key::nearest(section, name).map_or("-".into(), Key::full_name);
            assert_eq!(&*found, meant, "{section}.{name}");
        }
    }

    #[test]
    fn what_was_plainly_meant() {
        for (section, name, meant) in [
            (SANDBOX, "denyRead", "sandbox.filesystem.denyRead"),
            (SANDBOX, "denyread", "sandbox.filesystem.denyRead"),
            (NETWORK, "denyReads", "sandbox.filesystem.denyRead"),
            (FILESYSTEM, "dnyeWrite", "sandbox.filesystem.denyWrite"),
            (FILESYSTEM, "readDeny", "sandbox.filesystem.denyRead"),
            (SANDBOX, "blockRead", "sandbox.filesystem.denyRead"),
            (FILESYSTEM, "noRead", "sandbox.filesystem.denyRead"),
            (FILESYSTEM, "protect", "sandbox.filesystem.denyRead"),
            (NETWORK, "denyDomains", "sandbox.network.deniedDomains"),
            (NETWORK, "deniedDomain", "sandbox.network.deniedDomains"),
            (NETWORK, "disallowedDomains", "sandbox.network.deniedDomains"),
            (NETWORK, "blockedHosts", "sandbox.network.deniedDomains"),
            (NETWORK, "deny", "sandbox.network.deniedDomains"),
            (NETWORK, "blocked", "sandbox.network.deniedDomains"),
            (NETWORK, "allow", "sandbox.network.allowedDomains"),
            (NETWORK, "allowManagedDomainOnly", "sandbox.network.allowManagedDomainsOnly"),
            (NETWORK, "strictAllowList", "sandbox.network.strictAllowlist"),
            (FILESYSTEM, "allowManagedReadPathOnly", "sandbox.filesystem.allowManagedReadPathsOnly"),
            (SANDBOX, "allowUnsandboxedCommand", "sandbox.allowUnsandboxedCommands"),
            (SANDBOX, "failIfUnavailabel", "sandbox.failIfUnavailable"),
            (SANDBOX, "filesystem.denyRead", "sandbox.filesystem.denyRead"),
            (SANDBOX, "network.deny", "sandbox.network.deniedDomains"),
            (SANDBOX, "permissions", "permissions"),
            (PERMISSIONS, "sandbox", "sandbox"),
            (CREDENTIALS, "envvars", "sandbox.credentials.envVars"),
            (SANDBOX, "credential", "sandbox.credentials"),
            (PERMISSIONS, "Deny", "permissions.deny"),
            (PERMISSIONS, "denied", "permissions.deny"),
            (PERMISSIONS, "ASK", "permissions.ask"),
            (TOP, "Sandbox", "sandbox"),
            (TOP, "sandbox ", "sandbox"),
            (TOP, "sandbx", "sandbox"),
            (TOP, "permission", "permissions"),
            (TOP, "network", "sandbox.network"),
            (TOP, "deny", "permissions.deny"),
            (TOP, "denyRead", "sandbox.filesystem.denyRead"),
            (TOP, "sandbox.filesystem.denyRead", "sandbox.filesystem.denyRead"),
            (TOP, "permissions.deny", "permissions.deny"),
            (TOP, "sandbox.enabled", "sandbox.enabled"),
            (TOP, "allowManagedPermissionRuleOnly", "allowManagedPermissionRulesOnly"),
            (TOP, "allowManagedDomainsOnly", "sandbox.network.allowManagedDomainsOnly"),
            (TOP, "sandb\u{43e}x", "sandbox"),
            (TOP, "ѕаndbох", "sandbox"),
            (TOP, "\u{feff}sand\u{200d}box\u{200b}\0", "sandbox"),
            (TOP, "\u{a0}permission\u{17f}\u{2060}", "permissions"),
            (TOP, "ｓandbox", "sandbox"),
            (TOP, "\u{fff9}s\u{fff9}a\u{fff9}n\u{fff9}d\u{fff9}b\u{fff9}o\u{fff9}x", "sandbox"),
            (TOP, "s\u{2800}a\u{2800}n\u{2800}d\u{2800}b\u{2800}o\u{2800}x", "sandbox"),
            (TOP, "s a n d b o x", "sandbox"),
            (TOP, "s\u{2009}a\u{1680}n\u{3000}d\u{a0}b\u{202f}o\u{2003}x", "sandbox"),
            (
                FILESYSTEM,
                "d\u{fff9}e\u{600}n\u{6dd}y\u{13430}R\u{110cd}e\u{fffb}ad",
                "sandbox.filesystem.denyRead",
            ),
            (FILESYSTEM, "d e n y R e a d", "sandbox.filesystem.denyRead"),
            (TOP, "𝐬andbox", "sandbox"),
            (TOP, "sándbox\u{301}", "sandbox"),
            (TOP, "sandb中x", "sandbox"),
            (TOP, "permissions․denyｘ", "permissions.deny"),
            (FILESYSTEM, "denyReadｘ", "sandbox.filesystem.denyRead"),
            (FILESYSTEM, "ЬlockRead", "sandbox.filesystem.denyRead"),
            (FILESYSTEM, "nоRеаd", "sandbox.filesystem.denyRead"),
            (TOP, "中国中国中国中", "-"),
            (TOP, "настройки", "-"),
            (TOP, "größe", "-"),
            (TOP, "server.deny", "-"),
            (TOP, "blocked", "-"),
            (SANDBOX, "protect", "-"),
            (SANDBOX, "profiles", "-"),
            (SANDBOX, "rules", "-"),
            (SANDBOX, "denyInsteadOfPrompting", "-"),
            (SANDBOX, "", "-"),
        ] {
            let found = Key::meant(section, name).map_or("-".into(), Key::full_name);
            assert_eq!(&*found, meant, "{section}.{name}");
        }
    }

    #[test]
    fn what_sounds_like_a_deny() {
        for name in [
            "noRead",
            "protect",
            "blockedPorts",
            "disallow",
            "denyExec",
            "mandatoryDenySearchDepth",
            "dеnyExec",
        ] {
            assert!(sounds_like_deny(name), "{name}");
        }
        for name in ["notifications", "node", "allow", "git", ""] {
            assert!(!sounds_like_deny(name), "{name}");
        }
    }
}
