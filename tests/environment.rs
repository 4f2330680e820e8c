//! What a command is given: variables, arguments and paths arrive byte for byte, nobody else sees them, and none of
//! them runs code before the command does.

use palisade_tests::{Palisade, Project, Tools};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

const VALUES: &[&[u8]] = &[
    b"",
    b" ",
    b"plain",
    b"two words",
    b" around ",
    b"line\nline\n\nline\n",
    b"carriage\r\ttab\x0b\x0c",
    b"'single' \"double\" `tick`",
    b"$HOME ${HOME} $(id) $((1+1))",
    b"back\\slash \\n \\\\ trailing\\",
    b"bang! !! !$ \\!",
    b"semi;colon & amp | pipe > out < in",
    b"* ? [a-z] {a,b} ~ #",
    b"-n --help --",
    b"--setenv X y",
    b"a=b=c",
    b"%s %n %%",
    b"\x01\x02\x1b[31m\x7f",
    b"\xff\xfe\x80 not text \xc3\x28",
    "\u{fc}n\u{ef}c\u{f6}d\u{e9} \u{1f980} \u{202e}".as_bytes(),
];

/// A value of 100,000 bytes, none of them alike to its neighbour.
fn long() -> Vec<u8> {
    (0..100_000_u32)
        .map(|number| b"0123456789abcdefghijklmnopqrstuvwxyz\n'\"\\$ "[number as usize % 42])
        .collect()
}

fn values() -> Vec<Vec<u8>> {
    VALUES.iter().map(|value| value.to_vec()).chain([long()]).collect()
}

/// The output of `env -0`.
fn variables(output: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let pair = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'=').expect("every variable has a name");
        (entry[..at].to_vec(), entry[at + 1..].to_vec())
    };
    output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(pair).collect()
}

#[test]
fn variables_arrive_unchanged() {
    let Some(project) = Project::where_it_works() else { return };
    let named: Vec<(String, Vec<u8>)> =
        values().into_iter().enumerate().map(|(number, value)| (format!("VALUE_{number}"), value)).collect();
    let with_all =
        || named.iter().fold(project.run(), |run, (name, value)| run.env(name, OsStr::from_bytes(value)));
    let by_program = with_all().argv(["env", "-0"]).ok();
    let by_shell = with_all().line("env -0").ok();
    for (run, how) in [(&by_program, "a program"), (&by_shell, "a shell")] {
        let seen = variables(&run.bytes);
        for (name, value) in &named {
            assert!(seen.get(name.as_bytes()) == Some(value), "{name} by {how}: {value:?}");
        }
    }
}

/// No shell could set them.
#[test]
fn variables_of_unusual_names_arrive() {
    let Some(project) = Project::where_it_works() else { return };
    let names: [&[u8]; 7] =
        [b"lower-case.dash", b"with space", b"%", b"1", b"new\nline", b"\xff", b"a\\b'\""];
    let run = names.iter().fold(project.run(), |run, name| run.env(OsStr::from_bytes(name), "x"));
    let output = run.options(["--", "env", "-0"]).into_command().output().expect("palisade starts");
    let seen = variables(&output.stdout);
    for name in names {
        assert_eq!(seen.get(name).map(Vec::as_slice), Some(&b"x"[..]), "{}", name.escape_ascii());
    }
}

/// The caller's, less what leads to other proxies, plus what leads to this one and to `TMPDIR`.
#[test]
fn nothing_is_added_but_what_is_said() {
    let Some(project) = Project::where_it_works() else { return };
    let outside = {
        let mut command = Command::new("env");
        command.arg("-0").env("HOME", project.home()).env("MINE", "x").current_dir(project.root());
        variables(&command.output().expect("env runs").stdout)
    };
    let run = project.run().env("MINE", "x").env("HTTPS_PROXY", "http://theirs").argv(["env", "-0"]).ok();
    let mut inside = variables(&run.bytes);
    let mut set = Vec::new();
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
        set.push((name, "http://127.0.0.1:61080".to_owned()));
    }
    for name in ["ALL_PROXY", "all_proxy"] {
        set.push((name, "socks5h://127.0.0.1:61081".to_owned()));
    }
    for name in ["NO_PROXY", "no_proxy"] {
        set.push((name, "localhost,127.0.0.1,::1".to_owned()));
    }
    set.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    set.push(("PWD", project.root().display().to_string()));
    let mut theirs = outside;
    for (name, value) in &set {
        let seen = inside.remove(name.as_bytes()).map(|value| String::from_utf8_lossy(&value).into_owned());
        assert_eq!(seen.as_ref(), Some(value), "{name}");
        theirs.remove(name.as_bytes());
    }
    let temporary = inside.remove(&b"TMPDIR"[..]).expect("each command has one");
    assert_eq!(inside.remove(&b"TMPPREFIX"[..]), Some([&temporary[..], b"/zsh"].concat()));
    for left_out in ["TMPDIR", "TMPPREFIX", "TEMP", "TMP", "CLAUDE_CONFIG_DIR", "OLDPWD", "SHLVL", "_"] {
        inside.remove(left_out.as_bytes());
        theirs.remove(left_out.as_bytes());
    }
    assert_eq!(inside, theirs);
}

/// Prints its arguments, each ended by a NUL.
const PRINT: &str =
    "import os, sys; sys.stdout.buffer.write(b''.join(os.fsencode(word) + b'\\0' for word in sys.argv[1:]))";

fn ended(words: &[Vec<u8>]) -> Vec<u8> {
    words.iter().flat_map(|word| [word, &b"\0"[..]].concat()).collect()
}

#[test]
fn arguments_arrive_unchanged() {
    let Some(project) = Project::where_it_works() else { return };
    let words = values();
    let mut argv: Vec<OsString> = ["python3", "-c", PRINT].map(Into::into).into();
    argv.extend(words.iter().cloned().map(OsString::from_vec));
    let run = project.run().argv(argv).ok();
    assert!(run.bytes == ended(&words), "{run:#?}");
}

#[test]
fn many_arguments_arrive_unchanged() {
    let Some(project) = Project::where_it_works() else { return };
    let words: Vec<Vec<u8>> = (0..20_000).map(|number| format!("word {number}\n").into_bytes()).collect();
    let mut argv: Vec<OsString> = ["python3", "-c", PRINT].map(Into::into).into();
    argv.extend(words.iter().cloned().map(OsString::from_vec));
    let run = project.run().argv(argv).ok();
    assert!(run.bytes == ended(&words));
}

/// The line is one argument of the shell: nothing is quoted again on the way.
#[test]
fn a_shell_line_arrives_unchanged() {
    let Some(project) = Project::where_it_works() else { return };
    for value in values() {
        // Between single quotes everything but a single quote stands for itself.
        let quoted = value.split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&b"'\\''"[..]);
        let line = [b"printf %s '", quoted.as_slice(), b"'"].concat();
        let run = project.run().line(OsStr::from_bytes(&line)).ok();
        assert!(run.bytes == value, "{value:?}: {run:#?}");
    }
    for (line, printed) in [
        ("[ ! -e none ] && echo \"yes!\"", "yes!\n"),
        ("echo 'a!b' \"c!d\" e\\!f", "a!b c!d e!f\n"),
        ("echo $'tab\\t' \"$(echo \"in $(echo in)\")\"", "tab\t in in\n"),
        ("cat <<'E'\n\\ ! $x `y`\nE\n", "\\ ! $x `y`\n"),
        ("echo one; \n\n echo two # three", "one\ntwo\n"),
        ("  \n\t echo blanks", "blanks\n"),
        ("echo \\\ncontinued", "continued\n"),
        ("-n 2> /dev/null; echo no option", "no option\n"),
    ] {
        assert_eq!(project.line(line).ok().stdout, printed, "{line}");
    }
}

#[test]
fn directories_of_any_name_are_roots_and_working_directories() {
    let Some(project) = Project::where_it_works() else { return };
    let plain = VALUES.iter().filter(|name| !name.is_empty() && !name.contains(&b'/'));
    for name in plain {
        let root = project.outside().join(OsStr::from_bytes(name));
        let below = root.join("sub\n'\"\\ \u{fc}");
        std::fs::create_dir_all(&below).expect("own directory");
        let run = project.run().directory(&below).options([OsStr::new("--root"), root.as_os_str()]);
        let run = run.line("printf %s \"$PWD\"; /bin/pwd; echo in > in; echo up > ../up").ok();
        let shown = [below.as_os_str().as_bytes(), below.as_os_str().as_bytes(), b"\n"].concat();
        assert!(run.bytes == shown, "{name:?}: {run:#?}");
        for made in [below.join("in"), root.join("up")] {
            assert!(made.exists(), "{made:?}");
        }
    }
}

#[test]
fn a_path_may_be_as_long_as_the_system_allows() {
    let Some(project) = Project::where_it_works() else { return };
    let mut root = project.outside();
    while root.as_os_str().len() < 3_500 {
        root.push("d".repeat(100));
    }
    std::fs::create_dir_all(&root).expect("below the longest path");
    std::fs::write(root.join("secret"), "s3cret").expect("own directory");
    let options: [&OsStr; 4] =
        ["--root".as_ref(), root.as_os_str(), "--deny-read".as_ref(), "secret".as_ref()];
    let run = project.run().directory(&root).options(options).line("pwd; echo in > in; cat in; cat secret");
    assert_eq!(run.stdout, format!("{}\nin\n", root.display()), "{}", run.stderr);
    assert!(run.stderr.contains("Permission denied"));
}

/// Everybody on the machine can read every command line.
#[test]
fn no_variable_and_no_policy_is_visible_on_a_command_line() {
    let Some(project) = Project::where_it_works() else { return };
    let unique = format!("{}-{}", std::process::id(), project.base().file_name().expect("a name").display());
    let (value, rule, seen) = (format!("value-{unique}"), format!("rule-{unique}"), format!("seen-{unique}"));
    project.write(&rule, "");
    let settings = json!({ "sandbox": { "filesystem": { "denyRead": [rule], "denyWrite": [format!("later/{rule}")] } } });
    project.write(".claude/settings.json", settings.to_string());
    let line = format!("test \"$SECRET\" && echo {seen} started; cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
    let command = project.run().env("SECRET", &value).start(&line, "");
    assert_eq!(command.first(), format!("{seen} started"));
    let outside = all_command_lines();
    let by_another =
        Command::new("sh").args(["-c", "cat /proc/[0-9]*/cmdline"]).output().expect("sh runs").stdout;
    let (_, inside) = command.end();
    for (text, place) in [(outside, "outside"), (by_another, "by another"), (inside.into_bytes(), "inside")] {
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(&seen), "{place}: the look must find what is there to be seen: {text}");
        for secret in [&value, &rule] {
            assert!(!text.contains(secret.as_str()), "{place}: {secret} in {text}");
        }
    }
}

fn all_command_lines() -> Vec<u8> {
    let processes = std::fs::read_dir("/proc").expect("there is a /proc").flatten();
    processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok()).flatten().collect()
}

#[test]
fn hidden_variables_are_nowhere_inside() {
    let Some(project) = Project::where_it_works() else { return };
    let rules = json!({ "credentials": { "envVars": [
        { "name": "API_KEY", "mode": "deny" }, { "name": "MASKED", "mode": "mask" }, { "name": "NONE_SUCH" }, "BY_NAME",
    ] } });
    let line =
        "env -0 | tr '\\0' '\\n'; cat /proc/*/environ | tr '\\0' '\\n'; echo \"[$API_KEY$MASKED$BY_NAME]\"";
    let with = |run: Palisade| {
        run.env("API_KEY", "s3cret-1")
            .env("MASKED", "s3cret-2")
            .env("BY_NAME", "s3cret-3")
            .env("API_KEY_ID", "open")
    };
    let run = with(project.run()).sandbox(rules).line(line);
    assert!(!run.stdout.contains("s3cret") && run.stdout.ends_with("[]\n"), "{run:#?}");
    assert!(run.stdout.contains("API_KEY_ID=open"), "only that name: {run:#?}");
    assert!(with(project.run()).line(line).stdout.contains("s3cret-1"), "the look finds what is there");
}

/// The line that was read is the line that runs: nothing is executed before it, and nothing reads it otherwise.
#[test]
fn no_variable_and_no_file_changes_what_a_line_means() {
    let Some(project) = Project::where_it_works() else { return };
    let evil = project.write("evil.sh", "touch \"$MARK\"\n");
    for name in [".bashrc", ".bash_profile", ".profile", ".bash_login", ".bash_logout", ".shrc"] {
        std::fs::copy(&evil, project.home().join(name)).expect("own directory");
    }
    let mark = project.root().join("mark");
    for (name, value) in [
        ("BASH_ENV", evil.to_str().expect("text")),
        ("ENV", evil.to_str().expect("text")),
        ("BASH_FUNC_echo%%", "() { touch \"$MARK\"; }"),
        ("BASH_FUNC_ls%%", "() { touch \"$MARK\"; }"),
        ("BASH_FUNC_ls()", "() { touch \"$MARK\"; }"),
        ("ls", "() { touch \"$MARK\"; }"),
        ("SHELLOPTS", "noexec:xtrace:braceexpand"),
        ("BASHOPTS", "expand_aliases:extglob:nullglob"),
        ("POSIXLY_CORRECT", "1"),
        ("BASH_COMPAT", "3.1"),
        ("PS4", "$(touch \"$MARK\")"),
        ("PROMPT_COMMAND", "touch \"$MARK\""),
        ("PYTHONSTARTUP", evil.to_str().expect("text")),
        ("SHELL", evil.to_str().expect("text")),
        ("SHELL", "/none/such"),
    ] {
        let run = project.run().env("MARK", &mark).env(name, value);
        let run = if name == "PS4" { run.env("SHELLOPTS", "xtrace") } else { run };
        let run = run.line("ls . > /dev/null; echo {a,b} none*such; set -o | grep -c posix.*off; [[ x == @(x|y) ]] && echo glob");
        assert_eq!(run.stdout, "a b none*such\n1\nglob\n", "{name}: {run:#?}");
        assert_eq!(run.stderr, "", "{name}");
        assert!(!mark.exists(), "{name}");
    }
}

/// A program that the command names is its own affair: what its variables do, they do inside.
#[test]
fn a_shell_that_the_command_names_reads_its_variables() {
    let Some(project) = Project::where_it_works() else { return };
    let file = project.write("env.sh", "echo from the file\n");
    let run = project.run().env("BASH_ENV", &file).argv(["bash", "-c", "echo line"]).ok();
    assert_eq!(run.stdout, "from the file\nline\n");
}

/// A library that, wherever it is loaded, writes down into which program.
struct Tell {
    library: PathBuf,
    log: PathBuf,
}

const TELL: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void tell(void) {
    char space[64] = "", program[4096] = "", line[4300];
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) strcpy(space, "?");
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) strcpy(program, "?");
    int length = snprintf(line, sizeof line, "%s %s\n", space, program);
    int log = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (log >= 0 && write(log, line, length) != length) _exit(99);
}
"#;

impl Tell {
    fn compile(project: &Project) -> Self {
        let tell = Tell { library: project.root().join("libtell.so"), log: project.root().join("log") };
        let source = project.write("tell.c", TELL);
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&tell.library)
            .arg(format!("-DLOG=\"{}\"", tell.log.display()))
            .arg(source)
            .output()
            .expect("there is a C compiler");
        assert!(compiler.status.success(), "{}", String::from_utf8_lossy(&compiler.stderr));
        tell
    }

    /// The programs that it was loaded into: those in this process's own process namespace, and the others.
    fn loaded_into(&self) -> (Vec<String>, Vec<String>) {
        let here = std::fs::read_link("/proc/self/ns/pid").expect("there is a /proc").display().to_string();
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let (outside, inside): (Vec<_>, Vec<_>) =
            log.lines().filter_map(|line| line.split_once(' ')).partition(|(space, _)| *space == here);
        let names = |lines: Vec<(&str, &str)>| {
            let name = |path: &str| Path::new(path).file_name().expect("a name").display().to_string();
            lines.into_iter().map(|(_, path)| name(path)).collect()
        };
        (names(outside), names(inside))
    }
}

/// The dynamic loader runs it in `palisade`, which the caller gave it to, and in the command: in no bubblewrap,
/// and not in the program inside that becomes the command.
#[test]
fn a_preloaded_library_takes_effect_in_the_command_and_in_nothing_of_palisades_own_inside() {
    let Some(project) = Project::where_it_works() else { return };
    let tell = Tell::compile(&project);
    let palisade = Tools::here().palisade.file_name().expect("a name").display().to_string();
    for (words, loaded) in [
        (&["--", "cat", "/dev/null"][..], &["cat"][..]),
        (&["-c", "cat < /dev/null | head -1"], &["bash", "cat", "head"]),
    ] {
        let mut command = project.run().env("LD_PRELOAD", &tell.library).options(words).into_command();
        let output = command.output().expect("palisade starts");
        assert!(output.status.success(), "{output:?}");
        let (outside, mut inside) = tell.loaded_into();
        inside.sort();
        assert_eq!(
            (outside, inside),
            (vec![palisade.clone()], loaded.iter().map(ToString::to_string).collect())
        );
        std::fs::remove_file(&tell.log).expect("own file");
    }
}

/// Of a library caller's variables, given with the request, none takes effect outside the sandbox at all.
#[test]
fn loader_variables_of_a_request_take_effect_in_the_command_alone() {
    let Some(project) = Project::where_it_works() else { return };
    let tell = Tell::compile(&project);
    // Libraries that bubblewrap needs, planted.
    let planted = project.root().join("planted");
    std::fs::create_dir(&planted).expect("own directory");
    for name in ["libcap.so.2", "libselinux.so.1"] {
        std::fs::copy(&tell.library, planted.join(name)).expect("own directory");
    }
    let sandbox = palisade::Sandbox::create(palisade::Options {
        roots: vec![project.root()],
        ..palisade::Options::default()
    })
    .expect("the sandbox works here");
    let mut request = palisade::Request::new(
        palisade::Command::Argv(["cat", "/dev/null"].map(Into::into).into()),
        project.root(),
    );
    request.variables.extend([
        ("LD_PRELOAD".into(), tell.library.clone().into_os_string()),
        ("LD_AUDIT".into(), tell.library.clone().into_os_string()),
        ("LD_LIBRARY_PATH".into(), planted.into_os_string()),
    ]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let outcome = runtime.block_on(sandbox.run(request)).expect("it runs");
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let (outside, inside) = tell.loaded_into();
    assert!(outside.is_empty(), "{outside:?}");
    assert!(!inside.is_empty() && inside.iter().all(|name| name == "cat"), "{inside:?}");
}
