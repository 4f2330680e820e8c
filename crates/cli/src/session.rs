//! What a call is judged by, besides the rules: where it runs, in which mode, and where links lead.

use crate::failure::{Failure, say};
use crate::policy::{InForce, absolute};
use palisade::real_path;
use palisade_permissions::shell::Shell;
use palisade_permissions::{Call, Context, Excluded, Input, Mode, RuleSet, Verdict, excluded, judge};
use palisade_policy::AbsPath;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::ErrorKind;

/// One session of an agent, or one line by itself.
pub(crate) struct Session {
    pub(crate) mode: Mode,
    root: AbsPath,
    working_directory: AbsPath,
    home: Option<AbsPath>,
    auto_allow: bool,
}

impl Session {
    pub(crate) fn new(in_force: &InForce) -> Result<Self, Failure> {
        Ok(Session {
            mode: in_force.loaded.rules.mode.as_ref().map_or(Mode::Default, |mode| mode.mode),
            root: absolute(&in_force.root)?,
            working_directory: absolute(&in_force.working_directory)?,
            home: in_force.home.clone(),
            auto_allow: in_force.loaded.policy.auto_allow,
        })
    }

    /// Takes `mode`; where the settings disable it, `default`, and says so.
    pub(crate) fn choose(&mut self, mode: Mode, rules: &RuleSet) {
        if let Some(disabled) = rules.disabling(mode) {
            let by = &disabled.origin;
            say(&format!("warning: the mode {mode} is disabled by {by}; this is judged in the mode default"));
        }
        self.mode = rules.mode_for(mode);
    }

    pub(crate) fn working_directory(&self) -> &AbsPath {
        &self.working_directory
    }

    /// The verdict, and the entry of `excludedCommands` that takes the call out of the sandbox.
    pub(crate) fn judge<'a>(
        &self,
        rules: &'a RuleSet,
        call: &Call,
        sandboxed: bool,
    ) -> (Verdict<'a>, Option<&'a Excluded>) {
        let links = Links::default();
        let follow = |path: &AbsPath| links.follow(path);
        let context = Context {
            mode: self.mode,
            sandboxed,
            auto_allow: self.auto_allow,
            guardrails_want_approval: false,
            root: &self.root,
            working_directory: &self.working_directory,
            home: self.home.as_ref(),
            directories: &[],
            shell: shell(),
            folds_case: cfg!(target_os = "macos"),
            follow: &follow,
        };
        let excluded = match &call.input {
            Input::Command { line, .. } => excluded(rules, line, &context),
            _ => None,
        };
        (judge(rules, call, &context), excluded)
    }
}

/// Where links lead, looked up once for each path: a line may name thousands of files in one directory, and one file
/// thousands of times.
#[derive(Default)]
struct Links(RefCell<HashMap<AbsPath, AbsPath>>);

impl Links {
    /// Where `path` leads. What cannot be followed stays as it is.
    fn follow(&self, path: &AbsPath) -> AbsPath {
        if let Some(known) = self.0.borrow().get(path) {
            return known.clone();
        }
        let real =
            self.below_real_parent(path).unwrap_or_else(|| real_path(path).unwrap_or_else(|_| path.clone()));
        self.0.borrow_mut().insert(path.clone(), real.clone());
        real
    }

    /// The path below where its directory leads, when it is no link itself.
    fn below_real_parent(&self, path: &AbsPath) -> Option<AbsPath> {
        let real = self.follow(&path.parent()?).join(path.file_name()?).ok()?;
        match std::fs::symlink_metadata(real.as_path()) {
            Ok(metadata) if metadata.is_symlink() => None,
            Ok(_) => Some(real),
            Err(error) => (error.kind() == ErrorKind::NotFound).then_some(real),
        }
    }
}

/// The shell that `palisade run -c` takes: bash where there is one. The one that macOS has is old.
fn shell() -> Shell {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_bash = std::env::split_paths(&path)
        .chain(["/usr/bin".into(), "/bin".into()])
        .any(|directory| directory.join("bash").is_file());
    match has_bash {
        true if cfg!(target_os = "macos") => Shell::OldBash,
        true => Shell::Bash,
        false => Shell::Sh,
    }
}
