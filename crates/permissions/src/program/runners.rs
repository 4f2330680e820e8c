//! Programs beside the common wrappers that run what stands among their words, most of them read roughly: any of
//! their words may be the program.
//!
//! Deny rules, ask rules and removals look behind them; an allow rule names them as they are, and inside the sandbox
//! they are programs like others. Runners that take the program from a package, a container or a project's own
//! settings (`npx`, `docker exec`, `mise exec`, `watchexec`) are none of these, but for code that they hand to a shell.

use super::Words;
use super::behind::{Found, Inner, Language};
use super::options::Grammar;
use crate::shell::Word;

/// Programs that run another one, with options that differ too much from version to version to be read.
const RUNNERS: &[&str] = &[
    // Restart, repeat or watch it.
    "daemon",
    "daemonize",
    "dtach",
    "abduco",
    "pee",
    "retry",
    "timelimit",
    "ts",
    "tsp",
    // Change what it is given.
    "envdir",
    "envuidgid",
    "s6-envdir",
    "s6-envuidgid",
    "s6-setuidgid",
    "s6-softlimit",
    "setuidgid",
    "softlimit",
    "chpst",
    "setlock",
    "pgrphack",
    "cgexec",
    "cpulimit",
    "schedtool",
    "nocache",
    "datefudge",
    "tsocks",
    "sshpass",
    "rlwrap",
    "ledit",
    "ifne",
    "please",
    "gksu",
    "gksudo",
    "kdesu",
    "s6-applyuidgid",
    "with-contenv",
    "envchain",
    "xe",
    "onchange",
    "catatonit",
    "dbus-launch",
    // A window around it.
    "xterm",
    "uxterm",
    "urxvt",
    "rxvt",
    "konsole",
    "gnome-terminal",
    "xfce4-terminal",
    "x-terminal-emulator",
    "terminator",
    "alacritty",
    "kitty",
    "foot",
    "wezterm",
    // Give it another view of the system.
    "aa-exec",
    "fakechroot",
    "proot",
    "sandbox-exec",
    "srt",
    "flatpak-spawn",
    "systemd-nspawn",
    "xcrun",
    // Observe it.
    "gdbserver",
    "heaptrack",
    "kcov",
    "memusage",
    "perf",
    "rr",
    "bpftrace",
    "uftrace",
];

/// What stands behind the program of that base name, where it is one of these.
pub(super) fn look(name: &str, words: &Words) -> Option<Found> {
    match name {
        "palisade" => run(words),
        "capsh" => capsh(words),
        "npx" => call(words, 1),
        "npm" if matches!(words.get(1).and_then(|word| word.value.as_deref()), Some("exec" | "x")) => {
            call(words, 2)
        }
        _ if RUNNERS.contains(&name) || is_emulator(name) => {
            Some(Found::other(vec![Inner::guess(words.from(1))]))
        }
        _ => None,
    }
}

/// `qemu-x86_64 PROGRAM …`, but not `qemu-system-x86_64` and `qemu-img`.
fn is_emulator(name: &str) -> bool {
    let others = ["system", "img", "io", "nbd", "ga", "storage", "pr"];
    name.strip_prefix("qemu-").is_some_and(|rest| !others.iter().any(|other| rest.starts_with(other)))
}

/// The options of `palisade run`.
const RUN: Grammar = Grammar {
    short: "c:h",
    long: "settings= untrusted root= allow-host= deny-host= allow-write= deny-write= allow-read= deny-read= json? report require-sandbox help",
};

/// `palisade run [-c LINE | PROGRAM …]`: what the hook makes of a line.
fn run(words: &Words) -> Option<Found> {
    if words.get(1).and_then(|word| word.value.as_deref()) != Some("run") {
        return None;
    }
    let options = match RUN.read(words, 2, |_| false) {
        Ok(options) => options,
        Err(stop) => return Some(Found::guessed(words, &stop)),
    };
    let lines = options.given.iter().filter(|given| given.name == "c").filter_map(|given| given.value);
    let mut inner: Vec<Inner> = lines.map(|line| Inner::text(line, Language::Bash)).collect();
    inner.push(Inner::words(words.from(options.end)));
    Some(Found::other(inner))
}

/// `npx -c CODE`: among the options in front of the program, since the others are that program's.
fn call(words: &Words, start: usize) -> Option<Found> {
    let mut at = start;
    while let Some(text) = words.get(at)?.value.as_deref().filter(|text| text.starts_with('-')) {
        let code = match text {
            "-c" | "--call" => words.get(at + 1..at + 2),
            "-p" | "--package" => {
                at += 1;
                None
            }
            _ => match text.strip_prefix("--call=") {
                Some(code) => return Some(Found::other(vec![Inner::text(code, Language::Posix)])),
                None => None,
            },
        };
        if let Some(code) = code {
            return Some(Found::other(vec![Inner::code(code, Language::Posix)]));
        }
        at += 1;
    }
    None
}

/// `capsh OPTION… -- ARGUMENT…`: the arguments are bash's.
fn capsh(words: &Words) -> Option<Found> {
    let start = words.iter().position(|word| word.value.as_deref() == Some("--"))?;
    let arguments = words.iter().skip(start + 1).cloned();
    let bash: Vec<_> = std::iter::once(Word::literal("bash")).chain(arguments).collect();
    Some(Found::other(vec![Inner::words(bash.into())]))
}
