//! A project and a home directory in a temporary directory, and a printer of what was loaded from them.

use palisade_policy::{AbsPath, Origin};
use palisade_settings::{Error, Extra, Flags, InForce, Loaded, ManagedPlaces, Places, Trust, load};
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

pub(crate) const MANAGED: &str = "/etc/claude-code/managed-settings.json";
pub(crate) const USER: &str = "/home/.claude/settings.json";
pub(crate) const PROJECT: &str = "/project/.claude/settings.json";
pub(crate) const LOCAL: &str = "/project/.claude/settings.local.json";

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
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).expect("a new mode");
        let at = |name: &str| {
            std::fs::create_dir(directory.path().join(name)).expect("a new directory");
            AbsPath::try_from(directory.path().join(name).as_path()).expect("an absolute path")
        };
        let (root, home, working_directory) = (at("project"), at("home"), at("cwd"));
        let managed = ManagedPlaces {
            directories: ["palisade", "cogitator", "claude-code"]
                .map(|name| root.join(format!("../etc/{name}")).expect("no NUL"))
                .into(),
            owner: nix::unistd::geteuid().as_raw(),
        };
        let places = Places {
            managed,
            root,
            trust: Trust::Trusted,
            home: Some(home),
            account_home: None,
            config_dir: None,
            working_directory,
        };
        Fixture { directory, places, extras: Vec::new(), flags: Flags::default() }
    }

    /// Where `path`, which starts with `/`, stands in the temporary directory.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path.trim_start_matches('/'))
    }

    pub(crate) fn abs(&self, path: &str) -> AbsPath {
        AbsPath::try_from(self.path(path).as_path()).expect("an absolute path")
    }

    /// Writes a file, which only its owner can change, whatever the umask.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        let above = path.parent().expect("below the temporary directory");
        std::fs::create_dir_all(above).expect("directories above");
        std::fs::write(&path, bytes).expect("a new file");
        let own = above.ancestors().take_while(|above| *above != self.directory.path());
        for directory in own {
            std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).expect("a new mode");
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("a new mode");
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

/// A fixture with `files`, each a path and a text.
pub(crate) fn with(files: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::new();
    for (path, text) in files {
        fixture.write(path, text);
    }
    fixture
}

/// The merged settings of `files`.
pub(crate) fn merged(files: &[(&str, &str)]) -> String {
    with(files).print()
}

/// The same, the project not being trusted.
pub(crate) fn untrusted(files: &[(&str, &str)]) -> String {
    let mut fixture = with(files);
    fixture.places.trust = Trust::Untrusted;
    fixture.print()
}

/// The merged settings of one text, given as a project's file.
pub(crate) fn project(text: &str) -> String {
    merged(&[("/project/.claude/settings.json", text)])
}

/// Everything but defaults, each with its layer and origin.
fn print(loaded: &Loaded) -> String {
    let mut out = String::new();
    for InForce { key, value, origin } in loaded.in_force() {
        if let Some(origin) = origin {
            let is_path = key.starts_with("sandbox.filesystem");
            let wildcards = if is_path && has_wildcards(loaded, &origin) { " (wildcards)" } else { "" };
            writeln!(out, "{} {value}{wildcards}  <- {}: {origin}", word(key), origin.layer)
                .expect("a string");
        }
    }
    if loaded.policy.network.unix_sockets {
        writeln!(out, "every Unix socket is open").expect("a string");
    }
    for dropped in &loaded.dropped {
        writeln!(out, "dropped: {}: {dropped}", dropped.origin.layer).expect("a string");
    }
    for warning in &loaded.warnings {
        writeln!(out, "warning: {warning}").expect("a string");
    }
    out
}

fn has_wildcards(loaded: &Loaded, origin: &Origin) -> bool {
    loaded.policy.files.rules().any(|rule| rule.origin == *origin && rule.pattern.has_wildcards())
}

/// What a value of the key is.
fn word(key: &str) -> &str {
    match key {
        "sandbox.filesystem.allowWrite" => "allow write",
        "sandbox.filesystem.denyWrite" => "deny write",
        "sandbox.filesystem.denyRead" => "deny read",
        "sandbox.filesystem.allowRead" => "allow read",
        "sandbox.network.allowedDomains" => "allow host",
        "sandbox.network.deniedDomains" => "deny host",
        "sandbox.credentials.envVars" => "hide variable",
        "sandbox.ignoreViolations" => "ignore violation",
        "sandbox.excludedCommands" => "outside the sandbox",
        "permissions.deny" => "deny",
        "permissions.ask" => "ask",
        "permissions.allow" => "allow",
        "permissions.additionalDirectories" => "directory",
        "permissions.defaultMode" => "mode",
        "sandbox.enabled" => "enabled =",
        "sandbox.failIfUnavailable" => "fail if unavailable =",
        "sandbox.autoAllowBashIfSandboxed" => "auto-allow =",
        "sandbox.allowUnsandboxedCommands" => "allow unsandboxed =",
        "sandbox.filesystem.disabled" => "files disabled =",
        "sandbox.network.strictAllowlist" => "strict =",
        other => other,
    }
}
