//! The command line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use palisade_permissions::Mode;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Runs commands in the operating system's own sandbox, and says what its rules let them do
#[derive(Debug, Parser)]
#[command(name = "palisade", version)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Options {
    /// The options of this process. Wrong ones end it with status 2 and a message.
    pub(crate) fn of_process() -> Self {
        let verb = std::env::args_os().nth(1).unwrap_or_default();
        let parsed = Self::try_parse().map_err(|error| hinted(error, &verb));
        parsed.and_then(Self::complete).unwrap_or_else(|error| error.exit())
    }

    /// Refuses a run of nothing, in words that name what is missing.
    fn complete(self) -> Result<Self, clap::Error> {
        match &self.verb {
            Verb::Run(run) if run.line.is_none() && run.command.is_empty() => Err(of_run().error(
                ErrorKind::MissingRequiredArgument,
                "there is no command to run; give one after --, or a shell line with -c",
            )),
            _ => Ok(self),
        }
    }
}

/// A line that is not quoted is the likeliest reason why a check has too many words.
fn hinted(mut error: clap::Error, verb: &OsStr) -> clap::Error {
    let is_word = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(word)) if !word.starts_with("--"));
    if verb == "check" && error.kind() == ErrorKind::UnknownArgument && is_word {
        let hint = "the line is one word: put all of it in quotes";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// How `palisade run` is called.
fn of_run() -> clap::Command {
    let mut all = Options::command();
    all.build();
    all.find_subcommand("run").cloned().unwrap_or(all)
}

const RUN_USAGE: &str = "palisade run [OPTIONS] [--] COMMAND...\n       palisade run [OPTIONS] -c LINE";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Runs one command in the sandbox
    #[command(override_usage = RUN_USAGE, after_help = "\
Exit status: the command's own, 128 + n when signal n ended it; 125 when the sandbox could not run it, 126 when the \
program cannot be executed, 127 when there is none; 2 when there is no such option, or a value or the command is missing.")]
    Run(Box<RunOptions>),
    /// Shows what would confine a command here, without running one
    #[command(after_help = "Exit status: 0, or 125 when that could not be found out.")]
    Profile(ProfileOptions),
    /// Says whether a command may read or write a path or reach a host, which rule decides, and what would change it
    #[command(
        after_help = "Exit status: 0 when it may, 1 when it may not, 2 when that is no question, 125 when it could not be found out."
    )]
    Explain(ExplainOptions),
    /// Says whether a shell line may run without asking, and why
    #[command(
        after_help = "Exit status: 0 allow, 1 deny, 3 ask, 2 when it is called wrongly, 125 when that could not be found out."
    )]
    Check(CheckOptions),
    /// Answers Claude Code's PreToolUse hook: one call on standard input, the decision on standard output
    #[command(after_help = "\
The root is what --root names, else what the client names in CLAUDE_PROJECT_DIR, else the directory of the call.

Exit status: 0 with a decision; 2, which refuses the call, when there can be none, or none in time. Standard error then \
says why. A client may let a call go on when its own patience with the hook ends, so the deadline has to come first.")]
    Hook(HookOptions),
    /// Shows the settings in force, describes their format, checks files
    Settings(SettingsOptions),
    /// Says whether the sandbox runs on this machine, and if not, why and what to do
    #[command(after_help = "Exit status: 0 when it runs here, 125 when it does not.")]
    Probe(ProbeOptions),
}

#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) rules: RuleOptions,
    /// Writes one JSON object about the run to descriptor FD at the end [default: 2]
    #[arg(long, value_name = "FD", num_args = 0..=1, require_equals = true, default_missing_value = "2")]
    pub(crate) json: Option<i32>,
    /// Says on standard error what the proxy refused, also where that is no terminal
    #[arg(long)]
    pub(crate) report: bool,
    /// Fails where the sandbox cannot run, whatever failIfUnavailable says
    #[arg(long)]
    pub(crate) require_sandbox: bool,
    /// A line for the shell: bash without its start-up files where there is one, else sh
    #[arg(short = 'c', value_name = "LINE", conflicts_with = "command", allow_hyphen_values = true)]
    pub(crate) line: Option<OsString>,
    /// The command: a program and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What is in force, besides the settings files of the root and the user.
#[derive(Debug, Clone, Args)]
pub(crate) struct RuleOptions {
    /// A settings file, or settings as JSON text; may be given several times, the last one wins
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) settings: Vec<OsString>,
    /// Of the settings in the root, lets only those count that tighten: for a project that nobody has looked at yet
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// The directory that the command may write, and whose settings count. The command starts in the working directory
    /// all the same [default: the working directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// A host that may be reached: example.com, *.example.com, 127.0.0.1:3000
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// A host that may not be reached, whatever allows it
    #[arg(long, value_name = "HOST")]
    pub(crate) deny_host: Vec<String>,
    /// A path to make writable besides the root: ~/.cache/app, /srv/data, ../sibling
    #[arg(long, value_name = "PATH")]
    pub(crate) allow_write: Vec<OsString>,
    /// A path that may not be written, whatever allows it
    #[arg(long, value_name = "PATH")]
    pub(crate) deny_write: Vec<OsString>,
    /// A path to make readable again inside a hidden one
    #[arg(long, value_name = "PATH")]
    pub(crate) allow_read: Vec<OsString>,
    /// A path to hide
    #[arg(long, value_name = "PATH")]
    pub(crate) deny_read: Vec<OsString>,
}

impl RuleOptions {
    /// Every list of options that a program given the same rules has to be given, by the option's name.
    pub(crate) fn lists(&self) -> [(&'static str, Vec<OsString>); 7] {
        let words = |texts: &[String]| texts.iter().map(OsString::from).collect();
        [
            ("--settings", self.settings.clone()),
            ("--allow-host", words(&self.allow_host)),
            ("--deny-host", words(&self.deny_host)),
            ("--allow-write", self.allow_write.clone()),
            ("--deny-write", self.deny_write.clone()),
            ("--allow-read", self.allow_read.clone()),
            ("--deny-read", self.deny_read.clone()),
        ]
    }
}

#[derive(Debug, Args)]
pub(crate) struct ProfileOptions {
    #[command(flatten)]
    pub(crate) rules: RuleOptions,
    /// Whose words to show it in
    #[arg(long, value_enum, default_value_t = BackendOption::Bubblewrap)]
    pub(crate) backend: BackendOption,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BackendOption {
    /// Arguments of bubblewrap and rows of the seccomp filter
    Bubblewrap,
    /// A macOS Seatbelt profile
    Seatbelt,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    #[command(flatten)]
    pub(crate) rules: RuleOptions,
    /// default, acceptEdits, plan, auto, dontAsk or bypassPermissions [default: the settings' defaultMode, else default]
    #[arg(long, value_parser = mode)]
    pub(crate) mode: Option<Mode>,
    /// Judges it as a command that runs in the sandbox
    #[arg(long)]
    pub(crate) sandboxed: bool,
    /// Writes a JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// The line, as one word: 'npm test && make'
    #[arg(value_name = "LINE", allow_hyphen_values = true)]
    pub(crate) line: OsString,
}

fn mode(name: &str) -> Result<Mode, String> {
    let names = || Mode::ALL.map(Mode::name).join(", ");
    Mode::parse(name).ok_or_else(|| format!("the modes are {}", names()))
}

#[derive(Debug, Args)]
pub(crate) struct HookOptions {
    #[command(flatten)]
    pub(crate) rules: RuleOptions,
    /// Has calls of Bash run in the sandbox: what is not refused is rewritten to run under `palisade run`
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Refuses the call when there is no decision after that many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) deadline: u16,
}

#[derive(Debug, Args)]
pub(crate) struct SettingsOptions {
    #[command(subcommand)]
    pub(crate) verb: SettingsVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SettingsVerb {
    /// Prints every value in force with the file and line that says it, and what does not count and why
    #[command(after_help = "Exit status: 0, or 125 when the settings cannot be read.")]
    Show {
        #[command(flatten)]
        rules: RuleOptions,
        /// Writes a JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Prints a JSON Schema of the settings files, for editors
    Schema,
    /// Reads each file by itself and says all that is wrong with it
    #[command(
        after_help = "Exit status: 0 when nothing is wrong but for warnings, 1 when something is, 2 when it is called wrongly."
    )]
    Check {
        /// The root, whose files are the project's [default: the working directory]
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// The layer to read the files as [default: by their place, else that of --settings]
        #[arg(long, value_enum)]
        layer: Option<LayerOption>,
        /// Writes a JSON object instead of text
        #[arg(long)]
        json: bool,
        /// Settings files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<OsString>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LayerOption {
    /// The user's own
    User,
    /// The project's shared ones
    Project,
    /// The project's personal ones
    Local,
    /// As given with --settings
    CommandLine,
    /// An administrator's
    Managed,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    #[command(flatten)]
    pub(crate) rules: RuleOptions,
    /// Writes a JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// What a command may do with it
    #[arg(value_enum, value_name = "read|write|host")]
    pub(crate) question: Question,
    /// A path, which need not exist; or a host, with a port where it matters: example.com, 10.0.0.1:22, [::1]:443
    /// [default port: 443]
    #[arg(value_name = "PATH|HOST")]
    pub(crate) about: OsString,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Question {
    /// May a command read the path?
    Read,
    /// May a command write the path?
    Write,
    /// May a command reach the host?
    Host,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeOptions {
    #[command(flatten)]
    pub(crate) rules: RuleOptions,
    /// Writes a JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Options::command().debug_assert();
    }

    #[test]
    fn what_follows_the_command_is_the_commands() {
        let options =
            Options::try_parse_from(["palisade", "run", "--allow-host", "a.com", "echo", "-n", "--root"]);
        let Verb::Run(run) = options.expect("valid").verb else { panic!("not a run") };
        assert_eq!(run.command, ["echo", "-n", "--root"]);
        assert!(Options::try_parse_from(["palisade", "run", "--no-such-option", "true"]).is_err());
        assert!(Options::try_parse_from(["palisade", "run", "-c", "true", "false"]).is_err());
        let nothing = Options::try_parse_from(["palisade", "run"]).and_then(Options::complete);
        let said = nothing.expect_err("no command").to_string();
        assert!(said.contains("no command to run") && said.contains(RUN_USAGE), "{said}");
    }
    /// Options may stand in front of the question and behind it.
    #[test]
    fn a_question_takes_its_options_anywhere() {
        for arguments in [["--json", "read", "x"], ["read", "--json", "x"], ["read", "x", "--json"]] {
            let options = Options::try_parse_from(["palisade", "explain"].into_iter().chain(arguments));
            let Verb::Explain(explain) = options.expect("valid").verb else { panic!("not a question") };
            assert!(explain.json && explain.about == "x", "{arguments:?}");
        }
        assert!(Options::try_parse_from(["palisade", "explain", "reed", "x"]).is_err());
    }

    #[test]
    fn the_help_names_every_mode() {
        let help = Options::try_parse_from(["palisade", "check", "--help"]).expect_err("help").to_string();
        for mode in Mode::ALL {
            assert!(help.contains(mode.name()), "{mode}: {help}");
        }
    }
}
