//! Every key that is read, and those of the same sections that are left out: type, default, the layers that it counts
//! from, whether it tightens. The reader and the JSON Schema go by this one table; tests hold the specification page and
//! what distrust does to it.
//!
//! It says nothing about what a key means once it is read.

use crate::meant::{LONGEST_COMPARED, look};
use palisade_policy::Layer;

/// One key.
pub(crate) struct Key {
    /// The section that holds it, such as `sandbox.network`; empty for the whole text.
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    /// What becomes of it.
    pub(crate) support: Support,
}

#[derive(Clone, Copy)]
pub(crate) enum Support {
    /// It is read.
    Read(Kind, Layers, Tightens),
    /// It is not, for this reason.
    LeftOut(&'static str),
}

/// What its value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An object with keys of its own.
    Section,
    /// True or false, with the default.
    Switch(bool),
    /// Command patterns.
    Commands,
    /// Path patterns.
    Paths,
    /// Host patterns.
    Hosts,
    /// Credentials that are files.
    Files,
    /// Credentials that are variables.
    Variables,
    /// An object of lists: parts of violations by parts of commands.
    Ignored,
    /// The full path of a program.
    Program,
    /// Permission rules.
    Rules,
    /// Paths of directories, without wildcards.
    Directories,
    /// A permission mode's name.
    Mode,
    /// The word `disable`.
    Disable,
}

/// From where it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layers {
    /// Any layer.
    Any,
    /// Not from a repository's files.
    User,
    /// An administrator's files.
    Managed,
}

/// Whether a value can only make the sandbox and the permissions tighter, so that it counts from a project which
/// nobody trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tightens {
    /// Whatever it says.
    Always,
    /// As `true` only.
    WhenTrue,
    /// As `false` only.
    WhenFalse,
    /// Never.
    Never,
    /// That depends on the keys inside.
    ByKey,
}

pub(crate) const TOP: &str = "";
pub(crate) const SANDBOX: &str = "sandbox";
pub(crate) const FILESYSTEM: &str = "sandbox.filesystem";
pub(crate) const NETWORK: &str = "sandbox.network";
pub(crate) const CREDENTIALS: &str = "sandbox.credentials";
pub(crate) const PERMISSIONS: &str = "permissions";

const NOT_WEAKENED: &str = "the sandbox is not weakened";
const OWN_PROXY: &str = "the only way to the network is Palisade's own proxy";
const NO_MASKING: &str = "credentials are hidden, never put into requests";
const DENIES_NOTHING: &str =
    "it is not supported and DENIES NOTHING; write denyRead, denyWrite or deny rules";

const fn read(
    section: &'static str,
    name: &'static str,
    kind: Kind,
    layers: Layers,
    tightens: Tightens,
) -> Key {
    Key { section, name, support: Support::Read(kind, layers, tightens) }
}

const fn left_out(section: &'static str, name: &'static str, why: &'static str) -> Key {
    Key { section, name, support: Support::LeftOut(why) }
}

use Kind::*;
use Layers::{Any, Managed, User};
use Tightens::{Always, ByKey, Never, WhenFalse, WhenTrue};

/// The table.
pub(crate) const KEYS: &[Key] = &[
    read(TOP, "sandbox", Section, Any, ByKey),
    read(TOP, "permissions", Section, Any, ByKey),
    read(TOP, "allowManagedPermissionRulesOnly", Switch(false), Managed, WhenTrue),
    read(TOP, "disableBypassPermissionsMode", Disable, Any, Always),
    read(TOP, "disableAutoMode", Disable, Any, Always),
    read(SANDBOX, "enabled", Switch(false), Any, WhenTrue),
    read(SANDBOX, "failIfUnavailable", Switch(true), Any, WhenTrue),
    read(SANDBOX, "autoAllowBashIfSandboxed", Switch(true), Any, WhenFalse),
    read(SANDBOX, "allowUnsandboxedCommands", Switch(false), Any, WhenFalse),
    read(SANDBOX, "excludedCommands", Commands, Any, Never),
    read(SANDBOX, "ignoreViolations", Ignored, Any, Never),
    read(SANDBOX, "bwrapPath", Program, Managed, Never),
    read(SANDBOX, "socatPath", Program, Managed, Never),
    read(SANDBOX, "filesystem", Section, Any, ByKey),
    read(SANDBOX, "network", Section, Any, ByKey),
    read(SANDBOX, "credentials", Section, Any, Always),
    left_out(SANDBOX, "enableWeakerNestedSandbox", NOT_WEAKENED),
    left_out(SANDBOX, "enableWeakerNetworkIsolation", NOT_WEAKENED),
    left_out(SANDBOX, "allowAppleEvents", NOT_WEAKENED),
    left_out(SANDBOX, "allowNestedUserNamespaces", NOT_WEAKENED),
    left_out(SANDBOX, "ripgrep", "nothing here needs ripgrep"),
    left_out(SANDBOX, "enabledPlatforms", "the sandbox is the same on every platform"),
    read(FILESYSTEM, "allowWrite", Paths, Any, Never),
    read(FILESYSTEM, "denyWrite", Paths, Any, Always),
    read(FILESYSTEM, "denyRead", Paths, Any, Always),
    read(FILESYSTEM, "allowRead", Paths, Any, Never),
    read(FILESYSTEM, "disabled", Switch(false), User, WhenFalse),
    read(FILESYSTEM, "allowManagedReadPathsOnly", Switch(false), Managed, WhenTrue),
    read(NETWORK, "allowedDomains", Hosts, Any, Never),
    read(NETWORK, "deniedDomains", Hosts, Any, Always),
    read(NETWORK, "strictAllowlist", Switch(false), User, WhenTrue),
    read(NETWORK, "allowManagedDomainsOnly", Switch(false), Managed, WhenTrue),
    read(NETWORK, "allowUnixSockets", Paths, Any, Never),
    read(NETWORK, "allowAllUnixSockets", Switch(false), Any, WhenFalse),
    read(NETWORK, "allowLocalBinding", Switch(false), Any, WhenFalse),
    left_out(NETWORK, "httpProxyPort", OWN_PROXY),
    left_out(NETWORK, "socksProxyPort", OWN_PROXY),
    left_out(NETWORK, "tlsTerminate", "the proxy does not look inside TLS"),
    left_out(NETWORK, "allowMachLookup", NOT_WEAKENED),
    read(CREDENTIALS, "files", Files, Any, Always),
    read(CREDENTIALS, "envVars", Variables, Any, Always),
    left_out(CREDENTIALS, "allowPlaintextInject", NO_MASKING),
    left_out(CREDENTIALS, "awsPairs", NO_MASKING),
    left_out(CREDENTIALS, "sigv4", NO_MASKING),
    read(PERMISSIONS, "allow", Rules, Any, Never),
    read(PERMISSIONS, "ask", Rules, Any, Always),
    read(PERMISSIONS, "deny", Rules, Any, Always),
    read(PERMISSIONS, "defaultMode", Mode, Any, Never),
    read(PERMISSIONS, "additionalDirectories", Directories, Any, Never),
    read(PERMISSIONS, "disableBypassPermissionsMode", Disable, Any, Always),
    read(PERMISSIONS, "disableAutoMode", Disable, Any, Always),
    left_out(PERMISSIONS, "blockReadsOutsideWorkingDirectories", DENIES_NOTHING),
    left_out(PERMISSIONS, "blockWritesOutsideWorkingDirectories", DENIES_NOTHING),
    left_out(PERMISSIONS, "blockReadsExemptPaths", "there is nothing that it would be an exception from"),
    left_out(PERMISSIONS, "workingDirectoriesAsGiven", "links of working directories are always followed"),
    left_out(PERMISSIONS, "workingDirectoriesExclude", DENIES_NOTHING),
    left_out(PERMISSIONS, "denyInsteadOfPrompting", "the mode dontAsk denies what would ask"),
    left_out(PERMISSIONS, "skipDangerousModePermissionPrompt", "nothing asks before a mode is entered"),
];

impl Key {
    /// The key `name` of `section`.
    pub(crate) fn find(section: &str, name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.section == section && key.name == name)
    }

    /// Whether it closes something, so that its loss would leave that open.
    pub(crate) fn denies(&self) -> bool {
        matches!(self.support, Support::Read(_, _, Always))
    }

    /// The full name, such as `sandbox.network.deniedDomains`.
    pub(crate) fn full_name(&self) -> Box<str> {
        full_name(self.section, self.name).into()
    }
}

/// A key by the section that holds it.
pub(crate) fn full_name(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

impl Layers {
    /// Whether a value of `layer` counts.
    pub(crate) fn hold(self, layer: Layer) -> bool {
        match self {
            Any => true,
            User => !layer.is_of_repository(),
            Managed => layer == Layer::Managed,
        }
    }

    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Any => "any",
            User => "the user's and managed",
            Managed => "managed",
        }
    }
}

/// The tools that rules are known to be about. There may be others: those of servers, which have a `_` in their names,
/// and those of programs that embed this.
const TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Cd",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Read",
    "ReadMcpResourceTool",
    "Skill",
    "SlashCommand",
    "Task",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// Whether a rule's tool is one that nobody knows, by its name.
pub(crate) fn is_unknown_tool(name: &str) -> bool {
    !name.contains(['_', '*']) && !TOOLS.contains(&name)
}

/// The tool that an unknown name may have been meant for.
pub(crate) fn nearest_tool(name: &str) -> Option<&'static str> {
    const ALIKE: f64 = 0.85;
    let name = look(name, LONGEST_COMPARED + 1).to_ascii_lowercase();
    if name.chars().count() > LONGEST_COMPARED {
        return None;
    }
    let score = |tool: &str| strsim::jaro_winkler(&name, &tool.to_ascii_lowercase());
    let best = TOOLS.iter().map(|tool| (score(tool), *tool)).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(score, _)| *score >= ALIKE).map(|(_, tool)| tool)
}
