//! `palisade hook`: Claude Code's PreToolUse protocol, one call in, one decision out.
//!
//! What the attacker controls: the call, which a model wrote after reading what it read; the project's settings. What
//! the client makes of our end: status 0 with an object is the decision, status 2 refuses the call, and *any other end
//! lets the call go on*. So whatever goes wrong here, a panic included, ends with 2 and a reason on standard error. A client
//! that has waited long enough lets the call go on as well, so there is a deadline for all of it, reading the call included.
//!
//! Without `--sandbox` the client's own shell runs the line; an allow is given only where that is bash, whose language
//! is read here. Where another shell may read more in a line, and rules could stop that, a person is asked, since no
//! decision lets the call go on in the client's mode.
//!
//! An allow from here does not beat the client's own deny and ask rules. In the mode `auto`, what anyone may answer is
//! left to the client's classifier: no decision is given.
//!
//! With `--sandbox` the line that runs is another one: `palisade run --report --require-sandbox -c LINE`. The model that
//! asked for the call reads what it prints, and has to learn what was refused. And the line was judged as one that runs
//! inside, so it runs there or not at all, whatever `failIfUnavailable` says, which a repository may set. What the line
//! changes in its shell (its directory, its variables) ends with it.

use crate::check::{to_allow, why, word};
use crate::failure::{Failure, say};
use crate::options::HookOptions;
use crate::policy::{InForce, read_in};
use crate::session::Session;
use palisade_permissions::shell::is_alike;
use palisade_permissions::{Answer, Answerer, Call, Input, Mode, RuleSet, Verdict, stopping};
use palisade_policy::{AbsPath, Endpoint, Printable};
use palisade_settings::Loaded;
use serde_json::{Map, Value, json};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Exit status that has the client refuse the call.
pub(crate) const REFUSED: u8 = 2;
/// The longest call that is read, in bytes.
const LONGEST_CALL: u64 = 32 << 20;
/// The variable by which the client names the project's root.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";
/// The variable by which a user has the client take another shell than `SHELL`.
const CLIENTS_SHELL: &str = "CLAUDE_CODE_SHELL";
/// How much stack judging may use: far more than it needs, since running out of it would let the call go on.
const STACK: usize = 64 << 20;

/// Reads a call, prints the decision, and gives the exit status.
pub(crate) fn hook(options: HookOptions) -> u8 {
    let limit = Duration::from_secs(options.deadline.into());
    let (done, answered) = mpsc::channel();
    let judging = thread::Builder::new().stack_size(STACK).spawn(move || {
        // Nobody listens any more once it is too late.
        let _ = done.send(answer(&options));
    });
    let answered = match judging.map(|_| answered.recv_timeout(limit)) {
        Ok(Ok(answered)) => answered,
        Ok(Err(RecvTimeoutError::Timeout)) => {
            Err(failed(format!("it takes longer than {} s", limit.as_secs())))
        }
        Ok(Err(RecvTimeoutError::Disconnected)) => Err(failed("internal error")),
        Err(error) => Err(failed(format!("starting a thread: {error}"))),
    };
    let printed = answered.and_then(|answer| {
        let Some(answer) = answer else { return Ok(()) };
        let written = writeln!(std::io::stdout(), "{answer}");
        written.map_err(|error| failed(format!("writing the decision: {error}")))
    });
    match printed {
        Ok(()) => 0,
        Err(failure) => {
            say(&format!("the call is refused, since it could not be judged: {}", failure.message));
            REFUSED
        }
    }
}

fn failed(message: impl std::fmt::Display) -> Failure {
    Failure::new("HOOK_FAILED", message)
}

/// The object to print; `None` leaves the decision to the client.
fn answer(options: &HookOptions) -> Result<Option<Value>, Failure> {
    let asked = Asked::read(std::io::stdin())?;
    let root = options.rules.root.clone().or_else(project).unwrap_or_else(|| asked.directory.clone());
    let root = std::path::absolute(&root).map_err(|error| failed(format!("the root {root:?}: {error}")))?;
    let (mut in_force, _) = read_in(&options.rules, &root, root.clone())?;
    in_force.working_directory.clone_from(&asked.directory);
    let mut session = Session::new(&in_force)?;
    let rules = &in_force.loaded.rules;
    session.choose(asked.mode, rules);
    let call = asked.call(&session)?;
    let wants_out = rules.allow_unsandboxed && matches!(call.input, Input::Command { unsandboxed: true, .. });
    let is_line = matches!(call.input, Input::Command { .. });
    let (verdict, excluded) = session.judge(rules, &call, options.sandbox && is_line && !wants_out)?;
    let runs_inside = options.sandbox && is_line && !wants_out && excluded.is_none();
    if let Input::Command { line, .. } = &call.input
        && !runs_inside
        && (verdict.answer == Answer::Allow || is_left(&verdict, session.mode))
        && !clients_shell_is_read()
    {
        return Ok(
            unread(line, rules, session.mode).map(|decision| json!({ "hookSpecificOutput": decision }))
        );
    }
    if is_left(&verdict, session.mode) {
        return Ok(None);
    }
    let mut decision = decision(&verdict, &in_force.loaded);
    if runs_inside && verdict.answer != Answer::Deny {
        decision["updatedInput"] = asked.rewritten(&in_force, options)?;
    }
    Ok(Some(json!({ "hookSpecificOutput": decision })))
}

/// Lines are read as bash reads them. What another shell makes of one (zsh runs code out of file name patterns) is not
/// known here, so nothing is allowed that one would run.
fn clients_shell_is_read() -> bool {
    clients_shell().is_some_and(|shell| Path::new(&shell).file_name() == Some(OsStr::new("bash")))
}

fn clients_shell() -> Option<OsString> {
    [CLIENTS_SHELL, "SHELL"].iter().find_map(std::env::var_os)
}

/// The decision about a line that bash could run, for another shell; `None` where that reads the same, or no rule says
/// anything of what else it may read. The client decides then.
fn unread(line: &str, rules: &RuleSet, mode: Mode) -> Option<Value> {
    let rule = stopping(rules).filter(|_| !is_alike(line))?;
    let shell = clients_shell().unwrap_or_else(|| "a shell that is not known".into());
    let reason = format!(
        "palisade: the line is for {}, which may run more than is read here, and there are rules that may be about \
         that, such as {}",
        Printable(&shell.to_string_lossy()),
        Printable(&rule.origin.to_string())
    );
    let answer = if mode == Mode::DontAsk { Answer::Deny } else { Answer::Ask(Answerer::Person) };
    Some(json!({
        "hookEventName": EVENT,
        "permissionDecision": word(answer),
        "permissionDecisionReason": reason,
    }))
}

fn project() -> Option<PathBuf> {
    std::env::var_os(PROJECT).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whether the client's classifier decides.
fn is_left(verdict: &Verdict<'_>, mode: Mode) -> bool {
    verdict.answer == Answer::Ask(Answerer::Anyone) && mode == Mode::Auto
}

fn decision(verdict: &Verdict<'_>, loaded: &Loaded) -> Value {
    let mut reason = format!("palisade: {}", Printable(&why(verdict)));
    if let Some(rules) = to_allow(verdict, loaded).filter(|_| verdict.answer != Answer::Allow) {
        reason.push_str(&format!("; to allow it: {}", Printable(&rules)));
    }
    json!({
        "hookEventName": EVENT,
        "permissionDecision": word(verdict.answer),
        "permissionDecisionReason": reason,
    })
}

/// The one event that is answered.
const EVENT: &str = "PreToolUse";

/// What the client says about a call.
struct Asked {
    tool: String,
    input: Map<String, Value>,
    mode: Mode,
    directory: PathBuf,
}

impl Asked {
    fn read(from: impl Read) -> Result<Self, Failure> {
        let mut text = Vec::new();
        from.take(LONGEST_CALL + 1)
            .read_to_end(&mut text)
            .map_err(|error| failed(format!("reading standard input: {error}")))?;
        if text.len() as u64 > LONGEST_CALL {
            return Err(failed(format!("the call is longer than {LONGEST_CALL} bytes")));
        }
        let call: Value = serde_json::from_slice(&text)
            .map_err(|error| failed(format!("standard input is no JSON object: {error}")))?;
        Self::of(&call)
    }

    fn of(call: &Value) -> Result<Self, Failure> {
        let text =
            |name: &str| call[name].as_str().ok_or_else(|| failed(format!("the call has no text {name:?}")));
        let event = text("hook_event_name")?;
        if event != EVENT {
            return Err(failed(format!("the event is {event:?}, and only {EVENT} is answered")));
        }
        let mode = match &call["permission_mode"] {
            Value::Null => Mode::Default,
            Value::String(name) => {
                Mode::parse(name).ok_or_else(|| failed(format!("there is no permission mode {name:?}")))?
            }
            _ => return Err(failed("permission_mode is no text")),
        };
        let input =
            call["tool_input"].as_object().ok_or_else(|| failed("the call has no object \"tool_input\""))?;
        let directory = PathBuf::from(text("cwd")?);
        if !directory.is_absolute() {
            return Err(failed("cwd is not absolute"));
        }
        Ok(Asked { tool: text("tool_name")?.to_owned(), input: input.clone(), mode, directory })
    }

    /// The call in the judge's words.
    fn call(&self, session: &Session) -> Result<Call, Failure> {
        let input = match self.tool.as_str() {
            "Bash" | "Monitor" => Input::Command {
                line: self.text("command")?.into(),
                hosts: self.hosts()?,
                unsandboxed: self.flag("dangerouslyDisableSandbox")?,
            },
            "Read" => Input::Read(self.path(session, "file_path")?),
            "NotebookRead" => Input::Read(self.path(session, "notebook_path")?),
            "Glob" => Input::Read(found_from(&self.directory(session)?, self.text("pattern")?)?),
            "Grep" | "LS" => Input::Read(self.directory(session)?),
            "Edit" | "Write" | "MultiEdit" => Input::Edit(self.path(session, "file_path")?),
            "NotebookEdit" => Input::Edit(self.path(session, "notebook_path")?),
            "WebFetch" => Input::Fetch(endpoint(self.text("url")?)?),
            _ => Input::Other,
        };
        Ok(Call { tool: self.tool.as_str().into(), input, fields: self.fields() })
    }

    fn text(&self, name: &str) -> Result<&str, Failure> {
        let value = self.input.get(name).and_then(Value::as_str);
        value.ok_or_else(|| failed(format!("the input of {} has no text {name:?}", self.tool)))
    }

    fn flag(&self, name: &str) -> Result<bool, Failure> {
        match self.input.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(failed(format!("{name} is neither true nor false"))),
        }
    }

    fn hosts(&self) -> Result<Vec<Box<str>>, Failure> {
        let hosts = match self.input.get("allowedDomains") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(hosts)) => hosts,
            Some(_) => return Err(failed("allowedDomains is no list")),
        };
        let host = |host: &Value| host.as_str().map(Box::from);
        let hosts = hosts.iter().map(host).collect::<Option<_>>();
        hosts.ok_or_else(|| failed("allowedDomains holds something that is no text"))
    }

    fn path(&self, session: &Session, name: &str) -> Result<AbsPath, Failure> {
        let path = self.text(name)?;
        session.working_directory().join(path).map_err(|error| failed(format!("{name} {path:?} {error}")))
    }

    /// The directory that is looked through.
    fn directory(&self, session: &Session) -> Result<AbsPath, Failure> {
        match self.input.get("path") {
            None | Some(Value::Null) => Ok(session.working_directory().clone()),
            Some(_) => self.path(session, "path"),
        }
    }

    fn fields(&self) -> Vec<(Box<str>, Box<str>)> {
        let field = |(name, value): (&String, &Value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                _ => return None,
            };
            Some((name.as_str().into(), text.into()))
        };
        self.input.iter().filter_map(field).collect()
    }

    /// The whole input with the line replaced by one that has `palisade run` run it.
    fn rewritten(&self, in_force: &InForce, options: &HookOptions) -> Result<Value, Failure> {
        let program =
            std::env::current_exe().map_err(|error| failed(format!("finding palisade: {error}")))?;
        let mut words = vec![quoted(program.as_os_str())?, "run".into()];
        words.extend(["--report", "--require-sandbox", "--root"].map(String::from));
        words.push(quoted(in_force.root.as_os_str())?);
        if options.rules.untrusted {
            words.push("--untrusted".into());
        }
        for (option, values) in options.rules.lists() {
            for value in values {
                words.extend([option.into(), quoted(&value)?]);
            }
        }
        words.extend(["-c".into(), quoted(OsStr::new(self.text("command")?))?]);
        let mut input = self.input.clone();
        input.insert("command".into(), words.join(" ").into());
        input.remove("dangerouslyDisableSandbox");
        Ok(Value::Object(input))
    }
}

/// Where all lies that a pattern of file names finds from `directory`: what stands before its first wildcard. One that
/// goes up behind a wildcard, or may, finds what lies anywhere.
fn found_from(directory: &AbsPath, pattern: &str) -> Result<AbsPath, Failure> {
    let is_wild = |name: &str| name.contains(['*', '?', '[', '{', '(', '!', '\\']);
    let names: Vec<&str> = pattern.split('/').collect();
    let start = names.iter().position(|name| is_wild(name)).unwrap_or(names.len());
    if names[start..].iter().any(|name| name.contains(".."))
        || (start == 0 && (pattern.contains("{/") || pattern.contains(",/")))
    {
        return Ok(AbsPath::root());
    }
    let fixed = names[..start].join("/");
    let fixed = if start > 0 && fixed.is_empty() { "/" } else { &fixed };
    directory.join(fixed).map_err(|error| failed(format!("pattern {pattern:?} {error}")))
}

/// The place that a URL is fetched from.
fn endpoint(text: &str) -> Result<Endpoint, Failure> {
    let unreadable = |reason: String| failed(format!("the URL {text:?} cannot be read: {reason}"));
    let url = url::Url::parse(text).map_err(|error| unreadable(error.to_string()))?;
    let host = url.host_str().ok_or_else(|| unreadable("it names no host".into()))?;
    Endpoint::parse(host, url.port_or_known_default()).map_err(|error| unreadable(error.to_string()))
}

/// A word that every shell reads as these very bytes.
fn quoted(word: &OsStr) -> Result<String, Failure> {
    let word = word.to_str().ok_or_else(|| failed("a path of the rewritten line is not UTF-8"))?;
    if word.contains('\0') {
        return Err(failed("the line holds a NUL byte"));
    }
    Ok(format!("'{}'", word.replace('\'', r"'\''")))
}
