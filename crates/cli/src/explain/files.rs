//! What the rules say of one path, under the policy in force or under another.
//!
//! Under another, since [a change](super::change) is only advised after it was seen to change the verdict.

use super::Answer;
use super::change::{self, Step};
use crate::failure::{Failure, say};
use crate::options::{ExplainOptions, RuleOptions};
use crate::policy::InForce;
use crate::profile::for_show;
use palisade::{OwnPath, Request, Sandbox, links_on, real_path};
use palisade_policy::{AbsPath, Access, Confinement, Effect, FileList, FileRule, FileSets, Origin, Policy};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;

/// What is asked about a path, and whom to ask.
pub(super) struct Inquiry<'a> {
    pub(super) options: &'a RuleOptions,
    pub(super) access: Access,
    /// In whose settings an entry counts that opens something to be written, where that are not all.
    pub(super) whose: String,
    asked: AbsPath,
    sandbox: Sandbox,
    request: Request,
}

/// The answer under one policy.
pub(super) struct View {
    pub(super) effect: Effect,
    because: String,
    /// The deciding rule, and the list that it stands in.
    pub(super) rule: Option<(Option<FileList>, FileRule)>,
    /// The path that rules are judged by.
    pub(super) at: AbsPath,
    /// Whether nothing is there, and something could be made.
    pub(super) is_missing: bool,
    pub(super) kind: Kind,
    also: Vec<(FileList, Origin)>,
    note: Option<String>,
}

/// Who says what happens at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rules,
    /// File isolation is off.
    Nobody,
    /// The sandbox has its own there.
    Own,
}

pub(super) fn answer(in_force: InForce, options: &ExplainOptions, access: Access) -> Result<Answer, Failure> {
    let asked = absolute(&in_force, &options.about)?;
    let policy = in_force.loaded.policy.clone();
    let whose = super::whose(&in_force.loaded.dropped);
    let (sandbox, request) = for_show(in_force)?;
    for warning in sandbox.resolve_and_warn(&request)?.1 {
        say(&format!("warning: {warning}"));
    }
    let inquiry = Inquiry { options: &options.rules, access, whose, asked, sandbox, request };
    let view = inquiry.view(&policy, &[])?;
    let changes = change::changes(&inquiry, &view, &policy);
    let verb = if access == Access::Read { "read" } else { "write" };
    Ok(Answer {
        question: format!("{verb} {}", inquiry.asked),
        real: Some(inquiry.real()?).filter(|real| *real != inquiry.asked),
        effect: view.effect,
        because: view.because,
        rule: view.rule.map(|(_, rule)| rule.origin),
        also: view.also.into_iter().map(|(list, origin)| (list.to_string(), origin)).collect(),
        changes,
        note: view.note,
    })
}

impl Inquiry<'_> {
    /// Where the path that is asked about leads in the sandbox.
    fn real(&self) -> Result<AbsPath, Failure> {
        Ok(match OwnPath::of(&self.asked)? {
            Some(own) => own.path().clone(),
            None => real_path(&self.asked)?,
        })
    }

    /// The answer under `policy`, once what `steps` open has been made where it is missing. An error where a run would
    /// be refused.
    pub(super) fn view(&self, policy: &Policy, steps: &[Step]) -> Result<View, Failure> {
        self.sandbox.set_policy(Policy { fail_if_unavailable: false, ..policy.clone() });
        let mut confinement = self.sandbox.resolve(&self.request)?;
        let own = OwnPath::of(&self.asked)?;
        if let Some(own) = &own
            && let Some(verdict) = self.sandbox.judge_own(&confinement, self.access, own)?
        {
            return Ok(View::without_rule(verdict.effect, verdict.because, own.path(), Kind::Own));
        }
        let real = self.real()?;
        if policy.files_disabled {
            let because = "filesystem.disabled switches file isolation off";
            return Ok(View::without_rule(Effect::Allow, because, &real, Kind::Nobody));
        }
        let missing = real.as_path().symlink_metadata().err().map(|error| error.kind());
        if missing.is_some() {
            suppose_made(steps, policy, &mut confinement.files);
        }
        let is_reachable = |view: &View| view.effect == Effect::Allow;
        let view = match missing {
            Some(kind) => self.of_missing(&confinement.files, policy, &real, kind),
            None => View::of(self.access, &confinement.files, &real),
        };
        match hidden_link(&self.asked, &confinement)? {
            Some(link) if is_reachable(&view) => Ok(View {
                note: Some(format!("the way there goes through the symbolic link {link}, which is hidden")),
                ..View::of(Access::Read, &confinement.files, &link)
            }),
            _ => Ok(view),
        }
    }

    /// What does not exist is hidden by no rule: a command that can make it reads what it made. Rules that mean it hide
    /// it from commands that start once it is there.
    fn of_missing(&self, files: &FileSets, policy: &Policy, real: &AbsPath, kind: ErrorKind) -> View {
        let mut meant = files.clone();
        meant.deny_read.extend(policy.files.deny_read.iter().cloned());
        let can_make = files.judge(Access::Write, real).effect == Effect::Allow;
        let is_meant_only = files.judge(Access::Read, real).effect == Effect::Allow;
        let decides_all_the_same = is_meant_only && !can_make && self.access == Access::Read;
        let mut view = View::of(self.access, if decides_all_the_same { &meant } else { files }, real);
        view.is_missing = kind == ErrorKind::NotFound;
        let hides = meant.judge(Access::Read, real);
        if let (true, Effect::Deny, Some(rule)) = (is_meant_only && view.is_missing, hides.effect, hides.rule)
        {
            let who = if can_make { "a command can make it, and read what it made; " } else { "" };
            view.note = Some(format!(
                "nothing is there yet to be hidden by {}: {who}what starts once it is there finds it hidden",
                rule.origin
            ));
        }
        view
    }
}

impl View {
    fn of(access: Access, files: &FileSets, at: &AbsPath) -> Self {
        let explanation = files.explain(access, at);
        let verdict = explanation.verdict;
        let because = match access {
            Access::Read => "reads are allowed where no rule denies them",
            Access::Write => "no rule makes it writable",
        };
        let denies = |list: &FileList| matches!(list, FileList::DenyWrite | FileList::DenyRead);
        let is_denied = verdict.effect == Effect::Deny;
        let note = if is_denied && explanation.also.iter().any(|(list, _)| denies(list)) {
            Some("the other denials hold as well".to_owned())
        } else if is_denied && verdict.rule.is_none() && is_temporary(at) {
            Some("TMPDIR leads every command to a directory of its own, which it can write".to_owned())
        } else {
            None
        };
        View {
            rule: verdict.rule.map(|rule| (explanation.list, rule.clone())),
            also: explanation.also.iter().map(|(list, rule)| (*list, rule.origin.clone())).collect(),
            note,
            ..View::without_rule(verdict.effect, because, at, Kind::Rules)
        }
    }

    /// Whether a rule hides it that no repository's files lift.
    pub(super) fn is_hidden_by_others(&self) -> bool {
        let rule = self.rule.as_ref().filter(|_| self.effect == Effect::Deny);
        rule.is_some_and(|(list, rule)| {
            *list == Some(FileList::DenyRead) && !rule.origin.layer.is_of_repository()
        })
    }

    fn without_rule(effect: Effect, because: &str, at: &AbsPath, kind: Kind) -> Self {
        View {
            effect,
            because: because.to_owned(),
            rule: None,
            at: at.clone(),
            is_missing: false,
            kind,
            also: Vec::new(),
            note: None,
        }
    }
}

/// Whether somebody would take the path for one of a temporary file.
fn is_temporary(at: &AbsPath) -> bool {
    let directory = std::env::temp_dir();
    [OsStr::new("/tmp"), OsStr::new("/var/tmp"), directory.as_os_str()]
        .iter()
        .any(|directory| at.as_path().starts_with(directory))
}

/// Has what the steps open, and is missing, be there. Below `/proc` and `/sys` nobody can make anything.
fn suppose_made(steps: &[Step], policy: &Policy, files: &mut FileSets) {
    for (list, rule) in steps.iter().filter_map(Step::added) {
        let path = rule.pattern.as_literal();
        let is_kernels = ["/proc", "/sys"].iter().any(|top| path.as_path().starts_with(top));
        let is_overruled = |deny: &FileRule| {
            deny.pattern.covers(path).is_some() && policy.stays_hidden(&deny.origin, &rule.origin)
        };
        if is_kernels || path.as_path().symlink_metadata().is_ok() || files.deny_read.iter().any(is_overruled)
        {
            continue;
        }
        match list {
            FileList::AllowRead => files.allow_read.push(rule),
            FileList::AllowWrite => files.allow_write.push(rule),
            FileList::DenyRead | FileList::DenyWrite => {}
        }
    }
}

/// The path that is asked about. As in a rule, a `~` in front is the home directory.
fn absolute(in_force: &InForce, path: &OsStr) -> Result<AbsPath, Failure> {
    let invalid = |error: palisade_policy::PathError| {
        Failure::of_call("PATH_INVALID", format!("the path {:?} {error}", path.to_string_lossy()))
    };
    if path.is_empty() {
        return Err(Failure::of_call("PATH_INVALID", "the path is empty; write . for the working directory"));
    }
    let (mut at, rest) = match path.as_bytes() {
        rest @ [b'/', ..] => (AbsPath::root(), rest),
        [b'~'] => (home(in_force)?, &b""[..]),
        [b'~', rest @ ..] if rest.starts_with(b"/") => (home(in_force)?, rest),
        [b'~', ..] => {
            let reason = "names another user's home directory; write its full path, or ./ in front of a name that starts so";
            return Err(Failure::of_call(
                "PATH_INVALID",
                format!("the path {:?} {reason}", path.to_string_lossy()),
            ));
        }
        rest => (AbsPath::try_from(&*in_force.working_directory).map_err(invalid)?, rest),
    };
    for name in rest.split(|&byte| byte == b'/') {
        at = match name {
            // The kernel follows a link before it steps up.
            b".." => real_path(&at)?.parent().unwrap_or_else(AbsPath::root),
            name => at.join(name).map_err(invalid)?,
        };
    }
    Ok(at)
}

fn home(in_force: &InForce) -> Result<AbsPath, Failure> {
    let unknown = || Failure::new("PATH_INVALID", "a path starts with ~, but HOME names no home directory");
    in_force.home.clone().ok_or_else(unknown)
}

/// The first link on the way to `asked` that cannot be read where it lies, so that no command follows it. One directly in
/// `/` is there for every command that may read what it leads to.
fn hidden_link(asked: &AbsPath, confinement: &Confinement) -> Result<Option<AbsPath>, Failure> {
    let is_at_top = |link: &AbsPath| link.parent().is_some_and(|parent| parent.is_root());
    let is_hidden = |link: &AbsPath| confinement.files.judge(Access::Read, link).effect == Effect::Deny;
    Ok(links_on(asked)?.into_iter().find(|link| is_hidden(link) && !is_at_top(link)))
}
