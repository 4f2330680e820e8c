//! Removals that nobody can look at, since the part of the line that may do them is only known once it runs, or was not
//! read. In the mode that lets everything else through, a person is asked where the line names a program that removes.

use super::Lines;
use crate::judge::Reason;
use crate::program::{self, Program, Reach};
use crate::shell::Word;

/// Programs that remove, and options by which others do.
const REMOVERS: &[&str] = &[
    "rm",
    "grm",
    "rmdir",
    "grmdir",
    "unlink",
    "gunlink",
    "mv",
    "gmv",
    "Remove-Item",
    "-delete",
    "--delete",
    "--del",
    "--delete-before",
    "--delete-after",
    "--delete-during",
    "--delete-excluded",
    "--remove-source-files",
];

impl<'a> Lines<'a, '_> {
    /// What may remove something without its being seen, and the program that may.
    pub(super) fn may_remove_unseen(&self) -> Option<(Reason<'a>, Option<usize>)> {
        let list = &self.programs.list;
        if let Some(at) = list.iter().position(is_put_together) {
            return Some((Reason::Uncertain(program::Reason::DynamicName), Some(at)));
        }
        if let Some(reason) = self.reading.reason().filter(|_| names_remover(&self.line)) {
            return Some((Reason::Unreadable(reason), None));
        }
        let is_stray = std::cell::LazyCell::new(|| self.names_remover_elsewhere());
        let may_remove = |uncertain: &&program::Uncertain| match uncertain.reason {
            program::Reason::DynamicName | program::Reason::DynamicCode => *is_stray,
            program::Reason::UnreadableCode | program::Reason::OtherLanguage => {
                list[uncertain.program].words.iter().any(word_names_remover)
            }
            _ => false,
        };
        let found = self.programs.uncertain.iter().find(may_remove)?;
        Some((Reason::Uncertain(found.reason), Some(found.program)))
    }

    /// Whether the line names a program that removes where it runs none: in a variable, among the words of a program
    /// that does not run them.
    fn names_remover_elsewhere(&self) -> bool {
        let list = &self.programs.list;
        let mut runs_others = vec![false; list.len()];
        for outer in list.iter().filter_map(|program| program.outer) {
            runs_others[outer] = true;
        }
        let is_last =
            |(at, program): &(usize, &Program)| !runs_others[*at] && program.reach != Reach::Guessed;
        list.iter().enumerate().any(|(at, program)| {
            let words = program.words.iter().skip(1).filter(|_| is_last(&(at, program)));
            let values = program.assignments.iter().map(|set| &set.value);
            let texts = program.redirections.iter().flat_map(|one| [Some(&one.target), one.body.as_ref()]);
            words.chain(values).chain(texts.flatten()).any(word_names_remover)
        })
    }
}

/// Whether a program's name is put together while the line runs, out of a text that names one that removes files.
fn is_put_together(program: &Program) -> bool {
    let raw = program.words.first().filter(|_| program.name.is_none()).map(|word| &word.raw);
    raw.is_some_and(|raw| {
        let mut parts = raw.split(|c: char| !c.is_ascii_alphanumeric());
        parts.any(|part| ["rsync", "find"].contains(&part) || REMOVERS.contains(&part))
    })
}

fn word_names_remover(word: &Word) -> bool {
    names_remover(word.value.as_deref().unwrap_or(&word.raw))
}

fn names_remover(text: &str) -> bool {
    let plain = text.replace(['"', '\'', '\\'], "");
    plain.split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).any(|word| REMOVERS.contains(&word))
}
