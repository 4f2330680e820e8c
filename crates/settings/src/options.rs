//! The `sandbox` section as one layer's settings say it: a field for each key that is read, nothing where a key
//! is absent, patterns compiled, every value with its origin. No default stands here.

use crate::section::{Section, Source};
use crate::tree::Node;
use crate::{Error, Warning, WarningKind};
use palisade_permissions::{CommandPattern, CommandPatternError, Excluded};
use palisade_policy::{FileRule, HostPattern, HostRule, Origin, VariableRule};

/// A value and who set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub origin: Origin,
}

/// `sandbox`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `enabled`
    pub enabled: Option<Setting<bool>>,
    /// `failIfUnavailable`
    pub fail_if_unavailable: Option<Setting<bool>>,
    /// `autoAllowBashIfSandboxed`
    pub auto_allow_bash_if_sandboxed: Option<Setting<bool>>,
    /// `allowUnsandboxedCommands`
    pub allow_unsandboxed_commands: Option<Setting<bool>>,
    /// `excludedCommands`
    pub excluded_commands: Vec<Excluded>,
    /// `filesystem`
    pub filesystem: FilesystemOptions,
    /// `network`
    pub network: NetworkOptions,
    /// `credentials`
    pub credentials: CredentialOptions,
}

/// `sandbox.filesystem`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilesystemOptions {
    /// `allowWrite`
    pub allow_write: Vec<FileRule>,
    /// `denyWrite`
    pub deny_write: Vec<FileRule>,
    /// `denyRead`
    pub deny_read: Vec<FileRule>,
    /// `allowRead`
    pub allow_read: Vec<FileRule>,
    /// `disabled`; never from a repository's files.
    pub disabled: Option<Setting<bool>>,
}

/// `sandbox.network`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkOptions {
    /// `allowedDomains`
    pub allowed_domains: Vec<HostRule>,
    /// `deniedDomains`
    pub denied_domains: Vec<HostRule>,
    /// `strictAllowlist`; never from a repository's files.
    pub strict_allowlist: Option<Setting<bool>>,
    /// `allowUnixSockets`
    pub allow_unix_sockets: Vec<FileRule>,
    /// `allowAllUnixSockets`
    pub allow_all_unix_sockets: Option<Setting<bool>>,
    /// `allowLocalBinding`, which means something on macOS only.
    pub allow_local_binding: Option<Setting<bool>>,
}

/// `sandbox.credentials`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialOptions {
    /// `files`
    pub files: Vec<FileRule>,
    /// `envVars`
    pub env_vars: Vec<VariableRule>,
}

impl Options {
    /// Reads a whole settings text. Its warnings are added in the order of the text.
    pub(crate) fn read(source: &Source, text: &str, warnings: &mut Vec<Warning>) -> Result<Self, Error> {
        let root = Node::parse(&source.file, text)?;
        let before = warnings.len();
        let options = Self::read_sandbox(Section::sandbox(source, &root, warnings)?)?;
        warnings[before..].sort_by_key(|warning| warning.place.position);
        Ok(options)
    }

    fn read_sandbox(mut sandbox: Section<'_>) -> Result<Self, Error> {
        let options = Options {
            enabled: sandbox.switch("enabled")?,
            fail_if_unavailable: sandbox.switch("failIfUnavailable")?,
            auto_allow_bash_if_sandboxed: sandbox.switch("autoAllowBashIfSandboxed")?,
            allow_unsandboxed_commands: sandbox.switch("allowUnsandboxedCommands")?,
            excluded_commands: sandbox.lenient_rules("excludedCommands", read_excluded)?,
            filesystem: FilesystemOptions::read(sandbox.section("filesystem")?)?,
            network: NetworkOptions::read(sandbox.section("network")?)?,
            credentials: CredentialOptions::read(sandbox.section("credentials")?)?,
        };
        sandbox.finish()?;
        Ok(options)
    }
}

impl FilesystemOptions {
    fn read(mut filesystem: Section<'_>) -> Result<Self, Error> {
        let options = FilesystemOptions {
            allow_write: filesystem.paths("allowWrite")?,
            deny_write: filesystem.paths("denyWrite")?,
            deny_read: filesystem.paths("denyRead")?,
            allow_read: filesystem.paths("allowRead")?,
            disabled: filesystem.switch_of_the_user("disabled")?,
        };
        filesystem.finish()?;
        Ok(options)
    }
}

impl NetworkOptions {
    fn read(mut network: Section<'_>) -> Result<Self, Error> {
        let options = NetworkOptions {
            allowed_domains: network.rules("allowedDomains", read_host)?,
            denied_domains: network.rules("deniedDomains", read_host)?,
            strict_allowlist: network.switch_of_the_user("strictAllowlist")?,
            allow_unix_sockets: network.paths("allowUnixSockets")?,
            allow_all_unix_sockets: network.switch("allowAllUnixSockets")?,
            allow_local_binding: network.switch("allowLocalBinding")?,
        };
        if !options.allow_unix_sockets.is_empty() {
            network.warn_at_key("allowUnixSockets", WarningKind::EverySocket);
        }
        if options.allow_local_binding.as_ref().is_some_and(|setting| setting.value) {
            let why =
                "on Linux a command may always listen, within its own network, and nothing else changes";
            network.warn_at_key("allowLocalBinding", WarningKind::LeftOut { why });
        }
        network.finish()?;
        Ok(options)
    }
}

impl CredentialOptions {
    fn read(mut credentials: Section<'_>) -> Result<Self, Error> {
        let options = CredentialOptions {
            files: credentials.credential_files("files")?,
            env_vars: credentials.credential_names("envVars", read_variable)?,
        };
        credentials.finish()?;
        Ok(options)
    }
}

fn read_host(text: &str, origin: Origin) -> Result<HostRule, palisade_policy::HostPatternError> {
    Ok(HostRule { pattern: HostPattern::parse(text)?, origin })
}

/// The name of an environment variable, as shells have them. Any other could hide no variable that is meant.
fn read_variable(text: &str, origin: Origin) -> Result<VariableRule, &'static str> {
    let is_word = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let starts_well = text.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if is_word && starts_well {
        Ok(VariableRule { name: text.into(), origin })
    } else {
        Err("expected a variable's name: a letter or _, then letters, digits and _")
    }
}

#[derive(Debug, thiserror::Error)]
enum ExcludedError {
    #[error("is a whole rule; write its pattern alone, such as \"docker *\"")]
    Rule,
    #[error(transparent)]
    Pattern(#[from] CommandPatternError),
}

fn read_excluded(text: &str, origin: Origin) -> Result<Excluded, ExcludedError> {
    let is_rule = text.starts_with("Bash(") && text.ends_with(')');
    if is_rule {
        Err(ExcludedError::Rule)
    } else {
        Ok(Excluded { pattern: CommandPattern::parse(text)?, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{KEYS, Support};
    use palisade_policy::{AbsPath, Anchor, Layer};

    /// What becomes of a number at `key`, which no key allows.
    fn read_number(key: &str) -> (Result<Options, Error>, Vec<Warning>) {
        let text = key.rsplit('.').fold("1".to_owned(), |inner, name| format!("{{\"{name}\": {inner}}}"));
        let anchor = Anchor { base: AbsPath::root(), home: None };
        let source = Source { layer: Layer::User, file: "test".into(), anchor };
        let mut warnings = Vec::new();
        (Options::read(&source, &text, &mut warnings), warnings)
    }

    #[test]
    fn the_table_of_keys_is_what_is_read() {
        for key in KEYS {
            let name = key.full_name();
            let (read, warnings) = read_number(&name);
            let kinds: Vec<_> = warnings.into_iter().map(|warning| (warning.key, warning.kind)).collect();
            match (key.support, read, kinds.as_slice()) {
                (Support::Read | Support::Deny, Err(Error::WrongType { key, .. }), []) => {
                    assert_eq!(key, name)
                }
                (Support::LeftOut(_), Ok(_), [(key, WarningKind::LeftOut { .. })]) => assert_eq!(*key, name),
                (Support::Managed, Ok(_), [(key, WarningKind::Layer { .. })]) => assert_eq!(*key, name),
                (_, read, kinds) => panic!("{name}: {read:?} {kinds:?}"),
            }
        }
    }
}
