//! Programs that are no wrappers and yet run what some of their words say: `git bisect run`, `tar --to-command`,
//! `awk 'system(…)'`, `tmux new`, and variables that name a program (`GIT_EDITOR`).
//!
//! Deny rules, ask rules and removals look at what is found here. A program whose words launch nothing is none of
//! these, so that it stays what it was. What other programs run by their own settings and files is not seen.

use super::behind::{Found, Inner, Language};
use super::options::Grammar;
use super::{Reason, Value, Valued, Words, codes, special, split_string};
use crate::read_only;
use crate::shell::Word;

/// Looks for what a program of that base name launches.
pub(super) fn look(name: &str, words: &Words) -> Option<Found> {
    match name {
        "git" => git(words),
        "awk" | "gawk" | "mawk" | "nawk" => awk(words),
        "sed" | "gsed" => sed(words),
        "ssh" | "autossh" | "scp" | "sftp" => ssh(words),
        "make" | "gmake" | "bmake" | "remake" => make(words),
        "vi" | "vim" | "nvim" | "view" | "ex" => editor(words),
        "tmux" => tmux(words),
        "screen" => screen(words),
        "crontab" | "at" | "batch" => schedule(words),
        "export" | "declare" | "typeset" | "readonly" | "local" => found(exported(words)),
        "run-parts" if !words.iter().any(|word| matches!(value(word), Some("--test" | "--list"))) => {
            foreign(Vec::new())
        }
        _ => found(codes::of_options(name, words)),
    }
}

/// The code in a text that a program reads from its standard input, as far as it is looked at in its words, too.
pub(super) fn in_input(name: &str, words: &Words, text: &str) -> Vec<Inner> {
    const FILE: Valued = Valued::new("f", &["--file"]);
    let reads_code =
        || FILE.values(words).any(|file| matches!(file.text, Some("-" | "/dev/stdin" | "/dev/fd/0")));
    let found = match name {
        "awk" | "gawk" | "mawk" | "nawk" if reads_code() => {
            awk(&["awk", text].map(Word::literal).to_vec().into())
        }
        "sed" | "gsed" if reads_code() => sed(&["sed", "-e", text].map(Word::literal).to_vec().into()),
        _ => return codes::of_input(name, text),
    };
    found.map(|found| found.inner).unwrap_or_default()
}

/// Whether programs take the value of a variable for a command.
fn names_program(variable: &str) -> bool {
    const NAMES: &[&str] = &[
        "LESSOPEN",
        "LESSCLOSE",
        "GIT_SSH",
        "SVN_SSH",
        "GIT_EXTERNAL_DIFF",
        "KUBECTL_EXTERNAL_DIFF",
        "CCACHE_PREFIX",
        "RSYNC_CONNECT_PROG",
        "TEXEDIT",
        "FCEDIT",
    ];
    const ENDS: &[&str] = &[
        "EDITOR",
        "VISUAL",
        "PAGER",
        "BROWSER",
        "ASKPASS",
        "_RSH",
        "_COMMAND",
        "_WRAPPER",
        "_RUNNER",
        "_LAUNCHER",
    ];
    NAMES.contains(&variable) || ENDS.iter().any(|end| variable.ends_with(end))
}

/// Variables that hold words for a program, which stand in front of its own, and that program.
const WORDS: &[(&str, &[&str])] = &[
    ("TAR_OPTIONS", &["tar"]),
    ("MAKEFLAGS", &["make"]),
    ("GNUMAKEFLAGS", &["make"]),
    ("MFLAGS", &["make"]),
    ("GOFLAGS", &["go"]),
    ("MANOPT", &["man"]),
    ("ZIPOPT", &["zip"]),
    ("LESS", &["less"]),
    ("FZF_DEFAULT_OPTS", &["fzf"]),
    ("JAVA_TOOL_OPTIONS", &["java"]),
    ("JDK_JAVA_OPTIONS", &["java"]),
    ("_JAVA_OPTIONS", &["java"]),
    ("VIMINIT", &["vim", "-c"]),
    ("EXINIT", &["ex", "-c"]),
];

/// What a program runs by the words in a variable: `TAR_OPTIONS=--to-command=CODE`.
fn by_words(program: &[&str], value: &str) -> Vec<Inner> {
    let parts = match program {
        [_] => split_string::split(value),
        _ => Some(vec![Word::literal(value)]),
    };
    let parts = parts.unwrap_or_else(|| value.split_whitespace().map(Word::literal).collect());
    let words: Vec<Word> = program.iter().map(|word| Word::literal(word)).chain(parts).collect();
    look(program[0], &words.into()).map(|found| found.inner).unwrap_or_default()
}

/// The code in a variable, where a program takes its value for a command or for options, or a shell for a function or
/// text to expand.
pub(super) fn codes_in_variable(name: &str, text: &Word) -> Vec<Inner> {
    let value = value(text);
    if name.starts_with("BASH_FUNC_") {
        let body = |body| Inner::text(&format!("exported {body}"), Language::Bash);
        return value.map(body).into_iter().collect();
    }
    if matches!(name, "PS0" | "PS1" | "PS2" | "PS4") {
        let runs = value.filter(|value| value.contains("$(") || value.contains('`'));
        return runs.map(|value| Inner::text(&format!(": {value}"), Language::Bash)).into_iter().collect();
    }
    match WORDS.iter().find(|(variable, _)| *variable == name) {
        Some((_, program)) => value.map(|value| by_words(program, value)).unwrap_or_default(),
        None if names_program(name) && value != Some("") => vec![code_of(text)],
        None => Vec::new(),
    }
}

/// Why it is not known which code a variable makes a shell run: functions, and files that it runs first.
pub(super) fn hidden_in_variable(name: &str, text: &Word) -> Option<Reason> {
    match name {
        "BASH_ENV" | "ENV" => special::hidden_in(text),
        _ => name.starts_with("BASH_FUNC_").then_some(Reason::DynamicCode),
    }
}

/// Whether a variable gives git settings, or programs, that the line does not show as such.
pub(super) fn is_setting(variable: &str, text: &Word) -> bool {
    let names_none = matches!(text.value.as_deref(), Some("" | "/dev/null" | "0" | "1"));
    let is_switch = matches!(variable, "GIT_CONFIG_NOSYSTEM" | "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM");
    (variable.starts_with("GIT_CONFIG") || variable == "GIT_EXEC_PATH") && !(is_switch && names_none)
}

fn value(word: &Word) -> Option<&str> {
    word.value.as_deref()
}

fn found(inner: Vec<Inner>) -> Option<Found> {
    (!inner.is_empty()).then(|| Found::other(inner))
}

/// What runs is of a language that is not read here, or stands elsewhere.
fn foreign(inner: Vec<Inner>) -> Option<Found> {
    Some(Found { uncertain: Some(Reason::ForeignCode), ..Found::other(inner) })
}

fn code(text: &str) -> Inner {
    Inner::text(text, Language::Posix)
}

fn code_of(word: &Word) -> Inner {
    Inner::code(std::slice::from_ref(word), Language::Posix)
}

/// `export EDITOR=CODE`
fn exported(words: &Words) -> Vec<Inner> {
    let set = words.iter().skip(1).filter_map(|word| value(word)?.split_once('='));
    set.flat_map(|(name, text)| codes_in_variable(name, &Word::literal(text))).collect()
}

/// Options of git itself that take the next word.
const GIT_VALUES: [&str; 6] =
    ["-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"];

fn git(words: &Words) -> Option<Found> {
    let (mut inner, mut aliases, mut at, mut is_hidden) = (Vec::new(), Vec::new(), 1, false);
    while let Some(text) = words.get(at).and_then(value).filter(|text| text.starts_with('-')) {
        is_hidden |= text.starts_with("--config-env") || text.starts_with("--exec-path=");
        match text {
            "-c" => {
                let setting = words.get(at + 1);
                match setting.map(value) {
                    Some(Some(setting)) => add_setting(setting, &mut inner, &mut aliases),
                    Some(None) => is_hidden |= setting.is_some_and(|word| may_be_code(&word.raw)),
                    None => {}
                }
                at += 2;
            }
            text => at += 1 + usize::from(GIT_VALUES.contains(&text)),
        }
    }
    let rest = words.from(at + 1);
    if let Some(command) = words.get(at).and_then(value) {
        if let Some((_, text)) = aliases.iter().find(|(name, _)| *name == command) {
            let text = format!("{text} {}", super::behind::text_of_code(&rest));
            inner.push(code(&text));
        }
        inner.extend(of_git_command(command, &rest));
    }
    if is_hidden { foreign(inner) } else { found(inner) }
}

/// Adds what a setting given by `-c` runs, and the aliases that it defines.
fn add_setting(setting: &str, inner: &mut Vec<Inner>, aliases: &mut Vec<(String, String)>) {
    let Some((key, text)) = setting.split_once('=') else { return };
    let key = key.to_lowercase();
    match (key.strip_prefix("alias."), text.strip_prefix('!')) {
        (Some(_), Some(text)) => inner.push(code(text)),
        // An alias is more words for git.
        (Some(name), None) => aliases.push((name.to_owned(), format!("git {text}"))),
        (None, text_of_shell) if may_be_code(&key) => {
            let is_switch = matches!(text, "" | "true" | "false" | "0" | "1" | "store" | "cache");
            inner.extend((!is_switch).then(|| code(text_of_shell.unwrap_or(text))));
        }
        _ => {}
    }
}

/// Whether git runs what a setting is set to.
fn may_be_code(key: &str) -> bool {
    const KEYS: &[&str] = &[
        "askpass",
        "browser",
        "clean",
        "cmd",
        "command",
        "difffilter",
        "driver",
        "editor",
        "external",
        "fsmonitor",
        "gitproxy",
        "helper",
        "hookspath",
        "packobjectshook",
        "pager",
        "process",
        "program",
        "receivepack",
        "smudge",
        "sshcommand",
        "templatedir",
        "textconv",
        "update",
        "uploadpack",
    ];
    let key = key.split('=').next().unwrap_or(key).trim_start_matches('"').to_lowercase();
    let last = key.rsplit('.').next().unwrap_or(&key);
    key.starts_with("alias.") || key.starts_with("pager.") || KEYS.contains(&last) || key.contains('$')
}

/// What a command of git launches by its own words.
fn of_git_command(command: &str, rest: &Words) -> Vec<Inner> {
    let after =
        |name: &str| rest.iter().position(|word| value(word) == Some(name)).map(|at| rest.from(at + 1));
    let by_options = || codes::of_git(command).map(|codes| codes.find(rest)).unwrap_or_default();
    match command {
        "bisect" => after("run").map(Inner::words).into_iter().collect(),
        "submodule" => after("foreach").and_then(|words| run_by_submodule(&words)).into_iter().collect(),
        "filter-branch" => {
            let is_filter =
                |word: &Word| value(word).is_some_and(|v| v.ends_with("-filter") || v == "--setup");
            rest.windows(2).filter(|pair| is_filter(&pair[0])).map(|pair| code_of(&pair[1])).collect()
        }
        "clone" | "fetch" | "pull" | "push" | "ls-remote" | "archive" | "fetch-pack" | "send-pack" => {
            let mut inner = by_options();
            inner.extend(rest.iter().filter_map(|word| value(word)?.strip_prefix("ext::")).map(code));
            const SETTINGS: Valued = Valued::new("c", &["--config"]).ends("bjou");
            let settings = SETTINGS.values(rest).filter(|_| command == "clone");
            for setting in settings.filter_map(|found| found.text) {
                add_setting(setting, &mut inner, &mut Vec::new());
            }
            inner
        }
        _ => by_options(),
    }
}

/// One word is code, several are a command.
fn run_by_submodule(words: &Words) -> Option<Inner> {
    let start = words.iter().position(|word| !value(word).is_some_and(|text| text.starts_with('-')))?;
    match words.len() - start {
        1 => Some(code_of(&words[start])),
        _ => Some(Inner::words(words.from(start))),
    }
}

/// An awk program that runs others: what its strings say may be code.
fn awk(words: &Words) -> Option<Found> {
    let runs = |text: &str| {
        let text = text.replace("||", "").replace([' ', '&', '\t'], "");
        ["system(", "\"|", "|\"", "|getline", "|cmd"].iter().any(|mark| text.contains(mark))
    };
    let programs: Vec<&str> = words.iter().skip(1).filter_map(value).filter(|text| runs(text)).collect();
    let strings = programs.iter().flat_map(|text| text.split('"').skip(1).step_by(2));
    let inner: Vec<Inner> = strings.filter(|text| !text.trim().is_empty()).map(code).collect();
    if programs.is_empty() { None } else { foreign(inner) }
}

/// A sed script with the command or the flag `e`.
fn sed(words: &Words) -> Option<Found> {
    if !words.iter().all(|word| word.value.is_some()) {
        return None;
    }
    match read_only::scan(words) {
        Some(script) if script.runs_data || !script.runs.is_empty() => {
            foreign(script.runs.iter().map(|text| code(text)).collect())
        }
        Some(_) => None,
        None => roughly(words),
    }
}

/// What may be run by a sed script that is not read: whatever follows an `e` that may be a command.
fn roughly(words: &Words) -> Option<Found> {
    let mut inner = Vec::new();
    let mut runs = false;
    for script in words.iter().skip(1).filter_map(value) {
        let script = script.strip_prefix("--expression=").or(script.strip_prefix("-e")).unwrap_or(script);
        let starts: Vec<usize> = script.match_indices('e').map(|(at, _)| at).collect();
        let starts: Vec<usize> = starts.into_iter().filter(|at| may_run(script, *at)).collect();
        runs |= !starts.is_empty();
        for (index, at) in starts.iter().enumerate() {
            let next = starts.get(index + 1).filter(|_| index >= MOST_IN_FULL);
            let text = &script[at + 1..next.copied().unwrap_or(script.len())];
            let text = text.split('\n').next().unwrap_or_default().trim();
            inner.extend((!text.is_empty()).then(|| code(text)));
        }
    }
    if runs { foreign(inner) } else { None }
}

/// How many of the commands of a script that is not read are looked at to the end of their line. The others end where
/// the next may start, so that the work grows as the script does.
const MOST_IN_FULL: usize = 4;

/// Whether the `e` at that place may be a command.
fn may_run(script: &str, at: usize) -> bool {
    let before = script[..at].chars().next_back();
    let after = &script[at + 1..];
    let ends = after.is_empty() || after.starts_with([' ', '\t', '\n', ';', '}']);
    ends && !before.is_some_and(|c| c.is_ascii_lowercase() && c != 'g' && c != 'p')
}

/// `-o ProxyCommand=CODE` and the like; for `scp` and `sftp` also the program in ssh's place, and in that of the server.
fn ssh(words: &Words) -> Option<Found> {
    const KEYS: [&str; 3] = ["proxycommand", "localcommand", "knownhostscommand"];
    const SETTINGS: Valued = Valued::new("o", &[]).ends("BbcDEeFIiJLlmOPpQRSWwX");
    const PROGRAMS: Valued = Valued::new("SD", &[]).ends("BbcFiJloPRX");
    let setting = |found: Value<'_>| {
        let (key, value) = found.text?.split_once(['=', ' '])?;
        let is_code = KEYS.contains(&key.trim().to_lowercase().as_str());
        is_code.then(|| code(value.trim_start_matches(['=', ' '])))
    };
    let mut inner: Vec<Inner> = SETTINGS.values(words).filter_map(setting).collect();
    if words.first().and_then(value).is_some_and(|name| !name.ends_with("ssh")) {
        inner.extend(PROGRAMS.values(words).map(|found| match found.text {
            Some(text) => code(text),
            None => code_of(found.word),
        }));
    }
    found(inner)
}

/// `make SHELL=PROGRAM`, `make --eval=TEXT`
fn make(words: &Words) -> Option<Found> {
    let mut inner = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(text) = value(word) else { continue };
        let next = || words.get(at + 1).and_then(value);
        let eval = match text {
            "-E" | "--eval" => next(),
            _ => text.strip_prefix("--eval=").or(text.strip_prefix("-E")),
        };
        inner.extend(text.strip_prefix("SHELL=").into_iter().chain(eval).map(code));
    }
    if inner.is_empty() { None } else { foreign(inner) }
}

/// `vim -c '!CODE'`, `vim '+!CODE'`
fn editor(words: &Words) -> Option<Found> {
    const COMMANDS: Valued = Valued::new("c", &["--cmd$"]).ends("diSTtuUwW");
    let behind = COMMANDS.values(words).filter_map(|found| found.text);
    let plus = words.iter().skip(1).filter_map(value).filter(|text| text.starts_with('+'));
    found(behind.chain(plus).filter_map(|text| Some(code(text.split_once('!')?.1))).collect())
}

/// tmux's commands that run others, with the letters of their options; the shortest that is taken for each.
const TMUX: &[(&str, &str, &str)] = &[
    ("new-s", "new", "Ac:dDe:EF:f:n:Ps:t:x:y:X"),
    ("new-w", "neww", "abc:de:F:kn:PSt:"),
    ("split-w", "splitw", "bc:de:fF:hIl:p:Pt:vZ"),
    ("respawn-p", "respawnp", "c:e:kt:"),
    ("respawn-w", "respawnw", "c:e:kt:"),
    ("run", "run", "bd:Ct:Ec:"),
    ("if", "if", "bFt:"),
    ("pipe", "pipep", "IOot:"),
    ("display-p", "popup", "BCEb:c:d:e:h:s:S:t:T:w:x:y:"),
    ("popup", "popup", "BCEb:c:d:e:h:s:S:t:T:w:x:y:"),
    ("send-k", "send", "FHKlMRXc:N:t:"),
];

fn tmux(words: &Words) -> Option<Found> {
    const GLOBAL: Grammar = Grammar { short: "2CDlNuvVc:f:L:S:T:", long: "" };
    let Ok(options) = GLOBAL.read(words, 1, |_| false) else { return None };
    let of_shell = options.given.iter().filter(|given| given.name == "c").filter_map(|given| given.value);
    let mut inner: Vec<Inner> = of_shell.map(code).collect();
    let commands = words.from(options.end);
    let mut start = 0;
    for end in (0..=commands.len()).filter(|at| commands.get(*at).is_none_or(|word| value(word) == Some(";")))
    {
        inner.extend(of_tmux_command(&commands.part(start..end)));
        start = end + 1;
    }
    found(inner)
}

fn of_tmux_command(words: &Words) -> Option<Inner> {
    let command = words.first().and_then(value)?;
    let (.., short) = TMUX
        .iter()
        .find(|(starts, name, _)| command == *name || (command.starts_with(starts) && *name != "new"))
        .or_else(|| TMUX.first().filter(|_| command.starts_with("new-s")))?;
    let rest = match (Grammar { short, long: "" }).read(words, 1, |_| false) {
        Ok(options) => words.from(options.end),
        Err(stop) => return Some(Inner::guess(words.from(stop.at))),
    };
    match rest.len() {
        0 => None,
        1 => Some(code_of(&rest[0])),
        _ if command.starts_with("send") => Some(Inner::code(&rest, Language::Posix)),
        _ if command.starts_with("if") => Some(Inner::guess(rest)),
        _ => Some(Inner::words(rest)),
    }
}

/// `screen -dm PROGRAM …`, `screen -X stuff CODE`
fn screen(words: &Words) -> Option<Found> {
    const SCREEN: Grammar =
        Grammar { short: "aAc:dDe:fh:ilL?mOp:qr?R?s:S:t:T:UvwxX", long: "help version wipe" };
    if matches!(words.get(1).and_then(value), Some("-ls" | "-list" | "-wipe" | "-r" | "-x" | "-v")) {
        return None;
    }
    let rest = match SCREEN.read(words, 1, |_| false) {
        Ok(options) => words.from(options.end),
        Err(stop) => return Some(Found::guessed(words, &stop)),
    };
    match rest.first().and_then(value) {
        Some("stuff" | "exec") => found(vec![Inner::code(&rest[1..], Language::Posix)]),
        _ if rest.is_empty() => None,
        _ => found(vec![Inner::words(rest)]),
    }
}

/// `crontab` and `at` take what is to run from standard input.
fn schedule(words: &Words) -> Option<Found> {
    let asks = |word: &Word| {
        value(word)
            .is_some_and(|text| matches!(text, "-l" | "-r" | "-e" | "-d" | "-c" | "-f" | "-V" | "-q" | "-ri"))
    };
    let is_crontab = value(&words[0]).is_some_and(|name| name.ends_with("crontab"));
    let names_file =
        is_crontab && words.iter().skip(1).any(|word| value(word).is_none_or(|v| !v.starts_with('-')));
    (!words.iter().any(asks) && !names_file).then(|| Found::hidden(Reason::CodeFromInput))
}
