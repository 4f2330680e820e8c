//! `git` as a reader: the commands, and the forms of commands, that change nothing.
//!
//! What the settings of a repository name (`core.fsmonitor`, `diff.external`) is run by these commands too.
//! Nobody can see that in a line; so only the repository that is worked in counts, and no option that chooses
//! another one, other settings or a pager.

use super::{Reads, is_abbreviated};
use crate::shell::Word;

/// Long options, and letters of short ones, that write a file, run a program, read another file, or choose a
/// pager.
const BAD: &[&str] = &[
    "output",
    "ext-diff",
    "textconv",
    "filters",
    "exec",
    "exec-path",
    "paginate",
    "upload-pack",
    "receive-pack",
    "open-files-in-pager",
    "contents",
    "edit",
    "no-index",
    "help",
    "show-signature",
    "git-dir",
    "work-tree",
    "batch-command",
    "O",
    "orderfile",
    "ignore-revs-file",
    "exclude-from",
    "exclude-per-directory",
    "pathspec-from-file",
    "stdin",
    "config-env",
    "namespace",
    "super-prefix",
    "f",
    "web",
];

/// Commands that only read, whatever else they are given. `f` is a harmless letter for most, a file for
/// `grep`.
const READERS: &[&str] = &[
    "blame",
    "cat-file",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "status",
    "version",
    "whatchanged",
];

/// Forms of commands that otherwise write: the words that may follow.
const FORMS: &[(&str, &[&str])] = &[
    ("reflog", &["show", "list", "exists"]),
    ("remote", &["get-url"]),
    ("stash", &["list", "show"]),
    ("worktree", &["list"]),
    ("notes", &["list", "show"]),
    ("bisect", &["log"]),
    ("symbolic-ref", &[]),
];

/// What a `git` reads, when it only reads.
pub(super) fn reads(words: &[Word]) -> Option<Reads> {
    let values: Vec<&str> = words.iter().map(|word| word.value.as_deref()).collect::<Option<_>>()?;
    let mut reads = Reads { git: true, here: true, ..Reads::default() };
    let mut at = 1;
    loop {
        match *values.get(at)? {
            "--no-pager" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects" => at += 1,
            // The directory is the same, in other words.
            "-C" if values.get(at + 1) == Some(&".") => at += 2,
            "--version" if values.len() == at + 1 => return Some(reads),
            option if option.starts_with('-') => return None,
            _ => break,
        }
    }
    let (command, rest) = (values[at], &values[at + 1..]);
    let is_reader = match command {
        "branch" => lists_branches(rest),
        "tag" => lists_tags(rest),
        "config" => reads_settings(rest),
        _ if READERS.contains(&command) => !rest.iter().any(|word| is_bad(command, word)),
        _ => is_form(command, rest),
    };
    if !is_reader {
        return None;
    }
    // A revision reads as a path in the working directory, which costs nothing.
    reads.files = (at + 1..values.len()).filter(|at| !values[*at].starts_with('-')).collect();
    Some(reads)
}

fn is_bad(command: &str, word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        return !long.is_empty() && is_abbreviated(long, BAD);
    }
    // Letters may stand together, up to one whose value is text.
    let (bad, texts) = match command {
        "grep" => ("Of", "e"),
        "blame" => ("OS", "L"),
        "ls-files" => ("OX", "x"),
        _ => ("O", "SGLI"),
    };
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters
        .split(|letter| texts.contains(letter))
        .next()
        .is_some_and(|flags| flags.contains(|c| bad.contains(c)))
}

fn is_form(command: &str, rest: &[&str]) -> bool {
    let Some((_, forms)) = FORMS.iter().find(|(known, _)| *known == command) else { return false };
    match (command, rest) {
        ("reflog" | "remote", []) | ("remote", ["-v" | "--verbose"]) => true,
        // Options alone are those of `git log`.
        ("reflog", _) if rest.iter().all(|word| word.starts_with('-') && !is_bad(command, word)) => true,
        // With another word it sets what it names.
        ("symbolic-ref", [options @ .., name]) if !name.starts_with('-') => {
            options.iter().all(|word| matches!(*word, "--short" | "-q" | "--quiet"))
        }
        (_, [first, rest @ ..]) => forms.contains(first) && !rest.iter().any(|word| is_bad(command, word)),
        _ => false,
    }
}

fn lists_branches(rest: &[&str]) -> bool {
    const ALONE: &[&str] = &[
        "-a",
        "-r",
        "-v",
        "-vv",
        "--all",
        "--remotes",
        "--verbose",
        "--show-current",
        "--no-color",
        "--no-column",
    ];
    const LISTS: &[&str] =
        &["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
    const STARTS: &[&str] =
        &["--sort=", "--format=", "--contains=", "--merged=", "--no-merged=", "--points-at=", "--column"];
    let is_known = |word: &&str| {
        ALONE.contains(word) || LISTS.contains(word) || STARTS.iter().any(|start| word.starts_with(start))
    };
    let lists = rest.iter().any(|word| LISTS.contains(word));
    rest.iter().all(|word| is_known(word) || (lists && !word.starts_with('-')))
}

fn lists_tags(rest: &[&str]) -> bool {
    const LISTS: &[&str] =
        &["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
    const STARTS: &[&str] = &["-n", "--sort=", "--format=", "--column", "--contains=", "--merged="];
    let is_known = |word: &&str| LISTS.contains(word) || STARTS.iter().any(|start| word.starts_with(start));
    let lists = rest.iter().any(|word| LISTS.contains(word));
    rest.iter().all(|word| is_known(word) || (lists && !word.starts_with('-')))
}

fn reads_settings(rest: &[&str]) -> bool {
    const LIST: &[&str] = &["-l", "--list"];
    const HOW: &[&str] =
        &["--show-origin", "--show-scope", "--name-only", "-z", "--null", "--global", "--local", "--system"];
    let lists = rest.iter().any(|word| LIST.contains(word));
    match rest {
        _ if lists => rest.iter().all(|word| LIST.contains(word) || HOW.contains(word)),
        // With another word it sets what it names.
        [key] if !key.starts_with('-') && key.contains('.') => true,
        ["get" | "--get" | "--get-all" | "--get-regexp", _] | ["list"] => true,
        ["--global" | "--local" | "--system", rest @ ..] if !rest.is_empty() => {
            !matches!(rest[0], "--global" | "--local" | "--system") && reads_settings(rest)
        }
        _ => false,
    }
}
