//! A project and a home directory in a temporary directory, and a printer of what was loaded from them.

use palisade_permissions::RuleSet;
use palisade_policy::{AbsPath, FileRule, HostRule, Origin, Policy};
use palisade_settings::{Error, Extra, Flags, Loaded, Options, Places, Setting, load};
use std::fmt::Write;
use std::path::PathBuf;

pub(crate) struct Fixture {
    directory: tempfile::TempDir,
    pub(crate) places: Places,
    pub(crate) extras: Vec<Extra>,
    pub(crate) flags: Flags,
}

impl Fixture {
    /// An empty `/project`, which is also where relative options start unless a test moves it, and `/home`.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| {
            std::fs::create_dir(directory.path().join(name)).expect("a new directory");
            AbsPath::try_from(directory.path().join(name).as_path()).expect("an absolute path")
        };
        let (root, home, working_directory) = (at("project"), at("home"), at("cwd"));
        let places = Places { root, home: Some(home), config_dir: None, working_directory };
        Fixture { directory, places, extras: Vec::new(), flags: Flags::default() }
    }

    /// Where `path`, which starts with `/`, stands in the temporary directory.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path.trim_start_matches('/'))
    }

    pub(crate) fn abs(&self, path: &str) -> AbsPath {
        AbsPath::try_from(self.path(path).as_path()).expect("an absolute path")
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("below the temporary directory"))
            .expect("directories above");
        std::fs::write(path, bytes).expect("a new file");
    }

    pub(crate) fn load(&self) -> Result<Loaded, Error> {
        load(&self.places, &self.extras, &self.flags)
    }

    /// What was loaded, in words; an error as its message.
    pub(crate) fn print(&self) -> String {
        let text = match self.load() {
            Ok(loaded) => print(&loaded),
            Err(error) => format!("error: {error}\n"),
        };
        let prefix = self.directory.path().to_str().expect("UTF-8");
        text.replace(prefix, "")
    }
}

/// The merged settings of `files`, each a path and a text.
pub(crate) fn merged(files: &[(&str, &str)]) -> String {
    let fixture = Fixture::new();
    for (path, text) in files {
        fixture.write(path, text);
    }
    fixture.print()
}

/// The merged settings of one text, given as a project's file.
pub(crate) fn project(text: &str) -> String {
    merged(&[("/project/.claude/settings.json", text)])
}

fn print(loaded: &Loaded) -> String {
    let Loaded { policy, rules, options, warnings } = loaded;
    let mut out = String::new();
    print_switches(&mut out, policy, rules, options);
    let files = &policy.files;
    print_list(&mut out, "allow write", &files.allow_write, file);
    print_list(&mut out, "deny write", &files.deny_write, file);
    print_list(&mut out, "deny read", &files.deny_read, file);
    print_list(&mut out, "allow read", &files.allow_read, file);
    print_list(&mut out, "allow host", &policy.network.allowed, host);
    print_list(&mut out, "deny host", &policy.network.denied, host);
    print_list(&mut out, "hide variable", &policy.hidden_variables, |rule| {
        (rule.name.to_string(), &rule.origin)
    });
    print_list(&mut out, "outside the sandbox", &rules.excluded, |rule| {
        (rule.pattern.to_string(), &rule.origin)
    });
    for warning in warnings {
        writeln!(out, "warning: {warning}").expect("a string");
    }
    out
}

/// The switches that differ from their defaults or that somebody set.
fn print_switches(out: &mut String, policy: &Policy, rules: &RuleSet, options: &Options) {
    let default = Policy::default();
    let mut switch = |name: &str, value: bool, default: bool, setting: &Option<Setting<bool>>| {
        let setter = setting.as_ref().filter(|setting| setting.value == value);
        if value != default || setter.is_some() {
            let by = setter.map_or("a list".into(), |setter| by(&setter.origin));
            writeln!(out, "{name} = {value}  <- {by}").expect("a string");
        }
    };
    let (filesystem, network) = (&options.filesystem, &options.network);
    let fail = &options.fail_if_unavailable;
    switch("enabled", policy.enabled, default.enabled, &options.enabled);
    switch("fail if unavailable", policy.fail_if_unavailable, default.fail_if_unavailable, fail);
    switch("auto-allow", policy.auto_allow, default.auto_allow, &options.auto_allow_bash_if_sandboxed);
    switch("allow unsandboxed", rules.allow_unsandboxed, false, &options.allow_unsandboxed_commands);
    switch("files disabled", policy.files_disabled, default.files_disabled, &filesystem.disabled);
    switch("strict", policy.network.strict, default.network.strict, &network.strict_allowlist);
    let all = &network.allow_all_unix_sockets;
    switch("unix sockets", policy.network.unix_sockets, default.network.unix_sockets, all);
}

fn print_list<T>(out: &mut String, name: &str, rules: &[T], show: impl Fn(&T) -> (String, &Origin)) {
    for rule in rules {
        let (pattern, origin) = show(rule);
        writeln!(out, "{name} {pattern}  <- {}", by(origin)).expect("a string");
    }
}

fn file(rule: &FileRule) -> (String, &Origin) {
    let wildcards = if rule.pattern.has_wildcards() { " (wildcards)" } else { "" };
    (format!("{}{wildcards}", rule.pattern), &rule.origin)
}

fn host(rule: &HostRule) -> (String, &Origin) {
    (rule.pattern.to_string(), &rule.origin)
}

fn by(origin: &Origin) -> String {
    format!("{}: {origin}", origin.layer)
}
