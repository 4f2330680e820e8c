//! `ps` as a reader: the spellings of its options that show processes, but not their variables, in which secrets stand.
//!
//! It takes options with a dash and without. What it cannot read with a dash it reads again as if there were none, and
//! then the `e` of `-axe`, or that of a user's name, shows variables. So an `e` may stand only where it cannot be taken
//! for that, and nothing is allowed to go wrong next to it.

use super::Reads;
use crate::shell::Word;

/// Letters behind a dash that any `ps` knows, and those of them that take a value.
const DASHED: &str = "AadefFHjlLmMTwyZcCGUgopqstuO";
const DASHED_VALUES: &str = "CGUgopqstuO";
/// Letters without a dash that take a value.
const BARE_VALUES: &str = "kNoOpqtU";
/// Long options without a value.
const LONG: [&str; 6] = ["forest", "headers", "no-headers", "cumulative", "deselect", "version"];

/// What a `ps` reads, which is no file; `None` when it may show variables.
pub(super) fn reads(words: &[Word]) -> Option<Reads> {
    let values: Vec<&str> = words.iter().map(|word| word.value.as_deref()).collect::<Option<_>>()?;
    let mut seen = Seen::default();
    let mut rest = values[1..].iter();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            let is_apart = !long.contains('=') && !LONG.contains(&long);
            let text = if is_apart { rest.next() } else { None };
            let shows_order = ["sort", "format"].iter().any(|name| long.starts_with(name));
            seen.is_odd |= !shows_order && is_apart;
            seen.shows |= !shows_order && (text.unwrap_or(&long).contains('e') && !LONG.contains(&long));
            continue;
        }
        if let Some(letter) = seen.letters(word) {
            let attached = word.split_once(letter).map_or("", |(_, attached)| attached);
            let text = if attached.is_empty() { rest.next().copied().unwrap_or_default() } else { attached };
            seen.value(letter, text, word.starts_with('-'), attached.is_empty());
        }
    }
    let may_show = seen.shows || (seen.is_odd && seen.has_e);
    (!may_show).then(Reads::default)
}

/// What was seen of the words so far.
#[derive(Debug, Default)]
struct Seen {
    /// Variables are shown.
    shows: bool,
    /// Something may go wrong, so that dashes do not count.
    is_odd: bool,
    /// An `e` that then shows variables.
    has_e: bool,
}

impl Seen {
    /// Reads letters up to the first that takes a value, which is returned.
    fn letters(&mut self, word: &str) -> Option<char> {
        let dashed = word.strip_prefix('-');
        let letters = dashed.unwrap_or(word);
        let values = if dashed.is_some() { DASHED_VALUES } else { BARE_VALUES };
        let end = letters.find(|letter| values.contains(letter));
        let flags = &letters[..end.unwrap_or(letters.len())];
        self.is_odd |= dashed.is_some() && !flags.chars().all(|letter| DASHED.contains(letter));
        self.has_e |= dashed.is_some() && flags.contains('e');
        self.shows |= letters.contains('E') || (dashed.is_none() && flags.contains('e'));
        end.and_then(|at| letters[at..].chars().next())
    }

    /// Reads the value of a letter.
    fn value(&mut self, letter: char, text: &str, is_dashed: bool, is_apart: bool) {
        let has_e = text.contains(['e', 'E']);
        match letter {
            'o' | 'O' if is_apart || !is_dashed => {}
            // A command of any name may be asked for, so nothing goes wrong because of it.
            'C' | 'o' | 'O' => self.has_e |= has_e,
            _ => {
                self.is_odd = true;
                self.shows |= has_e;
            }
        }
    }
}
