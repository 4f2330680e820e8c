//! Goes through a line command by command and level by level, and into the code that its commands are given.
//!
//! Every limit ends in an [`Uncertain`] and in guesses, so that none hides a program from a deny rule.

use super::behind::{self, Code, Enters, Inner, Language, What};
use super::change::Ground;
use super::words::base_name;
use super::{
    Directory, Globs, Operands, Program, Programs, Reach, Reason, Role, Start, Uncertain, Words, launchers,
    special, track,
};
use crate::shell::RedirectionOperator::{self, Duplicate};
use crate::shell::{self, Assignment, Command, Line, Place, Redirection, Shell, Word, WordFlags};
use std::collections::HashSet;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// How many levels of one command are looked through.
const MOST_LEVELS: usize = 32;
/// How deep code is looked for in code.
const DEEPEST_CODE: usize = 8;
/// How many words a guess is given. What a rule says about a program stands in its first words.
pub(super) const GUESSED_WORDS: usize = 16;
/// How many programs of one line are listed.
const MOST_PROGRAMS: usize = 4_096;
/// Stands for a program that does not stand in the line.
pub(super) const FROM_ELSEWHERE: &str = "…";

pub(super) struct Walk<'a> {
    start: &'a Start<'a>,
    functions: HashSet<Box<str>>,
    found: Programs,
    /// What reads code that another command of the same line may print.
    unfed: Vec<Context>,
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
        Walk { start, functions: HashSet::new(), found: Programs::default(), unfed: Vec::new() }
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
        self.found.globs = self.found.globs.or(Globs::of_line(text, line));
        self.functions.extend(line.functions.iter().cloned());
        let directories = track::directories(text, line, directory, &ground);
        let mut fed = 0;
        for (index, (command, directory)) in line.commands.iter().zip(directories).enumerate() {
            if self.is_full() {
                return;
            }
            let redirections = command.redirections.as_slice().into();
            let mut context = Context { directory, redirections, ground: ground.clone(), ..context(index) };
            context.is_rough = command.span.is_empty();
            if context.is_rough {
                context.reach = Reach::Guessed;
            }
            self.command(command, context);
            for context in std::mem::take(&mut self.unfed) {
                self.feed(line, fed..index, &context);
                fed = index;
            }
        }
    }

    /// Reads what the commands of a pipeline may print as code: `cat <<E | sh`, `echo 'rm x' | sh`.
    fn feed(&mut self, line: &Line, commands: Range<usize>, context: &Context) {
        let in_pipe = |command: &&Command| is_in_pipe(line, command.scope);
        for command in line.commands[commands].iter().filter(in_pipe) {
            for text in command.redirections.iter().filter_map(text_of) {
                self.guess_text(&text.text, context);
            }
            let name = command.words.first().and_then(|word| word.value.as_deref()).unwrap_or_default();
            if matches!(&*base_name(name, self.start.folds_case), "echo" | "printf") {
                self.guess_text(&behind::text_of_code(&command.words[1..]).replace("\\n", "\n"), context);
            }
        }
    }

    fn command(&mut self, command: &Command, context: Context) {
        if context.is_rough && starts_with_option(&command.words) {
            // What stands in front of an option was taken for a keyword, and has options.
            return self.guess(&command.words.as_slice().into(), &context);
        }
        let assignments = command.assignments.clone();
        self.level(Level { words: command.words.as_slice().into(), assignments, context });
    }

    fn level(&mut self, level: Level) {
        let Level { words, assignments, context } = level;
        if self.is_full() {
            return;
        }
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
            replaced: context.more.clone(),
            directory: context.directory.clone(),
            redirections: context.redirections.clone(),
            words: words.clone(),
        });
        self.found.globs = self.found.globs.or(Globs::of_program(&self.found.list[index]));
        self.variables(index, &context);
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

    /// Variables that programs take for a command, and shells for code: `GIT_EDITOR='rm x' git commit`.
    fn variables(&mut self, index: usize, context: &Context) {
        let set = self.found.list[index].assignments.clone();
        let inner_context = || Context { outer: Some(index), levels: context.levels + 1, ..context.clone() };
        for one in &set {
            if launchers::is_setting(&one.name, &one.value) {
                self.note(index, Reason::ForeignCode);
            }
            match launchers::hidden_in_variable(&one.name, &one.value) {
                Some(Reason::CodeFromInput) => self.input(index, "bash", &inner_context()),
                Some(reason) => self.note(index, reason),
                None => {}
            }
            for inner in launchers::codes_in_variable(&one.name, &one.value) {
                self.inner(index, inner, inner_context());
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
        match found.uncertain {
            Some(Reason::CodeFromInput) => self.input(index, name, context),
            Some(reason) => self.note(index, reason),
            None => {}
        }
        if found.is_wrapper && found.inner.is_empty() && context.more.is_some() {
            // What it runs comes from where its other words come from.
            self.note(index, Reason::DynamicName);
            self.list_from_elsewhere(context);
        }
        let behind = if found.role == Role::Plain { Reach::BehindPlain } else { Reach::BehindOther };
        if context.is_rough && context.levels == 1 && found.role != Role::Last {
            // Where its options and its code end is not known.
            self.guess(&words.from(1), context);
        }
        let texts = context.redirections.iter().filter_map(text_of);
        let in_input: Vec<Inner> =
            texts.flat_map(|text| launchers::in_input(name, words, &text.text)).collect();
        for inner in found.inner.into_iter().chain(in_input) {
            let context = Context {
                reach: context.reach.max(behind),
                more: inner.more.clone().or_else(|| context.more.clone()),
                directory: enter(&context.directory, &inner.enters),
                ..context.clone()
            };
            self.inner(index, inner, context);
        }
    }

    /// Where code comes from standard input, that may be a text in the line: `sh <<< 'rm x'`, `sh <<E`.
    fn input(&mut self, index: usize, name: &str, context: &Context) {
        let redirections = context.redirections.clone();
        let texts: Vec<Code> = redirections.iter().filter_map(text_of).collect();
        let is_output = |one: &&Redirection| matches!(one.descriptor, Some(1 | 2));
        let is_other =
            |one: &&Redirection| one.operator.reads() || (one.operator == Duplicate && !is_output(one));
        let is_shown = !texts.is_empty() && !redirections.iter().any(|one| is_other(&one));
        self.note(index, if is_shown { Reason::CodeInLine } else { Reason::CodeFromInput });
        if texts.is_empty() {
            self.unfed.push(context.clone());
        }
        for text in texts {
            let code = Code { language: special::language_of(name), ..text };
            self.inner(index, Inner::new(What::Code(code)), context.clone());
        }
    }

    /// Lists a program of which not even the name stands in the line.
    fn list_from_elsewhere(&mut self, context: &Context) {
        let word = Word {
            value: None,
            flags: WordFlags { dynamic: true, ..WordFlags::default() },
            ..Word::literal(FROM_ELSEWHERE)
        };
        self.list_guess(vec![word].into(), None, true, context);
    }

    fn inner(&mut self, index: usize, inner: Inner, context: Context) {
        if self.is_full() {
            return;
        }
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
            if self.is_full() {
                return;
            }
            let value = word.value.as_deref();
            if value.is_none_or(|value| !value.is_empty() && !value.starts_with('-')) {
                let name = value.map(|value| base_name(value, self.start.folds_case));
                let more = context.more.is_some() || words.len() > at + GUESSED_WORDS;
                let is_shell = name.as_deref().is_some_and(special::is_shell) && at + 1 == words.len();
                self.list_guess(words.part(at..at + GUESSED_WORDS), name, more, context);
                if is_shell {
                    self.feed_guess(context);
                }
            }
            self.guess_code(word, context);
        }
    }

    fn list_guess(&mut self, words: Words, name: Option<Box<str>>, more: bool, context: &Context) {
        self.found.list.push(Program {
            words,
            name,
            assignments: Vec::new(),
            reach: Reach::Guessed,
            role: Role::Last,
            outer: context.outer,
            command: context.command,
            operands: operands(more),
            replaced: context.more.clone(),
            directory: context.directory.clone(),
            redirections: context.redirections.clone(),
        });
    }

    /// Reads what stands in the line for the standard input of a program that may be a shell.
    fn feed_guess(&mut self, context: &Context) {
        let redirections = context.redirections.clone();
        let texts: Vec<Code> = redirections.iter().filter_map(text_of).collect();
        for text in &texts {
            self.guess_text(&text.text, context);
        }
        if texts.is_empty() {
            self.unfed.push(context.clone());
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
            (Some((name, value)), _) if name.starts_with("--") => Word::literal(value),
            (_, Some(rest)) => Word::literal(rest.get(1..).unwrap_or_default()),
            _ => word.clone(),
        };
        self.guess_text(&behind::text_of_code(slice::from_ref(&code)), context);
    }

    /// Lists what a text runs if it is code.
    fn guess_text(&mut self, text: &str, context: &Context) {
        if context.codes == DEEPEST_CODE {
            return;
        }
        let reading = shell::read(text, Shell::Sh);
        let ground = context.ground.clone();
        self.line(text, reading.line(), &context.directory, &ground, |_| Context {
            reach: Reach::Guessed,
            codes: context.codes + 1,
            levels: 0,
            ..context.clone()
        });
    }

    /// Whether no more programs are listed, although there are some.
    fn is_full(&mut self) -> bool {
        self.found.is_cut |= self.found.list.len() >= MOST_PROGRAMS;
        self.found.is_cut
    }

    fn note(&mut self, program: usize, reason: Reason) {
        self.found.list[program].role = Role::Other;
        self.found.uncertain.push(Uncertain { program, reason });
    }
}

/// The text that a redirection hands on, where that stands in the line.
fn text_of(redirection: &Redirection) -> Option<Code> {
    let (word, open) = match redirection.operator {
        RedirectionOperator::HereString => {
            let word = &redirection.target;
            (word, behind::text_of_code(slice::from_ref(word)))
        }
        RedirectionOperator::HereDocument => {
            let word = redirection.body.as_ref()?;
            (word, word.raw.to_string())
        }
        _ => return None,
    };
    let text = word.value.as_deref().map_or(open, Into::into);
    Some(Code { text, certain: word.value.is_some(), language: Language::Posix })
}

fn is_in_pipe(line: &Line, scope: usize) -> bool {
    let outwards = std::iter::successors(line.scopes.get(scope), |scope| line.scopes.get(scope.parent?));
    outwards.take(shell::DEEPEST).any(|scope| scope.place == Place::Pipe)
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
