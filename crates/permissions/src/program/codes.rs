//! Options of programs whose value is a command: `sort --compress-program`, `split --filter`, `rg --pre`, `socat EXEC:…`.
//!
//! Deny rules, ask rules and removals look at what is found here; an allow rule names the program as it is. Values in a
//! language of the program's own (`gdb -ex`, `psql -c`) are looked at only where they leave it for a shell.

use super::behind::{Inner, Language};
use super::{Value, Valued, Words};
use crate::shell::Word;

/// Options of a program whose value is code.
pub(super) struct Codes {
    options: Valued,
    /// What a value may start with and be left alone: it is what the option is there for.
    ordinary: &'static [&'static str],
}

const fn codes(
    letters: &'static str,
    long: &'static [&'static str],
    ordinary: &'static [&'static str],
) -> Codes {
    Codes { options: Valued::new(letters, long), ordinary }
}

/// What a command of git itself runs by its options.
pub(super) fn of_git(command: &str) -> Option<&'static Codes> {
    GIT.iter().find(|(commands, _)| commands.contains(&command)).map(|(_, codes)| codes)
}

const REMOTE: &[&str] = &["--upload-pack", "--receive-pack", "--exec"];

const GIT: &[(&[&str], Codes)] = &[
    (&["rebase", "difftool"], codes("x", &["--exec", "--extcmd"], &[])),
    (&["grep"], Codes { options: Valued::new("O", &["--open-files-in-pager"]).ends("ef"), ordinary: &[] }),
    (&["clone"], Codes { options: Valued::new("u", REMOTE).ends("bcjo"), ordinary: &[] }),
    (&["fetch", "pull", "push", "ls-remote", "archive", "fetch-pack", "send-pack"], codes("", REMOTE, &[])),
    (
        &["send-email"],
        codes(
            "",
            &["--to-cmd", "--cc-cmd", "--header-cmd", "--sendmail-cmd", "--smtp-server"],
            &["sendmail", "msmtp"],
        ),
    ),
    (&["daemon"], codes("", &["--access-hook"], &[])),
    (&["instaweb"], codes("db", &["--httpd", "--browser"], &[])),
    (&["web--browse"], codes("bt", &["--browser", "--tool"], &[])),
];

const PACKERS: &[&str] =
    &["gzip", "bzip2", "xz", "zstd", "pigz", "pixz", "pbzip2", "lz4", "lzip", "lzma", "lzop", "brotli"];

const TABLE: &[(&[&str], Codes)] = &[
    (
        &["tar", "gtar", "bsdtar"],
        codes(
            "IF",
            &[
                "--to-command",
                "--checkpoint-action",
                "--use-compress-program",
                "--info-script",
                "--new-volume-script",
                "--rsh-command",
                "--rmt-command",
            ],
            PACKERS,
        ),
    ),
    (&["cpio"], codes("", &["--rsh-command"], &["ssh"])),
    (&["rsync"], codes("e", &["--rsh"], &["ssh"])),
    (&["man"], codes("PH", &["--pager", "--html"], &[])),
    (&["nodemon"], codes("x", &["--exec$"], &["node", "ts-node"])),
    (&["zip"], codes("", &["--unzip-command"], &["unzip"])),
    (&["sort", "gsort"], codes("", &["--compress-program"], PACKERS)),
    (&["split", "gsplit"], codes("", &["--filter"], &[])),
    (&["install", "ginstall"], codes("", &["--strip-program"], &["strip"])),
    (&["sdiff", "diff3"], codes("", &["--diff-program"], &["diff"])),
    (&["rg"], codes("", &["--pre$", "--hostname-bin$"], &[])),
    (&["ag", "ack"], codes("", &["--pager"], &["less"])),
    (&["nc", "ncat", "netcat"], codes("ec", &["--exec", "--sh-exec"], &[])),
    (&["tcpdump"], codes("z", &[], PACKERS)),
    (&["svn"], codes("", &["--diff-cmd", "--diff3-cmd", "--editor-cmd"], &["diff"])),
    (&["cvs"], codes("e", &[], &[])),
    (&["fzf"], codes("", &["--preview$"], &["cat", "bat", "head", "ls", "tree"])),
    (&["pandoc"], codes("F", &["--filter", "--pdf-engine$"], &["pandoc-crossref", "xelatex", "pdflatex"])),
    (&["dpkg"], codes("", &["--pre-invoke", "--post-invoke"], &[])),
    (&["aria2c"], codes("", &["--on-*"], &[])),
    (&["yt-dlp", "youtube-dl"], codes("", &["--exec*"], &[])),
    (&["wget"], codes("", &["--use-askpass"], &[])),
    (
        &["go"],
        Codes { options: Valued::new("", GO).alone(&["-exec", "-toolexec", "-vettool"]), ordinary: &[] },
    ),
    (&["npm", "npx", "pnpm", "yarn"], codes("", &["--script-shell"], SHELLS)),
    (&["nix-shell"], codes("", &["--run", "--command"], &[])),
    (&["mosh"], codes("", &["--ssh", "--server"], &["ssh", "mosh-server"])),
];

const GO: &[&str] = &["--exec$", "--toolexec$", "--vettool$"];
const SHELLS: &[&str] = &["sh", "bash", "zsh", "/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/bash"];

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
    (&["lftp"], &["!", "shell "]),
    (&["expect", "tclsh", "wish"], &["spawn ", "system ", "exec "]),
    (&["java"], &["-XX:OnError=", "-XX:OnOutOfMemoryError="]),
    (&["cargo"], &["rustc-wrapper=", "rustc-workspace-wrapper=", ".runner=", ".linker=", ".rustc="]),
];

/// The same in the text of a standard input, where it starts a line for most programs.
const IN_INPUT: &[(&[&str], &[&str])] = &[
    (&["psql"], &["\\!", "\\o |", "\\g |"]),
    (&["mysql", "mariadb"], &["\n\\!", "\nsystem "]),
    (&["sqlite3", "sqlite"], &["\n.shell ", "\n.system ", "\n.output |", "\n.once |"]),
    (&["ed", "red", "ex", "vi", "vim", "nvim"], &["\n!", "\n:!", "\nr !", "\nr!", "\nw !", "\n%!"]),
    (&["gdb", "lldb"], &["\n!", "\nshell "]),
    (&["ftp", "sftp", "lftp", "gnuplot", "dc"], &["\n!"]),
    (&["mail", "mailx", "s-nail"], &["\n~!", "\n!"]),
    (&["expect", "tclsh", "wish"], &["spawn ", "system ", "exec "]),
];

/// The code in a text that a program of that base name reads from its standard input.
pub(super) fn of_input(name: &str, text: &str) -> Vec<Inner> {
    let Some((_, marks)) = IN_INPUT.iter().find(|(names, _)| names.contains(&name)) else {
        return Vec::new();
    };
    let lines = format!("\n{text}");
    behind_marks(marks, &lines).filter(|code| !code.is_empty()).map(in_a_word).collect()
}

/// The code among the words of a program of that base name.
pub(super) fn of_options(name: &str, words: &Words) -> Vec<Inner> {
    let codes = TABLE.iter().find(|(names, _)| names.contains(&name));
    let mut found = codes.map(|(_, codes)| codes.find(words)).unwrap_or_default();
    if let Some((_, codes)) = codes.filter(|(names, _)| names.contains(&"tar")) {
        found.extend(codes.options.old_style(words).into_iter().map(|value| code_of(value.word)));
    }
    if let Some((_, marks)) = LEAVING.iter().find(|(names, _)| names.contains(&name)) {
        found.extend((1..words.len()).flat_map(|at| leaving(marks, words, at)));
    }
    found
}

/// The code behind the marks in one word, or in the next where nothing is behind the last of them. Parts of it that
/// only the program itself reads go with it.
fn leaving(marks: &[&str], words: &[Word], at: usize) -> Vec<Inner> {
    let text = words[at].value.as_deref().unwrap_or(&words[at].raw);
    let next = || {
        words.get(at + 1).map(|word| match word.value.as_deref() {
            // gcc parts the words of its wrapper by commas.
            Some(text) => code(&text.replace(',', " ")),
            None => code_of(word),
        })
    };
    let of = |found: &str| if found.is_empty() { next() } else { Some(in_a_word(found)) };
    behind_marks(marks, text).filter_map(of).collect()
}

/// What stands behind each mark in a text, up to the next one.
fn behind_marks<'t>(marks: &[&str], text: &'t str) -> impl Iterator<Item = &'t str> {
    let of =
        |mark: &&str| text.match_indices(*mark).map(|(at, mark)| (at, at + mark.len())).collect::<Vec<_>>();
    let mut found: Vec<(usize, usize)> = marks.iter().flat_map(of).collect();
    found.sort_unstable();
    let ends: Vec<usize> = found.iter().skip(1).map(|(at, _)| *at).chain([text.len()]).collect();
    found.into_iter().zip(ends).map(|((_, start), end)| text[start..end.max(start)].trim())
}

fn in_a_word(text: &str) -> Inner {
    let end = text.find([',', ')', '\n']).unwrap_or(text.len());
    Inner::text(&text[..end], Language::Posix)
}

fn code_of(word: &Word) -> Inner {
    Inner::code(std::slice::from_ref(word), Language::Posix)
}

fn code(text: &str) -> Inner {
    Inner::text(text.trim_start_matches('!'), Language::Posix)
}

impl Codes {
    pub(super) fn find(&self, words: &[Word]) -> Vec<Inner> {
        let of = |found: Value<'_>| match found.text.map(|text| text.strip_prefix("exec=").unwrap_or(text)) {
            Some(text) if self.is_ordinary(text) => None,
            Some(text) if found.is_attached => Some(code(text)),
            _ => Some(code_of(found.word)),
        };
        self.options.values(words).filter_map(of).collect()
    }

    fn is_ordinary(&self, value: &str) -> bool {
        let program = value.split(' ').next().unwrap_or(value);
        self.ordinary.contains(&program)
            && !value.contains([';', '|', '&', '$', '`', '\n', '<', '>', '=', '('])
    }
}
