//! Goes through a line command by command and level by level, and into the code that its commands are given.
//!
//! Every limit ends in an [`Uncertain`] and in guesses, so that none hides a program from a deny rule.

use super::behind::{self, Code, Enters, Inner, Language, What};
use super::change::Ground;
use super::words::base_name;
use super::{
    Directory, Operands, Program, Programs, Reach, Reason, Role, Start, Uncertain, Words, special, track,
};
use crate::shell::{self, Assignment, Command, Line, Redirection, RedirectionOperator, Shell, Word};
use std::collections::HashSet;
use std::sync::Arc;

/// How many levels of one command are looked through.
const MOST_LEVELS: usize = 32;
/// How deep code is looked for in code.
const DEEPEST_CODE: usize = 8;
/// How many words a guess is given. What a rule says about a program stands in its first words.
pub(super) const GUESSED_WORDS: usize = 16;

pub(super) struct Walk<'a> {
    start: &'a Start<'a>,
    functions: HashSet<Box<str>>,
    found: Programs,
}

/// One level of one command, before it is listed.
struct Level {
    words: Words,
    assignments: Vec<Assignment>,
    context: Context,
}

/// What a level hands on to those behind it.
#[derive(Clone)]
struct Context {
    reach: Reach,
    outer: Option<usize>,
    /// The command of the outermost line.
    command: usize,
    /// Whether it is given more than its words say, and the text that is replaced by that.
    more: Option<Box<str>>,
    directory: Directory,
    redirections: Arc<[Redirection]>,
    ground: Arc<Ground>,
    /// Whether its words are only a rough look at text that was not read, without the quotes.
    is_rough: bool,
    levels: usize,
    codes: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(start: &'a Start<'a>) -> Self {
        Walk { start, functions: HashSet::new(), found: Programs::default() }
    }

    /// Lists all that a line runs.
    pub(super) fn finish(mut self, text: &str, line: &Line) -> Programs {
        let ground = Ground { home: self.start.home.cloned(), searches: false };
        let directory = self.start.directory.map_or(Directory::Unknown, Directory::of);
        self.line(text, line, &directory, &ground, |command| Context {
            reach: Reach::Direct,
            outer: None,
            command,
            more: None,
            directory: Directory::Unknown,
            redirections: Arc::default(),
            ground: Arc::new(ground.clone()),
            is_rough: false,
            levels: 0,
            codes: 0,
        });
        self.found
    }

    fn line(
        &mut self,
        text: &str,
        line: &Line,
        directory: &Directory,
        ground: &Ground,
        context: impl Fn(usize) -> Context,
    ) {
        let ground = Arc::new(ground.after(line));
        self.found.changes_home |= ground.home.is_none() && self.start.home.is_some();
        self.functions.extend(line.functions.iter().cloned());
        let directories = track::directories(text, line, directory, &ground);
        for (index, (command, directory)) in line.commands.iter().zip(directories).enumerate() {
            let redirections = command.redirections.as_slice().into();
            let mut context = Context { directory, redirections, ground: ground.clone(), ..context(index) };
            context.is_rough = command.span.is_empty();
            if context.is_rough {
                context.reach = Reach::Guessed;
            }
            self.command(command, context);
        }
    }

    fn command(&mut self, command: &Command, context: Context) {
        let assignments = command.assignments.clone();
        self.level(Level { words: command.words.clone().into(), assignments, context });
    }

    fn level(&mut self, level: Level) {
        let Level { words, assignments, context } = level;
        let name = self.name(&words, context.more.as_deref());
        let index = self.found.list.len();
        self.found.list.push(Program {
            name: name.clone(),
            assignments,
            reach: context.reach,
            role: Role::Last,
            outer: context.outer,
            command: context.command,
            operands: operands(context.more.is_some()),
            directory: context.directory.clone(),
            redirections: context.redirections.clone(),
            words: words.clone(),
        });
        let Some(first) = words.first() else { return };
        if first.value.as_deref().is_some_and(|value| self.functions.contains(value)) {
            self.note(index, Reason::Function);
        }
        let inner_context = Context { outer: Some(index), levels: context.levels + 1, ..context };
        match name {
            Some(name) => self.behind(index, &name, &words, &inner_context),
            None => {
                self.note(index, Reason::DynamicName);
                self.guess(&words.from(1), &inner_context);
            }
        }
    }

    /// The base name of the program that the first word names, where that is certain.
    fn name(&self, words: &[Word], mark: Option<&str>) -> Option<Box<str>> {
        let value = words.first()?.value.as_deref()?;
        let is_replaced = mark.is_some_and(|mark| !mark.is_empty() && value.contains(mark));
        (!is_replaced).then(|| base_name(value, self.start.folds_case))
    }

    fn behind(&mut self, index: usize, name: &str, words: &Words, context: &Context) {
        let found = behind::look(name, words);
        self.found.list[index].role = found.role;
        if let Some(reason) = found.uncertain {
            self.note(index, reason);
            self.here_strings(index, reason, context);
        } else if found.is_wrapper && found.inner.is_empty() && context.more.is_some() {
            // What it runs comes from where its other words come from.
            self.note(index, Reason::DynamicName);
        }
        let behind = if found.role == Role::Plain { Reach::BehindPlain } else { Reach::BehindOther };
        if context.is_rough && context.levels == 1 && found.role != Role::Last {
            // Where its options and its code end is not known.
            self.guess(&words.from(1), context);
        }
        for inner in found.inner {
            let context = Context {
                reach: context.reach.max(behind),
                more: inner.more.clone().or_else(|| context.more.clone()),
                directory: enter(&context.directory, &inner.enters),
                ..context.clone()
            };
            self.inner(index, inner, context);
        }
    }

    /// Where code comes from standard input, that may be a text in the line: `sh <<< 'rm x'`.
    fn here_strings(&mut self, index: usize, reason: Reason, context: &Context) {
        if reason != Reason::CodeFromInput {
            return;
        }
        let redirections = context.redirections.clone();
        let texts = redirections.iter().filter(|one| one.operator == RedirectionOperator::HereString);
        for text in texts {
            let inner = Inner::code(std::slice::from_ref(&text.target), Language::Posix);
            self.inner(index, inner, context.clone());
        }
    }

    fn inner(&mut self, index: usize, inner: Inner, context: Context) {
        match inner.what {
            What::Words(words) if words.is_empty() => {}
            What::Words(words) if starts_with_option(&words) => {
                self.note(index, Reason::UnknownOption);
                self.guess(&words, &Context { directory: Directory::Unknown, ..context });
            }
            What::Words(words) if context.levels < MOST_LEVELS => {
                self.level(Level { words, assignments: inner.assignments, context });
            }
            What::Words(words) => {
                self.note(index, Reason::TooDeep);
                self.guess(&words, &context);
            }
            What::Code(code) => self.code(index, &code, &context),
            What::Guess(words) => self.guess(&words, &context),
        }
    }

    fn code(&mut self, index: usize, code: &Code, context: &Context) {
        let is_replaced =
            context.more.as_deref().is_some_and(|mark| !mark.is_empty() && code.text.contains(mark));
        if !code.certain || is_replaced {
            self.note(index, Reason::DynamicCode);
        }
        if code.language == Language::Other {
            self.note(index, Reason::OtherLanguage);
        }
        if context.codes == DEEPEST_CODE {
            self.note(index, Reason::TooDeep);
            return;
        }
        let reading = shell::read(&code.text, self.shell_of(code.language));
        if reading.reason().is_some() {
            self.note(index, Reason::UnreadableCode);
        }
        let ground = context.ground.clone();
        self.line(&code.text, reading.line(), &context.directory, &ground, |_| Context {
            reach: context.reach.max(Reach::InCode),
            codes: context.codes + 1,
            levels: 0,
            ..context.clone()
        });
    }

    fn shell_of(&self, language: Language) -> Shell {
        match language {
            Language::Own => self.start.shell,
            Language::Bash | Language::Other => Shell::Bash,
            Language::Posix => Shell::Sh,
        }
    }

    /// Lists every word as a program that may run, with what follows it, and reads every word that may be code.
    fn guess(&mut self, words: &Words, context: &Context) {
        for (at, word) in words.iter().enumerate() {
            if let Some(value) =
                word.value.as_deref().filter(|value| !value.is_empty() && !value.starts_with('-'))
            {
                self.found.list.push(Program {
                    words: words.part(at..at + GUESSED_WORDS),
                    name: Some(base_name(value, self.start.folds_case)),
                    assignments: Vec::new(),
                    reach: Reach::Guessed,
                    role: Role::Last,
                    outer: context.outer,
                    command: context.command,
                    operands: operands(context.more.is_some() || words.len() > at + GUESSED_WORDS),
                    directory: context.directory.clone(),
                    redirections: context.redirections.clone(),
                });
            }
            self.guess_code(word, context);
        }
    }

    fn guess_code(&mut self, word: &Word, context: &Context) {
        let text = word.value.as_deref().unwrap_or(&word.raw);
        if context.codes == DEEPEST_CODE
            || !text.contains(|c: char| c.is_whitespace() || ";&|`<>(".contains(c))
        {
            return;
        }
        // The value of an option may be code: `-cCODE`, `--command=CODE`.
        let code = match (text.split_once('='), text.strip_prefix('-')) {
            (Some((name, value)), _) if name.starts_with("--") => special::literal(value),
            (_, Some(rest)) => special::literal(rest.get(1..).unwrap_or_default()),
            _ => word.clone(),
        };
        let Inner { what: What::Code(code), .. } = Inner::code(std::slice::from_ref(&code), Language::Posix)
        else {
            return;
        };
        let reading = shell::read(&code.text, Shell::Sh);
        let ground = context.ground.clone();
        self.line(&code.text, reading.line(), &context.directory, &ground, |_| Context {
            reach: Reach::Guessed,
            codes: context.codes + 1,
            levels: 0,
            ..context.clone()
        });
    }

    fn note(&mut self, program: usize, reason: Reason) {
        self.found.list[program].role = Role::Other;
        self.found.uncertain.push(Uncertain { program, reason });
    }
}

/// Some versions take options where others have the command start.
fn starts_with_option(words: &[Word]) -> bool {
    words.first().and_then(|word| word.value.as_deref()).is_some_and(|name| name.starts_with('-'))
}

fn operands(more: bool) -> Operands {
    if more { Operands::More } else { Operands::Complete }
}

fn enter(directory: &Directory, enters: &Enters) -> Directory {
    match enters {
        Enters::Nothing => directory.clone(),
        Enters::Directory(path) => directory.join(path),
        Enters::Unknown => Directory::Unknown,
    }
}
