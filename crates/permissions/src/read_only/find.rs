//! `find` as a reader: the tests and actions that print. What `-exec` runs is a program of its own, judged as
//! one.

use super::Reads;
use crate::shell::Word;

/// Tests and actions without a value.
const ALONE: &[&str] = &[
    "!",
    "(",
    ")",
    ",",
    "-a",
    "-and",
    "-d",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-ls",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-not",
    "-nouser",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
];

/// Those with one.
const WITH_VALUE: &[&str] = &[
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

/// Those whose value is a file.
const WITH_FILE: &[&str] = &["-anewer", "-cnewer", "-newer", "-samefile"];

/// What a `find` reads, when it only prints, or runs programs for what it finds and nothing else.
pub(super) fn reads(words: &[Word]) -> Option<Reads> {
    let values: Vec<&str> = words.iter().map(|word| word.value.as_deref()).collect::<Option<_>>()?;
    let mut reads = Reads::default();
    let mut at = 1;
    // Not `-L` and `-H`, which follow links out of the directories that are worked in.
    while values.get(at) == Some(&"-P") {
        at += 1;
    }
    while values.get(at).is_some_and(|word| !word.starts_with('-') && !matches!(*word, "!" | "(" | ")" | ","))
    {
        reads.files.push(at);
        at += 1;
    }
    reads.here = reads.files.is_empty();
    while let Some(word) = values.get(at) {
        at += match *word {
            word if ALONE.contains(&word) => 1,
            word if WITH_VALUE.contains(&word) => 2,
            word if WITH_FILE.contains(&word) => {
                reads.files.push(at + 1);
                2
            }
            "-exec" | "-execdir" => length_of_exec(&values[at..])?,
            _ => return None,
        };
    }
    (at == values.len()).then_some(reads)
}

/// The number of words from `-exec` to its `;` or `{} +`.
fn length_of_exec(values: &[&str]) -> Option<usize> {
    let ends = |at: &usize| values[*at] == ";" || (values[*at] == "+" && values[at - 1] == "{}");
    (2..values.len()).find(ends).map(|at| at + 1)
}
