//! The reader's commands against bash's.

use super::{Answer, Simple, Text};
use palisade_permissions::shell::{Command, Line, RedirectionOperator, Word};
use std::fmt;

/// How a reading differs from bash.
#[derive(Debug)]
pub(crate) enum Difference {
    /// A command that bash runs and the reading does not have, or not so.
    Hidden(String),
    /// A command that bash does not have, though it accepts the line.
    Extra(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Hidden(command) => write!(f, "only bash has: {command}"),
            Difference::Extra(command) => write!(f, "only the reading has: {command}"),
        }
    }
}

/// Pairs the commands up and lists those that are left.
pub(crate) fn compare(reading: &Line, answer: &Answer) -> Vec<Difference> {
    let mut left: Vec<&Command> =
        reading.commands.iter().filter(|command| !is_duplication(command)).collect();
    let mut differences = Vec::new();
    for simple in answer.commands.iter().filter(|simple| !is_nothing(simple)) {
        match left.iter().position(|command| is_same(command, simple)) {
            Some(index) => {
                left.remove(index);
            }
            None => differences.push(Difference::Hidden(show(simple))),
        }
    }
    if !answer.error {
        differences.extend(left.into_iter().map(|command| Difference::Extra(show_ours(command))));
    }
    differences
}

/// Descriptors duplicated for a compound command, which are not compared.
fn is_duplication(command: &Command) -> bool {
    command.words.is_empty()
        && command.assignments.is_empty()
        && command
            .redirections
            .iter()
            .all(|redirection| redirection.operator == RedirectionOperator::Duplicate)
}

fn is_nothing(simple: &Simple) -> bool {
    simple.variable.is_none()
        && simple.assignments.is_empty()
        && simple.words.is_empty()
        && simple.redirections.is_empty()
}

fn show(simple: &Simple) -> String {
    let text = |text: &Text| match text.values.as_slice() {
        [value] if *value == text.raw => value.clone(),
        values => format!("{}=>{values:?}", text.raw),
    };
    let redirections =
        simple.redirections.iter().map(|(operator, target)| format!("{operator}{}", text(target)));
    let words = simple.assignments.iter().chain(&simple.words).map(text);
    words.chain(redirections).chain(simple.variable.clone()).collect::<Vec<_>>().join(" ")
}

fn show_ours(command: &Command) -> String {
    let word = |word: &Word| match &word.value {
        Some(value) if *value == word.raw => value.to_string(),
        value => format!("{}=>{value:?}", word.raw),
    };
    let assignments = command.assignments.iter().map(|a| format!("{}={}", a.name, word(&a.value)));
    let redirections = command.redirections.iter().map(|r| format!("{:?}:{}", r.operator, word(&r.target)));
    let words = command.words.iter().map(word);
    assignments.chain(words).chain(redirections).collect::<Vec<_>>().join(" ")
}

fn is_same(command: &Command, simple: &Simple) -> bool {
    if let Some(variable) = &simple.variable {
        return command.words.is_empty()
            && command.assignments.iter().any(|assignment| *assignment.name == **variable);
    }
    has_same_assignments(command, simple)
        && has_same_words(&command.words, &simple.words)
        && has_same_redirections(command, simple)
}

fn has_same_assignments(command: &Command, simple: &Simple) -> bool {
    command.assignments.len() == simple.assignments.len()
        && command.assignments.iter().zip(&simple.assignments).all(|(ours, theirs)| {
            let operator = if ours.appends { "+=" } else { "=" };
            let start = format!("{}{operator}", ours.name);
            theirs.raw.starts_with(&start) && is_same_word(&ours.value, theirs, &theirs.raw[start.len()..])
        })
}

fn has_same_words(ours: &[Word], theirs: &[Text]) -> bool {
    let mut ours = ours.iter();
    for text in theirs {
        // Braces make several of ours out of one of bash's.
        let count = if text.dynamic { 1 } else { text.values.len().max(1) };
        let some: Vec<&Word> = ours.by_ref().take(count).collect();
        let same = match some.as_slice() {
            [word] => is_same_word(word, text, &text.raw),
            [first, ..] if *first.raw == *text.raw || first.flags.brace && is_rewritten(&first.raw) => {
                // Left to the shell: one of ours stands for all of them.
                return has_same_words_behind(ours.as_slice(), &some[1..], theirs, text);
            }
            several if several.iter().any(|word| word.flags.expanded && word.flags.glob) => {
                return has_same_files(
                    &[several, ours.as_slice().iter().collect::<Vec<_>>().as_slice()].concat(),
                    theirs,
                    text,
                );
            }
            several => {
                several.len() == count
                    && several.iter().zip(&text.values).all(|(word, value)| has_value(word, value))
            }
        };
        if !same {
            return false;
        }
    }
    ours.next().is_none()
}

/// Goes on behind a word that was not expanded: the words taken in excess belong to what follows.
fn has_same_words_behind(rest: &[Word], excess: &[&Word], theirs: &[Text], text: &Text) -> bool {
    let Some(position) = theirs.iter().position(|other| std::ptr::eq(other, text)) else { return false };
    let words: Vec<Word> = excess.iter().copied().chain(rest).cloned().collect();
    has_same_words(&words, &theirs[position + 1..])
}

/// Where braces and file names meet, bash has made as many words as there are files: any number of ours, all from
/// braces, may stand for them.
fn has_same_files(ours: &[&Word], theirs: &[Text], text: &Text) -> bool {
    let Some(position) = theirs.iter().position(|other| std::ptr::eq(other, text)) else { return false };
    let fits = |word: &&&Word| {
        word.flags.expanded
            && word.value.as_ref().is_none_or(|value| text.values.iter().any(|other| **other == **value))
    };
    let most = ours.iter().take_while(fits).count();
    (1..=most).any(|count| {
        let rest: Vec<Word> = ours[count..].iter().map(|word| (*word).clone()).collect();
        has_same_words(&rest, &theirs[position + 1..])
    })
}

fn has_value(word: &Word, value: &str) -> bool {
    word.flags.expanded && word.value.as_deref().is_none_or(|ours| ours == value)
}

fn is_same_word(ours: &Word, theirs: &Text, raw: &str) -> bool {
    match ours.value.as_deref() {
        Some(value) => !theirs.dynamic && matches!(theirs.values.as_slice(), [only] if only == value),
        None if ours.raw.contains("$'") => ours.flags.dynamic || !theirs.dynamic,
        None => is_rewritten(&ours.raw) && is_rewritten(raw) || *ours.raw == *raw,
    }
}

/// bash keeps its own print of substitutions and arrays, and what `$'…'` stands for.
fn is_rewritten(raw: &str) -> bool {
    ["$(", "`", "<(", ">(", "$'", "("].iter().any(|part| raw.contains(part))
}

fn has_same_redirections(command: &Command, simple: &Simple) -> bool {
    let ours: Vec<_> = command
        .redirections
        .iter()
        .filter(|redirection| redirection.operator != RedirectionOperator::Duplicate)
        .collect();
    ours.len() == simple.redirections.len()
        && ours.iter().zip(&simple.redirections).all(|(ours, (operator, target))| {
            let document = ours.operator == RedirectionOperator::HereDocument;
            let same_target = match ours.target.value.as_deref() {
                Some(value) if document => value == target.raw,
                _ => is_same_word(&ours.target, target, &target.raw),
            };
            spelling(ours.operator) == operator && same_target
        })
}

fn spelling(operator: RedirectionOperator) -> &'static str {
    use RedirectionOperator::*;
    match operator {
        Read => "<",
        Write => ">",
        Clobber => ">|",
        Append => ">>",
        ReadWrite => "<>",
        WriteBoth => "&>",
        AppendBoth => "&>>",
        Duplicate => "&",
        HereDocument => "<<",
        HereString => "<<<",
    }
}
