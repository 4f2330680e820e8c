//! What one layer's settings say: a field for each key that is read, nothing where a key is absent, patterns
//! compiled, every value with its origin. No default stands here, and nothing is weighed against other layers.

use palisade_permissions::{AdditionalDirectory, DefaultMode, Excluded, PermissionRule};
use palisade_policy::{AbsPath, FileRule, HostRule, IgnoredViolation, Origin, VariableRule};

/// A value and who set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub origin: Origin,
}

/// `sandbox`, and `permissions`.
///
/// The file and host lists also hold what permission rules add to them; such an entry's origin names the rule.
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
    /// `ignoreViolations`
    pub ignore_violations: Vec<IgnoredViolation>,
    /// `bwrapPath`; from an administrator only.
    pub bwrap_path: Option<Setting<AbsPath>>,
    /// `socatPath`; from an administrator only.
    pub socat_path: Option<Setting<AbsPath>>,
    /// `filesystem`
    pub filesystem: FilesystemOptions,
    /// `network`
    pub network: NetworkOptions,
    /// `credentials`
    pub credentials: CredentialOptions,
    /// `permissions`
    pub permissions: PermissionOptions,
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
    /// `allowManagedReadPathsOnly`; from an administrator only.
    pub allow_managed_read_paths_only: Option<Setting<bool>>,
    /// Where the section itself stands, whatever it holds.
    pub section: Option<Origin>,
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
    /// `allowManagedDomainsOnly`; from an administrator only.
    pub allow_managed_domains_only: Option<Setting<bool>>,
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

/// `permissions`, and `allowManagedPermissionRulesOnly` beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionOptions {
    /// `allow`
    pub allow: Vec<PermissionRule>,
    /// `ask`
    pub ask: Vec<PermissionRule>,
    /// `deny`
    pub deny: Vec<PermissionRule>,
    /// `defaultMode`; `bypassPermissions` and `auto` never from a repository's files.
    pub default_mode: Option<DefaultMode>,
    /// `additionalDirectories`
    pub additional_directories: Vec<AdditionalDirectory>,
    /// `disableBypassPermissionsMode` and `disableAutoMode`: modes that nobody may choose.
    pub disabled_modes: Vec<DefaultMode>,
    /// `allowManagedPermissionRulesOnly`; from an administrator only.
    pub allow_managed_rules_only: Option<Setting<bool>>,
}

impl Options {
    /// What is said about files: rules, credentials that are files, a switch, or only the section.
    pub(crate) fn configure_files(&self) -> Option<&Origin> {
        let FilesystemOptions {
            allow_write,
            deny_write,
            deny_read,
            allow_read,
            disabled,
            allow_managed_read_paths_only,
            section,
        } = &self.filesystem;
        let lists = [allow_write, deny_write, deny_read, allow_read, &self.credentials.files];
        let switches = [disabled, allow_managed_read_paths_only];
        let by_list = lists.into_iter().flatten().map(|rule| &rule.origin).next();
        let by_switch = || switches.into_iter().flatten().map(|setting| &setting.origin).next();
        by_list.or_else(by_switch).or(section.as_ref())
    }

    /// Every rule that hides something.
    pub(crate) fn hides(&self) -> impl Iterator<Item = &FileRule> {
        self.filesystem.deny_read.iter().chain(&self.credentials.files)
    }
}
