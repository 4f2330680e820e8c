//! `env -S TEXT`: how a text is taken apart into words, by the rules that GNU's and BSD's `env` share.
//!
//! They are not the shell's: `\_` parts words, `\c` and a word's leading `#` end the text, `${NAME}` is looked up where the
//! command runs and is never parted, and whatever else would be special to a shell is not. A text that `env` refuses
//! is no text here either.

use crate::shell::{Word, WordFlags};
use std::iter::Peekable;
use std::str::Chars;

/// The words of a text; `None` for one that `env` refuses.
pub(super) fn split(text: &str) -> Option<Vec<Word>> {
    let mut splitter = Splitter { rest: text.chars().peekable(), words: Vec::new(), word: None };
    while let Some(c) = splitter.rest.next() {
        match c {
            '\'' => splitter.single_quoted()?,
            '"' => splitter.double_quoted()?,
            ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r' => splitter.end_word(),
            '#' if splitter.word.is_none() => break,
            '\\' => match splitter.rest.next()? {
                '_' => splitter.end_word(),
                'c' => break,
                c => splitter.push(unescape(c)?),
            },
            '$' => splitter.variable()?,
            c => splitter.push(c),
        }
    }
    splitter.end_word();
    Some(splitter.words)
}

struct Splitter<'a> {
    rest: Peekable<Chars<'a>>,
    words: Vec<Word>,
    word: Option<Draft>,
}

/// A word so far.
#[derive(Default)]
struct Draft {
    text: String,
    is_open: bool,
}

impl Splitter<'_> {
    fn draft(&mut self) -> &mut Draft {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, c: char) {
        self.draft().text.push(c);
    }

    fn end_word(&mut self) {
        let Some(Draft { text, is_open }) = self.word.take() else { return };
        let word = Word::literal(&text);
        let flags = WordFlags { dynamic: true, quoted: true, ..WordFlags::default() };
        let open = || Word { raw: format!("\"{text}\"").into(), value: None, flags };
        self.words.push(if is_open { open() } else { word });
    }

    /// After a `'`: all is itself but `\\` and `\'`.
    fn single_quoted(&mut self) -> Option<()> {
        self.draft();
        loop {
            match self.rest.next()? {
                '\'' => return Some(()),
                '\\' => {
                    let escaped = self.rest.next_if(|c| matches!(c, '\\' | '\''));
                    self.push(escaped.unwrap_or('\\'));
                }
                c => self.push(c),
            }
        }
    }

    /// After a `"`.
    fn double_quoted(&mut self) -> Option<()> {
        self.draft();
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '\\' => match self.rest.next()? {
                    '_' => self.push(' '),
                    c => self.push(unescape(c)?),
                },
                '$' => self.variable()?,
                c => self.push(c),
            }
        }
    }

    /// After a `$`: `{NAME}`, and nothing else.
    fn variable(&mut self) -> Option<()> {
        self.rest.next_if_eq(&'{')?;
        let mut name = String::new();
        loop {
            match self.rest.next()? {
                '}' if !name.is_empty() => break,
                c if c.is_ascii_alphanumeric() || c == '_' => name.push(c),
                _ => return None,
            }
        }
        let draft = self.draft();
        draft.text.push_str(&format!("${{{name}}}"));
        draft.is_open = true;
        Some(())
    }
}

/// What stands for one character behind a backslash.
fn unescape(c: char) -> Option<char> {
    Some(match c {
        '"' | '#' | '$' | '\'' | '\\' => c,
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&[&str]>) {
        let shown = |word: &Word| match &word.value {
            Some(value) => value.to_string(),
            None => format!("?{}", word.raw),
        };
        let words = split(text).map(|words| words.iter().map(shown).collect::<Vec<_>>());
        let expected = expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(words, expected, "{text:?}");
    }

    #[test]
    fn parts_a_text_as_env_does() {
        check("", Some(&[]));
        check(" \t\n\u{b}\u{c}\r ", Some(&[]));
        check("rm -rf x", Some(&["rm", "-rf", "x"]));
        check(r"rm\_x", Some(&["rm", "x"]));
        check(r#""rm\_x""#, Some(&["rm x"]));
        check(r"'rm\_x'", Some(&[r"rm\_x"]));
        check(r"r'm' 'it\'s' 'a\\b'", Some(&["rm", "it's", r"a\b"]));
        check(r#"'' "" x"#, Some(&["", "", "x"]));
        check(r"a\tb\nc", Some(&["a\tb\nc"]));
        check(r"rm x\c y z", Some(&["rm", "x"]));
        check("rm x #y z", Some(&["rm", "x"]));
        check("rm x#y '#'", Some(&["rm", "x#y", "#"]));
        check(r"\#x", Some(&["#x"]));
        check("a;b $", None);
        check("a;b|c>d *", Some(&["a;b|c>d", "*"]));
        check("${SHELL} -c x", Some(&[r#"?"${SHELL}""#, "-c", "x"]));
        check(r#""a${B}c"d"#, Some(&[r#"?"a${B}cd""#]));
        check("'${B}'", Some(&["${B}"]));
        // Blanks that are none to it.
        check("rm\u{a0}x", Some(&["rm\u{a0}x"]));
    }

    #[test]
    fn refuses_what_env_refuses() {
        for text in ["'a", "\"a", "a\\", r"\q", r#""\c""#, "$B", "${}", "${A-b}", "${A", r"\x41"] {
            check(text, None);
        }
    }
}
