//! What a call is judged by, besides the rules: where it runs, in which mode, and where links lead.

use crate::failure::{Failure, say};
use crate::links::Links;
use crate::policy::{InForce, absolute};
use palisade_permissions::shell::Shell;
use palisade_permissions::{Call, Context, Excluded, Input, Mode, RuleSet, Verdict, excluded, judge};
use palisade_policy::AbsPath;

/// One session of an agent, or one line by itself.
pub(crate) struct Session {
    pub(crate) mode: Mode,
    root: AbsPath,
    working_directory: AbsPath,
    home: Option<AbsPath>,
    files_disabled: bool,
    auto_allow: bool,
}

impl Session {
    pub(crate) fn new(in_force: &InForce) -> Result<Self, Failure> {
        Ok(Session {
            mode: in_force.loaded.rules.mode.as_ref().map_or(Mode::Default, |mode| mode.mode),
            root: absolute(&in_force.root)?,
            working_directory: absolute(&in_force.working_directory)?,
            home: in_force.home.clone(),
            files_disabled: in_force.loaded.policy.files_disabled,
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
    ///
    /// # Errors
    ///
    /// The call names more paths than are looked up for one.
    pub(crate) fn judge<'a>(
        &self,
        rules: &'a RuleSet,
        call: &Call,
        sandboxed: bool,
    ) -> Result<(Verdict<'a>, Option<&'a Excluded>), Failure> {
        let links = Links::default();
        let follow = |path: &AbsPath| links.follow(path);
        let context = Context {
            mode: self.mode,
            sandboxed,
            files_disabled: self.files_disabled,
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
        let verdict = judge(rules, call, &context);
        links.were_followed().map(|()| (verdict, excluded))
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
