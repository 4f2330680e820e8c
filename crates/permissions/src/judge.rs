//! From rules to a verdict about one call: the order of questions, for every kind of call.
//!
//! # Order
//!
//! 1. **deny** rules refuse, in every mode.
//! 2. **ask** rules ask a person, in every mode. A bare `Bash` in the ask list is passed over for a command
//!    that runs inside the sandbox without its own approval. A deny or an ask rule that *may* cover the call,
//!    since something in it is only known once it runs, asks as well.
//! 3. **safety**: removals that are always asked about; writes to protected paths; guardrails.
//! 4. **sandbox**: a command that runs inside goes through, unless it is one of those of [`indirect`].
//! 5. **mode**: `bypassPermissions` lets through what is left.
//! 6. **allow** rules, and what needs none: every part of a line has to be covered by a rule, only read, or
//!    be let through by the mode.
//! 7. what is left asks; in `dontAsk` every question is a refusal.
//!
//! # What the attacker controls
//!
//! The line, the paths, the hosts and, with a repository, the text of rules below the user's. So deny and ask
//! over-match, allow under-matches: an allow is given only to what was read in full, command by command; a
//! denial needs one hit at any depth. No limit turns a denial into a question. Text rules are a convenience
//! all the same: what a program does once it runs is the sandbox's business, and this module does not know
//! what that holds.
//!
//! It looks at nothing: where links lead is told by [`Context::follow`]. The order of rules within a list has
//! no meaning but for which of several is named.

mod access;
mod breadth;
mod by_git;
mod call;
mod copied;
mod derived;
mod excluded;
mod files;
mod indirect;
mod line;
mod moved;
mod naming;
mod opened;
mod place;
mod remedy;
mod spelling;
mod tool;
mod verdict;

pub use call::{Call, Context, Input};
pub use tool::judge_host;
pub use verdict::{Answer, Answerer, By, DecidedBy, Decider, Decision, Found, Reason, Verdict};

pub(crate) use place::is_home_spelled;

use crate::command_pattern::covers_wildcard;
use crate::program::{Programs, Start, programs};
use crate::shell::{self, Reading};
use crate::{Excluded, Mode, Pattern, PermissionRule, RuleSet};

/// What `rules` say about `call`. A mode that they disable is taken for `default`, whoever chose it.
pub fn judge<'a>(rules: &'a RuleSet, call: &Call, context: &Context<'_>) -> Verdict<'a> {
    let context = &Context { mode: rules.mode_for(context.mode), ..*context };
    match &call.input {
        Input::Command { .. } => line::judge(rules, call, context),
        _ => tool::judge(rules, call, context),
    }
}

/// A deny or an ask rule that may cover some line of the shell, whatever it says: one about commands or about files.
pub fn stopping(rules: &RuleSet) -> Option<&PermissionRule> {
    let may_cover = |rule: &&PermissionRule| {
        names_tool(&rule.rule.tool, "Bash") || matches!(rule.rule.pattern, Some(Pattern::Path(_)))
    };
    rules.deny.iter().chain(&rules.ask).find(may_cover)
}

/// The entry of `excludedCommands` that takes `line` out of the sandbox; `None` when it stays in. It is not
/// thereby approved.
pub fn excluded<'a>(rules: &'a RuleSet, line: &str, context: &Context<'_>) -> Option<&'a Excluded> {
    if rules.excluded.is_empty() {
        return None;
    }
    let reading = shell::read(line, context.shell);
    let programs = programs_of(line, &reading, context);
    excluded::excluded(rules, &reading, &programs)
}

fn programs_of(line: &str, reading: &Reading, context: &Context<'_>) -> Programs {
    let start = Start {
        shell: context.shell,
        directory: Some(context.working_directory),
        home: context.home,
        folds_case: context.folds_case,
    };
    programs(line, reading, &start)
}

/// A question that nobody may answer in this mode is a refusal.
fn settle(answer: Answer, mode: Mode) -> Answer {
    match answer {
        Answer::Ask(_) if mode == Mode::DontAsk => Answer::Deny,
        answer => answer,
    }
}

impl<'a> Verdict<'a> {
    fn new(answer: Answer, reason: Reason<'a>, mode: Mode) -> Self {
        Verdict {
            answer: settle(answer, mode),
            reason,
            about: None,
            sandboxed: false,
            found: Vec::new(),
            remedy: Vec::new(),
        }
    }

    fn about(self, text: impl Into<Box<str>>) -> Self {
        Verdict { about: Some(text.into()), ..self }
    }
}

/// Whether a rule's tool is the call's, or names it with wildcards, or names the server that it is of.
fn names_tool(pattern: &str, tool: &str) -> bool {
    let is_same = pattern == tool || (pattern.contains('*') && covers_wildcard(pattern, tool));
    is_same || is_server_of(pattern, tool) || family(tool).contains(&pattern)
}

/// `mcp__github` names all tools of that server.
fn is_server_of(pattern: &str, tool: &str) -> bool {
    let is_server =
        pattern.strip_prefix("mcp__").is_some_and(|server| !server.is_empty() && !server.contains("__"));
    is_server && tool.strip_prefix(pattern).is_some_and(|rest| rest.starts_with("__"))
}

/// Other names by which rules name a tool.
fn family(tool: &str) -> &'static [&'static str] {
    match tool {
        "Monitor" => &["Bash"],
        "Write" | "MultiEdit" | "NotebookEdit" => &["Edit"],
        "Grep" | "Glob" | "LS" | "NotebookRead" => &["Read"],
        "Task" => &["Agent"],
        _ => &[],
    }
}

/// Whether a rule about one field covers the call: the field is given and has that value.
fn has_field(call: &Call, name: &str, value: &str) -> bool {
    let own = match &call.input {
        Input::Command { unsandboxed: true, .. } if name == "dangerouslyDisableSandbox" => Some("true"),
        _ => None,
    };
    let given = call.fields.iter().filter(|(field, _)| **field == *name).map(|(_, value)| &**value);
    own.into_iter().chain(given).any(|given| covers_wildcard(value, given))
}

/// The first rule of a list of which `covers` is true.
fn find(list: &[PermissionRule], covers: impl Fn(&PermissionRule) -> bool) -> Option<&PermissionRule> {
    list.iter().find(|rule| covers(rule))
}
