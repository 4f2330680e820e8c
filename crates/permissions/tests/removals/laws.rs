//! What holds for every removal.

use super::found;
use proptest::prelude::*;

/// Programs that can stand in front of another one.
const WRAPPERS: &[&str] = &[
    "nice @",
    "nice -n 5 @",
    "nice -5 @",
    "timeout 5 @",
    "timeout -s KILL --kill-after 5 5s @",
    "time @",
    "nohup @",
    "stdbuf -oL -e0 @",
    "command @",
    "command -p -- @",
    "exec @",
    "exec -a x @",
    "env @",
    "env -i A=1 @",
    "env -u A -- @",
    "env - B=2 @",
    "sudo @",
    "sudo -u root A=1 @",
    "sudo --odd @",
    "sudo -s @",
    "doas -u x @",
    "setsid -f @",
    "ionice -c2 -n 7 @",
    "chrt -f 50 @",
    "taskset -c 0 @",
    "caffeinate -di @",
    "xargs @",
    "xargs -n1 -0 @",
    "watch -n5 @",
    "watch -x @",
    "flock -n /l @",
    "busybox @",
    "toybox @",
    "strace -f -o log @",
    "ltrace @",
    "gdb --args @",
    "unshare -r @",
    "nsenter -t 1 @",
    "chroot /x @",
    "setarch x86_64 -R @",
    "prlimit --nofile=5 @",
    "systemd-run --user @",
    "runcon t @",
    "runuser -u x -- @",
    "script -q f @",
    "bwrap --bind / / @",
    "firejail --net=none @",
    "xvfb-run -a @",
    "dbus-run-session -- @",
    "find . -exec @ \\;",
    "find . -exec @ {} +",
    "fd x -x @",
    "parallel @ ::: x",
    "start-stop-daemon -S -x /usr/bin/env -- @",
    "noglob @",
    "nocorrect @",
    "builtin @",
    "setpriv --nnp @",
    "pkexec @",
    "gosu x @",
    "tini -- @",
    "valgrind --tool=none @",
    "numactl -N 0 @",
    "systemd-inhibit --what=idle @",
    "entr -r @",
    "/lib64/ld-linux-x86-64.so.2 @",
    "eatmydata @",
    "$X @",
    "lldb -- @",
];

/// What the shell's grammar can put around a command.
const SYNTAX: &[&str] = &[
    "! @",
    "( @ )",
    "{ @; }",
    "true && @",
    "false || @",
    "@ &",
    "ls | @",
    "if true; then @; fi",
    "for i in 1; do @; done",
    "echo $( @ )",
    "echo \"$( @ )\"",
    "cat <( @ )",
    "f() { @; }; f",
    "@ > log 2>&1",
    "cd sub; @",
];

/// How a command is put into code; only once, since what it holds must have no quotes.
const CODES: &[&str] = &[
    "sh -c '@'",
    "bash -lc '@'",
    "bash -o pipefail -ec '@'",
    "eval '@'",
    "trap '@' EXIT",
    "su -c '@' x",
    "script -c '@' f",
    "flock /l -c '@'",
    "watch '@'",
    "find . -exec sh -c '@' \\;",
    "xargs sh -c '@'",
    "busybox sh -c '@'",
    "sudo sh -c '@'",
    "sudo --odd sh -c '@'",
    "hyperfine '@'",
    "parallel ::: '@'",
    "entr -s '@'",
    "fish -c '@'",
    "bash --odd -c '@'",
];

const REMOVALS: &[&str] = &[
    "rm -rf /",
    "rm -rf /home/u",
    "rm -rf /w/proj",
    "rm -rf .git",
    "rm -rf /usr",
    "rm -rf $X",
    "mv /w/proj /tmp/x",
    "rsync -a --delete e/ /w/proj",
    "rmdir /home/u",
    "unlink /w/proj/.git/index",
    "/bin/rm -rf /w/proj/.git",
    "find . -delete",
];

/// Some programs in front, and then some grammar around.
fn around() -> impl Strategy<Value = Vec<&'static str>> {
    let some = |list: &'static [&'static str]| {
        proptest::collection::vec(proptest::sample::select(list.to_vec()), 0..3)
    };
    let assignment = some(&["A=1 @", "A=1 B= @"]);
    (some(WRAPPERS), assignment, some(SYNTAX)).prop_map(|(wrappers, assignment, syntax)| {
        [wrappers, assignment.into_iter().take(1).collect(), syntax].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_wrapper_hides_no_removal(
        removal in proptest::sample::select(REMOVALS.to_vec()),
        inner in around(),
        code in proptest::option::of((proptest::sample::select(CODES.to_vec()), around())),
    ) {
        let wrap = |line: String, wrappers: Vec<&str>| {
            wrappers.iter().fold(line, |line, wrapper| wrapper.replace('@', &line))
        };
        let mut line = wrap(removal.to_owned(), inner);
        if let Some((code, mut outer)) = code {
            // These join their words with blanks, so that the quotes around the code are lost.
            outer.retain(|wrapper| !wrapper.starts_with("watch -n5") && !wrapper.starts_with("parallel"));
            line = wrap(code.replace('@', &line), outer);
        }
        let found = found(&line, "/w/proj", false);
        prop_assert!(found.iter().any(|kind| !kind.starts_with("outside")), "{}", line);
    }

    #[test]
    fn any_operand_has_an_answer(operand in "([*?\\[\\]!/.~'\"\\\\{},$ a-zé]|\\.git|\\.\\.|/w/proj){0,12}") {
        let _ = found(&format!("rm -rf {operand}"), "/w/proj", true);
    }

    /// Whatever names the root once the shell has expanded it is found, by any pattern made from its path.
    #[test]
    fn a_pattern_that_matches_the_root_is_critical(mask in proptest::collection::vec(0..6u8, 5)) {
        let hidden = |c: char, how: u8| match how {
            0 => c.to_string(),
            1 => "?".to_owned(),
            2 => format!("[{c}x]"),
            3 => format!("[[:digit:]{c}]"),
            4 => "[![:punct:]]".to_owned(),
            _ => format!("{c}*"),
        };
        let name: Vec<_> = "wproj".chars().zip(mask).map(|(c, how)| hidden(c, how)).collect();
        let line = format!("rm -rf /{}/{}", name[0], name[1..].concat());
        prop_assert_eq!(found(&line, "/w/proj", false), ["Root"], "{}", line);
    }
}
