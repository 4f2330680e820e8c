//! Commands that only read: they go through without asking in every mode.
//!
//! The attacker writes the command, and many programs that read have an option that writes, or runs a
//! program, in several spellings. So a command is taken for a reader only when its program is in the table,
//! every word is certain, and none of its options is, or abbreviates, one that the table names. What a
//! program *reads* is told to the caller, which compares it with the directories that are worked in. Nothing
//! is found out about the machine: that `ls` is the system's `ls`, or what git's settings in a hostile
//! repository name, is not known here.

mod find;
mod git;
mod ps;
mod sed;
mod table;

pub(crate) use sed::scan;

use crate::program::keeps_first;
use crate::shell::{Word, stores_count};
use table::{Kind, Spelling, Tool};

/// What a command that only reads gets to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// The indices of the words that are, or may be, files.
    pub(crate) files: Vec<usize>,
    /// Whether it reads the directory that it runs in.
    pub(crate) here: bool,
    /// Whether a git directory decides what it does, so that it must be the one of the working directory.
    pub(crate) git: bool,
    /// Whether it looks at no file and has no option that does more than print: what is handed to it on top is text.
    pub(crate) only_text: bool,
    /// Whether it takes so many files and writes into another one.
    pub(crate) is_counted: bool,
}

/// What a command reads, when that is all it does. `words` are the program and its arguments, `name` is its
/// base name.
pub(crate) fn reads(words: &[Word], name: &str) -> Option<Reads> {
    if !is_called(words, name) {
        return None;
    }
    match name {
        "git" => git::reads(words),
        "find" => find::reads(words),
        "sed" => sed::reads(words),
        "docker" if !table::is_version_probe(name, words) => reads_docker(words),
        "ps" => ps::reads(words),
        "jq" if words.iter().skip(1).any(|word| asks_for_environment(word) || loads_module(word)) => None,
        "jq" if table::find(name)
            .and_then(|jq| jq.operands(words))
            .is_none_or(|at| subtracts(words, &at)) =>
        {
            None
        }
        "printf" if !has_plain_format(words) => None,
        "man" if words.iter().skip(1).any(|word| text_of(word).contains('/')) => None,
        "strings" if words.iter().skip(1).any(|word| text_of(word).starts_with('@')) => None,
        _ if table::is_version_probe(name, words) => Some(Reads::default()),
        _ => table::find(name).and_then(|tool| tool.reads(words)),
    }
}

/// Whether the program of that name is called by it, or by the system's path. Any other path may lead to anything.
pub(crate) fn is_called(words: &[Word], name: &str) -> bool {
    let program = words.first().and_then(|word| word.value.as_deref());
    program.is_some_and(|program| program == name || is_in_system_directory(program))
}

/// Whether a program of that path is the system's, since only an administrator can put one there.
pub(crate) fn is_in_system_directory(program: &str) -> bool {
    program
        .rsplit_once('/')
        .is_some_and(|(directory, _)| matches!(directory, "/bin" | "/usr/bin" | "/sbin" | "/usr/sbin"))
}

/// The commands of docker that ask the daemon, and none of the options that choose another one.
fn reads_docker(words: &[Word]) -> Option<Reads> {
    let values: Vec<&str> = words.iter().map(|word| word.value.as_deref()).collect::<Option<_>>()?;
    let [_, command, rest @ ..] = &values[..] else { return None };
    let known = matches!(
        *command,
        "ps" | "images" | "version" | "info" | "inspect" | "logs" | "top" | "port" | "diff"
    );
    let chooses = |word: &&str| {
        ["-H", "-c", "--host", "--context", "--url", "--connection", "--identity", "--config"]
            .iter()
            .any(|o| word.starts_with(o))
    };
    (known && !rest.iter().any(chooses)).then(Reads::default)
}

/// Whether the format of a `printf` is certain and has no `%n`, which sets a variable.
fn has_plain_format(words: &[Word]) -> bool {
    let dashes = usize::from(words.get(1).is_some_and(|word| word.value.as_deref() == Some("--")));
    words.get(1 + dashes).is_none_or(|word| word.value.as_deref().is_some_and(|format| !stores_count(format)))
}

fn text_of(word: &Word) -> &str {
    word.value.as_deref().unwrap_or(&word.raw)
}

/// `jq -n env`, `jq '$ENV.TOKEN'`: the variables of the session, and so what is secret in them. `.env` is a key.
fn asks_for_environment(word: &Word) -> bool {
    let text = text_of(word);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices("env").any(|(at, name)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|c| is_part(c) || matches!(c, '.' | '"' | '-')) && !after.is_some_and(is_part)
    }) || text.match_indices('$').any(|(at, _)| is_environment(&text[at + 1..]))
}

/// Whether what follows a `$` is the variable `ENV`: blanks and comments may stand in between, and may go on in the
/// next line.
fn is_environment(mut behind: &str) -> bool {
    loop {
        behind = behind.trim_start();
        match behind.strip_prefix('#') {
            Some(comment) => behind = comment.split_once('\n').map_or("", |(_, rest)| rest),
            None => return behind.starts_with("ENV"),
        }
    }
}

/// Whether the program of a `jq` takes the variables away from something, which an error shows: `1-env.TOKEN`. In the
/// name of a file a dash in front is none.
fn subtracts(words: &[Word], operands: &[usize]) -> bool {
    operands.first().is_some_and(|at| text_of(&words[*at]).contains("-env"))
}

/// `jq 'import "x" as $y {search: "/"}; …'`, `include "x";`, `"x" | modulemeta`: what stands in another file.
pub(crate) fn loads_module(word: &Word) -> bool {
    let text = text_of(word);
    let names = |keyword: &str| {
        text.match_indices(keyword).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let is_key =
                before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '$' | '-'));
            !is_key && text[at + keyword.len()..].trim_start().starts_with(['"', '#', '\\'])
        })
    };
    names("import") || names("include") || text.contains("modulemeta")
}

impl Tool {
    fn reads(&self, words: &[Word]) -> Option<Reads> {
        let operands = self.operands(words)?;
        match self.kind {
            Kind::Bare if !operands.is_empty() => return None,
            Kind::Bare | Kind::Text => return Some(Reads { only_text: self.any_words, ..Reads::default() }),
            Kind::AtMost(most) if operands.len() + self.options_behind(words, &operands) > most => {
                return None;
            }
            Kind::Format => {
                let is_format =
                    |at: &usize| words[*at].value.as_deref().is_some_and(|word| word.starts_with('+'));
                return operands.iter().all(is_format).then(Reads::default);
            }
            _ => {}
        }
        let skipped = usize::from(self.kind == Kind::PatternThenFiles && !self.has_pattern_option(words));
        let files: Vec<usize> = operands.into_iter().skip(skipped).collect();
        let is_counted = matches!(self.kind, Kind::AtMost(_));
        Some(Reads { here: files.is_empty() && self.here, files, is_counted, ..Reads::default() })
    }

    /// How many words behind the first operand look like options, and may be operands to some versions.
    fn options_behind(&self, words: &[Word], operands: &[usize]) -> usize {
        let Some(first) = operands.first() else { return 0 };
        (*first..words.len()).filter(|at| !operands.contains(at)).count()
    }

    /// The indices of the words that are no options; `None` when some word is not certain or some option does
    /// more than read.
    fn operands(&self, words: &[Word]) -> Option<Vec<usize>> {
        let mut operands = Vec::new();
        let mut at = 1;
        let mut only_operands = false;
        while let Some(word) = words.get(at) {
            match word.value.as_deref() {
                _ if only_operands && self.takes(word, true) => operands.push(at),
                Some("--") => only_operands = true,
                Some(option) if option.len() > 1 && option.starts_with('-') && self.kind != Kind::Text => {
                    at += self.taken(option)?;
                }
                // What prints its words may still be given options that do more.
                Some(option) if option.starts_with('-') && self.is_bad(option) => return None,
                _ if self.takes(word, self.ends_options && !operands.is_empty()) => operands.push(at),
                _ => return None,
            }
            at += 1;
        }
        Some(operands)
    }

    /// Whether a word may stand as an operand; `is_operand` says that no option may stand in its place.
    fn takes(&self, word: &Word, is_operand: bool) -> bool {
        if word.value.is_some() {
            return true;
        }
        // What a wildcard finds may be an option by its name, and may be several words.
        let cannot_act = self.globs || is_operand || keeps_first(word);
        let flags = word.flags;
        // What a variable holds is nobody's business, but where the home directory is.
        if self.kind == Kind::Text {
            let is_text = is_substitution(word) || (flags.glob && !flags.dynamic && !flags.tilde);
            return is_text && cannot_act;
        }
        if crate::judge::is_home_spelled(word) {
            return true;
        }
        let is_counted = matches!(self.kind, Kind::AtMost(_));
        let is_wildcard = flags.glob && !flags.dynamic && !flags.brace && !flags.tilde;
        is_wildcard && cannot_act && !is_counted
    }

    /// How many of the next words `option` takes as its values; `None` when it does more than read.
    fn taken(&self, option: &str) -> Option<usize> {
        match self.spelling {
            Spelling::Letters => {}
            Spelling::Words(words) => return taken_by_word(words, option),
            Spelling::ValuesApart if option.starts_with("--") => {}
            Spelling::ValuesApart => return self.taken_apart(option),
        }
        if self.is_bad(option) {
            return None;
        }
        if let Some(long) = option.strip_prefix("--") {
            return Some(
                usize::from(self.long_values.contains(&long))
                    + 2 * usize::from(self.long_pairs.contains(&long)),
            );
        }
        let takes_value = |(_, letter): &(usize, char)| self.values.contains(*letter);
        let value = option.char_indices().skip(1).find(takes_value);
        Some(usize::from(value.is_some_and(|(at, letter)| at + letter.len_utf8() == option.len())))
    }

    /// Letters that take the next word, wherever they stand: one of them at most, at the end or in front of its number.
    fn taken_apart(&self, option: &str) -> Option<usize> {
        let letters = &option[1..];
        let is_bad = |letter: char| self.bad.iter().any(|bad| bad.len() == 1 && bad.starts_with(letter));
        let Some((_, rest)) = letters.split_once(|letter| self.values.contains(letter)) else {
            return (!letters.contains(is_bad)).then_some(0);
        };
        let is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && !letters.contains(is_bad)).then(|| usize::from(rest.is_empty()))
    }

    /// Whether an option is one of those that do more than read. Long ones may be abbreviated, short ones
    /// stand together up to one that takes a value.
    fn is_bad(&self, option: &str) -> bool {
        if let Some(long) = option.strip_prefix("--") {
            let is_itself = self.long_values.contains(&long) || self.long_pairs.contains(&long);
            return !long.is_empty() && !is_itself && is_abbreviated(long, self.bad);
        }
        let letters = option.strip_prefix('-').unwrap_or_default();
        let end = letters.find(|letter| self.values.contains(letter)).unwrap_or(letters.len());
        let is_bad = |letter: char| self.bad.iter().any(|bad| bad.len() == 1 && bad.starts_with(letter));
        letters[..end].contains(is_bad) || letters[end..].starts_with(is_bad)
    }

    /// Whether an option gives the pattern, or says that there is none, so that every operand is a file.
    fn has_pattern_option(&self, words: &[Word]) -> bool {
        words.iter().skip(1).filter_map(|word| word.value.as_deref()).any(|word| {
            if let Some(long) = word.strip_prefix("--") {
                return is_abbreviated(long, &["regexp", "files", "type-list"]) && !long.is_empty();
            }
            let letters = word.strip_prefix('-').unwrap_or_default();
            letters
                .find(|letter| self.values.contains(letter))
                .is_some_and(|at| letters[at..].starts_with('e'))
        })
    }
}

/// How many words an option takes that is a word, or a letter with its number: `-ps`, `-l 5`, `-l5`.
fn taken_by_word(words: &[(&str, usize)], option: &str) -> Option<usize> {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
    let known = |(word, taken): &(&str, usize)| match option.strip_prefix(word)? {
        "" => Some(*taken),
        number if *taken == 1 && word.len() == 2 && is_number(number) => Some(0),
        _ => None,
    };
    words.iter().find_map(known)
}

/// Whether the long option `long`, with or without a value, is one of `names` or an abbreviation of one.
fn is_abbreviated(long: &str, names: &[&str]) -> bool {
    let name = long.split('=').next().unwrap_or_default();
    names.iter().any(|bad| bad.len() > 1 && bad.starts_with(name))
}

/// Whether all that is not certain about a word is what some command prints; those commands are judged on
/// their own.
fn is_substitution(word: &Word) -> bool {
    let flags = word.flags;
    let raw = &word.raw;
    let is_variable = |text: &str| match text.strip_prefix("((") {
        Some(sum) => !is_sum(sum),
        None => !text.starts_with('('),
    };
    let has_variable = raw.match_indices('$').any(|(at, _)| is_variable(&raw[at + 1..]));
    flags.dynamic && !flags.tilde && !flags.brace && !has_variable
}

/// Whether arithmetic, of which this is the inside, is about numbers alone.
fn is_sum(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || " +-*/%()<>&|^~!=?:,".contains(c);
    text.split_once("))").is_some_and(|(sum, _)| sum.chars().all(is_part))
}

#[cfg(test)]
mod tests;
