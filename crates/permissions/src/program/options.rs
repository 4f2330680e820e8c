//! A wrapper's options, read by `getopt`'s rules: short ones bundled, values attached or apart, long ones
//! abbreviated, `--`, and an end at the first word that is no option.
//!
//! It reads in full or not at all: at a word that it does not know, or that has no certain value, it says where
//! it stopped.

use super::Reason;
use crate::shell::Word;

/// The options that a program takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar {
    /// Letters, as for `getopt`: `:` after one that takes a value, `?` after one whose value can only be attached.
    pub(super) short: &'static str,
    /// Names between blanks: `=` after one that takes a value, `?` after one whose value can only be attached.
    pub(super) long: &'static str,
}

/// The options of one command, and where they end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options<'a> {
    pub(super) given: Vec<Given<'a>>,
    /// The index of the first word after them.
    pub(super) end: usize,
}

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Given<'a> {
    /// The letter, or the name in full.
    pub(super) name: &'static str,
    /// What it was given, where it takes a value and that is certain.
    pub(super) value: Option<&'a str>,
    /// The index of the first word after it and its value.
    pub(super) next: usize,
}

/// Where and why the options could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) at: usize,
    pub(super) reason: Reason,
}

#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Nothing,
    Attached,
    Value,
}

impl Grammar {
    /// Reads the options that start at the word of that index. A word that `passes` is one of a form of its own, with
    /// no meaning here.
    pub(super) fn read<'a>(
        &self,
        words: &'a [Word],
        start: usize,
        passes: impl Fn(&str) -> bool,
    ) -> Result<Options<'a>, Stop> {
        let mut options = Options { given: Vec::new(), end: start };
        while let Some(word) = words.get(options.end) {
            let Some(text) = word.value.as_deref() else {
                // However it expands, its first character stays.
                let is_operand =
                    word.raw.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/'));
                let stop = Stop { at: options.end, reason: Reason::DynamicOption };
                return if is_operand { Ok(options) } else { Err(stop) };
            };
            if passes(text) {
                options.end += 1;
                continue;
            }
            if text == "--" {
                options.end += 1;
                return Ok(options);
            }
            let known = match text.strip_prefix('-') {
                None | Some("") => return Ok(options),
                Some(rest) => match rest.strip_prefix('-') {
                    Some(long) => self.read_long(long, words, &mut options),
                    None => self.read_bundle(rest, words, &mut options),
                },
            };
            known.map_err(|reason| Stop { at: options.end, reason })?;
            options.end += 1;
        }
        Ok(options)
    }

    fn read_long<'a>(
        &self,
        text: &'a str,
        words: &'a [Word],
        options: &mut Options<'a>,
    ) -> Result<(), Reason> {
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let (name, takes) = self.long_option(name).ok_or(Reason::UnknownOption)?;
        let value = match (takes, attached) {
            (Takes::Nothing, Some(_)) => return Err(Reason::UnknownOption),
            (Takes::Value, None) => Some(next_word(words, options)?),
            (_, attached) => attached,
        };
        options.given.push(Given { name, value, next: options.end + 1 });
        Ok(())
    }

    fn read_bundle<'a>(
        &self,
        bundle: &'a str,
        words: &'a [Word],
        options: &mut Options<'a>,
    ) -> Result<(), Reason> {
        for (index, letter) in bundle.char_indices() {
            let (name, takes) = self.short_option(letter).ok_or(Reason::UnknownOption)?;
            let rest = &bundle[index + letter.len_utf8()..];
            let value = match takes {
                Takes::Nothing => None,
                Takes::Value if rest.is_empty() => Some(next_word(words, options)?),
                Takes::Attached | Takes::Value => Some(rest),
            };
            options.given.push(Given { name, value, next: options.end + 1 });
            if takes != Takes::Nothing {
                break;
            }
        }
        Ok(())
    }

    fn short_option(&self, letter: char) -> Option<(&'static str, Takes)> {
        if matches!(letter, ':' | '?') {
            return None;
        }
        let start = self.short.find(letter)?;
        let rest = &self.short[start + letter.len_utf8()..];
        let takes = match rest.chars().next() {
            Some(':') => Takes::Value,
            Some('?') => Takes::Attached,
            _ => Takes::Nothing,
        };
        Some((&self.short[start..start + letter.len_utf8()], takes))
    }

    /// The option of that name, or the only one that starts with it.
    fn long_option(&self, name: &str) -> Option<(&'static str, Takes)> {
        let options = || self.long.split_whitespace().map(long_entry);
        if let Some(exact) = options().find(|(entry, _)| *entry == name) {
            return Some(exact);
        }
        let mut starting = options().filter(|(entry, _)| !name.is_empty() && entry.starts_with(name));
        starting.next().filter(|_| starting.next().is_none())
    }
}

fn long_entry(entry: &'static str) -> (&'static str, Takes) {
    match (entry.strip_suffix('='), entry.strip_suffix('?')) {
        (Some(name), _) => (name, Takes::Value),
        (_, Some(name)) => (name, Takes::Attached),
        _ => (entry, Takes::Nothing),
    }
}

/// The value of an option that stands in the next word.
fn next_word<'a>(words: &'a [Word], options: &mut Options<'a>) -> Result<&'a str, Reason> {
    let value = words.get(options.end + 1).ok_or(Reason::UnknownOption)?;
    let value = value.value.as_deref().ok_or(Reason::DynamicOption)?;
    options.end += 1;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::WordFlags;

    const GRAMMAR: Grammar =
        Grammar { short: "iu:e?0", long: "unset= eof? ignore-environment ignore-case null" };

    fn words(line: &str) -> Vec<Word> {
        let word = |text: &str| Word {
            raw: text.into(),
            value: (!text.starts_with('$')).then(|| text.into()),
            flags: WordFlags { dynamic: text.starts_with('$'), ..WordFlags::default() },
        };
        line.split(' ').map(word).collect()
    }

    fn check(line: &str, expected: Result<(&str, usize), (Reason, usize)>) {
        let words = words(line);
        let shown = |options: Options<'_>| {
            let one = |given: &Given<'_>| match given.value {
                Some(value) => format!("{}={value}", given.name),
                None => given.name.to_owned(),
            };
            (options.given.iter().map(one).collect::<Vec<_>>().join(" "), options.end)
        };
        let read = GRAMMAR.read(&words, 1, |_| false).map(shown).map_err(|stop| (stop.reason, stop.at));
        assert_eq!(read, expected.map(|(given, end)| (given.to_owned(), end)), "{line}");
    }

    #[test]
    fn reads_options_as_getopt_does() {
        check("x rm -i", Ok(("", 1)));
        check("x -i rm", Ok(("i", 2)));
        check("x -0i rm", Ok(("0 i", 2)));
        check("x -iu A rm", Ok(("i u=A", 3)));
        check("x -iuA rm", Ok(("i u=A", 2)));
        check("x -u -i rm", Ok(("u=-i", 3)));
        check("x -e rm", Ok(("e=", 2)));
        check("x -eX rm", Ok(("e=X", 2)));
        check("x -- -i", Ok(("", 2)));
        check("x -i -- rm", Ok(("i", 3)));
        check("x - rm", Ok(("", 1)));
        check("x --unset A rm", Ok(("unset=A", 3)));
        check("x --uns=A rm", Ok(("unset=A", 2)));
        check("x --eof rm", Ok(("eof", 2)));
        check("x --ignore-e rm", Ok(("ignore-environment", 2)));
    }

    #[test]
    fn stops_where_it_does_not_know() {
        check("x -iz rm", Err((Reason::UnknownOption, 1)));
        check("x --other rm", Err((Reason::UnknownOption, 1)));
        check("x --ignore rm", Err((Reason::UnknownOption, 1)));
        check("x --null=1 rm", Err((Reason::UnknownOption, 1)));
        check("x -u", Err((Reason::UnknownOption, 1)));
        check("x -: rm", Err((Reason::UnknownOption, 1)));
        check("x -i $A rm", Err((Reason::DynamicOption, 2)));
        check("x -u $A rm", Err((Reason::DynamicOption, 1)));
    }
}
