//! From what each layer says to what counts together: the managed locks, and what holds against a repository.
//!
//! The attacker writes the repository's layers, local and project; the administrator's limits hold against the user
//! too. Each limit takes values away *before* layers are combined, so that what it protects comes through; whatever is
//! taken away is put on record. This module decides by layers and values alone and asks the machine one thing, through
//! a function that it is given: where a path really leads.
//!
//! | limit | set by | takes away |
//! |---|---|---|
//! | `allowManagedDomainsOnly` | managed | `allowedDomains` below managed, rules' hosts among them; other hosts are refused |
//! | `allowManagedReadPathsOnly` | managed | `allowRead` below managed, and what writable paths would open of the managed `denyRead` |
//! | `allowManagedPermissionRulesOnly` | managed | rules below managed, and what allow rules among them add to lists. What deny rules add to the sandbox's lists stays: the lock is about approvals, and a path that was hidden stays hidden |
//! | managed settings say something about files | managed | `filesystem.disabled` below managed |
//! | the sandbox is required: `allowUnsandboxedCommands: false` or `allowManagedDomainsOnly` | managed | of a repository: `excludedCommands`, `ignoreViolations`, `allowedDomains`, `allowUnixSockets`, `allowWrite`, `Edit` and `WebFetch` allow rules, `additionalDirectories`, a `true` of `allowLocalBinding`, `allowAllUnixSockets` and `allowUnsandboxedCommands`, a `false` of `enabled` against a `true` above a repository or of the user, any `false` of `failIfUnavailable` |
//! | `allowUnsandboxedCommands: false` | managed, option, user | of a repository: its `true` |
//! | a `true` of the locks above, a `false` of `allowUnsandboxedCommands` | any managed file | what a higher managed file says otherwise |
//! | a `true` of `strictAllowlist` | managed, option, user | any `false` of it |
//! | `denyRead`, credentials' files, `Read` denies | managed, option, user | of a repository: `allowRead`, `allowWrite`, `additionalDirectories` at or under them |

use crate::dropped::{Dropped, Reason, Record};
use crate::hidden::{Hidden, Real};
use crate::load::Layers;
use crate::trust::{distrust, untrusted_switch, waive_nothing};
use crate::{Combine, Options, Setting, Trust};
use palisade_policy::{Layer, Origin, PathPattern};

/// What counts of all layers together, and what does not.
pub(crate) fn tighten(mut layers: Layers, trust: Trust, real: &Real<'_>) -> (Options, Vec<Dropped>) {
    let mut record = Record::default();
    let mut switched_on = None;
    if trust == Trust::Untrusted {
        for (_, options) in layers.iter_mut().filter(|(layer, _)| layer.is_of_repository()) {
            distrust(options, &mut record);
        }
        switched_on = untrusted_switch(&layers);
    }
    let locks = Locks::of(&layers, real);
    let stick = Sticking::of(&layers, &locks);
    for (layer, options) in &mut layers {
        locks.hold(*layer, options, &mut record);
    }
    let mut merged =
        layers.into_iter().map(|(_, options)| options).reduce(Combine::combine).unwrap_or_default();
    stick.hold(&mut merged);
    if let Some(by) = switched_on {
        waive_nothing(&mut merged, by, &mut record);
    }
    drop_disabled_mode(&mut merged, &mut record);
    (merged, record.finish())
}

/// The limits that are set, each by who set it.
struct Locks<'a> {
    domains_only: Option<Origin>,
    reads_only: Option<Origin>,
    rules_only: Option<Origin>,
    files: Option<Origin>,
    required: Option<Origin>,
    /// A `true` of `enabled` from elsewhere than a repository.
    enabled: bool,
    /// A `false` of `allowUnsandboxedCommands` from elsewhere than a repository.
    sandboxed_only: Option<Origin>,
    hidden_by_managed: Hidden<'a>,
    hidden: Hidden<'a>,
}

impl<'a> Locks<'a> {
    fn of(layers: &Layers, real: &'a Real<'a>) -> Self {
        let managed = || said_by(layers, |layer| layer == Layer::Managed);
        let trusted = || said_by(layers, |layer| !layer.is_of_repository());
        let domains_only = set_to(true, managed().map(|options| &options.network.allow_managed_domains_only));
        let managed_only = set_to(false, managed().map(|options| &options.allow_unsandboxed_commands));
        Locks {
            reads_only: set_to(
                true,
                managed().map(|options| &options.filesystem.allow_managed_read_paths_only),
            ),
            rules_only: set_to(true, managed().map(|options| &options.permissions.allow_managed_rules_only)),
            files: managed().find_map(Options::configure_files).cloned(),
            required: managed_only.or_else(|| domains_only.clone()),
            domains_only,
            enabled: set_to(true, trusted().map(|options| &options.enabled)).is_some(),
            sandboxed_only: set_to(false, trusted().map(|options| &options.allow_unsandboxed_commands)),
            hidden_by_managed: Hidden::by(managed().flat_map(Options::hides), real),
            hidden: Hidden::by(trusted().flat_map(Options::hides), real),
        }
    }

    fn hold(&self, layer: Layer, options: &mut Options, record: &mut Record) {
        if layer == Layer::Managed {
            return;
        }
        self.hold_lists(options, record);
        self.hold_rules(options, record);
        record.keep(&mut options.filesystem.disabled, |_| {
            self.files.clone().map(|by| Reason::FilesManaged { by })
        });
        if layer.is_of_repository() {
            self.hold_hidden(options, record);
            self.hold_switches(options, record);
            if let Some(by) = &self.required {
                require(by, self.enabled, options, record);
            }
        }
    }

    fn hold_lists(&self, options: &mut Options, record: &mut Record) {
        record.retain(&mut options.network.allowed_domains, |_| managed_only(&self.domains_only));
        record.retain(&mut options.filesystem.allow_read, |_| managed_only(&self.reads_only));
        if self.reads_only.is_some() {
            // What may be written may be read.
            let hidden = self.hidden_by_managed.look();
            record.retain(&mut options.filesystem.allow_write, |rule| hidden.opened_by(&rule.pattern));
        }
    }

    fn hold_rules(&self, options: &mut Options, record: &mut Record) {
        let Some(lock) = &self.rules_only else { return };
        let reason = || Some(Reason::ManagedRules { lock: lock.clone() });
        let by_allow_rule = |origin: &Origin| reason().filter(|_| &*origin.key == "permissions.allow");
        let permissions = &mut options.permissions;
        for list in [&mut permissions.allow, &mut permissions.ask, &mut permissions.deny] {
            record.retain(list, |_| reason());
        }
        record.retain(&mut options.filesystem.allow_write, |rule| by_allow_rule(&rule.origin));
        record.retain(&mut options.network.allowed_domains, |rule| by_allow_rule(&rule.origin));
    }

    fn hold_hidden(&self, options: &mut Options, record: &mut Record) {
        let Options { filesystem, permissions, .. } = options;
        let hidden = self.hidden.look();
        for list in [&mut filesystem.allow_read, &mut filesystem.allow_write] {
            record.retain(list, |rule| hidden.opened_by(&rule.pattern));
        }
        record.retain(&mut permissions.additional_directories, |directory| {
            hidden.opened_by(&PathPattern::literal(directory.path.clone()))
        });
    }

    fn hold_switches(&self, options: &mut Options, record: &mut Record) {
        let by = &self.sandboxed_only;
        record.keep(&mut options.allow_unsandboxed_commands, |setting| {
            by.clone().filter(|_| setting.value).map(|by| Reason::HeldFalse { by })
        });
    }
}

/// Switches that hold once anybody who may set them has, whatever a higher file says.
struct Sticking {
    domains_only: Option<Origin>,
    reads_only: Option<Origin>,
    rules_only: Option<Origin>,
    strict: Option<Origin>,
    sandboxed_only: Option<Origin>,
}

impl Sticking {
    fn of(layers: &Layers, locks: &Locks<'_>) -> Self {
        let managed = said_by(layers, |layer| layer == Layer::Managed);
        let anybody = said_by(layers, |_| true);
        Sticking {
            domains_only: locks.domains_only.clone(),
            reads_only: locks.reads_only.clone(),
            rules_only: locks.rules_only.clone(),
            strict: set_to(true, anybody.map(|options| &options.network.strict_allowlist)),
            sandboxed_only: set_to(false, managed.map(|options| &options.allow_unsandboxed_commands)),
        }
    }

    fn hold(self, merged: &mut Options) {
        let Sticking { domains_only, reads_only, rules_only, strict, sandboxed_only } = self;
        let stick = |switch: &mut Option<Setting<bool>>, value, by: Option<Origin>| {
            if let Some(origin) = by.filter(|_| switch.as_ref().is_none_or(|said| said.value != value)) {
                *switch = Some(Setting { value, origin });
            }
        };
        stick(&mut merged.network.allow_managed_domains_only, true, domains_only);
        stick(&mut merged.filesystem.allow_managed_read_paths_only, true, reads_only);
        stick(&mut merged.permissions.allow_managed_rules_only, true, rules_only);
        stick(&mut merged.network.strict_allowlist, true, strict);
        stick(&mut merged.allow_unsandboxed_commands, false, sandboxed_only);
    }
}

/// Takes out of a repository's `options` what would loosen a sandbox that the administrator requires.
fn require(by: &Origin, is_enabled: bool, options: &mut Options, record: &mut Record) {
    let reason = || Some(Reason::AdminRequired { by: by.clone() });
    let when = |is_loose: bool| reason().filter(|_| is_loose);
    let Options { filesystem, network, permissions, .. } = options;
    record.retain(&mut options.excluded_commands, |_| reason());
    record.retain(&mut options.ignore_violations, |_| reason());
    record.retain(&mut network.allowed_domains, |_| reason());
    record.retain(&mut network.allow_unix_sockets, |_| reason());
    record.retain(&mut filesystem.allow_write, |_| reason());
    record.retain(&mut permissions.additional_directories, |_| reason());
    record.retain(&mut permissions.allow, |rule| when(opens_sandbox(&rule.rule.tool)));
    record.keep(&mut network.allow_local_binding, |setting| when(setting.value));
    record.keep(&mut network.allow_all_unix_sockets, |setting| when(setting.value));
    // Documented lists of what a repository cannot loosen leave this one out; but a command outside is limited by
    // nothing at all.
    record.keep(&mut options.allow_unsandboxed_commands, |setting| when(setting.value));
    record.keep(&mut options.enabled, |setting| when(!setting.value && is_enabled));
    record.keep(&mut options.fail_if_unavailable, |setting| when(!setting.value));
}

/// Whether allow rules of the tool open paths or hosts to commands: hosts also when a command asks for one that no list
/// decides.
fn opens_sandbox(tool: &str) -> bool {
    matches!(tool, "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "WebFetch")
}

fn drop_disabled_mode(merged: &mut Options, record: &mut Record) {
    let permissions = &mut merged.permissions;
    record.keep(&mut permissions.default_mode, |chosen| {
        let disabled = permissions.disabled_modes.iter().find(|disabled| disabled.mode == chosen.mode)?;
        Some(Reason::ModeDisabled { by: disabled.origin.clone() })
    });
}

fn said_by(layers: &Layers, is_meant: impl Fn(Layer) -> bool) -> impl Iterator<Item = &Options> {
    layers.iter().filter(move |(layer, _)| is_meant(*layer)).map(|(_, options)| options)
}

/// Who sets one of `switches` to `value`.
fn set_to<'o>(value: bool, switches: impl Iterator<Item = &'o Option<Setting<bool>>>) -> Option<Origin> {
    switches.flatten().find(|setting| setting.value == value).map(|setting| setting.origin.clone())
}

fn managed_only(lock: &Option<Origin>) -> Option<Reason> {
    lock.clone().map(|lock| Reason::ManagedOnly { lock })
}

#[cfg(test)]
mod tests;
