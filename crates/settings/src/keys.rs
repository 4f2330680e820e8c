//! Every key of the `sandbox` section: which are read, which are left out and why, and which was meant by one
//! that is not among them.

/// One key.
pub(crate) struct Key {
    /// The section that holds it, such as `sandbox.network`.
    section: &'static str,
    name: &'static str,
    /// What becomes of it.
    pub(crate) support: Support,
}

#[derive(Clone, Copy)]
pub(crate) enum Support {
    /// It is read.
    Read,
    /// It is read, and it closes something: its loss would leave that open.
    Deny,
    /// It is not, for this reason.
    LeftOut(&'static str),
    /// It counts from an administrator's files only.
    Managed,
}

const SANDBOX: &str = "sandbox";
const FILESYSTEM: &str = "sandbox.filesystem";
const NETWORK: &str = "sandbox.network";
const CREDENTIALS: &str = "sandbox.credentials";

const NOT_WEAKENED: &str = "the sandbox is not weakened";
const OWN_PROXY: &str = "the only way to the network is Palisade's own proxy";
const NO_MASKING: &str = "credentials are hidden, never put into requests";

const fn key(section: &'static str, name: &'static str, support: Support) -> Key {
    Key { section, name, support }
}

/// The table. A test holds it and the reader of the section together.
pub(crate) const KEYS: &[Key] = &[
    key(SANDBOX, "enabled", Support::Read),
    key(SANDBOX, "failIfUnavailable", Support::Read),
    key(SANDBOX, "autoAllowBashIfSandboxed", Support::Read),
    key(SANDBOX, "allowUnsandboxedCommands", Support::Read),
    key(SANDBOX, "excludedCommands", Support::Read),
    key(SANDBOX, "filesystem", Support::Read),
    key(SANDBOX, "network", Support::Read),
    key(SANDBOX, "credentials", Support::Deny),
    key(SANDBOX, "ignoreViolations", Support::LeftOut("every violation is reported")),
    key(SANDBOX, "enableWeakerNestedSandbox", Support::LeftOut(NOT_WEAKENED)),
    key(SANDBOX, "enableWeakerNetworkIsolation", Support::LeftOut(NOT_WEAKENED)),
    key(SANDBOX, "allowAppleEvents", Support::LeftOut(NOT_WEAKENED)),
    key(SANDBOX, "allowNestedUserNamespaces", Support::LeftOut(NOT_WEAKENED)),
    key(SANDBOX, "ripgrep", Support::LeftOut("nothing here needs ripgrep")),
    key(SANDBOX, "enabledPlatforms", Support::LeftOut("the sandbox is the same on every platform")),
    key(SANDBOX, "bwrapPath", Support::Managed),
    key(SANDBOX, "socatPath", Support::Managed),
    key(FILESYSTEM, "allowWrite", Support::Read),
    key(FILESYSTEM, "denyWrite", Support::Deny),
    key(FILESYSTEM, "denyRead", Support::Deny),
    key(FILESYSTEM, "allowRead", Support::Read),
    key(FILESYSTEM, "disabled", Support::Read),
    key(FILESYSTEM, "allowManagedReadPathsOnly", Support::Managed),
    key(NETWORK, "allowedDomains", Support::Read),
    key(NETWORK, "deniedDomains", Support::Deny),
    key(NETWORK, "strictAllowlist", Support::Read),
    key(NETWORK, "allowUnixSockets", Support::Read),
    key(NETWORK, "allowAllUnixSockets", Support::Read),
    key(NETWORK, "allowLocalBinding", Support::Read),
    key(NETWORK, "allowManagedDomainsOnly", Support::Managed),
    key(NETWORK, "httpProxyPort", Support::LeftOut(OWN_PROXY)),
    key(NETWORK, "socksProxyPort", Support::LeftOut(OWN_PROXY)),
    key(NETWORK, "tlsTerminate", Support::LeftOut("the proxy does not look inside TLS")),
    key(NETWORK, "allowMachLookup", Support::LeftOut(NOT_WEAKENED)),
    key(CREDENTIALS, "files", Support::Deny),
    key(CREDENTIALS, "envVars", Support::Deny),
    key(CREDENTIALS, "allowPlaintextInject", Support::LeftOut(NO_MASKING)),
    key(CREDENTIALS, "awsPairs", Support::LeftOut(NO_MASKING)),
    key(CREDENTIALS, "sigv4", Support::LeftOut(NO_MASKING)),
];

impl Key {
    /// The key `name` of `section`.
    pub(crate) fn find(section: &str, name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.section == section && key.name == name)
    }

    /// The key that `name` in `section` may have been meant for: one much like it, best one of the same section.
    pub(crate) fn nearest(section: &str, name: &str) -> Option<&'static Key> {
        const ALIKE: f64 = 0.85;
        const SAME_SECTION: f64 = 0.05;
        if name.len() > LONGEST_COMPARED {
            return None;
        }
        let name = name.to_ascii_lowercase();
        let score = |key: &Key| {
            let bonus = if key.section == section { SAME_SECTION } else { 0.0 };
            strsim::jaro_winkler(&name, &key.name.to_ascii_lowercase()) + bonus
        };
        let best = KEYS.iter().map(|key| (score(key), key)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        best.filter(|(score, _)| *score >= ALIKE).map(|(_, key)| key)
    }

    /// The key that closes something and that `name` is spelt almost like.
    pub(crate) fn almost_deny(name: &str) -> Option<&'static Key> {
        if name.len() > LONGEST_COMPARED {
            return None;
        }
        let name = name.to_ascii_lowercase();
        let is_almost = |key: &&Key| {
            let slips = key.name.len() / LETTERS_PER_SLIP;
            key.name.len().abs_diff(name.len()) <= slips
                && strsim::osa_distance(&name, &key.name.to_ascii_lowercase()) <= slips
        };
        KEYS.iter().filter(|key| matches!(key.support, Support::Deny)).find(is_almost)
    }

    /// The full name, such as `sandbox.network.deniedDomains`.
    pub(crate) fn full_name(&self) -> Box<str> {
        format!("{}.{}", self.section, self.name).into()
    }
}

/// A name is almost another when it takes one slip in this many letters to get there.
const LETTERS_PER_SLIP: usize = 4;
/// No key is as long as this many bytes, and comparing takes time.
const LONGEST_COMPARED: usize = 40;

/// Whether a key sounds as though it should close something.
pub(crate) fn sounds_like_deny(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["deny", "denied", "block", "forbid", "hide", "hidden", "exclude", "restrict"]
        .iter()
        .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(section: &str, name: &str) -> String {
        Key::nearest(section, name).map_or("-".into(), |key| key.full_name().into())
    }

    #[test]
    fn what_was_meant() {
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
            (FILESYSTEM, "allowWrites", "sandbox.filesystem.allowWrite"),
            (FILESYSTEM, "mandatoryDenySearchDepth", "-"),
            (SANDBOX, "git", "-"),
            (SANDBOX, "", "-"),
        ] {
            assert_eq!(nearest(section, name), meant, "{section}.{name}");
        }
    }

    #[test]
    fn almost_a_deny() {
        for (name, meant) in [
            ("denyRead", "sandbox.filesystem.denyRead"),
            ("denyread", "sandbox.filesystem.denyRead"),
            ("denyReads", "sandbox.filesystem.denyRead"),
            ("dnyeWrite", "sandbox.filesystem.denyWrite"),
            ("denyDomains", "sandbox.network.deniedDomains"),
            ("deniedDomain", "sandbox.network.deniedDomains"),
            ("envvars", "sandbox.credentials.envVars"),
            ("credential", "sandbox.credentials"),
        ] {
            assert_eq!(Key::almost_deny(name).map(Key::full_name).as_deref(), Some(meant), "{name}");
        }
        for name in ["allowRead", "allowedDomains", "profiles", "rules", "denyInsteadOfPrompting", ""] {
            assert!(Key::almost_deny(name).is_none(), "{name}");
        }
    }
}
