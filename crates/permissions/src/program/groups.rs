//! `sg` and `newgrp`: code or a shell under another group.

use super::behind::{Enters, Found, Inner, Language};
use super::options::Stop;
use super::{Reason, Words};
use crate::shell::Word;

/// `sg [-] GROUP [[-c] CODE]`; without code a shell.
pub(super) fn group(words: &Words) -> Found {
    let is = |at: usize, text: &str| words.get(at).and_then(|word| word.value.as_deref()) == Some(text);
    let named = 1 + usize::from(is(1, "-") || is(1, "-l"));
    let start = named + 1 + usize::from(is(named + 1, "-c"));
    match (words.iter().take(start).position(|word| word.value.is_none()), words.get(start)) {
        (Some(at), _) => Found::guessed(words, &Stop { at, reason: Reason::DynamicOption }),
        (None, None) => Found::hidden(Reason::CodeFromInput),
        (None, Some(code)) => Found::other(vec![Inner {
            enters: if named > 1 { Enters::Unknown } else { Enters::Nothing },
            ..Inner::code(std::slice::from_ref(code), Language::Posix)
        }]),
    }
}

/// `newgrp [-] [GROUP]`, a shell; some versions take `-c CODE`.
pub(super) fn new_group(words: &Words) -> Found {
    let value = |word: &Word| word.value.clone();
    let is_option = |word: &Word| matches!(value(word).as_deref(), Some("-c" | "--command"));
    let apart = words.iter().position(is_option).and_then(|at| words.get(at + 1)).cloned();
    let attached =
        || words.iter().find_map(|word| value(word)?.strip_prefix("--command=").map(Word::literal));
    match apart.or_else(attached) {
        Some(code) => {
            let code = Inner::code(std::slice::from_ref(&code), Language::Posix);
            Found::other(vec![Inner { enters: Enters::Unknown, ..code }])
        }
        None => Found::hidden(Reason::CodeFromInput),
    }
}
