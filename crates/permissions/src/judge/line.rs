//! One line for the shell: which rules it meets, and what of it asks whatever is allowed. Whether every part of it may go
//! through is for [`parts`].

mod parts;
mod unseen;

use super::access::{Touch, touches};
use super::files::{Files, Hit, refuses};
use super::moved::Moved;
use super::place::{Place, place_of};
use super::spelling::{Spellings, spell, squeeze};
use super::{
    Answer, Answerer, Call, Context, Found, Input, Reason, Verdict, excluded, has_field, indirect,
    names_tool, programs_of,
};
use crate::program::{self, Program, Programs};
use crate::protected::is_protected;
use crate::removal::{Places, RemovalKind, removals};
use crate::shell::{self, Reading, Redirection};
use crate::{CommandPattern, Mode, Pattern, PermissionRule, RuleSet};
use palisade_policy::{AbsPath, Access};
use std::sync::Arc;

/// A longer line never goes through without asking, unless it runs inside the sandbox: nobody reads it.
const LONGEST_ALLOWED: usize = 10_000;

pub(super) fn judge<'a>(rules: &'a RuleSet, call: &Call, context: &Context<'_>) -> Verdict<'a> {
    let Input::Command { line, hosts, unsandboxed } = &call.input else {
        return Verdict::new(Answer::Deny, Reason::NotAllowed, context.mode);
    };
    let reading = shell::read(line, context.shell);
    let programs = programs_of(line, &reading, context);
    let leaves =
        (*unsandboxed && rules.allow_unsandboxed) || excluded::excluded(rules, &reading, &programs).is_some();
    let moved = Moved::of(line, &reading, &programs, context);
    let lines = Lines {
        sandboxed: context.sandboxed && !leaves,
        keeps_files: context.sandboxed && !leaves && !context.files_disabled,
        line: squeeze(line.trim()).into_owned(),
        long: line.len() > LONGEST_ALLOWED,
        spellings: spell(&programs.list),
        hides_code: programs.is_cut || hides_code(&programs),
        unlisted: programs.is_cut.then(|| line.replace(['"', '\'', '\\'], "")),
        touched: Touched::of(rules, &programs, &moved, context),
        moved,
        files: Files { rules, context },
        names_hosts: !hosts.is_empty(),
        allow: parts::allowing(rules, call, context.mode),
        rules,
        call,
        context,
        reading: &reading,
        programs: &programs,
    };
    Verdict { sandboxed: lines.sandboxed, ..lines.judge() }
}

/// A line that was read, and everything about it that more than one question needs.
struct Lines<'a, 'c> {
    rules: &'a RuleSet,
    call: &'c Call,
    context: &'c Context<'c>,
    files: Files<'a, 'c>,
    reading: &'c Reading,
    programs: &'c Programs,
    /// One for each program.
    spellings: Vec<Spellings>,
    touched: Touched,
    /// Links that the line brings to where it uses them.
    moved: Moved,
    /// Whether the line runs code that is not in it, so that any rule about commands may be met.
    hides_code: bool,
    /// The line without its quotes, where it runs more programs than are listed.
    unlisted: Option<String>,
    /// The whole line, blanks made single.
    line: String,
    long: bool,
    sandboxed: bool,
    /// Whether the sandbox keeps the line from the files that it may not touch.
    keeps_files: bool,
    names_hosts: bool,
    /// The allow rules about the shell that count in this mode, with their patterns.
    allow: Vec<(&'a PermissionRule, &'a CommandPattern)>,
}

/// The files that a line touches, each with the index of the program.
#[derive(Default)]
struct Touched {
    by_words: Vec<(usize, Touch)>,
    by_redirections: Vec<(usize, Touch)>,
    /// Whether there are too many to look at. What a rule about paths may cover then counts as covered.
    is_cut: bool,
}

/// More files than these are not looked at.
const MOST_TOUCHED: usize = 8_000;

impl Touched {
    fn of(rules: &RuleSet, programs: &Programs, moved: &Moved, context: &Context<'_>) -> Self {
        let is_path = |rule: &PermissionRule| matches!(rule.rule.pattern, Some(Pattern::Path(_)));
        let has_paths = rules.deny.iter().chain(&rules.ask).any(is_path);
        let mut touched = Touched { is_cut: has_paths && programs.is_cut, ..Touched::default() };
        for (at, program) in programs.list.iter().enumerate() {
            if touched.by_words.len() + touched.by_redirections.len() > MOST_TOUCHED {
                touched.is_cut = true;
                break;
            }
            // Without such rules, only what is written matters here: to protected paths.
            let is_long = program.words.len() > MOST_TOUCHED;
            let start =
                is_long.then(|| Program { words: program.words.part(0..MOST_TOUCHED), ..program.clone() });
            let of_words = touches(start.as_ref().unwrap_or(program), has_paths, context).into_iter();
            let before = touched.by_words.len();
            touched.by_words.extend(of_words.map(|touch| (at, moved.settle(at, touch, context))));
            touched.is_cut |= (is_long || program.is_cut()) && touched.by_words.len() > before;
            if has_own_redirections(program, programs) {
                touched.is_cut |= program.redirections.len() > MOST_TOUCHED;
                let found = program
                    .redirections
                    .iter()
                    .take(MOST_TOUCHED)
                    .flat_map(|redirection| of_redirection(redirection, program, context));
                touched.by_redirections.extend(found.map(|touch| (at, moved.settle(at, touch, context))));
            }
        }
        touched
    }

    fn all(&self) -> impl Iterator<Item = &(usize, Touch)> {
        self.by_words.iter().chain(&self.by_redirections)
    }
}

/// Whether a program is the outermost of its command, whose redirections they are: one of the line, or of code that a
/// program of the line is given.
fn has_own_redirections(program: &Program, programs: &Programs) -> bool {
    let outer = program.outer.and_then(|outer| programs.list.get(outer));
    outer.is_none_or(|outer| !Arc::ptr_eq(&outer.redirections, &program.redirections))
}

fn of_redirection(redirection: &Redirection, program: &Program, context: &Context<'_>) -> Vec<Touch> {
    let target = &redirection.target;
    let free = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"];
    if target.value.as_deref().is_some_and(|path| free.contains(&path)) {
        return Vec::new();
    }
    let operator = redirection.operator;
    let accesses = [(Access::Write, operator.writes()), (Access::Read, operator.reads())];
    let touch = |access| Touch::new(access, place_of(target, None, program, context), &target.raw, context);
    accesses.into_iter().filter(|(_, does)| *does).map(|(access, _)| touch(access)).collect()
}

impl<'a> Lines<'a, '_> {
    fn judge(&self) -> Verdict<'a> {
        let mut may_meet = None;
        let mut unclear_files = false;
        for (list, answer) in
            [(&self.rules.deny, Answer::Deny), (&self.rules.ask, Answer::Ask(Answerer::Person))]
        {
            for rule in list {
                let is_bare = answer != Answer::Deny && self.is_bare(rule);
                match self.hit(rule) {
                    (Hit::Yes, at) if !is_bare => return self.verdict(answer, Reason::Rule(rule), at),
                    (Hit::Maybe, _)
                        if matches!(rule.rule.pattern, Some(Pattern::Path(_))) && self.keeps_files =>
                    {
                        unclear_files = true
                    }
                    (Hit::Maybe, at) => may_meet = may_meet.or(Some((rule, at))),
                    _ => {}
                }
            }
        }
        let ask = Answer::Ask(Answerer::Person);
        if let Some((rule, at)) = may_meet {
            return self.verdict(ask, Reason::MayMeet(rule), at);
        }
        let skips_approval = self.skips_approval();
        let bare = self.rules.ask.iter().find(|rule| self.is_bare(rule));
        if let Some(rule) = bare.filter(|_| !skips_approval || unclear_files) {
            return self.verdict(ask, Reason::Rule(rule), None);
        }
        if let Some(verdict) = self.judge_safety() {
            return verdict;
        }
        if skips_approval {
            return self.verdict(Answer::Allow, Reason::Sandbox, None);
        }
        if self.context.mode == Mode::BypassPermissions {
            return self.verdict(Answer::Allow, Reason::Mode(self.context.mode), None);
        }
        self.judge_parts()
    }

    fn verdict(&self, answer: Answer, reason: Reason<'a>, at: Option<usize>) -> Verdict<'a> {
        let found = (0..self.programs.list.len())
            .map(|at| Found { text: self.spellings[at].shown(), by: self.by(at) });
        let verdict = Verdict { found: found.collect(), ..Verdict::new(answer, reason, self.context.mode) };
        match at {
            Some(at) => verdict.about(self.spellings[at].shown()),
            None => verdict,
        }
    }

    /// Whether a rule covers every call of the shell.
    fn is_bare(&self, rule: &PermissionRule) -> bool {
        rule.rule.pattern.is_none() && names_tool(&rule.rule.tool, &self.call.tool)
    }

    /// Whether a deny or an ask rule covers the line, and which of its programs.
    fn hit(&self, rule: &PermissionRule) -> (Hit, Option<usize>) {
        let is_shells = names_tool(&rule.rule.tool, &self.call.tool);
        match &rule.rule.pattern {
            Some(Pattern::Path(paths)) => self.hit_by_path(&rule.rule.tool, paths),
            _ if !is_shells => (Hit::No, None),
            None => (Hit::Yes, None),
            Some(Pattern::Command(pattern)) => self.hit_by_command(pattern),
            Some(Pattern::Parameter { name, value }) if has_field(self.call, name, value) => (Hit::Yes, None),
            Some(_) => (Hit::No, None),
        }
    }

    fn hit_by_path(&self, tool: &str, paths: &crate::PathRule) -> (Hit, Option<usize>) {
        let touched = self.touched.all().filter(|(_, touch)| refuses(tool, touch.access));
        let hits = touched.map(|(at, touch)| (self.files.hit(paths, touch), Some(*at)));
        let worst = hits.max_by_key(|(hit, _)| *hit).unwrap_or((Hit::No, None));
        match worst {
            _ if self.touched.is_cut => (Hit::Yes, worst.1),
            (Hit::No, _) if self.reading.reason().is_some() => (Hit::Maybe, None),
            worst => worst,
        }
    }

    fn hit_by_command(&self, pattern: &CommandPattern) -> (Hit, Option<usize>) {
        if pattern.covers(&self.line)
            || self.unlisted.as_deref().is_some_and(|text| may_stand_in(pattern, text))
        {
            return (Hit::Yes, None);
        }
        let mut maybe = None;
        for (at, spellings) in self.spellings.iter().enumerate() {
            if spellings.broad.iter().any(|text| pattern.covers(text)) {
                return (Hit::Yes, Some(at));
            }
            if spellings.is_cut && spellings.broad.iter().any(|text| pattern.may_cover(text)) {
                return (Hit::Yes, Some(at));
            }
            if maybe.is_none()
                && spellings.broad.iter().any(|text| text.contains('\0') && pattern.may_cover(text))
            {
                maybe = Some(at);
            }
        }
        match maybe {
            None if self.reading.reason().is_some() || self.hides_code => (Hit::Maybe, None),
            None => (Hit::No, None),
            at => (Hit::Maybe, at),
        }
    }

    /// Whether the line runs inside the sandbox without an approval of its own.
    fn skips_approval(&self) -> bool {
        self.sandboxed
            && self.context.auto_allow
            && self.context.mode != Mode::Plan
            && !self.context.guardrails_want_approval
            && !self.names_hosts
            && self.reading.reason().is_none()
            && indirect::indirect(self.programs).is_none()
    }

    fn judge_safety(&self) -> Option<Verdict<'a>> {
        let person = Answer::Ask(Answerer::Person);
        let mode = self.context.mode;
        let mut outside = None;
        for removal in self.removals() {
            match removal.kind {
                RemovalKind::Critical(why) => {
                    return Some(self.verdict(person, Reason::Critical(why), Some(removal.program)));
                }
                RemovalKind::Outside(path) => outside = outside.or(Some((path, removal.program))),
            }
        }
        if let Some((path, at)) = outside.filter(|_| !self.keeps_files && mode != Mode::BypassPermissions) {
            return Some(self.verdict(person, Reason::Outside(path), Some(at)));
        }
        if self.programs.is_cut {
            return Some(self.verdict(person, Reason::TooLong, None));
        }
        if self.context.guardrails_want_approval {
            return Some(self.verdict(person, Reason::Guardrails, None));
        }
        if mode == Mode::BypassPermissions {
            return self.may_remove_unseen().map(|(reason, at)| self.verdict(person, reason, at));
        }
        if let Some((at, path)) = self.protected().filter(|_| !self.keeps_files) {
            return Some(self.verdict(Answer::Ask(Answerer::Anyone), Reason::Protected(path), Some(at)));
        }
        self.names_hosts.then(|| self.verdict(Answer::Ask(Answerer::Anyone), Reason::NamesHosts, None))
    }

    fn removals(&self) -> Vec<crate::removal::Removal> {
        let added = self.rules.directories.iter().map(|added| &added.path);
        let directories: Vec<AbsPath> = self.context.directories.iter().chain(added).cloned().collect();
        let brought = |program: usize, path: &AbsPath| self.moved.brought(program, path, self.context);
        let places = Places {
            root: self.context.root,
            home: self.context.home,
            directories: &directories,
            folds_case: self.context.folds_case,
            follow: self.context.follow,
            brought: &brought,
        };
        removals(self.programs, &places)
    }

    /// A write to a protected path, and the program that does it.
    fn protected(&self) -> Option<(usize, AbsPath)> {
        self.touched.all().filter(|(_, touch)| touch.access == Access::Write).find_map(|(at, touch)| {
            let found = match &touch.place {
                Place::Wildcard(found) => found,
                _ => &touch.reached,
            };
            let path = found.iter().find(|path| is_protected(path, self.context.folds_case))?;
            Some((*at, path.clone()))
        })
    }
}

/// Whether a command that a pattern covers may stand in a text: the name that it starts with does.
fn may_stand_in(pattern: &CommandPattern, text: &str) -> bool {
    let name = pattern.fixed_start().split(' ').next().unwrap_or_default();
    text.contains(name)
}

fn hides_code(programs: &Programs) -> bool {
    use program::Reason::{CodeFromInput, DynamicCode, ForeignCode, OtherLanguage, TooDeep, UnreadableCode};
    let hides = |reason| {
        matches!(reason, CodeFromInput | DynamicCode | ForeignCode | OtherLanguage | TooDeep | UnreadableCode)
    };
    programs.uncertain.iter().any(|uncertain| hides(uncertain.reason))
        || programs.list.iter().any(indirect::rebinds)
}
