//! Which files the well-known programs read and write, by their words.
//!
//! For deny and ask rules this over-matches: any word of such a program counts as a path, and so does what
//! follows a `=`, an `@` or a letter of an option. For the mode `acceptEdits` the few programs of [`edits`]
//! are read strictly. What a program that is not listed does with its words (`python -c`, `make`) is not
//! seen; that is what the sandbox is for.

use super::Context;
use super::by_git::touched_by_git;
use super::derived::derived;
use super::opened::opened;
use super::place::{Place, anywhere, is_home_spelled, place_of};
use crate::program::{Operands, Program, Value, Valued, keeps_first};
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
    "b2sum",
    "base32",
    "base64",
    "basenc",
    "bat",
    "batcat",
    "brotli",
    "bsdtar",
    "bunzip2",
    "bzcat",
    "bzgrep",
    "bzip2",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "code",
    "colordiff",
    "column",
    "comm",
    "compress",
    "cp",
    "cpp",
    "csplit",
    "curl",
    "cut",
    "dd",
    "diff",
    "diff3",
    "dir",
    "dircolors",
    "dos2unix",
    "du",
    "ed",
    "egrep",
    "emacs",
    "enscript",
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
    "groff",
    "gunzip",
    "gzip",
    "hd",
    "head",
    "hexdump",
    "hexyl",
    "iconv",
    "install",
    "joe",
    "join",
    "jq",
    "less",
    "link",
    "ln",
    "look",
    "lp",
    "lpr",
    "ls",
    "lz4",
    "lz4cat",
    "lzcat",
    "lzip",
    "lzma",
    "m4",
    "mapfile",
    "mawk",
    "md5sum",
    "micro",
    "more",
    "most",
    "mv",
    "nano",
    "nawk",
    "nl",
    "nm",
    "nroff",
    "nvim",
    "objdump",
    "od",
    "openssl",
    "paste",
    "pbzip2",
    "pcre2grep",
    "pcregrep",
    "pico",
    "pigz",
    "pr",
    "ptx",
    "readarray",
    "readelf",
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
    "troff",
    "tsort",
    "ugrep",
    "uncompress",
    "unexpand",
    "uniq",
    "unxz",
    "uuencode",
    "vdir",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "wc",
    "wget",
    "xmllint",
    "xsltproc",
    "xxd",
    "xz",
    "xzcat",
    "xzgrep",
    "yq",
    "zcat",
    "zdiff",
    "zegrep",
    "zfgrep",
    "zgrep",
    "zip",
    "zless",
    "zmore",
    "zstd",
    "zstdcat",
    "zstdgrep",
];

/// Programs that change whatever their operands name.
const WRITERS: &[&str] = &[
    "chattr", "chgrp", "chmod", "chown", "csplit", "ed", "emacs", "ex", "gunzip", "gzip", "bunzip2", "bzip2",
    "mkdir", "mkfifo", "mknod", "mv", "nano", "patch", "rm", "rmdir", "sed", "setfacl", "shred", "split",
    "tee", "touch", "truncate", "unlink", "unxz", "unzip", "vi", "vim", "xz", "zip", "zstd",
];

/// Programs that write into their last operand, or what an option names.
const COPIERS: &[&str] = &["cp", "install", "link", "ln", "mv", "rsync", "scp"];

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
        found.extend(touched_by_git(program, reads, context));
    }
    if listed(COPIERS) {
        found.extend(destinations(program, context));
    }
    found.extend(opened(program, reads, context));
    let derived = derived(program, &found, context);
    found.extend(derived);
    found
}

/// Whether a program shows what it finds in whole directories, and if so, whether also in files whose name starts
/// with a dot.
fn searches(name: &str, program: &Program) -> Option<bool> {
    const DIRECTORIES: Valued = Valued::new("d", &["--directories"]).ends("efABCmD");
    let recurses = |found: Value<'_>| found.text.is_none_or(|text| "recurse".starts_with(text));
    match name {
        "rgrep" => Some(true),
        "grep" | "egrep" | "fgrep" => {
            let has = has_option(program, &['r', 'R'], &["recursive", "dereference-recursive"], "efABCmdD");
            (has || DIRECTORIES.values(&program.words).any(recurses)).then_some(true)
        }
        "diff" | "colordiff" => has_option(program, &['r'], &["recursive"], "UCIxFSWDLX").then_some(true),
        "rg" | "ripgrep" | "ag" | "ack" => {
            // A type of the line's own finds what its pattern says.
            let mut words = program.words.iter().filter_map(|word| word.value.as_deref());
            let has_type = words.any(|word| word.starts_with("--type-add"));
            let has = has_option(program, &['u', '.'], &["hidden", "unrestricted"], "eABCgmtTjMErdfG");
            Some(has || has_type || name == "ack")
        }
        _ => None,
    }
}

/// Whether a program is given one of these letters or long names. `values` are the letters whose value is what stands
/// behind them.
fn has_option(program: &Program, letters: &[char], long: &[&str], values: &str) -> bool {
    program.words.iter().skip(1).filter_map(|word| word.value.as_deref()).any(|word| {
        match word.strip_prefix("--") {
            Some(name) => {
                let name = name.split('=').next().unwrap_or(name);
                !name.is_empty() && long.iter().any(|long| long.starts_with(name))
            }
            None => {
                let given = word.strip_prefix('-').unwrap_or_default();
                given.split(|letter| values.contains(letter)).next().is_some_and(|v| v.contains(letters))
            }
        }
    })
}

/// Adds the directories that a search goes through: every word, since any may be one, or the one that it runs in.
fn add_trees(hidden: bool, program: &Program, context: &Context<'_>, found: &mut Vec<Touch>) {
    let is_operand = |word: &&Word| word.value.as_deref().is_none_or(|value| !value.starts_with('-'));
    let operands: Vec<&Word> = program.words.iter().skip(1).filter(is_operand).collect();
    let here = Word::literal(".");
    for word in operands.iter().copied().chain((operands.len() < 2).then_some(&here)) {
        let place = match place_of(word, None, program, context) {
            Place::Paths(paths) | Place::Wildcard(paths) => Place::Below { paths, hidden },
            other => other,
        };
        found.push(Touch::new(Access::Read, place, &word.raw, context));
    }
    // These are looked through whether or not their names start with a dot.
    const CHOSEN: Valued = Valued::new("g", &["--glob", "--iglob"]).ends("eABCmtTjMErdf");
    let is_chooser = matches!(program.name.as_deref(), Some("rg" | "ripgrep"));
    for chosen in CHOSEN.values(&program.words).filter(|_| is_chooser) {
        let Some(pattern) = chosen.text.filter(|text| !text.starts_with('!')) else { continue };
        let place = anywhere(pattern.trim_start_matches('/'), program, context);
        found.push(Touch::new(Access::Read, place, &chosen.word.raw, context));
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
    behind_letters(value).take(LONGEST_LETTERS).for_each(|part| add(Some(part)));
    for mark in ['=', '@'] {
        if let Some((_, part)) = value.split_once(mark).filter(|(_, part)| !part.is_empty()) {
            add(Some(part));
        }
    }
    if behind_letters(value).nth(LONGEST_LETTERS).is_some() {
        found.push(Touch::new(access, Place::Unknown, &word.raw, context));
    }
}

/// More letters than these stand together in no ordinary option.
const LONGEST_LETTERS: usize = 64;

/// What may be the value of a letter in a word of short options: any of them may be the last one that is an option.
pub(super) fn behind_letters(word: &str) -> impl Iterator<Item = &str> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
    let is_option = |c: &u8| c.is_ascii_alphanumeric() || b"#.:@%+,?!".contains(c);
    let options = letters.bytes().take_while(is_option).count().min(LONGEST_LETTERS + 1);
    (1..=options).map(|at| &letters[at..]).filter(|part| !part.is_empty())
}

/// What a copy takes, and where it goes, each with its text if that is certain.
fn copied(program: &Program) -> (Vec<&Word>, Vec<Value<'_>>) {
    const TARGET: Valued = Valued::new("t", &["--target-directory"]).ends("Sgmo");
    let is_operand =
        |word: &&Word| word.value.as_deref().is_none_or(|value| !value.starts_with('-') || value == "-");
    let mut operands: Vec<&Word> = program.words.iter().skip(1).filter(is_operand).collect();
    let has_option = matches!(program.name.as_deref(), Some("cp" | "install" | "ln" | "mv"));
    let mut targets: Vec<Value<'_>> = TARGET.values(&program.words).filter(|_| has_option).collect();
    if targets.is_empty() {
        let last = operands.pop();
        targets.extend(last.map(|word| Value { word, text: word.value.as_deref(), is_attached: false }));
    }
    (operands, targets)
}

fn target_place(target: Value<'_>, program: &Program, context: &Context<'_>) -> Place {
    place_of(target.word, target.text, program, context)
}

/// What a copy makes: the last operand, and what the files would be called in it.
fn destinations(program: &Program, context: &Context<'_>) -> Vec<Touch> {
    let mut found = Vec::new();
    let (operands, targets) = copied(program);
    for target in targets {
        let word = target.word;
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
