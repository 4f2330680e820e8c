//! Programs that run others in a way of their own: shells, `find`, `parallel`, `su`, multi-call binaries, the loader, …

use super::behind::{Enters, Found, Inner, Language};
use super::options::{Grammar, Stop};
use super::{Reason, Words, builtin, codes, groups};
use crate::judge::is_home_spelled;
use crate::shell::Word;

/// What stands behind a program of that base name, where it is one of these.
pub(super) fn look(name: &str, words: &Words) -> Option<Found> {
    Some(match name {
        "pwsh" | "powershell" => return power_shell(words),
        name if is_shell(name) => return shell(words, language_of(name)),
        "eval" => code_of_own(words, usize::MAX),
        "trap" => code_of_own(words, 1),
        "mapfile" | "readarray" | "compgen" | "complete" => callback(name, words),
        "history" => remembered(words),
        "fc" => again(words),
        "bind" => bound(words),
        "jobs" => replaced_jobs(words),
        "source" | "." => source(words),
        "find" | "gfind" => find(words),
        "fd" | "fdfind" => fd(words),
        "parallel" | "sem" => parallel(words),
        "su" => su(words),
        "sg" => groups::group(words),
        "newgrp" => groups::new_group(words),
        "runuser" => runuser(words),
        "script" => script(words),
        "flock" => flock(words),
        "busybox" | "toybox" => multi_call(words),
        "coreutils" | "uutils" => coreutils(words),
        "start-stop-daemon" => start_stop_daemon(words),
        "gdb" | "lldb" => debugger(words),
        "bwrap" => bwrap(words),
        "setarch" | "linux32" | "linux64" | "i386" | "x86_64" | "uname26" => setarch(words),
        "ip" => network_namespace(words),
        "hyperfine" => each_is_code(words),
        _ if is_loader(name) => loader(words),
        _ => return None,
    })
}

fn value(word: &Word) -> Option<&str> {
    word.value.as_deref()
}

/// bash's long options that take no value; it takes them behind one dash as well.
const SHELL_LONG: [&str; 14] = [
    "login",
    "norc",
    "noprofile",
    "posix",
    "restricted",
    "verbose",
    "noediting",
    "debugger",
    "debug",
    "dump-strings",
    "dump-po-strings",
    "pretty-print",
    "wordexp",
    "protected",
];

/// Shells whose options are those of `sh`, as far as it matters here.
const SHELLS: &[&str] = &[
    "bash", "rbash", "sh", "dash", "ash", "ksh", "ksh93", "ksh2020", "ksh88", "rksh", "pdksh", "mksh",
    "lksh", "oksh", "loksh", "bosh", "pbosh", "hush", "sash", "yash", "posh", "osh", "ysh", "zsh", "rzsh",
    "fish", "csh", "tcsh", "nu", "elvish", "xonsh", "ion", "rc", "es", "murex", "oil",
];

/// Whether a program of that base name is a shell that may read its code from standard input.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// The language that a program reads code in.
pub(super) fn language_of(name: &str) -> Language {
    match name {
        "source" | "." => Language::Own,
        "bash" | "rbash" => Language::Bash,
        "zsh" | "rzsh" | "fish" | "csh" | "tcsh" | "ysh" | "nu" | "elvish" | "xonsh" | "ion" | "rc"
        | "es" | "murex" | "pwsh" | "powershell" => Language::Other,
        _ => Language::Posix,
    }
}

/// `source FILE`: what is in a file is not seen, but what is in a descriptor may be anything of the line.
fn source(words: &Words) -> Found {
    let start = 1 + usize::from(words.get(1).and_then(value) == Some("--"));
    Found::hidden(words.get(start).and_then(hidden_in).unwrap_or(Reason::SourcedFile))
}

/// What is not seen of the code in a file that a shell runs, where that file is none of its own: a descriptor that the
/// line may have filled, or one that is not certain.
pub(super) fn hidden_in(file: &Word) -> Option<Reason> {
    match value(file) {
        Some(path) => names_input(path).then_some(Reason::CodeFromInput),
        None => (!is_home_spelled(file)).then_some(Reason::DynamicCode),
    }
}

/// A shell, with the file that it runs first: `bash --rcfile FILE`.
fn shell(words: &Words, language: Language) -> Option<Found> {
    let found = run_by_shell(words, language);
    let names = |word: &Word| {
        value(word).is_some_and(|text| text.ends_with("-rcfile") || text.ends_with("-init-file"))
    };
    let first = words.windows(2).find_map(|pair| hidden_in(&pair[1]).filter(|_| names(&pair[0])));
    match (found, first) {
        (found, None) => found,
        (None, Some(reason)) => Some(Found::hidden(reason)),
        (Some(found), Some(reason)) => Some(Found { uncertain: found.uncertain.or(Some(reason)), ..found }),
    }
}

/// `sh -c CODE`, and shells that read their code from elsewhere; `None` for one that runs a script.
fn run_by_shell(words: &Words, language: Language) -> Option<Found> {
    let (mut takes_code, mut reads_input, mut at) = (false, false, 1);
    while let Some(word) = words.get(at) {
        let Some(text) = value(word) else { break };
        let Some(letters) = text.strip_prefix(['-', '+']) else { break };
        let long = letters.strip_prefix('-').unwrap_or(letters);
        match long {
            "" => {
                at += 1;
                break;
            }
            "help" | "version" => return None,
            "rcfile" | "init-file" => at += 2,
            "command" if language == Language::Other => (takes_code, at) = (true, at + 1),
            _ if SHELL_LONG.contains(&long) => at += 1,
            _ if letters.starts_with('-') => {
                return Some(Found::guessed(words, &Stop { at, reason: Reason::UnknownOption }));
            }
            _ => {
                takes_code |= letters.contains('c');
                reads_input |= text.starts_with('-') && letters.contains('s');
                // Each of these takes a word of its own.
                at += 1 + letters.matches(['o', 'O']).count();
            }
        }
    }
    Some(match words.get(at) {
        Some(code) if takes_code => {
            let uses_arguments = code.raw.contains('$') && at + 1 < words.len();
            let arguments = uses_arguments.then(|| Inner::guess(words.from(at + 1)));
            let code = Inner::code(std::slice::from_ref(code), language);
            Found::other(std::iter::once(code).chain(arguments).collect())
        }
        None if takes_code => Found::hidden(Reason::DynamicCode),
        Some(word) if value(word).is_none() => {
            Found::guessed(words, &Stop { at, reason: Reason::DynamicCode })
        }
        Some(word) if !reads_input && !names_input(value(word).unwrap_or_default()) => return None,
        _ => Found::hidden(Reason::CodeFromInput),
    })
}

/// `pwsh -Command CODE`, `pwsh -File FILE`; the names of options may be cut short, and case does not count.
fn power_shell(words: &Words) -> Option<Found> {
    let letter = |word: &Word| value(word)?.strip_prefix('-')?.chars().next().map(|c| c.to_ascii_lowercase());
    let given = |wanted: char| words.iter().position(|word| letter(word) == Some(wanted));
    match (given('c'), given('f'), given('e')) {
        (Some(at), ..) if at + 1 < words.len() && value(&words[at + 1]) != Some("-") => {
            Some(Found::other(vec![Inner::code(&words[at + 1..], Language::Other)]))
        }
        (None, Some(_), _) => None,
        (None, None, Some(_)) => Some(Found::hidden(Reason::OtherLanguage)),
        _ => Some(Found::hidden(Reason::CodeFromInput)),
    }
}

/// Whether a file is the standard input, or another descriptor that the line may have filled.
fn names_input(path: &str) -> bool {
    path == "/dev/stdin"
        || path.starts_with("/dev/fd/")
        || (path.starts_with("/proc/") && path.contains("/fd/"))
}

/// The first words of `eval` or `trap`, joined as code for the shell itself.
fn code_of_own(words: &Words, most: usize) -> Found {
    let start = 1 + usize::from(words.get(1).and_then(value) == Some("--"));
    let code = words.part(start..start.saturating_add(most));
    match code.first().and_then(value) {
        _ if code.is_empty() => Found::nothing(),
        Some("-" | "" | "-l" | "-p") if most == 1 => Found::nothing(),
        _ => Found::other(vec![Inner::code(&code, Language::Own)]),
    }
}

/// `mapfile -C CODE`, `compgen -C CODE`: the shell runs the code itself, and the substitutions of a `-W LIST`.
fn callback(name: &str, words: &Words) -> Found {
    let options = match builtin::options(words, builtin::letters_of(name).unwrap_or_default()) {
        Ok(options) => options,
        Err(at) => return Found::guessed(words, &Stop { at, reason: Reason::DynamicOption }),
    };
    let is_code = |letter: char| letter == 'C' || (letter == 'W' && name.starts_with("comp"));
    let code = |text: &builtin::Text<'_>| match text {
        builtin::Text::Nothing => None,
        builtin::Text::Attached(text) => Some(Inner::text(text, Language::Own)),
        builtin::Text::Word(word) => Some(Inner::code(std::slice::from_ref(*word), Language::Own)),
    };
    let given = options.given.iter().filter(|(letter, _)| is_code(*letter));
    let found: Vec<_> = given.filter_map(|(_, text)| code(text)).collect();
    // The shell adds words of its own to it, a line that was read among them.
    if found.is_empty() { Found::nothing() } else { Found::other(found).with_more() }
}

/// `history -s CODE`: a later `fc -s` runs it.
fn remembered(words: &Words) -> Found {
    let stores =
        |word: &Word| value(word).is_none_or(|text| text.starts_with('-') && text.contains(['s', 'r']));
    match words.iter().position(stores) {
        Some(at) if at + 1 < words.len() => Found::other(vec![Inner::code(&words[at + 1..], Language::Own)]),
        _ => Found::nothing(),
    }
}

/// `fc -s`, `fc -e EDITOR`: it runs lines of the history again. `fc -l` lists them.
fn again(words: &Words) -> Found {
    let lists = |word: &Word| {
        value(word)
            .is_some_and(|text| text.starts_with('-') && text.contains('l') && !text.contains(['e', 's']))
    };
    if words.get(1).is_some_and(lists) { Found::nothing() } else { Found::hidden(Reason::DynamicCode) }
}

/// `bind -x KEY:CODE`: `read -e` runs it.
fn bound(words: &Words) -> Found {
    let binds =
        |word: &Word| value(word).is_none_or(|text| text.starts_with('-') && text.contains(['x', 'f']));
    if words.iter().skip(1).any(binds) { Found::hidden(Reason::DynamicCode) } else { Found::nothing() }
}

/// `jobs -x COMMAND…`
fn replaced_jobs(words: &Words) -> Found {
    let starts = |word: &Word| value(word).is_none_or(|text| text.starts_with('-') && text.contains('x'));
    match words.iter().skip(1).position(starts) {
        Some(at) if at + 2 < words.len() => Found::other(vec![Inner::words(words.from(at + 2))]),
        _ => Found::nothing(),
    }
}

/// The text that `find`, `fd` and `parallel` replace.
fn braces() -> Option<Box<str>> {
    Some("{}".into())
}

fn find(words: &Words) -> Found {
    let mut found = Vec::new();
    let mut deletes = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        let enters = match value(word) {
            Some("-exec" | "-ok") => Enters::Nothing,
            Some("-execdir" | "-okdir") => Enters::Unknown,
            Some("-delete") => {
                deletes = true;
                continue;
            }
            _ => continue,
        };
        let end = at + end_of_exec(&words[at..]);
        found.push(Inner { enters, more: braces(), ..Inner::words(words.part(at..end)) });
        at = end;
    }
    match found.is_empty() && !deletes {
        true => Found::nothing(),
        false => Found::other(found),
    }
}

/// Where the command of an `-exec` ends: at a `;`, or at a `+` right after `{}`.
fn end_of_exec(words: &[Word]) -> usize {
    let ends = |index: usize| match value(&words[index]) {
        Some(";") => true,
        Some("+") => index > 0 && value(&words[index - 1]) == Some("{}"),
        _ => false,
    };
    (0..words.len()).find(|&index| ends(index)).unwrap_or(words.len())
}

fn fd(words: &Words) -> Found {
    let starts = |word: &Word| {
        value(word).is_some_and(|text| {
            // Bundled with letters that take no value.
            let bundle = text.strip_prefix('-').and_then(|rest| rest.strip_suffix(['x', 'X']));
            let is_bundle = bundle.is_some_and(|rest| rest.chars().all(|c| "HIupLalsiFgq01".contains(c)));
            is_bundle || text.starts_with("--exec")
        })
    };
    let Some(at) = words.iter().position(starts) else { return Found::nothing() };
    let attached =
        value(&words[at]).and_then(|text| text.split_once('=')).map(|(_, command)| Word::literal(command));
    let end = words.iter().skip(at + 1).position(|word| value(word) == Some(";"));
    let end = end.map_or(words.len(), |end| at + 1 + end);
    let command = match attached {
        Some(name) => {
            std::iter::once(name).chain(words[at + 1..end].iter().cloned()).collect::<Vec<_>>().into()
        }
        None => words.part(at + 1..end),
    };
    let mut found = vec![Inner { more: braces(), ..Inner::words(command) }];
    // After the `;` more options may follow, and among them another command.
    found.extend((end + 1 < words.len()).then(|| Inner::guess(words.from(end + 1))));
    Found::other(found)
}

const PARALLEL: Grammar = Grammar {
    short: "0a:C:d:E:I:j:kL:l?mN:n:P:qrs:S:tuvXx",
    long: "null arg-file= colsep= delimiter= bar keep-order group ungroup line-buffer jobs= max-args= \
           max-lines= max-replace-args= xargs no-run-if-empty quote retries= resume halt= joblog= results= \
           dry-run verbose silent will-cite timeout= delay= load= memfree= nice= progress eta tag \
           tagstring= header= pipe pipepart block= round-robin cat fifo env= tmpdir= shuf link plus linebuffer",
};

/// `parallel COMMAND ::: ARGUMENT…`: the words before the arguments are joined as code.
fn parallel(words: &Words) -> Found {
    let options = match PARALLEL.read(words, 1, |_| false) {
        Ok(options) => options,
        Err(stop) => return Found::guessed(words, &stop).with_more(),
    };
    let is_source = |word: &Word| value(word).is_some_and(|text| text.starts_with(":::"));
    let rest = &words[options.end.min(words.len())..];
    let end = rest.iter().position(is_source).unwrap_or(rest.len());
    if end > 0 {
        return Found::other(vec![Inner { more: braces(), ..Inner::code(&rest[..end], Language::Posix) }]);
    }
    // Without a command every argument is one.
    match rest.first().and_then(value) {
        Some(":::") => {
            let arguments = rest[1..].iter().filter(|word| !is_source(word));
            Found::other(
                arguments.map(|word| Inner::code(std::slice::from_ref(word), Language::Posix)).collect(),
            )
        }
        _ => Found::hidden(Reason::CodeFromInput),
    }
}

const SU: Grammar = Grammar {
    short: "c:fg:G:lmps:Pw:TC:u:hV",
    long: "command= session-command= fast group= supp-group= login preserve-environment shell= pty \
           whitelist-environment= no-pty user= help version",
};

/// `su [-] [USER [ARGUMENT…]] -c CODE`, where options may stand after operands.
fn su(words: &Words) -> Found {
    let (mut codes, mut operands, mut at) = (Vec::new(), 0, 1);
    while at < words.len() {
        let options = match SU.read(words, at, |text| text == "-") {
            Ok(options) => options,
            Err(stop) => return Found::guessed(words, &stop),
        };
        let code =
            options.given.iter().filter(|given| matches!(given.name, "c" | "command" | "session-command"));
        codes.extend(code.filter_map(|given| given.value).map(|code| Inner::text(code, Language::Posix)));
        operands += 1;
        at = options.end + 1;
        if operands > 1 && options.end < words.len() {
            // What follows the user is handed to the shell.
            codes.push(Inner::guess(words.from(options.end)));
            break;
        }
    }
    match codes.is_empty() {
        true => Found::hidden(Reason::CodeFromInput),
        false => {
            let elsewhere = |inner| Inner { enters: Enters::Unknown, ..inner };
            Found::other(codes.into_iter().map(elsewhere).collect())
        }
    }
}

/// `runuser -u USER COMMAND…`, else as `su`.
fn runuser(words: &Words) -> Found {
    match SU.read(words, 1, |text| text == "-") {
        Ok(options) if options.given.iter().any(|given| matches!(given.name, "u" | "user")) => {
            Found::other(vec![Inner::words(words.from(options.end))])
        }
        _ => su(words),
    }
}

const SCRIPT: Grammar = Grammar {
    short: "ac:efkpqrdt?I:O:B:E:m:o:T:",
    long: "append command= return flush force quiet timing? log-in= log-out= log-io= log-timing= echo= \
           logging-format= output-limit= help version",
};

/// `script -c CODE FILE`, and `script FILE COMMAND…` as BSD has it.
fn script(words: &Words) -> Found {
    let options = match SCRIPT.read(words, 1, |_| false) {
        Ok(options) => options,
        Err(stop) => return Found::guessed(words, &stop),
    };
    let code = options.given.iter().filter(|given| matches!(given.name, "c" | "command"));
    let mut found: Vec<_> =
        code.filter_map(|given| given.value).map(|code| Inner::text(code, Language::Posix)).collect();
    let start = options.end + 1;
    match words.get(start).and_then(value) {
        // GNU's options may follow the file.
        Some(text) if text.starts_with('-') => found.push(Inner::guess(words.from(start))),
        _ if start < words.len() => found.push(Inner::words(words.from(start))),
        _ => {}
    }
    if found.is_empty() { Found::hidden(Reason::CodeFromInput) } else { Found::other(found) }
}

const FLOCK: Grammar = Grammar {
    short: "sexnuw:E:oFvhV",
    long: "shared exclusive unlock nonblock nb timeout= wait= conflict-exit-code= close no-fork verbose fcntl help version",
};

/// `flock FILE COMMAND…` or `flock FILE -c CODE`.
fn flock(words: &Words) -> Found {
    let options = match FLOCK.read(words, 1, |_| false) {
        Ok(options) => options,
        Err(stop) => return Found::guessed(words, &stop),
    };
    let start = options.end + 1;
    match words.get(start).map(value) {
        _ if words.get(options.end).is_some_and(|file| file.value.is_none()) => {
            Found::guessed(words, &Stop { at: options.end, reason: Reason::DynamicOption })
        }
        Some(Some("-c" | "--command")) => match words.get(start + 1..) {
            Some(code) if !code.is_empty() => Found::other(vec![Inner::code(&code[..1], Language::Posix)]),
            _ => Found::nothing(),
        },
        Some(_) => Found::other(vec![Inner::words(words.from(start))]),
        None => Found::nothing(),
    }
}

/// `busybox APPLET ARGUMENT…`
fn multi_call(words: &Words) -> Found {
    match words.get(1).map(value) {
        None => Found::nothing(),
        Some(Some(text)) if text.starts_with('-') => Found::nothing(),
        Some(_) => Found::other(vec![Inner::words(words.from(1))]),
    }
}

/// `coreutils --coreutils-prog=PROGRAM ARGUMENT…`, and `coreutils PROGRAM ARGUMENT…`.
fn coreutils(words: &Words) -> Found {
    let first = words.get(1).and_then(value).unwrap_or_default();
    match first.strip_prefix("--coreutils-prog").and_then(|rest| rest.split_once('=')) {
        Some((_, program)) => {
            let all = std::iter::once(Word::literal(program)).chain(words.iter().skip(2).cloned());
            Found::other(vec![Inner::words(all.collect::<Vec<_>>().into())])
        }
        None => multi_call(words),
    }
}

const START_STOP_DAEMON: Grammar = Grammar {
    short: "SKTHVx:a:n:p:u:g:c:r:d:N:P:I:k:R:bmqtovCO:s:",
    long: "start stop status exec= startas= name= pid= ppid= pidfile= user= group= chuid= chroot= chdir= \
           nicelevel= procsched= iosched= umask= retry= background make-pidfile remove-pidfile quiet test oknodo \
           verbose no-close output= signal= notify-await notify-timeout= help version",
};

/// `start-stop-daemon -S -x PROGRAM -- ARGUMENT…`
fn start_stop_daemon(words: &Words) -> Found {
    let options = match START_STOP_DAEMON.read(words, 1, |_| false) {
        Ok(options) => options,
        Err(stop) => return Found::guessed(words, &stop),
    };
    let programs = options.given.iter().filter(|given| matches!(given.name, "x" | "exec" | "a" | "startas"));
    let command = |program: &str| {
        let all = std::iter::once(Word::literal(program)).chain(words.iter().skip(options.end).cloned());
        Inner { enters: Enters::Unknown, ..Inner::words(all.collect::<Vec<_>>().into()) }
    };
    // One of each makes sense; a list of them would only be long.
    Found::other(programs.take(4).filter_map(|given| given.value).map(command).collect())
}

/// `gdb --args PROGRAM ARGUMENT…`, `lldb -- PROGRAM ARGUMENT…`
fn debugger(words: &Words) -> Found {
    let starts = |word: &Word| matches!(value(word), Some("--args" | "-args" | "--"));
    match words.iter().position(starts) {
        Some(at) if at + 1 < words.len() => Found::other(vec![Inner::words(words.from(at + 1))]),
        _ => match codes::of_options("gdb", words) {
            found if found.is_empty() => Found::nothing(),
            found => Found::other(found),
        },
    }
}

/// How many words each of bubblewrap's options takes, where that is not none.
const BWRAP: [(usize, &str); 3] = [
    (
        1,
        "--args --argv0 --userns --userns2 --pidns --uid --gid --hostname --chdir --unsetenv --lock-file \
         --sync-fd --remount-ro --overlay-src --tmp-overlay --ro-overlay --exec-label --file-label --proc --dev \
         --tmpfs --mqueue --dir --seccomp --add-seccomp-fd --block-fd --userns-block-fd --info-fd \
         --json-status-fd --cap-add --cap-drop --perms --size",
    ),
    (
        2,
        "--setenv --bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --bind-fd --ro-bind-fd \
         --file --bind-data --ro-bind-data --symlink --chmod",
    ),
    (3, "--overlay"),
];
const BWRAP_FLAGS: &str = "--unshare-all --share-net --unshare-user --unshare-user-try --unshare-ipc --unshare-pid \
     --unshare-net --unshare-uts --unshare-cgroup --unshare-cgroup-try --disable-userns --assert-userns-disabled \
     --clearenv --new-session --die-with-parent --as-pid-1 --level-prefix";

fn bwrap(words: &Words) -> Found {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let lists = |options: &str| options.split_whitespace().any(|option| Some(option) == value(word));
        let arity = BWRAP.iter().find(|(_, options)| lists(options)).map(|(arity, _)| *arity);
        at += match (arity, value(word)) {
            (Some(arity), _) => 1 + arity,
            (None, _) if lists(BWRAP_FLAGS) => 1,
            (None, Some("--")) => {
                at += 1;
                break;
            }
            (None, Some(text)) if !text.starts_with('-') => break,
            (None, Some(_)) => return Found::guessed(words, &Stop { at, reason: Reason::UnknownOption }),
            (None, None) => return Found::guessed(words, &Stop { at, reason: Reason::DynamicOption }),
        };
    }
    match at < words.len() {
        true => Found::other(vec![Inner { enters: Enters::Unknown, ..Inner::words(words.from(at)) }]),
        false => Found::nothing(),
    }
}

const SETARCH: Grammar = Grammar {
    short: "vRFZLXBIST3h",
    long: "verbose addr-no-randomize fdpic-funcptrs mmap-page-zero addr-compat-layout read-implies-exec 32bit \
           short-inode whole-seconds sticky-timeouts 3gb 4gb uname-2.6 show? help version",
};

/// `setarch [ARCHITECTURE] [OPTION…] [COMMAND…]`; without a command a shell.
fn setarch(words: &Words) -> Found {
    let is_architecture = |text: &str| {
        ["linux32", "linux64", "x86_64", "i386", "i486", "i586", "i686", "athlon", "uname26"].contains(&text)
            || ["aarch64", "arm", "ppc", "mips", "s390", "riscv", "sparc"].iter().any(|a| text.starts_with(a))
    };
    match SETARCH.read(words, 1, is_architecture) {
        Err(stop) => Found::guessed(words, &stop),
        Ok(options) if options.end < words.len() => Found::other(vec![Inner::words(words.from(options.end))]),
        Ok(_) => Found::hidden(Reason::CodeFromInput),
    }
}

/// `ip netns exec NAME COMMAND…`
fn network_namespace(words: &Words) -> Found {
    let is_exec = |pair: &[Word]| {
        value(&pair[0]).is_some_and(|text| text.starts_with("net"))
            && value(&pair[1]).is_some_and(|t| t.starts_with('e'))
    };
    match words.windows(2).position(is_exec) {
        Some(at) if at + 2 < words.len() => Found::other(vec![Inner::guess(words.from(at + 2))]),
        _ => Found::nothing(),
    }
}

/// `hyperfine CODE…`: every operand is code, and so are the values of some options.
fn each_is_code(words: &Words) -> Found {
    let code = |word: &Word| match value(word) {
        Some(text) if text.starts_with("--") => {
            text.split_once('=').map(|(_, code)| Inner::text(code, Language::Posix))
        }
        Some(text) if text.starts_with('-') => None,
        _ => Some(Inner::code(std::slice::from_ref(word), Language::Posix)),
    };
    Found::other(words.iter().skip(1).filter_map(code).collect())
}

/// The names under which the loader can be run as a program: `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`, `ld.so`.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld") && name.contains(".so")
}

const LOADER: Grammar = Grammar {
    short: "",
    long: "library-path= inhibit-cache inhibit-rpath= preload= audit= argv0= list verify list-tunables \
           list-diagnostics glibc-hwcaps-prepend= glibc-hwcaps-mask= help version",
};

fn loader(words: &Words) -> Found {
    match LOADER.read(words, 1, |_| false) {
        Err(stop) => Found::guessed(words, &stop),
        Ok(options) if options.end < words.len() => Found::other(vec![Inner::words(words.from(options.end))]),
        Ok(_) => Found::nothing(),
    }
}
