//! Options of programs whose value is a command: `sort --compress-program`, `split --filter`, `rg --pre`, `socat EXEC:…`.
//!
//! Deny rules, ask rules and removals look at what is found here; an allow rule names the program as it is. Values in a
//! language of the program's own (`gdb -ex`, `psql -c`) are looked at only where they leave it for a shell.

use super::Words;
use super::behind::{Inner, Language};
use crate::shell::Word;

/// Options of a program whose value is code.
pub(super) struct Codes {
    letters: &'static str,
    /// What long names start with; with a `$` behind it, the whole name.
    long: &'static [&'static str],
    /// What a value may start with and be left alone: it is what the option is there for.
    ordinary: &'static [&'static str],
}

const fn codes(
    letters: &'static str,
    long: &'static [&'static str],
    ordinary: &'static [&'static str],
) -> Codes {
    Codes { letters, long, ordinary }
}

pub(super) const GIT_EXEC: Codes = codes("x", &["--exe", "--extcmd"], &[]);
pub(super) const GIT_REMOTE: Codes = codes("", &["--upload-p", "--receive-p", "--rec", "--exec"], &[]);
pub(super) const GIT_GREP: Codes = codes("O", &["--open-files"], &[]);

const PACKERS: &[&str] =
    &["gzip", "bzip2", "xz", "zstd", "pigz", "pixz", "pbzip2", "lz4", "lzip", "lzma", "lzop", "brotli"];

const TABLE: &[(&[&str], Codes)] = &[
    (
        &["tar", "gtar", "bsdtar"],
        codes(
            "IF",
            &["--to-c", "--checkpoint-a", "--use-c", "--info-s", "--new-v", "--rsh-c", "--rmt-c"],
            PACKERS,
        ),
    ),
    (&["cpio"], codes("", &["--rsh-c"], &["ssh"])),
    (&["rsync"], codes("e", &["--rsh"], &["ssh"])),
    (&["man"], codes("P", &["--pager"], &[])),
    (&["sort", "gsort"], codes("", &["--comp"], PACKERS)),
    (&["split", "gsplit"], codes("", &["--f"], &[])),
    (&["install", "ginstall"], codes("", &["--strip-p"], &["strip"])),
    (&["sdiff", "diff3"], codes("", &["--diff-p"], &["diff"])),
    (&["rg"], codes("", &["--pre$", "--hostname-bin$"], &[])),
    (&["ag", "ack"], codes("", &["--pager"], &["less"])),
    (&["nc", "ncat", "netcat"], codes("ec", &["--exec", "--sh-exec"], &[])),
    (&["tcpdump"], codes("z", &[], PACKERS)),
    (&["svn"], codes("", &["--diff-cmd", "--diff3-cmd", "--editor-cmd"], &["diff"])),
    (&["cvs"], codes("e", &[], &[])),
    (&["fzf"], codes("", &["--preview$"], &["cat", "bat", "head", "ls", "tree"])),
    (&["pandoc"], codes("F", &["--filter$", "--pdf-engine$"], &["pandoc-crossref", "xelatex", "pdflatex"])),
    (&["dpkg"], codes("", &["--pre-invoke", "--post-invoke"], &[])),
    (&["aria2c"], codes("", &["--on-"], &[])),
    (&["yt-dlp", "youtube-dl"], codes("", &["--exec"], &[])),
    (&["wget"], codes("", &["--use-askpass"], &[])),
    (&["lftp"], codes("ec", &[], &[])),
    (&["sftp"], codes("D", &[], &[])),
];

/// What follows one of these in a word is a command for a shell.
const LEAVING: &[(&[&str], &[&str])] = &[
    (&["gdb", "lldb"], &["!", "shell "]),
    (&["psql"], &["\\!", "\\o |", "\\g |"]),
    (&["mysql", "mariadb"], &["\\!", "system "]),
    (&["sqlite3", "sqlite"], &[".shell ", ".system ", ".output |", ".once |"]),
    (&["dc"], &["!"]),
    (&["less", "more", "most"], &["+!"]),
    (&["hg"], &["=!"]),
    (&["zip"], &["-TT", "--unzip-command="]),
    (&["rpm", "rpmspec", "rpmbuild"], &["%("]),
    (&["fzf"], &["execute(", "execute-silent(", "become(", "reload("]),
    (&["socat"], &["EXEC:", "exec:", "SYSTEM:", "system:", "SHELL:", "shell:"]),
    (&["apt", "apt-get"], &["Invoke::=", "Invoke="]),
    (&["gcc", "g++", "cc", "c++"], &["-wrapper"]),
];

/// The code among the words of a program of that base name.
pub(super) fn of_options(name: &str, words: &Words) -> Vec<Inner> {
    let codes = TABLE.iter().find(|(names, _)| names.contains(&name));
    let mut found = codes.map(|(_, codes)| codes.find(words)).unwrap_or_default();
    if let Some((_, marks)) = LEAVING.iter().find(|(names, _)| names.contains(&name)) {
        found.extend((1..words.len()).flat_map(|at| leaving(marks, words, at)));
    }
    found
}

/// The code behind a mark in one word, or in the next where nothing is behind it. Parts of it that only the program
/// itself reads go with it.
fn leaving(marks: &[&str], words: &[Word], at: usize) -> Option<Inner> {
    let text = words[at].value.as_deref().unwrap_or(&words[at].raw);
    let (_, rest) = marks.iter().find_map(|mark| text.split_once(mark))?;
    match rest.trim() {
        // gcc parts the words of its wrapper by commas.
        "" => words.get(at + 1).map(|word| match word.value.as_deref() {
            Some(text) => code(&text.replace(',', " ")),
            None => code_of(word),
        }),
        rest => {
            let end = rest.find([',', ')', '\n']).unwrap_or(rest.len());
            Some(Inner::text(&rest[..end], Language::Posix))
        }
    }
}

fn code_of(word: &Word) -> Inner {
    Inner::code(std::slice::from_ref(word), Language::Posix)
}

fn code(text: &str) -> Inner {
    Inner::text(text.trim_start_matches('!'), Language::Posix)
}

fn value(word: &Word) -> Option<&str> {
    word.value.as_deref()
}

impl Codes {
    pub(super) fn find(&self, words: &[Word]) -> Vec<Inner> {
        let mut inner = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let Some(text) = value(word) else {
                let text = word.raw.trim_start_matches(['"', '\'']);
                inner.extend(self.attached(text).map(|_| code_of(word)));
                continue;
            };
            match self.attached(text) {
                Some("") => inner.extend(words.get(at + 1).map(code_of)),
                Some(value) if !self.is_ordinary(value) => inner.push(code(value)),
                _ => {}
            }
        }
        inner
    }

    /// The value of an option that takes code; empty where that is the next word.
    fn attached<'a>(&self, text: &'a str) -> Option<&'a str> {
        if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(text);
            let is_named = |long: &&str| match long.strip_suffix('$') {
                Some(whole) => name == whole,
                None => name.starts_with(long),
            };
            let value = self.long.iter().any(is_named).then(|| &text[name.len()..])?;
            let value = value.strip_prefix('=').unwrap_or(value);
            return Some(value.strip_prefix("exec=").unwrap_or(value));
        }
        let letters = text.strip_prefix('-')?;
        letters.split_once(|letter| self.letters.contains(letter)).map(|(_, value)| value)
    }

    fn is_ordinary(&self, value: &str) -> bool {
        let program = value.split(' ').next().unwrap_or(value);
        self.ordinary.contains(&program)
            && !value.contains([';', '|', '&', '$', '`', '\n', '<', '>', '=', '('])
    }
}
