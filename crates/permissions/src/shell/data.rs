//! Code out of data: text that is no command to the eye, but that the shell's own commands evaluate.
//!
//! bash evaluates the subscript of a variable's name wherever it takes one as an argument, and the contents of a
//! variable wherever it does arithmetic; a substitution in there runs. A line in which that may happen is not read.
//! What is known about a line's variables is kept in [`Facts`] while it is read.
//!
//! Not decided here: commands that run code by trade (`eval`, `source`, `trap`, `alias`, a shell given a script).
//! They are simple commands like others in the line, and the judge knows their names.

use super::reader::{Result, is_name, name_length};
use super::{Command, Reason, Shell, Word};
use crate::program::builtin::{self, Text};
use crate::program::words::keeps_first;
use std::collections::{HashMap, HashSet};

/// What a line does to its variables, as far as it matters.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Names that hold a number here for certain. What is set in a branch or subshell is forgotten at its end.
    numbers: Vec<Box<str>>,
    /// Names that are given something other than a number anywhere in the line.
    data: HashSet<Box<str>>,
    /// Names that arithmetic evaluates.
    evaluated: HashSet<Box<str>>,
    /// From which names a name has its number.
    copies: HashMap<Box<str>, Vec<Box<str>>>,
    /// Names that are made arrays anywhere in the line.
    arrays: HashSet<Box<str>>,
    /// Names that are declared with a value which bash evaluates once more if they are arrays.
    compound: HashSet<Box<str>>,
    /// Any name may be given data.
    all_data: bool,
    /// A command was seen that changes how the lines after it are read.
    pub(super) changes_reading: bool,
    /// And the line after it has begun.
    pub(super) reads_differently: bool,
}

/// How many names are kept as numbers; more than that in one line are not believed.
const MOST_NUMBERS: usize = 64;

/// Names whose value the shell itself keeps a number.
const COUNTERS: [&str; 6] = ["RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID"];

/// Names that evaluate what they are given: at once, or before each command that is traced.
const EVALUATING: [&str; 9] =
    ["RANDOM", "SRANDOM", "SECONDS", "OPTIND", "HISTCMD", "LINENO", "BASHPID", "BASH_SUBSHELL", "PS4"];

/// Commands that take names of variables as arguments.
const NAMING: [&str; 14] = [
    "compgen",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "printf",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "unset",
    "wait",
    "let",
];

impl Facts {
    pub(super) fn numbers(&self) -> usize {
        self.numbers.len()
    }

    /// Forgets the numbers that were learned since there were `numbers` of them.
    pub(super) fn forget(&mut self, numbers: usize) {
        self.numbers.truncate(numbers);
    }

    /// Notes that a variable is set in the shell that goes on reading.
    pub(super) fn assign(&mut self, name: &str, numeric: bool) -> Result<()> {
        if !numeric {
            return self.give(name);
        }
        if self.numbers.len() < MOST_NUMBERS && !self.is_number(name) {
            self.numbers.push(name.into());
        }
        Ok(())
    }

    /// Notes that a variable is given what may be more than a number.
    fn give(&mut self, name: &str) -> Result<()> {
        if EVALUATING.contains(&name) {
            return Err(Reason::DataAsCode);
        }
        self.data.insert(name.into());
        Ok(())
    }

    /// Notes that arithmetic evaluates a variable, which must hold a number for certain.
    pub(super) fn evaluate(&mut self, name: &str) -> Result<()> {
        if !self.is_number(name) && !COUNTERS.contains(&name) {
            return Err(Reason::ArithmeticOnData);
        }
        self.evaluated.insert(name.into());
        Ok(())
    }

    fn is_number(&self, name: &str) -> bool {
        !is_set_by_shell(name) && self.numbers.iter().any(|known| **known == *name)
    }

    /// At the end of the line: what was evaluated was given no data, before or after, and so were arrays.
    pub(super) fn finish(&self) -> Result<()> {
        if !self.arrays.is_disjoint(&self.compound) {
            return Err(Reason::DataAsCode);
        }
        let is_given = self.all_data || self.sources().any(|name| self.data.contains(name));
        if is_given && !self.evaluated.is_empty() { Err(Reason::ArithmeticOnData) } else { Ok(()) }
    }

    /// What was evaluated, and what that was copied from.
    fn sources(&self) -> impl Iterator<Item = &str> {
        let mut found: HashSet<&str> = self.evaluated.iter().map(|name| &**name).collect();
        let mut next: Vec<&str> = found.iter().copied().collect();
        while let Some(name) = next.pop() {
            let sources = self.copies.get(name).into_iter().flatten().map(|source| &**source);
            next.extend(sources.filter(|source| found.insert(source)));
        }
        found.into_iter()
    }

    /// Notes what a simple command does.
    pub(super) fn note(&mut self, command: &Command, shell: Shell) -> Result<()> {
        for assignment in &command.assignments {
            let numeric = self.is_numeric(&assignment.value) && !assignment.appends;
            if let Some(source) = self.known_number(&assignment.value) {
                self.copies.entry(assignment.name.clone()).or_default().push(source);
            }
            if assignment.value.raw.starts_with('(') {
                self.arrays.insert(assignment.name.clone());
            }
            if command.words.is_empty() {
                self.assign(&assignment.name, numeric)?;
            } else if !numeric {
                self.give(&assignment.name)?;
            }
        }
        let words = without_wrappers(&command.words);
        let Some(name) = words.first() else { return Ok(()) };
        // Only then does bash take the arguments of `declare` for assignments.
        let is_plain = words.len() == command.words.len() && name.value.as_deref() == Some(&*name.raw);
        match name.value.as_deref() {
            None => self.all_data = true,
            Some(name) => self.note_command(name, words, is_plain, shell)?,
        }
        Ok(())
    }

    fn is_numeric(&self, word: &Word) -> bool {
        let raw = word.raw.trim_matches('"');
        is_arithmetic(raw)
            || self.known_number(word).is_some()
            || matches!(raw, "$#" | "$?" | "$$" | "$!")
            || word.value.as_deref().is_some_and(is_number)
    }

    /// `words` begin with the name.
    fn note_command(&mut self, name: &str, words: &[Word], is_plain: bool, shell: Shell) -> Result<()> {
        let arguments = &words[1..];
        match name {
            "eval" | "." | "source" | "trap" | "select" | "coproc" => self.all_data = true,
            "alias" | "unalias" | "enable" | "setopt" | "unsetopt" | "emulate" => {
                self.changes_reading = true;
                self.all_data = true;
                return if shell == Shell::Sh && name == "alias" { Err(Reason::OtherShell) } else { Ok(()) };
            }
            "shopt" => self.changes_reading |= !arguments.iter().all(is_tame_shell_option),
            "set" => return check_set(arguments),
            "[" | "test" => return self.check_test(arguments),
            "let" => return Err(Reason::ArithmeticOnData),
            "exec" if arguments.iter().any(holds_subscript) => return Err(Reason::DataAsCode),
            _ if NAMING.contains(&name) => return self.note_names(name, words, is_plain),
            _ => {}
        }
        Ok(())
    }

    /// A command that takes variables by name: none may be more than a name, all may be given data. `words` begin with the
    /// command's name.
    fn note_names(&mut self, command: &str, words: &[Word], is_plain: bool) -> Result<()> {
        let arguments = &words[1..];
        match command {
            "printf" => return self.note_printf(arguments),
            "wait" if !self.may_name(arguments) => return Ok(()),
            "declare" | "typeset" | "local" | "export" | "readonly" => {
                if !is_plain && arguments.iter().any(|word| word.flags.glob || is_many(word)) {
                    return Err(Reason::DataAsCode);
                }
                self.note_declaration(arguments)?;
            }
            _ => {}
        }
        let letters = builtin::letters_of(command).unwrap_or_default();
        let options = builtin::options(words, letters).map_err(|_| Reason::DataAsCode)?;
        for (letter, text) in &options.given {
            let names = matches!((command, letter), ("read", 'a') | ("wait", 'p') | ("compgen", 'V'));
            match text {
                Text::Word(word) if names => self.note_array(word)?,
                Text::Attached(text) if names => self.note_array(&Word::literal(text))?,
                // It may be several words, and the last of them names.
                Text::Word(word) if is_many(word) && !self.counts_as_number(word) => {
                    return Err(Reason::DataAsCode);
                }
                _ => {}
            }
        }
        match command {
            "compgen" | "wait" => Ok(()),
            "mapfile" | "readarray" => words[options.end..].iter().try_for_each(|word| self.note_array(word)),
            _ => words[options.end..].iter().try_for_each(|word| self.note_name(word)),
        }
    }

    /// Whether `wait` may be told the name of a variable: by an option, or by a word that turns out to be one.
    fn may_name(&mut self, arguments: &[Word]) -> bool {
        arguments.iter().any(|word| match word.value.as_deref() {
            Some(value) => value.starts_with('-') && value.contains('p'),
            None => is_many(word) && !self.counts_as_number(word) || self.may_be_option(word),
        })
    }

    /// Whether an unknown word may become an option.
    fn may_be_option(&mut self, word: &Word) -> bool {
        word.value.is_none() && !begins_otherwise(word) && !self.counts_as_number(word)
    }

    /// Whether a word becomes a number. What it copies that from is evaluated as if arithmetic did it.
    fn counts_as_number(&mut self, word: &Word) -> bool {
        self.evaluated.extend(self.known_number(word));
        self.is_numeric(word)
    }

    /// The variable that holds a number, and that is all of a word.
    fn known_number(&self, word: &Word) -> Option<Box<str>> {
        let name = word.raw.trim_matches('"').strip_prefix('$')?;
        self.is_number(name).then(|| name.into())
    }

    /// What is declared with a value: an array evaluates that, if it begins with a parenthesis.
    fn note_declaration(&mut self, arguments: &[Word]) -> Result<()> {
        if arguments.iter().any(changes_type) {
            return Err(Reason::DataAsCode);
        }
        let makes_array = arguments.iter().any(|word| is_switch(word, &['a', 'A']));
        for argument in arguments {
            let Some(name) = named(argument) else { continue };
            if makes_array {
                self.arrays.insert(name.into());
            }
            if may_be_compound(argument) {
                if is_set_by_shell(name) {
                    return Err(Reason::DataAsCode);
                }
                self.compound.insert(name.into());
            }
        }
        Ok(())
    }

    fn note_array(&mut self, argument: &Word) -> Result<()> {
        if let Some(name) = named(argument) {
            self.arrays.insert(name.into());
        }
        self.note_name(argument)
    }

    fn note_name(&mut self, argument: &Word) -> Result<()> {
        match named(argument) {
            Some(name) => self.give(name),
            None if argument.value.is_none() => Err(Reason::DataAsCode),
            None => self.check_subscript(argument),
        }
    }

    /// The subscript of a name is arithmetic, quoted or not.
    fn check_subscript(&mut self, argument: &Word) -> Result<()> {
        let text = argument.value.as_deref().unwrap_or(&argument.raw);
        let Some((name, subscript)) = text.split_once('[').filter(|(name, _)| is_name(name)) else {
            return if holds_subscript(argument) { Err(Reason::DataAsCode) } else { Ok(()) };
        };
        let subscript = subscript.split(']').next().unwrap_or_default();
        let variable = subscript.strip_prefix('$').unwrap_or(subscript);
        self.arrays.insert(name.into());
        if matches!(subscript, "@" | "*") || is_number(subscript) {
            return self.give(name);
        }
        if !is_name(variable) {
            return Err(Reason::DataAsCode);
        }
        self.evaluate(variable).map_err(|_| Reason::DataAsCode)?;
        self.give(name)
    }

    /// `printf -v NAME` and `printf %n NAME`, also where the format is data and may begin with `-v`.
    fn note_printf(&mut self, arguments: &[Word]) -> Result<()> {
        let Some(first) = arguments.first() else { return Ok(()) };
        let is_dash = first.value.as_deref() == Some("--");
        let format = if is_dash { arguments.get(1) } else { Some(first) };
        // What is stored there is a number; its name is evaluated all the same.
        let may_store = format.is_some_and(|word| word.value.as_deref().is_none_or(stores_count));
        if may_store && arguments.iter().skip(1).any(holds_subscript) {
            return Err(Reason::DataAsCode);
        }
        match first.value.as_deref() {
            Some("-v") => arguments.get(1).map_or(Ok(()), |name| self.note_name(name)),
            Some(value) if value.starts_with("-v") => Err(Reason::DataAsCode),
            Some("--") => Ok(()),
            Some(_) => Ok(()),
            None if begins_otherwise(first) => Ok(()),
            None => Err(Reason::DataAsCode),
        }
    }

    /// `-v NAME` evaluates a subscript; so may operands that are data and turn out to be `-v` and a name.
    fn check_test(&mut self, arguments: &[Word]) -> Result<()> {
        let mut names_variable = false;
        let mut was_data = false;
        for argument in arguments {
            let is_data = argument.flags.dynamic && !self.counts_as_number(argument);
            if may_match_option(argument) || names_variable && argument.value.is_none() {
                return Err(Reason::DataAsCode);
            }
            if names_variable {
                self.check_subscript(argument)?;
            }
            if is_data && (was_data || is_many(argument)) {
                return Err(Reason::DataAsCode);
            }
            names_variable = match argument.value.as_deref() {
                Some(value) => matches!(value, "-v" | "-R"),
                None => self.may_be_option(argument),
            };
            was_data = is_data;
        }
        Ok(())
    }
}

/// Whether a format of `printf` has a `%n`, which stores a number in the variable that an argument names.
pub(crate) fn stores_count(format: &str) -> bool {
    let is_modifier = |c: char| c.is_ascii_digit() || "#'-+ .*hjlLtz".contains(c);
    let mut rest = format;
    while let Some((_, directive)) = rest.split_once('%') {
        let conversion = directive.trim_start_matches(is_modifier);
        if conversion.starts_with('n') {
            return true;
        }
        rest = directive.strip_prefix('%').unwrap_or(directive);
    }
    false
}

/// Whether arithmetic makes nothing but a number of it.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.len() < 19 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is one `$((…))` and nothing else, so that it becomes a number.
pub(super) fn is_arithmetic(raw: &str) -> bool {
    let inner = raw.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))"));
    let mut open = 0;
    inner.is_some_and(|inner| {
        inner.bytes().all(|byte| {
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            open >= 0 && !matches!(byte, b'"' | b'\\' | b'\'' | b'`' | b'[')
        })
    }) && open == 0
}

/// The words behind `builtin` and `command`, which run the shell's own commands.
fn without_wrappers(words: &[Word]) -> &[Word] {
    let mut words = words;
    while let Some(("builtin" | "command", rest)) =
        words.split_first().and_then(|(first, rest)| Some((first.value.as_deref()?, rest)))
    {
        let options =
            rest.iter().take_while(|word| word.value.as_deref().is_some_and(|v| v.starts_with('-')));
        words = &rest[options.count()..];
    }
    words
}

/// The variable that an argument names: `name`, `name=…`, `"name=…"`.
fn named(argument: &Word) -> Option<&str> {
    if let Some(value) = argument.value.as_deref() {
        let name = &value[..name_length(value)];
        let rest = value[name.len()..].trim_start_matches('+');
        return (!name.is_empty() && (rest.is_empty() || rest.starts_with('='))).then_some(name);
    }
    let (name, _) = argument.raw.trim_start_matches('"').split_once('=')?;
    let name = name.trim_end_matches('+');
    is_name(name).then_some(name)
}

/// Whether an argument has a subscript with a substitution in it, or may have one.
fn holds_subscript(argument: &Word) -> bool {
    let text = argument.value.as_deref().unwrap_or(&argument.raw);
    text.find('[')
        .is_some_and(|at| text[at..].contains("$(") || text[at..].contains('`') || text[at..].contains("${"))
}

/// Whether an unknown word may become several: outside quotes, and `"$@"` or `"${name[@]}"` there too. (`${#name[@]}` is how
/// many.)
fn is_many(word: &Word) -> bool {
    let holds_all = |raw: &str| {
        raw.contains("$@")
            || raw.contains("${@")
            || raw
                .match_indices("[@]")
                .any(|(at, _)| !raw[..at].rsplit("${").next().is_some_and(|name| name.starts_with('#')))
    };
    word.flags.splits || word.flags.dynamic && holds_all(&word.raw)
}

/// Whether a word certainly begins with something other than a `-`: what stands there is no expansion.
fn begins_otherwise(word: &Word) -> bool {
    let is_text = |text: &str| {
        let mut rest = text.chars();
        match rest.next() {
            Some('\\') => !matches!(rest.next(), Some('\n') | None),
            first => first.is_some_and(|first| !matches!(first, '-' | '$' | '`' | '"')),
        }
    };
    keeps_first(word) || word.raw.strip_prefix('"').is_some_and(is_text)
}

/// Whether a file that is called `-v` or `-R` may come of a pattern.
fn may_match_option(argument: &Word) -> bool {
    let raw = &argument.raw;
    let starts = raw.starts_with(['*', '?', '[', '-', '{', '"', '\'', '\\', '$']);
    argument.flags.glob && starts && raw.ends_with(['*', '?', ']', 'v', 'R', '}', '"', '\''])
}

/// Options of `declare` and its like that make a variable evaluate what it is given.
fn changes_type(argument: &Word) -> bool {
    is_switch(argument, &['i', 'n'])
}

/// Whether an argument bundles one of `letters` as options.
fn is_switch(argument: &Word, letters: &[char]) -> bool {
    argument.value.as_deref().is_some_and(|value| value.starts_with(['-', '+']) && value.contains(letters))
}

/// Whether an argument `name=…` gives a text that may begin with a parenthesis.
fn may_be_compound(argument: &Word) -> bool {
    match argument.value.as_deref() {
        Some(value) => value.split_once('=').is_some_and(|(_, text)| text.starts_with('(')),
        None => argument.raw.contains('='),
    }
}

/// Names that the shell sets itself, to text: what a line sets them to does not stay. Some are arrays.
fn is_set_by_shell(name: &str) -> bool {
    matches!(
        name,
        "_" | "REPLY"
            | "MAPFILE"
            | "OPTARG"
            | "COPROC"
            | "PWD"
            | "OLDPWD"
            | "DIRSTACK"
            | "FUNCNAME"
            | "PIPESTATUS"
            | "GROUPS"
    ) || ["BASH", "COMP", "READLINE_"].iter().any(|start| name.starts_with(start))
}

/// Options of `shopt` that change what a pattern matches and nothing else.
pub(crate) fn is_tame_shell_option(argument: &Word) -> bool {
    matches!(
        argument.value.as_deref(),
        Some("-s" | "-u" | "-q" | "-p" | "nullglob" | "globstar" | "dotglob" | "failglob" | "nocaseglob")
    )
}

/// `set`: only options that do not change what text means.
fn check_set(arguments: &[Word]) -> Result<()> {
    let mut names_option = false;
    for argument in arguments {
        let Some(value) = argument.value.as_deref() else { return Err(Reason::ChangesReading) };
        if std::mem::take(&mut names_option) {
            if !matches!(
                value,
                "pipefail" | "errexit" | "nounset" | "xtrace" | "verbose" | "noclobber" | "errtrace"
            ) {
                return Err(Reason::ChangesReading);
            }
            continue;
        }
        if value == "--" {
            return Ok(());
        }
        let Some(letters) = value.strip_prefix(['-', '+']) else { return Ok(()) };
        if !letters.bytes().all(|letter| b"euxvaCETfo".contains(&letter)) {
            return Err(Reason::ChangesReading);
        }
        names_option = letters.contains('o');
    }
    Ok(())
}
