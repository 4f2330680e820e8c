//! Which files the well-known programs read and write, by their words.
//!
//! For deny and ask rules this over-matches: any word of such a program counts as a path, and so does what
//! follows a `=`, an `@` or a letter of an option. For the mode `acceptEdits` the few programs of [`edits`]
//! are read strictly. What a program that is not listed does with its words (`python -c`, `make`) is not
//! seen; that is what the sandbox is for.

use super::Context;
use super::derived::derived;
use super::opened::opened;
use super::place::{Place, is_home_spelled, place_of};
use crate::program::{Operands, Program, keeps_first};
use crate::read_only;
use crate::shell::Word;
use palisade_policy::{AbsPath, Access};

/// One file that a command touches, or may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) access: Access,
    pub(super) place: Place,
    /// The paths of the place, and where their links lead.
    pub(super) reached: Vec<AbsPath>,
    /// The word, as written.
    pub(super) text: Box<str>,
}

impl Touch {
    pub(super) fn new(access: Access, place: Place, text: &str, context: &Context<'_>) -> Self {
        let place = place.if_short();
        let mut reached = Vec::new();
        if let Place::Paths(paths) | Place::Below { paths, .. } = &place {
            reached.extend(paths.iter().cloned());
            reached.extend(paths.iter().map(context.follow));
            reached.dedup();
        }
        Touch { access, place, reached, text: text.into() }
    }
}

/// Programs that show, copy or pack what their operands hold.
const READERS: &[&str] = &[
    ".",
    "7z",
    "ack",
    "ag",
    "awk",
    "base32",
    "base64",
    "bat",
    "batcat",
    "bsdtar",
    "bunzip2",
    "bzcat",
    "bzip2",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "code",
    "column",
    "comm",
    "cp",
    "csplit",
    "curl",
    "cut",
    "dd",
    "diff",
    "diff3",
    "du",
    "ed",
    "egrep",
    "emacs",
    "ex",
    "expand",
    "fd",
    "fdfind",
    "fgrep",
    "file",
    "find",
    "fmt",
    "fold",
    "gawk",
    "gpg",
    "grep",
    "gunzip",
    "gzip",
    "hd",
    "head",
    "hexdump",
    "iconv",
    "install",
    "join",
    "jq",
    "less",
    "ln",
    "look",
    "ls",
    "mapfile",
    "mawk",
    "md5sum",
    "more",
    "mv",
    "nano",
    "nawk",
    "nl",
    "od",
    "openssl",
    "paste",
    "pr",
    "ptx",
    "readarray",
    "rev",
    "rg",
    "ripgrep",
    "rsync",
    "scp",
    "sdiff",
    "sed",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "shuf",
    "sort",
    "source",
    "split",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "tar",
    "tee",
    "tree",
    "tsort",
    "unexpand",
    "uniq",
    "unxz",
    "vi",
    "view",
    "vim",
    "wc",
    "wget",
    "xxd",
    "xz",
    "xzcat",
    "yq",
    "zcat",
    "zgrep",
    "zip",
    "zless",
    "zstd",
    "zstdcat",
];

/// Programs that change whatever their operands name.
const WRITERS: &[&str] = &[
    "chattr", "chgrp", "chmod", "chown", "csplit", "ed", "emacs", "ex", "gunzip", "gzip", "bunzip2", "bzip2",
    "mkdir", "mkfifo", "mknod", "mv", "nano", "patch", "rm", "rmdir", "sed", "setfacl", "shred", "split",
    "tee", "touch", "truncate", "unlink", "unxz", "unzip", "vi", "vim", "xz", "zip", "zstd",
];

/// Programs that write into their last operand, or what an option names.
const COPIERS: &[&str] = &["cp", "install", "ln", "mv", "rsync", "scp"];

/// Options of other programs whose value is a file that they write.
const OUTPUTS: &[(&str, &[&str])] = &[
    ("base64", &["-o", "--output"]),
    ("bsdtar", &["-f", "-cf", "-czf", "-C", "cf", "czf"]),
    ("curl", &["-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header", "--output-dir"]),
    ("dd", &["of"]),
    ("c++", &["-o"]),
    ("cc", &["-o"]),
    ("clang", &["-o"]),
    ("clang++", &["-o"]),
    ("find", &["-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("g++", &["-o"]),
    ("gcc", &["-o"]),
    ("git", &["--output", "-o"]),
    ("go", &["-o"]),
    ("iconv", &["-o", "--output"]),
    ("javac", &["-d"]),
    ("ld", &["-o"]),
    ("rustc", &["-o", "--out-dir"]),
    ("shuf", &["-o", "--output"]),
    ("sort", &["-o", "--output"]),
    ("tar", &["-f", "-cf", "-czf", "-C", "cf", "czf", "--file", "--directory"]),
    ("tree", &["-o"]),
    ("wget", &["-O", "--output-document", "-P", "--directory-prefix", "-o", "--output-file"]),
];

/// Every file that `program` touches, as far as its words say; of those that it reads only where `reads` asks for them.
pub(super) fn touches(program: &Program, reads: bool, context: &Context<'_>) -> Vec<Touch> {
    let Some(name) = program.name.as_deref() else { return Vec::new() };
    let mut found = Vec::new();
    let listed = |list: &[&str]| list.contains(&name);
    let prints = name == "sed" && read_only::reads(&program.words, name).is_some();
    let access = [(Access::Read, reads && listed(READERS)), (Access::Write, listed(WRITERS) && !prints)];
    for (access, _) in access.into_iter().filter(|(_, is_listed)| *is_listed) {
        for word in program.words.iter().skip(1) {
            add_word(access, word, program, context, &mut found);
        }
        if program.operands == Operands::More {
            found.push(Touch::new(access, Place::Unknown, name, context));
        }
    }
    if let Some(hidden) = searches(name, program).filter(|_| reads) {
        add_trees(hidden, program, context, &mut found);
    }
    if name == "git" {
        add_changed_by_git(program, context, &mut found);
        if reads {
            add_shown_by_git(program, context, &mut found);
        }
    }
    if listed(COPIERS) {
        found.extend(destinations(program, context));
    }
    if let Some((_, options)) = OUTPUTS.iter().find(|(known, _)| *known == name) {
        add_outputs(options, program, context, &mut found);
    }
    found.extend(opened(program, reads, context));
    let derived = derived(program, &found, context);
    found.extend(derived);
    found
}

/// Whether a program shows what it finds in whole directories, and if so, whether also in files whose name starts
/// with a dot.
fn searches(name: &str, program: &Program) -> Option<bool> {
    /// Letters that take a value, for `grep` and `rg` alike.
    const VALUES: &[char] = &['e', 'f', 'g', 't', 'T', 'j', 'A', 'B', 'C', 'm', 'M', 'd', 'E', 'D'];
    let values = || program.words.iter().skip(1).filter_map(|word| word.value.as_deref());
    let has = |letters: &[char], long: &[&str]| {
        values().any(|value| match value.strip_prefix("--") {
            Some(name) => {
                !name.is_empty() && long.iter().any(|long| long.starts_with(name) || name.starts_with(long))
            }
            // What stands behind a letter with a value is that value.
            None => {
                value.starts_with('-') && value[1..].split(VALUES).next().is_some_and(|v| v.contains(letters))
            }
        })
    };
    match name {
        "rgrep" => Some(true),
        "grep" | "egrep" | "fgrep" | "diff" => {
            has(&['r', 'R'], &["recursive", "dereference-recursive", "directories=recurse"]).then_some(true)
        }
        "rg" | "ripgrep" | "ag" | "ack" => {
            Some(has(&['u', '.'], &["hidden", "unrestricted"]) || name == "ack")
        }
        _ => None,
    }
}

/// Adds the directories that a search goes through: every word, since any may be one, or the one that it runs in.
fn add_trees(hidden: bool, program: &Program, context: &Context<'_>, found: &mut Vec<Touch>) {
    let is_operand = |word: &&Word| word.value.as_deref().is_none_or(|value| !value.starts_with('-'));
    let operands: Vec<&Word> = program.words.iter().skip(1).filter(is_operand).collect();
    let here = crate::program::literal(".");
    for word in operands.iter().copied().chain((operands.len() < 2).then_some(&here)) {
        let place = match place_of(word, None, program, context) {
            Place::Paths(paths) | Place::Wildcard(paths) => Place::Below { paths, hidden },
            other => other,
        };
        found.push(Touch::new(Access::Read, place, &word.raw, context));
    }
}

/// Adds the files whose contents git shows, now or as they were: `git blame FILE`, `git show REVISION:FILE`.
fn add_shown_by_git(program: &Program, context: &Context<'_>, found: &mut Vec<Touch>) {
    const SHOWING: &[&str] = &[
        "annotate",
        "archive",
        "blame",
        "cat-file",
        "diff",
        "difftool",
        "grep",
        "log",
        "show",
        "whatchanged",
    ];
    let is_showing = |word: &Word| word.value.as_deref().is_some_and(|value| SHOWING.contains(&value));
    let Some(command) = program.words.iter().skip(1).position(is_showing) else { return };
    for word in program.words.iter().skip(command + 2) {
        let value = word.value.as_deref();
        let path = value.map(|value| value.rsplit_once(':').map_or(value, |(_, path)| path));
        if path.is_some_and(|path| path.starts_with('-') || path.is_empty()) {
            continue;
        }
        match place_of(word, path, program, context) {
            // Most words of that kind are revisions.
            Place::Unknown => {}
            place => found.push(Touch::new(Access::Read, place, &word.raw, context)),
        }
    }
}

/// Adds the files that git puts back, moves or removes: `git restore FILE`, `git checkout REVISION -- FILE`.
fn add_changed_by_git(program: &Program, context: &Context<'_>, found: &mut Vec<Touch>) {
    const CHANGING: &[&str] = &["checkout", "clean", "mv", "restore", "rm"];
    let is_changing = |word: &Word| word.value.as_deref().is_some_and(|value| CHANGING.contains(&value));
    let Some(command) = program.words.iter().skip(1).position(is_changing) else { return };
    let is_operand = |word: &&Word| word.value.as_deref().is_some_and(|value| !value.starts_with('-'));
    for word in program.words.iter().skip(command + 2).filter(is_operand) {
        let place = place_of(word, None, program, context);
        found.push(Touch::new(Access::Write, place, &word.raw, context));
    }
}

/// Adds a word, and the parts of it that may be a path.
fn add_word(access: Access, word: &Word, program: &Program, context: &Context<'_>, found: &mut Vec<Touch>) {
    let mut add = |text: Option<&str>| {
        let place = place_of(word, text, program, context);
        found.push(Touch::new(access, place, &word.raw, context));
    };
    let Some(value) = word.value.as_deref() else { return add(None) };
    if !value.starts_with('-') || value == "-" {
        add(Some(value));
    }
    if value.starts_with('-') && !value.starts_with("--") && value.is_char_boundary(2) && value.len() > 2 {
        add(Some(&value[2..]));
    }
    for mark in ['=', '@'] {
        if let Some((_, part)) = value.split_once(mark).filter(|(_, part)| !part.is_empty()) {
            add(Some(part));
        }
    }
}

/// What a copy takes, and the words that name where it goes, with the mark behind which the name starts.
fn copied(program: &Program) -> (Vec<&Word>, Vec<(&Word, Option<char>)>) {
    let is_operand =
        |word: &&Word| word.value.as_deref().is_none_or(|value| !value.starts_with('-') || value == "-");
    let mut operands: Vec<&Word> = program.words.iter().skip(1).filter(is_operand).collect();
    let named = |option: &str| program.words.iter().position(|word| word.value.as_deref() == Some(option));
    let option = ["-t", "--target-directory"].iter().find_map(|option| named(option));
    let target = match option {
        Some(at) => program.words.get(at + 1),
        None => operands.pop(),
    };
    let long = program
        .words
        .iter()
        .find(|word| word.value.as_deref().is_some_and(|v| v.starts_with("--target-directory=")));
    let targets = target.map(|word| (word, None)).into_iter().chain(long.map(|word| (word, Some('='))));
    (operands, targets.collect())
}

fn target_place((word, mark): (&Word, Option<char>), program: &Program, context: &Context<'_>) -> Place {
    let text = mark.and_then(|mark| word.value.as_deref()?.split_once(mark)).map(|(_, text)| text);
    place_of(word, text, program, context)
}

/// What a copy makes: the last operand, and what the files would be called in it.
fn destinations(program: &Program, context: &Context<'_>) -> Vec<Touch> {
    let mut found = Vec::new();
    let (operands, targets) = copied(program);
    for target @ (word, _) in targets {
        let place = target_place(target, program, context);
        if let Place::Paths(paths) = &place {
            let inner = within(paths, &operands, program);
            found.extend(inner.into_iter().map(|place| Touch::new(Access::Write, place, &word.raw, context)));
        }
        found.push(Touch::new(Access::Write, place, &word.raw, context));
    }
    found
}

/// Whether a copy makes the directories in front of a name as well: `cp --parents a/b d` makes `d/a/b`.
fn keeps_directories(program: &Program) -> bool {
    let name = program.name.as_deref().unwrap_or_default();
    let mut options = program.words.iter().skip(1).filter_map(|word| word.value.as_deref());
    options.any(|option| match option.strip_prefix("--") {
        Some(long) => !long.is_empty() && ["parents", "relative"].iter().any(|full| full.starts_with(long)),
        None => name == "rsync" && option.starts_with('-') && option.contains('R'),
    })
}

/// What `operands` of a copy would be called in the directories `paths`.
fn within(paths: &[AbsPath], operands: &[&Word], program: &Program) -> Vec<Place> {
    let (mut named, mut wild, mut takes_contents) = (Vec::new(), Vec::new(), false);
    let keeps_directories = keeps_directories(program);
    let slash_means_contents = program.name.as_deref() == Some("rsync");
    for word in operands {
        let written = word.value.as_deref().unwrap_or(&word.raw);
        let text = written.trim_end_matches('/');
        let last = text.rsplit('/').next().unwrap_or(text);
        let name = if keeps_directories { text.trim_start_matches('/') } else { last };
        let joined = || paths.iter().filter_map(|path| path.join(name).ok());
        let flags = word.flags;
        let is_wild = flags.glob && !flags.dynamic && !flags.brace && !flags.quoted && !name.contains('\\');
        let is_contents = matches!(last, "" | "." | "..") || (slash_means_contents && written.ends_with('/'));
        takes_contents |= is_contents;
        match word.value {
            _ if is_contents => {}
            Some(_) => named.extend(joined()),
            None if is_wild => wild.extend(joined()),
            None => takes_contents = true,
        }
    }
    let below = takes_contents.then(|| Place::Below { paths: paths.to_vec(), hidden: true });
    let named = (!named.is_empty()).then_some(Place::Paths(named));
    let wild = (!wild.is_empty()).then_some(Place::Wildcard(wild));
    [named, wild, below].into_iter().flatten().collect()
}

/// Adds what stands behind options that name a file to write, in the same word or the next.
fn add_outputs(options: &[&str], program: &Program, context: &Context<'_>, found: &mut Vec<Touch>) {
    for (at, word) in program.words.iter().enumerate().skip(1) {
        let Some(value) = word.value.as_deref() else { continue };
        for option in options {
            let rest = value.strip_prefix(option);
            let (word, text) = match rest {
                Some("") => match program.words.get(at + 1) {
                    Some(next) => (next, next.value.as_deref()),
                    None => continue,
                },
                Some(rest) if rest.starts_with('=') => (word, Some(&rest[1..])),
                Some(rest) if option.len() == 2 && option.starts_with('-') => (word, Some(rest)),
                _ => continue,
            };
            let place = place_of(word, text, program, context);
            found.push(Touch::new(Access::Write, place, &word.raw, context));
        }
    }
}

/// The files that one of the few programs that only edit files touches, when its options are known to do no
/// more: what the mode `acceptEdits` lets through in the working directories.
pub(super) fn edits(program: &Program, context: &Context<'_>) -> Option<Vec<Touch>> {
    let name = program.name.as_deref()?;
    let first = program.words.first()?.value.as_deref()?;
    if (first != name && !read_only::is_in_system_directory(first)) || program.operands == Operands::More {
        return None;
    }
    let letters = match name {
        "mkdir" => "pv",
        "touch" => "acm",
        "rm" => "rRfvid",
        "rmdir" => "pv",
        "mv" => "fvnui",
        "cp" => "rRapfvnui",
        "sed" => return edits_of_sed(program, context),
        _ => return None,
    };
    let mut only_operands = false;
    for word in program.words.iter().skip(1) {
        match word.value.as_deref() {
            Some("--") => only_operands = true,
            Some(value) if value.starts_with('-') && !only_operands => {
                let is_known =
                    value.len() > 1 && value.chars().skip(1).all(|letter| letters.contains(letter));
                let is_long = matches!(value, "--recursive" | "--force" | "--verbose")
                    || (value == "--parents" && matches!(name, "mkdir" | "rmdir"));
                if !is_known && !is_long {
                    return None;
                }
            }
            Some(_) => {}
            // A name that starts with a wildcard may turn out to be an option.
            None if !keeps_first(word) && !is_home_spelled(word) && !only_operands && name != "rm" => {
                return None;
            }
            None => {}
        }
    }
    Some(touches(program, true, context))
}

fn edits_of_sed(program: &Program, context: &Context<'_>) -> Option<Vec<Touch>> {
    let script = read_only::scan(&program.words)?;
    let touch = |at: usize| {
        let word = &program.words[at];
        Touch::new(Access::Write, place_of(word, None, program, context), &word.raw, context)
    };
    let found: Vec<Touch> = script.files.iter().copied().map(touch).collect();
    let derived = derived(program, &found, context);
    let only_edits = script.in_place && script.only_edits();
    (only_edits && !found.is_empty()).then(|| found.into_iter().chain(derived).collect())
}
