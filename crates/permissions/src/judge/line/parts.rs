//! Whether every part of a line may go through: what lets each program and each write of it through, if anything does.
//!
//! A part is let through by a rule that covers all of it, because it only reads, or by the mode. What is not certain
//! about it is never taken for the better.

use super::Lines;
use crate::judge::access::{Touch, edits, touches};
use crate::judge::breadth::{EXACT_ONLY, is_broad};
use crate::judge::indirect::{only_steers, rebinds, sets_special};
use crate::judge::place::{Place, may_name_protected, place_of};
use crate::judge::{Answer, Answerer, By, Call, Found, Reason, Verdict, names_tool, remedy};
use crate::program::{self, Operands, Program, Role};
use crate::protected::is_protected;
use crate::shell::{self, Assignment, Redirection, RedirectionOperator};
use crate::variables::{is_safe, stays_in_shell};
use crate::{CommandPattern, Mode, Pattern, PermissionRule, RuleSet, read_only};
use palisade_policy::{AbsPath, Access};

impl<'a> Lines<'a, '_> {
    /// Whether every part of the line is allowed, and if not, what becomes of it.
    pub(super) fn judge_parts(&self) -> Verdict<'a> {
        let mut verdict = self.verdict(Answer::Allow, Reason::EveryPart, None);
        let writes = self.touched.by_redirections.iter();
        verdict.found.extend(
            writes.map(|(at, touch)| Found {
                text: touch.text.clone(),
                by: self.by_of_redirection(*at, touch),
            }),
        );
        let failed = verdict.found.iter().find_map(|found| match &found.by {
            By::Nothing(reason) => Some((found.text.clone(), reason.clone())),
            _ => None,
        });
        let whole = self.reading.reason().map(Reason::Unreadable).or(self.long.then_some(Reason::TooLong));
        let may_write =
            || self.changes_files() || (0..self.programs.list.len()).any(|at| !self.may_only_read(at));
        let plan = || (self.context.mode == Mode::Plan && may_write()).then_some(Reason::Plan);
        let (about, reason) = match (whole.or_else(plan), failed) {
            (Some(reason), _) => (None, reason),
            (None, Some((text, reason))) => (Some(text), reason),
            (None, None) => return verdict,
        };
        if remedy::may_help(&reason) {
            verdict.remedy = remedy::of_line(&self.line, &self.parts_to_allow(&verdict));
        }
        let new = Verdict::new(Answer::Ask(Answerer::Anyone), reason, self.context.mode);
        Verdict { answer: new.answer, reason: new.reason, about, ..verdict }
    }

    /// The programs and writes that nothing lets through.
    fn parts_to_allow(&self, verdict: &Verdict<'a>) -> Vec<remedy::Part<'_>> {
        let is_missing =
            |at: &usize| matches!(verdict.found.get(*at).map(|found| &found.by), Some(By::Nothing(_)));
        let programs = self.programs.list.len();
        let missing: Vec<usize> = (0..programs).filter(is_missing).collect();
        let mut parts = Vec::new();
        for of_one in missing.chunk_by(|a, b| self.command_of(*a) == self.command_of(*b)) {
            self.add_parts(of_one, &mut parts);
        }
        let writes = self.touched.by_redirections.iter().enumerate();
        let writes = writes.filter_map(|(at, (_, touch))| match &verdict.found.get(programs + at)?.by {
            By::Nothing(Reason::NotAllowed) if touch.access == Access::Write => {
                Some(remedy::Part::Write(&touch.place))
            }
            By::Nothing(_) => Some(remedy::Part::Write(&Place::Unknown)),
            _ => None,
        });
        parts.extend(writes);
        parts
    }

    fn command_of(&self, at: usize) -> usize {
        self.programs.list[at].command
    }

    /// The programs of one command that nothing lets through. Where one runs others, the command as a whole is
    /// what a person can judge.
    fn add_parts<'s>(&'s self, missing: &[usize], parts: &mut Vec<remedy::Part<'s>>) {
        let runs_others = |at: &usize| {
            self.programs.list[*at].role == Role::Other || !self.programs.assignments(*at).all(is_harmless)
        };
        let outermost = missing.first().and_then(|at| self.programs.of_command(self.command_of(*at)).next());
        match outermost {
            Some((outermost, _)) if missing.iter().any(runs_others) => {
                parts.push(remedy::Part::Exact(&self.spellings[outermost]));
            }
            _ => parts.extend(missing.iter().map(|at| match self.is_about_words(*at) {
                true => remedy::Part::Exact(&self.spellings[*at]),
                false => remedy::Part::Command(&self.programs.list[*at], &self.spellings[*at]),
            })),
        }
    }

    /// Whether a program asks because of the words that it is given: it names variables or programs, only reads, or
    /// touches files outside of the directories that are worked in.
    fn is_about_words(&self, at: usize) -> bool {
        let program = &self.programs.list[at];
        let name = program.name.as_deref().unwrap_or_default();
        let is_outside = |touch: &Touch| !self.is_inside(&touch.place, touch.access == Access::Write);
        gives_meaning(program)
            || read_only::reads(&program.words, name).is_some()
            || touches(program, true, self.context).iter().any(is_outside)
    }

    /// The allow rule that is the whole line, letter by letter.
    fn covering_line(&self) -> Option<&'a PermissionRule> {
        self.allowing(|pattern| matches!(pattern, CommandPattern::Exact(words) if **words == *self.line))
    }

    /// The allow rule for commands of which `covers` is true.
    fn allowing(&self, covers: impl Fn(&CommandPattern) -> bool) -> Option<&'a PermissionRule> {
        self.allow.iter().find(|(_, pattern)| covers(pattern)).map(|(rule, _)| *rule)
    }

    /// What lets one program through.
    pub(super) fn by(&self, at: usize) -> By<'a> {
        if self.reading.reason().is_some() || &*self.call.tool == "PowerShell" {
            return By::Nothing(self.reading.reason().map_or(Reason::NotAllowed, Reason::Unreadable));
        }
        if self.long {
            return By::Nothing(Reason::TooLong);
        }
        if let Some(rule) = self.covering_line().or_else(|| self.covering_command(at)) {
            return By::Rule(rule);
        }
        let program = &self.programs.list[at];
        if program.words.is_empty() {
            return match program.assignments.iter().all(|set| stays_in_shell(&set.name)) {
                true => By::Nature,
                false => By::Nothing(Reason::Indirect("a variable of the shell")),
            };
        }
        let reason = self
            .programs
            .uncertain
            .iter()
            .find(|uncertain| uncertain.program == at)
            .map(|found| found.reason);
        let runs_other_code = |reason: &program::Reason| {
            use program::Reason::{CodeFromInput, CodeInLine, ForeignCode, SourcedFile};
            !matches!(reason, SourcedFile | CodeFromInput | CodeInLine | ForeignCode)
        };
        if let Some(rule) =
            self.allowing(|pattern| self.allows(pattern, at, reason.as_ref().is_some_and(runs_other_code)))
        {
            return By::Rule(rule);
        }
        match (reason, program.role) {
            (Some(reason), _) => By::Nothing(Reason::Uncertain(reason)),
            (None, Role::Plain) if is_known(program) => By::Nature,
            _ if !self.programs.assignments(at).all(is_harmless) => {
                By::Nothing(Reason::Indirect("a variable in front of a command"))
            }
            _ => self.by_nature(at),
        }
    }

    /// The allow rule that is the whole command that a program came from, wrappers and variables included.
    fn covering_command(&self, at: usize) -> Option<&'a PermissionRule> {
        let command = self.programs.list[at].command;
        let (outermost, program) = self.programs.of_command(command).next()?;
        let spellings = &self.spellings[outermost];
        let is_whole = |words: &str| words.strip_prefix(&*spellings.assignments) == Some(&*spellings.raw);
        let are_harmless = program.assignments.iter().all(is_harmless);
        self.allowing(|pattern| match pattern {
            CommandPattern::Any => true,
            CommandPattern::Exact(words) => {
                is_whole(words) || (are_harmless && spellings.exact.iter().any(|text| **words == **text))
            }
            _ => false,
        })
    }

    /// Whether an allow pattern covers one program with all that is set for it.
    fn allows(&self, pattern: &CommandPattern, at: usize, runs_other_code: bool) -> bool {
        let (program, spellings) = (&self.programs.list[at], &self.spellings[at]);
        let is_exact = matches!(pattern, CommandPattern::Exact(_));
        let name = program.name.as_deref().unwrap_or_default();
        let deletes = program.role == Role::Other
            && name == "find"
            && program.words.iter().any(|word| word.value.as_deref() == Some("-delete"));
        if !is_exact && (runs_other_code || EXACT_ONLY.contains(&name) || deletes || gives_meaning(program)) {
            return false;
        }
        let words = || spellings.exact.iter().any(|text| pattern.covers(text));
        if self.programs.assignments(at).all(is_harmless) && words() {
            return true;
        }
        // A rule may show the variables that it allows.
        let shows_them = !spellings.assignments.is_empty()
            && pattern.fixed_start().starts_with(spellings.assignments.trim_end());
        let outer_harmless =
            self.programs.outwards(at).skip(1).flat_map(|level| &level.assignments).all(is_harmless);
        shows_them && outer_harmless && pattern.covers(&format!("{}{}", spellings.assignments, spellings.raw))
    }

    /// What lets a program through that no rule allows.
    fn by_nature(&self, at: usize) -> By<'a> {
        let program = &self.programs.list[at];
        let name = program.name.as_deref().unwrap_or_default();
        if self.only_reads(at, program, name) {
            return By::Reading;
        }
        if only_steers(program) {
            return By::Nature;
        }
        if self.context.mode == Mode::AcceptEdits && program.role == Role::Last {
            let may_edit = |touch| self.is_inside(&self.moved.settle(at, touch, self.context).place, true);
            if edits(program, self.context).is_some_and(|touches| touches.into_iter().all(may_edit)) {
                return By::Mode(self.context.mode);
            }
        }
        let is_unknown =
            self.touched.by_words.iter().any(|(of, touch)| *of == at && touch.place == Place::Unknown);
        By::Nothing(if is_unknown && self.context.mode == Mode::AcceptEdits {
            Reason::UnknownPath
        } else {
            Reason::NotAllowed
        })
    }

    /// Whether a program does nothing but read, wherever the files lie. In the mode `plan` no rule lets others
    /// through.
    fn may_only_read(&self, at: usize) -> bool {
        let program = &self.programs.list[at];
        let name = program.name.as_deref().unwrap_or_default();
        let is_uncertain = self.programs.uncertain.iter().any(|uncertain| uncertain.program == at);
        if program.words.is_empty() {
            return program.assignments.iter().all(|set| stays_in_shell(&set.name));
        }
        let is_reader = || {
            (program.role == Role::Plain && is_known(program))
                || only_steers(program)
                || self.only_reads(at, program, name)
                || (program.role == Role::Last && read_only::reads(&program.words, name).is_some())
        };
        !is_uncertain && self.programs.assignments(at).all(is_harmless) && is_reader()
    }

    fn only_reads(&self, at: usize, program: &Program, name: &str) -> bool {
        if !is_known(program) {
            return false;
        }
        if name == "xargs" && program.role == Role::Other {
            return self.hands_only_text(at, program);
        }
        if name == "command" && program.role != Role::Plain {
            return matches!(program.words.get(1).and_then(|word| word.value.as_deref()), Some("-v" | "-V"));
        }
        if program.role == Role::Other && name != "find" {
            return false;
        }
        let Some(reads) = read_only::reads(&program.words, name) else { return false };
        let in_working_directory =
            program.directory.known().is_some_and(|paths| paths == [self.context.working_directory.clone()]);
        let place = |word: &usize| match program.words[*word].value.as_deref() {
            // What `find` puts there lies below where it starts, which is looked at on its own.
            Some("{}") if program.operands == Operands::More => Place::Paths(Vec::new()),
            _ => {
                let place = place_of(&program.words[*word], None, program, self.context);
                self.moved.settle_place(at, place, self.context)
            }
        };
        let here =
            |paths: &[AbsPath]| self.moved.settle_place(at, Place::Paths(paths.to_vec()), self.context);
        let behind_find =
            program.outer.is_some_and(|outer| self.programs.list[outer].name.as_deref() == Some("find"));
        (program.operands == Operands::Complete
            || reads.only_text
            || (behind_find && !reads.is_counted && takes_only_files(program, &reads.files)))
            && (!reads.git || in_working_directory)
            && reads.files.iter().all(|word| self.is_readable(&place(word)))
            && (!reads.here || program.directory.known().is_some_and(|paths| self.is_readable(&here(paths))))
            && program.redirections.iter().all(|redirection| self.is_readable_input(redirection, at, program))
    }

    /// `xargs` with options that only say how much is handed on, around a program that looks at no file.
    fn hands_only_text(&self, at: usize, program: &Program) -> bool {
        let inner = self.programs.list.iter().find(|inner| inner.outer == Some(at));
        let Some(inner) = inner else { return false };
        let own = program.words.len().saturating_sub(inner.words.len());
        let is_known = |word: &shell::Word| {
            word.value.as_deref().is_some_and(|value| {
                let letters =
                    value.strip_prefix('-').map(|letters| letters.trim_start_matches(['0', 'r', 't', 'x']));
                letters.is_none_or(|rest| rest.is_empty() || rest.starts_with(['n', 'L', 'P', 'd', 'I', 's']))
            })
        };
        let reads = inner.name.as_deref().and_then(|name| read_only::reads(&inner.words, name));
        program.words.iter().take(own).skip(1).all(is_known) && reads.is_some_and(|reads| reads.only_text)
    }

    /// Whether an input shows nothing from outside of the directories that are worked in, nor what a variable holds.
    fn is_readable_input(&self, redirection: &Redirection, at: usize, program: &Program) -> bool {
        let target = &redirection.target;
        let place = || place_of(target, None, program, self.context);
        match redirection.operator {
            RedirectionOperator::HereDocument => target.flags.quoted || !self.line.contains('$'),
            RedirectionOperator::HereString => target.value.is_some(),
            operator if !operator.reads() => true,
            _ => {
                target.value.as_deref() == Some("/dev/null")
                    || self.is_readable(&self.moved.settle_place(at, place(), self.context))
            }
        }
    }

    fn is_readable(&self, place: &Place) -> bool {
        match place {
            Place::Paths(paths) | Place::Below { paths, .. } => paths
                .iter()
                .all(|path| self.files.is_inside(path) || self.files.allowing(Access::Read, path).is_some()),
            Place::Wildcard(_) => self.is_inside(place, false),
            Place::Unknown => false,
        }
    }

    /// Whether all that a place may name lies in the directories that are worked in, and, to be written, is
    /// not protected.
    fn is_inside(&self, place: &Place, to_write: bool) -> bool {
        let is_free = |path: &AbsPath| {
            self.files.is_inside(path) && !(to_write && is_protected(path, self.context.folds_case))
        };
        match place {
            // Anything in there may be protected.
            Place::Below { .. } if to_write => false,
            Place::Paths(paths) | Place::Below { paths, .. } => paths.iter().all(is_free),
            Place::Wildcard(paths) => {
                paths.iter().all(|path| is_free(path) && !(to_write && self.may_find_protected(path)))
            }
            Place::Unknown => false,
        }
    }

    /// Whether a wildcard may find something protected: one behind a dot, or, where programs look for their settings, one
    /// that may be the name of such a file.
    fn may_find_protected(&self, path: &AbsPath) -> bool {
        let is_wild = |name: &[u8]| name.iter().any(|c| b"*?[".contains(c));
        let here = [self.context.root, self.context.working_directory];
        let is_here = path.parent().is_some_and(|parent| here.contains(&&parent));
        path.components().any(|name| name.starts_with(b".") && is_wild(name))
            || (is_here
                && path.components().last().is_some_and(|name| is_wild(name) && may_name_protected(name)))
    }

    /// What lets a redirection through.
    fn by_of_redirection(&self, at: usize, touch: &Touch) -> By<'a> {
        let is_connection = matches!(&touch.place, Place::Paths(paths) if paths.iter().any(is_device));
        if touch.access == Access::Read && !is_connection {
            // Where no command of its own takes the input, the shell shows it, or commands do that ask for no file:
            // `$(<file)`, `{ cat; } <file`.
            let is_taken = !self.programs.list[at].words.is_empty();
            let rule = || self.covering_line().map(By::Rule);
            return match is_taken || self.is_readable(&touch.place) {
                true => By::Nature,
                false => rule().unwrap_or(By::Nothing(Reason::NotAllowed)),
            };
        }
        let Place::Paths(paths) = &touch.place else { return By::Nothing(Reason::UnknownPath) };
        // Where the home directory is may have been changed by the line itself.
        let at_home =
            ["~", "$HOME", "${HOME"].iter().any(|home| touch.text.trim_start_matches('"').starts_with(home));
        if at_home || is_connection {
            return By::Nothing(Reason::UnknownPath);
        }
        if let Some(rule) = self.covering_line() {
            return By::Rule(rule);
        }
        let mode = self.context.mode;
        if matches!(mode, Mode::AcceptEdits | Mode::Auto) && self.is_inside(&touch.place, true) {
            return By::Mode(mode);
        }
        let mut rules = paths.iter().map(|path| self.files.allowing(Access::Write, path));
        match rules.next().flatten() {
            Some(rule) if rules.all(|rule| rule.is_some()) => By::Rule(rule),
            _ => By::Nothing(Reason::NotAllowed),
        }
    }

    /// Whether some part of the line is known to change files, whatever allows it.
    fn changes_files(&self) -> bool {
        self.touched.all().any(|(_, touch)| touch.access == Access::Write)
    }
}

/// The allow rules about the shell that count in `mode`, with their patterns.
pub(super) fn allowing<'a>(
    rules: &'a RuleSet,
    call: &Call,
    mode: Mode,
) -> Vec<(&'a PermissionRule, &'a CommandPattern)> {
    let pattern = |rule: &'a PermissionRule| match &rule.rule.pattern {
        Some(Pattern::Command(pattern)) => Some((rule, pattern)),
        None => Some((rule, &CommandPattern::Any)),
        Some(_) => None,
    };
    let counts = |rule: &&PermissionRule| {
        names_tool(&rule.rule.tool, &call.tool) && !(mode == Mode::Auto && is_broad(&rule.rule))
    };
    rules.allow.iter().filter(counts).filter_map(pattern).collect()
}

/// `/dev/tcp/…` and `/dev/udp/…` are connections, which bash makes itself.
fn is_device(path: &AbsPath) -> bool {
    path.as_bytes().starts_with(b"/dev/tcp/") || path.as_bytes().starts_with(b"/dev/udp/")
}

/// Whether a program is the one that its name says, rather than some file that is called so.
fn is_known(program: &Program) -> bool {
    program.name.as_deref().is_some_and(|name| read_only::is_called(&program.words, name))
}

/// Whether a builtin gives a variable or the name of a program another meaning.
fn gives_meaning(program: &Program) -> bool {
    sets_special(program) || rebinds(program)
}

/// Whether what is handed to a program on top stands where its files do: at the end, or in a word that is one.
fn takes_only_files(program: &Program, files: &[usize]) -> bool {
    let mark = program.replaced.as_deref().unwrap_or_default();
    let is_handed =
        |word: &shell::Word| !mark.is_empty() && word.value.as_deref().is_none_or(|v| v.contains(mark));
    let is_file = |at: usize| files.contains(&at) && program.words[at].value.as_deref() == Some(mark);
    !files.is_empty() && (0..program.words.len()).all(|at| !is_handed(&program.words[at]) || is_file(at))
}

/// Whether a variable in front of a command changes nothing about which program runs.
fn is_harmless(set: &Assignment) -> bool {
    is_safe(&set.name) && set.value.value.is_some()
}
