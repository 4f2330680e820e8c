//! Options that take a value of one kind (a file, a command), and that value in every spelling that a program takes:
//! `-f x`, `-fx`, `-bfx`, `--file x`, `--file=x`, `--fil=x`.
//!
//! For deny and ask rules, so this over-matches: what may be an abbreviation counts as one, though the program may find
//! it ambiguous, and what stands behind the option counts as its value, though the program may take none there. What the
//! value means is its caller's to say.

use crate::shell::Word;

/// Options of a program that take a value of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Valued {
    letters: &'static str,
    /// Names with their dashes. One that ends in `$` is never abbreviated, and one that ends in `*` may go on.
    long: &'static [&'static str],
    /// Words that stand alone, or have their value behind a `=`: `-include`, `of`.
    alone: &'static [&'static str],
    /// Letters of other options that take a value, so that none of `letters` stands behind them in a word; a star where
    /// letters never stand together.
    ends: &'static str,
}

/// One value of an option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'w> {
    /// The word that it stands in.
    pub(crate) word: &'w Word,
    /// What it is; `None` where that is not certain.
    pub(crate) text: Option<&'w str>,
    /// Whether it stands in the word of its option.
    pub(crate) is_attached: bool,
}

/// Names that are whole ones of harmless options, and abbreviate others only by their letters.
const OTHERS: &[&str] = &["--checkpoint", "--diff", "--strip"];

impl Valued {
    pub(crate) const fn new(letters: &'static str, long: &'static [&'static str]) -> Self {
        Valued { letters, long, alone: &[], ends: "" }
    }

    /// With these words that stand alone.
    pub(crate) const fn alone(self, alone: &'static [&'static str]) -> Self {
        Valued { alone, ..self }
    }

    /// With these letters of other options.
    pub(crate) const fn ends(self, ends: &'static str) -> Self {
        Valued { ends, ..self }
    }

    /// Every value that such an option has among `words`.
    pub(crate) fn values<'w>(&self, words: &'w [Word]) -> impl Iterator<Item = Value<'w>> {
        let this = *self;
        words.iter().enumerate().filter_map(move |(at, word)| {
            let attached = match word.value.as_deref() {
                Some(text) => this.attached(text)?,
                None => this.attached(word.raw.trim_start_matches(['"', '\'']))?,
            };
            let is_attached = !attached.is_empty();
            let text = (is_attached && word.value.is_some()).then_some(attached);
            let word = if is_attached { word } else { words.get(at + 1)? };
            Some(Value { word, text: text.or(word.value.as_deref()), is_attached })
        })
    }

    /// The values among the words of a `tar` whose first word is letters without a dash, as in `tar cvf FILE`: they stand
    /// behind it, in the order of the letters.
    pub(crate) fn old_style<'w>(&self, words: &'w [Word]) -> Vec<Value<'w>> {
        const WITH_VALUE: &str = "bCfFgHIKLNTVX";
        let letters =
            words.get(1).and_then(|word| word.value.as_deref()).filter(|text| !text.starts_with('-'));
        let letters = letters.unwrap_or_default().chars().filter(|letter| WITH_VALUE.contains(*letter));
        let of_letter = |(word, letter): (&'w Word, char)| {
            let value = Value { word, text: word.value.as_deref(), is_attached: false };
            self.letters.contains(letter).then_some(value)
        };
        words.iter().skip(2).zip(letters).filter_map(of_letter).collect()
    }

    /// What stands behind such an option in its own word; empty where the next word is the value.
    fn attached<'a>(&self, text: &'a str) -> Option<&'a str> {
        let name = text.split('=').next().unwrap_or(text);
        let behind_name = || text[name.len()..].trim_start_matches('=');
        if self.alone.contains(&name) {
            return Some(behind_name());
        }
        let letters = text.strip_prefix('-')?;
        if letters.starts_with('-') {
            return self.long.iter().any(|long| is_meant(name, long)).then(behind_name);
        }
        let at = letters.find(|letter| self.letters.contains(letter))?;
        let stands = match self.ends {
            "*" => at == 0,
            ends => !letters[..at].contains(|letter| ends.contains(letter)),
        };
        let mut rest = letters[at..].chars();
        rest.next();
        stands.then_some(rest.as_str())
    }
}

/// Whether the option `name`, as written, may stand for `long`.
fn is_meant(name: &str, long: &str) -> bool {
    let is_abbreviation = |long: &str| name.len() > 2 && long.starts_with(name) && !OTHERS.contains(&name);
    match (long.strip_suffix('$'), long.strip_suffix('*')) {
        (Some(whole), _) => name == whole,
        (_, Some(start)) => name.starts_with(start) || is_abbreviation(start),
        _ => is_abbreviation(long),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_every_spelling() {
        let files = Valued::new("f", &["--file", "--from*", "--pre$"]).alone(&["-include", "of"]).ends("e");
        for (line, expected) in [
            ("-f x", "x"),
            ("-fx", "x"),
            ("-bfx", "x"),
            ("-bf x", "x"),
            ("-ff x", "f"),
            ("--file x", "x"),
            ("--file=x=y", "x=y"),
            ("--fil=x", "x"),
            ("--f x", "x"),
            ("--from-file x", "x"),
            ("--pre x", "x"),
            ("-include x", "x"),
            ("of=x", "x"),
            // None of these is one.
            ("--pr x", ""),
            ("--files x", ""),
            ("-- x", ""),
            ("- x", ""),
            ("-bef x", ""),
            ("-e f", ""),
            ("-f", ""),
        ] {
            let words: Vec<Word> = line.split(' ').map(Word::literal).collect();
            let found: Vec<&str> = files.values(&words).filter_map(|value| value.text).collect();
            assert_eq!(found.join(" "), expected, "{line}");
        }
        let apart = Valued::new("o", &[]).ends("*");
        let words = ["-ox", "-fno-x"].map(Word::literal);
        assert_eq!(apart.values(&words).filter_map(|value| value.text).collect::<Vec<_>>(), ["x"]);
    }
}
