//! From a settings text to [`Options`]: which key is read how, and what permission rules add to the sandbox's lists.
//!
//! | rule | adds to |
//! |---|---|
//! | `Edit(…)` allow, deny | `allowWrite`, `denyWrite` |
//! | `Read(…)` deny | `denyRead` |
//! | `WebFetch(domain:…)` allow, deny | `allowedDomains`, `deniedDomains` |
//! | `additionalDirectories` | `allowWrite` |
//!
//! A rule without a pattern adds nothing: it is about a tool, not about places. So does a `Read` allow, since reads are
//! open, and an ask. An `Edit` allow with a wildcard elsewhere than in a trailing `/**` approves edits but opens nothing
//! to commands: no mount can stand for files that do not exist yet, and an allow may be less than it could. A deny of
//! that kind is kept, and refused where it cannot be enforced.

use crate::error::quoted;
use crate::keys::{is_unknown_tool, nearest_tool};
use crate::section::{Purpose, Section, Source};
use crate::tree::Node;
use crate::{
    CredentialOptions, FilesystemOptions, Findings, NetworkOptions, Options, PermissionOptions, Position,
    Setting, WarningKind,
};
use palisade_permissions::{
    AdditionalDirectory, CommandPattern, CommandPatternError, DefaultMode, Excluded, FileTool, List, Mode,
    PermissionRule, Rule, RuleAnchor,
};
use palisade_policy::{
    AbsPath, Access, FileRule, HostPattern, HostPatternError, HostRule, IgnoredViolation, Origin,
    PathPattern, VariableRule, why_no_mount,
};

impl Options {
    /// Reads a whole settings text. What is found is added in the order of the text.
    pub(crate) fn read(source: &Source, text: &str, findings: &mut Findings) -> Self {
        let mut own = Findings::default();
        let options = match Node::parse(&source.file, text) {
            Ok(root) => Self::read_top(Section::top(source, &root, &mut own)),
            Err(errors) => {
                own.errors = errors;
                Options::default()
            }
        };
        own.errors.sort_by_key(|error| error.place().map(|place| place.position));
        own.warnings.sort_by_key(|warning| warning.place.position);
        own.cut();
        findings.errors.extend(own.errors);
        findings.warnings.extend(own.warnings);
        options
    }

    fn read_top(mut top: Section<'_>) -> Self {
        let rules_only = top.switch("allowManagedPermissionRulesOnly");
        let mut options = Self::read_sandbox(top.section("sandbox"));
        options.permissions.allow_managed_rules_only = rules_only;
        options.read_permissions(top.section("permissions"));
        // Claude Code has them in either place.
        options.read_disabled_modes(&mut top);
        top.finish();
        options
    }

    fn read_sandbox(mut sandbox: Section<'_>) -> Self {
        let options = Options {
            enabled: sandbox.switch("enabled"),
            fail_if_unavailable: sandbox.switch("failIfUnavailable"),
            auto_allow_bash_if_sandboxed: sandbox.switch("autoAllowBashIfSandboxed"),
            allow_unsandboxed_commands: sandbox.switch("allowUnsandboxedCommands"),
            excluded_commands: sandbox.rules("excludedCommands", read_excluded),
            ignore_violations: sandbox.texts_by_key("ignoreViolations", |command, violation, origin| {
                IgnoredViolation { command: command.into(), violation: violation.into(), origin }
            }),
            bwrap_path: read_program(&mut sandbox, "bwrapPath"),
            socat_path: read_program(&mut sandbox, "socatPath"),
            filesystem: FilesystemOptions::read(sandbox.section("filesystem")),
            network: NetworkOptions::read(sandbox.section("network")),
            credentials: CredentialOptions::read(sandbox.section("credentials")),
            permissions: PermissionOptions::default(),
        };
        sandbox.finish();
        options
    }

    fn read_permissions(&mut self, mut permissions: Section<'_>) {
        let anchor = &permissions.source().rules;
        let mut unknown_tools = 0;
        for list in [List::Allow, List::Ask, List::Deny] {
            let key = list_key(list);
            for (at, rule) in permissions.rules_at(key, |text, origin| read_rule(text, list, anchor, origin))
            {
                self.feed(list, &rule);
                self.speak_of_mounts(&mut permissions, list, at, &rule);
                if let Some(kind) = unknown_tool(list, &rule, &mut unknown_tools) {
                    permissions.warn(key, at, kind);
                }
                if let (List::Allow, Some(kind)) = (list, rule.rule.domain().and_then(breadth)) {
                    permissions.warn(key, at, kind);
                }
                if let (List::Deny, Some((tool, patterns))) = (list, rule.rule.files()) {
                    let access = if tool == FileTool::Edit { Access::Write } else { Access::Read };
                    let text = &rule.origin.text;
                    patterns.iter().for_each(|path| permissions.look_for_rule(key, at, text, (access, path)));
                }
                self.permissions.list(list).push(rule);
            }
        }
        let source = permissions.source();
        let directories = permissions.rules("additionalDirectories", |text, origin| {
            source.directory(text).map(|path| AdditionalDirectory { path, origin })
        });
        for directory in &directories {
            let (pattern, origin) = (PathPattern::literal(directory.path.clone()), directory.origin.clone());
            self.filesystem.allow_write.push(FileRule { pattern, origin });
        }
        self.permissions.additional_directories = directories;
        self.permissions.default_mode = read_default_mode(&mut permissions);
        self.read_disabled_modes(&mut permissions);
        permissions.finish();
    }

    fn read_disabled_modes(&mut self, section: &mut Section<'_>) {
        for (key, mode) in
            [("disableBypassPermissionsMode", Mode::BypassPermissions), ("disableAutoMode", Mode::Auto)]
        {
            let setting = section.text(key, "\"disable\"", |text| (text == "disable").then_some(mode));
            let disabled = setting.map(|setting| DefaultMode { mode: setting.value, origin: setting.origin });
            self.permissions.disabled_modes.extend(disabled);
        }
    }

    /// Adds what `rule` of `list` says about files and hosts to the sandbox's lists.
    fn feed(&mut self, list: List, rule: &PermissionRule) {
        let origin = || rule.origin.clone();
        if let Some(pattern) = rule.rule.domain().cloned() {
            let hosts = match list {
                List::Allow => &mut self.network.allowed_domains,
                List::Deny => &mut self.network.denied_domains,
                List::Ask => return,
            };
            hosts.push(HostRule { pattern, origin: origin() });
        }
        let Some((tool, patterns)) = rule.rule.files() else { return };
        let files = match (list, tool) {
            (List::Allow, FileTool::Edit) if has_wildcards(patterns) => return,
            (List::Allow, FileTool::Edit) => &mut self.filesystem.allow_write,
            (List::Deny, FileTool::Edit) => &mut self.filesystem.deny_write,
            (List::Deny, FileTool::Read) => &mut self.filesystem.deny_read,
            (List::Allow, FileTool::Read) | (List::Ask, _) => return,
        };
        files.extend(patterns.iter().map(|pattern| FileRule { pattern: pattern.clone(), origin: origin() }));
    }

    /// Says so where no mount can stand for a rule about editing.
    fn speak_of_mounts(&self, section: &mut Section<'_>, list: List, at: Position, rule: &PermissionRule) {
        let Some((FileTool::Edit, patterns)) = rule.rule.files() else { return };
        let text = &rule.origin.text;
        match list {
            _ if !has_wildcards(patterns) => {}
            List::Allow => {
                let (text, reason) = (quoted(text), why_no_mount(text).into());
                section.warn(list_key(list), at, WarningKind::EditsOnly { text, reason });
            }
            List::Deny if ON_LINUX && !self.filesystem.is_disabled() => {
                section.refuse_mount(list_key(list), at, text);
            }
            List::Deny | List::Ask => {}
        }
    }
}

/// Only there are write rules mounts, which need names.
const ON_LINUX: bool = cfg!(target_os = "linux");

fn has_wildcards(patterns: &[PathPattern]) -> bool {
    patterns.iter().any(PathPattern::has_wildcards)
}

impl PermissionOptions {
    fn list(&mut self, list: List) -> &mut Vec<PermissionRule> {
        match list {
            List::Allow => &mut self.allow,
            List::Ask => &mut self.ask,
            List::Deny => &mut self.deny,
        }
    }
}

fn list_key(list: List) -> &'static str {
    match list {
        List::Allow => "allow",
        List::Ask => "ask",
        List::Deny => "deny",
    }
}

impl FilesystemOptions {
    fn read(mut filesystem: Section<'_>) -> Self {
        let disabled = filesystem.switch("disabled");
        let has_mounts = ON_LINUX && !is_on(disabled.as_ref());
        let options = FilesystemOptions {
            allow_write: read_write_list(&mut filesystem, "allowWrite", has_mounts),
            deny_write: read_write_list(&mut filesystem, "denyWrite", has_mounts),
            deny_read: read_denied_paths(&mut filesystem),
            allow_read: filesystem.paths("allowRead"),
            disabled,
            allow_managed_read_paths_only: filesystem.switch("allowManagedReadPathsOnly"),
            section: filesystem.origin(),
        };
        filesystem.finish();
        options
    }

    fn is_disabled(&self) -> bool {
        is_on(self.disabled.as_ref())
    }
}

fn is_on(setting: Option<&Setting<bool>>) -> bool {
    setting.is_some_and(|setting| setting.value)
}

impl NetworkOptions {
    fn read(mut network: Section<'_>) -> Self {
        let options = NetworkOptions {
            allowed_domains: read_allowed_hosts(&mut network),
            denied_domains: network.rules("deniedDomains", read_denied_hosts).into_iter().flatten().collect(),
            strict_allowlist: network.switch("strictAllowlist"),
            allow_managed_domains_only: network.switch("allowManagedDomainsOnly"),
            allow_unix_sockets: network.paths("allowUnixSockets"),
            allow_all_unix_sockets: network.switch("allowAllUnixSockets"),
            allow_local_binding: network.switch("allowLocalBinding"),
        };
        if !options.allow_unix_sockets.is_empty() {
            network.warn_at_key("allowUnixSockets", WarningKind::EverySocket);
        }
        if ON_LINUX && is_on(options.allow_local_binding.as_ref()) {
            let why =
                "on Linux a command may always listen, within its own network, and nothing else changes";
            network.warn_at_key("allowLocalBinding", WarningKind::NoEffect { why });
        }
        network.finish();
        options
    }
}

impl CredentialOptions {
    fn read(mut credentials: Section<'_>) -> Self {
        let options = CredentialOptions {
            files: read_hidden_files(&mut credentials),
            env_vars: positionless(credentials.credentials("envVars", "name", read_variable)),
        };
        credentials.finish();
        options
    }
}

/// Each rule with the position of the entry that it comes from.
pub(crate) fn each<T>(entries: Vec<(Position, Vec<T>)>) -> Vec<(Position, T)> {
    entries.into_iter().flat_map(|(at, rules)| rules.into_iter().map(move |rule| (at, rule))).collect()
}

/// A program of the sandbox's own.
fn read_program(sandbox: &mut Section<'_>, name: &'static str) -> Option<Setting<AbsPath>> {
    let setting = sandbox.text(name, "an absolute path", |text| AbsPath::new(text).ok())?;
    let is_checked = sandbox.source().purpose == Purpose::Check;
    if is_checked && std::fs::metadata(setting.value.as_path()).is_err() {
        sandbox.warn_at_key(name, WarningKind::NoProgram { path: setting.value.clone() });
    }
    Some(setting)
}

fn positionless<T>(rules: Vec<(Position, T)>) -> Vec<T> {
    rules.into_iter().map(|(_, rule)| rule).collect()
}

fn read_denied_paths(filesystem: &mut Section<'_>) -> Vec<FileRule> {
    const KEY: &str = "denyRead";
    let rules = filesystem.denied_paths_at(KEY);
    rules.iter().for_each(|(at, rule)| filesystem.look_for(KEY, *at, Access::Read, &rule.pattern));
    positionless(rules)
}

fn read_hidden_files(credentials: &mut Section<'_>) -> Vec<FileRule> {
    const KEY: &str = "files";
    let source = credentials.source();
    let read = credentials.credentials(KEY, "path", |text, origin| source.denials(text, origin));
    let rules = each(read);
    rules.iter().for_each(|(at, rule)| credentials.look_for(KEY, *at, Access::Read, &rule.pattern));
    positionless(rules)
}

/// A list of paths to write, with a word about those that no mount can stand for.
fn read_write_list(filesystem: &mut Section<'_>, name: &'static str, has_mounts: bool) -> Vec<FileRule> {
    let rules =
        if name == "denyWrite" { filesystem.denied_paths_at(name) } else { filesystem.paths_at(name) };
    for (at, rule) in rules.iter().filter(|(_, rule)| rule.pattern.has_wildcards() && has_mounts) {
        // An allow also means a file that is called just that, and often does: `app/[id]`.
        if name == "denyWrite" || std::fs::symlink_metadata(rule.pattern.as_literal().as_path()).is_err() {
            filesystem.refuse_mount(name, *at, &rule.origin.text);
        }
    }
    if name == "denyWrite" {
        rules.iter().for_each(|(at, rule)| filesystem.look_for(name, *at, Access::Write, &rule.pattern));
    }
    positionless(rules)
}

fn read_allowed_hosts(network: &mut Section<'_>) -> Vec<HostRule> {
    let rules = network.rules_at("allowedDomains", read_host);
    for (at, rule) in &rules {
        if let Some(kind) = breadth(&rule.pattern) {
            network.warn("allowedDomains", *at, kind);
        }
    }
    positionless(rules)
}

/// A word about a pattern that covers every host, or every one below a top-level domain.
fn breadth(pattern: &HostPattern) -> Option<WarningKind> {
    let shown = pattern.to_string();
    let host = pattern.port().map_or(&*shown, |_| shown.rsplit_once(':').map_or(&*shown, |(host, _)| host));
    let is_broad =
        host == "*" || host.strip_prefix("*.").is_some_and(|base| !base.contains('.') && base != "localhost");
    is_broad.then(|| WarningKind::Broad { pattern: shown.into() })
}

pub(crate) fn read_host(text: &str, origin: Origin) -> Result<HostRule, HostPatternError> {
    Ok(HostRule { pattern: HostPattern::parse(text)?, origin })
}

/// A rule for every reading of `text`: a deny covers them all.
pub(crate) fn read_denied_hosts(text: &str, origin: Origin) -> Result<Vec<HostRule>, HostPatternError> {
    let readings = HostPattern::parse_deny(text)?;
    Ok(readings.into_iter().map(|pattern| HostRule { pattern, origin: origin.clone() }).collect())
}

fn read_rule(
    text: &str,
    list: List,
    anchor: &RuleAnchor,
    origin: Origin,
) -> Result<PermissionRule, palisade_permissions::RuleError> {
    Ok(PermissionRule { rule: Rule::parse(text, list, anchor)?, origin })
}

/// A word about a deny or an ask of a tool that nobody knows: it may be a slip of the pen, and closes nothing then.
fn unknown_tool(list: List, rule: &PermissionRule, so_far: &mut usize) -> Option<WarningKind> {
    // Looking for what was meant takes time; nobody misspells more tools than this.
    const EXPLAINED: usize = 32;
    let tool = &rule.rule.tool;
    if list == List::Allow || !is_unknown_tool(tool) {
        return None;
    }
    *so_far += 1;
    let nearest = if *so_far <= EXPLAINED { nearest_tool(tool) } else { None };
    Some(WarningKind::UnknownTool { tool: quoted(tool), nearest })
}

/// The mode to start in. One that nobody knows is left out, which leaves the mode that asks; one in which nobody is
/// asked does not count from a repository's files.
fn read_default_mode(permissions: &mut Section<'_>) -> Option<DefaultMode> {
    const KEY: &str = "defaultMode";
    let layer = permissions.source().layer;
    let setting = permissions.text(KEY, "the name of a permission mode", |text| Some(text.to_owned()))?;
    let Some(mode) = Mode::parse(&setting.value) else {
        let names = Mode::ALL.map(Mode::name).join(", ");
        let reason = format!("is not the name of a permission mode; write one of {names}");
        permissions.refuse_at_key(KEY, &setting.value, &reason);
        return None;
    };
    let asks_nobody = matches!(mode, Mode::BypassPermissions | Mode::Auto);
    if asks_nobody && layer.is_of_repository() {
        permissions.warn_at_key(KEY, WarningKind::Mode { mode, layer });
        return None;
    }
    Some(DefaultMode { mode, origin: setting.origin })
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
    if text.starts_with("Bash(") && text.ends_with(')') {
        Err(ExcludedError::Rule)
    } else {
        Ok(Excluded { pattern: CommandPattern::parse(text)?, origin })
    }
}
