//! Files that a program opens though they are no operands of it: those in a script of `sed`, behind an option, or in a
//! form of `curl`.
//!
//! For deny and ask rules, so what may be such a file counts as one.

use super::Context;
use super::access::Touch;
use super::place::{Place, place_of};
use crate::program::{Program, Value, Valued};
use crate::read_only;
use crate::shell::Word;
use palisade_policy::Access;

/// Options of programs that otherwise read no file, whose value is a file that they read.
const INPUTS: &[(&[&str], Valued)] = &[
    (&["xargs", "gxargs"], Valued::new("a", &["--arg-file"]).ends("dEILnPs")),
    (&["parallel"], Valued::new("a", &["--arg-file"]).alone(&["::::"])),
    (&["date", "gdate"], Valued::new("fr", &["--file", "--reference"]).ends("ds")),
    (&["pgrep", "pkill"], Valued::new("F", &["--pidfile"])),
    (&["hostname"], Valued::new("F", &["--file"])),
    (&["dig"], Valued::new("f", &[])),
    (&["gcc", "clang"], Valued::new("", &[]).alone(&["-include", "-imacros"])),
    (&["at", "batch"], Valued::new("f", &[])),
    (&["cpio"], Valued::new("FI", &["--file"]).ends("CEHMORW")),
    (&["kubectl"], Valued::new("f", &["--filename$", "--from-file$", "--from-env-file$"]).ends("cnlo")),
    (&["mail", "mutt"], Valued::new("aA", &[]).ends("s")),
    (&["make", "gmake"], Valued::new("f", &["--file", "--makefile"]).ends("CIjlo")),
    (&["ssh", "sftp"], Valued::new("F", &[]).ends("BbcDEeIiJLlmOopPQRSWw")),
    (&["nmap"], Valued::new("", &[]).alone(&["-iL"])),
    (&["bc", "dc"], Valued::new("f", &["--file"])),
    (&["git"], Valued::new("Ft", &["--file", "--template", "--pathspec-from-file"]).ends("m")),
    (&["gh"], Valued::new("F", &["--body-file", "--notes-file"])),
    (&["psql"], Valued::new("f", &["--file"])),
    (&["docker"], Valued::new("", &["--env-file"])),
    (&["node"], Valued::new("", &["--env-file$", "--env-file-if-exists$"])),
];

/// Options whose value is a file that they write.
const OUTPUTS: &[(&[&str], Valued)] = &[
    (&["base64"], Valued::new("o", &["--output"]).ends("wb")),
    (
        &["curl"],
        Valued::new(
            "ocD",
            &[
                "--output",
                "--output-dir",
                "--cookie-jar",
                "--dump-header",
                "--etag-save",
                "--hsts",
                "--libcurl",
                "--stderr",
                "--trace",
                "--trace-ascii",
            ],
        )
        .ends("AbBCdeEFhHKmPQrtTuUwxXyYz"),
    ),
    (&["c++", "cc", "clang", "clang++", "g++", "gcc", "ld"], Valued::new("o", &[]).ends("*")),
    (&["dd"], Valued::new("", &[]).alone(&["of"])),
    (&["find"], Valued::new("", &[]).alone(&["-fprint", "-fprint0", "-fprintf", "-fls"])),
    (&["git"], Valued::new("", &["--output", "--output-directory"])),
    (&["go"], Valued::new("", &[]).alone(&["-o", "--o"])),
    (&["gpg", "sdiff", "strace", "pandoc"], Valued::new("o", &["--output"]).ends("rueEFftV")),
    (&["iconv"], Valued::new("o", &["--output"]).ends("ft")),
    (&["javac"], Valued::new("d", &[]).ends("*")),
    (&["openssl"], Valued::new("", &[]).alone(&["-out", "-keyout"])),
    (&["rustc"], Valued::new("o", &["--out-dir"]).ends("*")),
    (&["shuf"], Valued::new("o", &["--output"]).ends("in")),
    (&["sort"], Valued::new("o", &["--output"]).ends("ktST")),
    (&["tar", "bsdtar"], Valued::new("C", &["--directory"])),
    (&["tree"], Valued::new("o", &[])),
    (
        &["wget"],
        Valued::new(
            "OPoa",
            &[
                "--output-document",
                "--directory-prefix",
                "--output-file",
                "--append-output",
                "--save-cookies",
            ],
        )
        .ends("ABDeiIlQRtTUwX"),
    ),
];

/// Those of the commands of git that write what `-o` names.
const GIT_OUTPUT: Valued = Valued::new("o", &[]).ends("GS");
/// The archive of `tar`, which only some of its operations write.
const ARCHIVE: Valued = Valued::new("f", &["--file"]);

/// What `program` opens besides its operands.
pub(super) fn opened(program: &Program, reads: bool, context: &Context<'_>) -> Vec<Touch> {
    let name = program.name.as_deref().unwrap_or_default();
    let mut found = written(name, program, context);
    found.extend(of_name(name, program, reads, context));
    found
}

/// What a program writes behind its options.
fn written(name: &str, program: &Program, context: &Context<'_>) -> Vec<Touch> {
    let words = &program.words[..];
    let mut values: Vec<Value<'_>> =
        options_of(OUTPUTS, name).flat_map(|options| options.values(words)).collect();
    let has = |commands: &[&str]| {
        words.iter().skip(1).any(|word| word.value.as_deref().is_some_and(|value| commands.contains(&value)))
    };
    match name {
        "git" if has(&["archive", "format-patch"]) => values.extend(GIT_OUTPUT.values(words)),
        "tar" | "bsdtar" if writes_archive(words) => {
            values.extend(ARCHIVE.values(words));
            values.extend(ARCHIVE.old_style(words));
        }
        _ => {}
    }
    let touch = |value: Value<'_>| {
        Touch::new(
            Access::Write,
            place_of(value.word, value.text, program, context),
            &value.word.raw,
            context,
        )
    };
    values.into_iter().map(touch).collect()
}

fn options_of(table: &'static [(&[&str], Valued)], name: &str) -> impl Iterator<Item = &'static Valued> {
    table.iter().filter(move |(names, _)| names.contains(&name)).map(|(_, options)| options)
}

/// Whether a `tar` makes or changes an archive.
fn writes_archive(words: &[Word]) -> bool {
    const LONG: &[&str] = &["--append", "--catenate", "--concatenate", "--create", "--update", "--delete"];
    words.iter().enumerate().skip(1).any(|(at, word)| match word.value.as_deref() {
        Some(text) if text.starts_with("--") => {
            text.len() > 3 && LONG.iter().any(|long| long.starts_with(text))
        }
        Some(text) => (at == 1 || text.starts_with('-')) && text.contains(['c', 'r', 'u', 'A']),
        None => false,
    })
}

fn of_name(name: &str, program: &Program, reads: bool, context: &Context<'_>) -> Vec<Touch> {
    let touch = |access, word: &Word, text: &str| {
        Touch::new(access, place_of(word, Some(text), program, context), text, context)
    };
    let read = |(word, text): (&Word, String)| touch(Access::Read, word, &text);
    match name {
        "sed" | "gsed" => of_script(program, reads, touch),
        _ if !reads => Vec::new(),
        "man" => pages(&program.words).map(read).collect(),
        "curl" if program.words.iter().any(is_open_url) => {
            vec![Touch::new(Access::Read, Place::Unknown, "file:", context)]
        }
        "curl" => program.words.iter().flat_map(|word| of_form(word)).map(read).collect(),
        "jq" | "gojq" if program.words.iter().skip(1).any(read_only::loads_module) => {
            vec![Touch::new(Access::Read, Place::Unknown, "import", context)]
        }
        _ => {
            let values = options_of(INPUTS, name).flat_map(|options| options.values(&program.words));
            let touch = |value: Value<'_>| {
                Touch::new(
                    Access::Read,
                    place_of(value.word, value.text, program, context),
                    &value.word.raw,
                    context,
                )
            };
            values.map(touch).collect()
        }
    }
}

fn of_script(program: &Program, reads: bool, touch: impl Fn(Access, &Word, &str) -> Touch) -> Vec<Touch> {
    let Some(script) = read_only::scan(&program.words) else { return Vec::new() };
    let stands_for_input = |path: &&String| path.starts_with("/dev/std");
    let word = Word::literal("");
    let of = |access, paths: &[String]| -> Vec<Touch> {
        paths.iter().filter(|path| !stands_for_input(path)).map(|path| touch(access, &word, path)).collect()
    };
    let mut found = of(Access::Write, &script.writes);
    if reads {
        found.extend(of(Access::Read, &script.reads));
    }
    found
}

/// What a `man` takes for files: words with a slash, and with `-l` all of them.
fn pages(words: &[Word]) -> impl Iterator<Item = (&Word, String)> {
    let is_local = words.iter().skip(1).filter_map(|word| word.value.as_deref()).any(|text| {
        match text.starts_with("--") {
            true => text.len() > 2 && "--local-file".starts_with(text),
            false => text.starts_with('-') && text.contains('l'),
        }
    });
    words.iter().skip(1).filter_map(move |word| {
        let text = word.value.as_deref()?;
        ((is_local || text.contains('/')) && !text.starts_with('-')).then(|| (word, text.to_owned()))
    })
}

/// Whether a word is the URL of a file that is spelled in a way of its own: `file:///%2eenv`, `file:///.e{n}v`.
fn is_open_url(word: &Word) -> bool {
    let text = word.value.as_deref().unwrap_or(&word.raw).to_ascii_lowercase();
    text.find("file:").is_some_and(|at| text[at..].contains(['%', '{', '[']))
}

/// `-F name=<FILE`, `-F name=@FILE;type=x`, `-F @FILE,FILE`, `file:///FILE`.
fn of_form(word: &Word) -> Vec<(&Word, String)> {
    let Some(text) = word.value.as_deref() else { return Vec::new() };
    let of_url = text.to_ascii_lowercase().find("file:").map(|at| &text[at + 5..]);
    let of_url =
        of_url.map(|path| format!("/{}", path.trim_start_matches("//localhost").trim_start_matches('/')));
    let parts = text.split_once(['<', '@']).map(|(_, files)| files.split([';', ',', '<', '@']));
    let named = parts.into_iter().flatten().filter(|part| !part.is_empty());
    named.map(|part| part.trim_matches('"').to_owned()).chain(of_url).map(|text| (word, text)).collect()
}
