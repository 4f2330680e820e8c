//! One session of an agent: the settings, read once, and a sandbox that runs one line after another. It asks nobody,
//! and runs nothing outside the sandbox.

use palisade::{Command, Options, Outcome, Request, Sandbox, real_path};
use palisade_permissions::shell::Shell;
use palisade_permissions::{Answer, Call, Context, Mode, Verdict, judge};
use palisade_policy::AbsPath;
use palisade_settings::{Flags, Loaded, Places, load};
use std::error::Error;

/// What is in force, and what runs commands under it.
pub(crate) struct Session {
    places: Places,
    loaded: Loaded,
    sandbox: Sandbox,
}

impl Session {
    /// Reads every settings file of `places`; one that is malformed is an error.
    pub(crate) fn open(places: Places) -> Result<Self, Box<dyn Error>> {
        let mut loaded = load(&places, &[], &Flags::default())?;
        // Lines are judged as what runs inside, so they run there or not at all, whatever the settings say.
        loaded.policy.fail_if_unavailable = true;
        let sandbox = Sandbox::create(Options {
            policy: loaded.policy.clone(),
            roots: vec![places.root.as_path().into()],
            settings_directories: places.config_dir.iter().map(|path| path.as_path().into()).collect(),
            ..Options::default()
        })?;
        Ok(Session { places, loaded, sandbox })
    }

    /// What is odd about the settings, and what of them does not count.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let warnings = self.loaded.warnings.iter().map(ToString::to_string);
        warnings.chain(self.loaded.dropped.iter().map(ToString::to_string)).collect()
    }

    /// Runs `line` if the rules let it run inside without asking, and captures what it prints.
    pub(crate) async fn run(&self, line: &str) -> Result<Outcome, Box<dyn Error>> {
        let verdict = self.judge(line);
        if verdict.answer != Answer::Allow || !verdict.sandboxed {
            let rules = verdict.remedy.join(", ");
            let to_allow = if rules.is_empty() { rules } else { format!(" (what would allow it: {rules})") };
            return Err(format!("not run: {}{to_allow}", verdict.reason).into());
        }
        let command = Command::Shell(line.into());
        let request = Request {
            working_directory: Some(self.places.working_directory.as_path().into()),
            ..Request::new(command, self.places.root.as_path())
        };
        Ok(self.sandbox.run(request).await?)
    }

    fn judge(&self, line: &str) -> Verdict<'_> {
        // Where a path cannot be followed, it is judged as it is written.
        let follow = |path: &AbsPath| real_path(path).unwrap_or_else(|_| path.clone());
        let context = Context {
            mode: self.loaded.rules.mode.as_ref().map_or(Mode::Default, |mode| mode.mode),
            sandboxed: true,
            files_disabled: self.loaded.policy.files_disabled,
            auto_allow: self.loaded.policy.auto_allow,
            guardrails_want_approval: false,
            root: &self.places.root,
            working_directory: &self.places.working_directory,
            home: self.places.home.as_ref(),
            directories: &[],
            // `Command::Shell` takes bash; a machine without one needs `Shell::Sh` here.
            shell: Shell::Bash,
            folds_case: cfg!(target_os = "macos"),
            follow: &follow,
        };
        judge(&self.loaded.rules, &Call::command(line), &context)
    }
}
