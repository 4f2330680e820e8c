//! A run of words that many programs share: each level of a wrapped command is a part of the same list, so that
//! `env env env …` takes no more memory than it has words.

use crate::command_pattern::{HOLE, HOLE_TEXT};
use crate::shell::Word;
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A part of a list of words. It is read as a slice.
#[derive(Clone)]
pub struct Words {
    all: Arc<[Word]>,
    range: Range<usize>,
}

impl Words {
    /// The part of it that `range` names, in its own counting; what lies beyond its end is left out.
    pub fn part(&self, range: Range<usize>) -> Self {
        let end = self.range.start.saturating_add(range.end).min(self.range.end);
        let start = self.range.start.saturating_add(range.start).min(end);
        Words { all: self.all.clone(), range: start..end }
    }

    /// Everything from the word of that index on.
    pub fn from(&self, index: usize) -> Self {
        self.part(index..self.len())
    }
}

impl Deref for Words {
    type Target = [Word];

    fn deref(&self) -> &[Word] {
        &self.all[self.range.clone()]
    }
}

/// Copies them once, where a `Vec` in between would be a second time: there may be very many.
impl From<&[Word]> for Words {
    fn from(words: &[Word]) -> Self {
        Words { range: 0..words.len(), all: words.into() }
    }
}

impl From<Vec<Word>> for Words {
    fn from(words: Vec<Word>) -> Self {
        Words { range: 0..words.len(), all: words.into() }
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Words {}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The name of a program without the path that it is called by; in lower case where file names fold.
pub(super) fn base_name(value: &str, folds_case: bool) -> Box<str> {
    let name = value.rsplit('/').next().unwrap_or(value);
    if folds_case { name.to_lowercase().into() } else { name.into() }
}

/// The value of a word, with a [`HOLE`] in the place of what is not certain.
pub(crate) fn holes(word: &Word) -> Cow<'_, str> {
    if let Some(value) = &word.value {
        return Cow::Borrowed(value);
    }
    let flags = word.flags;
    if flags.dynamic || flags.brace || flags.tilde || flags.quoted || !flags.glob {
        return Cow::Borrowed(HOLE_TEXT);
    }
    // A set may hold a `]` of its own: it ends at the last one of its component at the latest.
    let names = word.raw.split('/').map(|name| match (name.find('['), name.rfind(']')) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{HOLE}{}", open_marks(&name[..start]), open_marks(&name[end + 1..]))
        }
        _ => open_marks(name),
    });
    names.collect::<Vec<_>>().join("/").into()
}

fn open_marks(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '*' | '?' | '[' | '\\') { HOLE } else { c }).collect()
}

/// The base name that a word without a certain value may turn out to be, in lower case, with holes.
pub(crate) fn open_name(word: &Word) -> String {
    let text = holes(word);
    text.rsplit('/').next().unwrap_or(&text).to_lowercase()
}

/// Whether a word's first character stays what it is, however the rest expands, and is no dash.
pub(crate) fn keeps_first(word: &Word) -> bool {
    word.raw
        .starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | ',' | '%' | ':' | '='))
}
