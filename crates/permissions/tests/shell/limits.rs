//! Limits and totality: whatever the line, there is an answer, soon and on a small stack.

#[path = "../../../../fuzz/bodies/shell_line.rs"]
mod body;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use palisade_permissions::shell::{MOST_COMMANDS, Reading, Reason, Shell, read, read_bytes};
use proptest::prelude::*;

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::OldBash, Shell::Sh];

fn reason(line: &str) -> Option<Reason> {
    read(line, Shell::Bash).reason()
}

#[test]
fn limits_are_reasons() {
    assert_eq!(reason(&"a; ".repeat(MOST_COMMANDS)), None);
    assert_eq!(reason(&"a; ".repeat(MOST_COMMANDS + 1)), Some(Reason::TooManyCommands));
    assert_eq!(reason(&"rm x; ".repeat(50_000)), Some(Reason::TooLong));
    assert_eq!(reason(&format!("'{}'", "a".repeat(1_000_000))), Some(Reason::TooLong));
    assert_eq!(reason("a\0b"), Some(Reason::Nul));
    assert_eq!(read_bytes(b"rm \xff", Shell::Bash).reason(), Some(Reason::Encoding));
    assert_eq!(read_bytes(b"rm x", Shell::Bash), read("rm x", Shell::Bash));
    assert_eq!(reason(&format!("{}1{}", "(".repeat(99), ")".repeat(99))), Some(Reason::TooDeep));
    assert_eq!(reason(&format!("{}a{}", "( ".repeat(24), " )".repeat(24))), None);
    assert_eq!(reason(&format!("{}a{}", "( ".repeat(25), " )".repeat(25))), Some(Reason::TooDeep));
}

#[test]
fn a_limit_hides_no_command() {
    for line in [
        "a; ".repeat(50_000) + "rm prey",
        "( ".repeat(1_000) + "rm prey",
        "rm prey".to_owned() + &"a".repeat(99_999),
    ] {
        let Reading::Unreadable { partial, .. } = read(&line, Shell::Bash) else { panic!("it has a limit") };
        let names =
            |name: &str| partial.commands.iter().any(|c| c.words.first().is_some_and(|w| &*w.raw == name));
        assert!(names("rm"));
    }
}

/// What reading may need. Threads have 2 MiB unless somebody says otherwise.
const STACK: usize = if cfg!(debug_assertions) { 1024 * 1024 } else { 256 * 1024 };

/// Deep and long lines of every kind.
#[test]
fn depth_needs_no_stack() {
    let openings = [
        "(",
        "( ",
        "{ ",
        "$(",
        "\"$(",
        "$(echo ",
        "\"$(echo ",
        "`",
        "\"`",
        "<(a ",
        "${a:-",
        "\"${a:-\"",
        "$((",
        "((",
        "[[ ( ",
        "[[ ! ",
        "if ",
        "while a; do ",
        "for i in a; do ",
        "case x in x) ",
        "f() { ",
        "a=(",
        "{a,",
        "<<E ",
        "a && ",
        "a | ",
        "! ",
        "\\\n",
        "cat <<E\n$(",
        "[[ -n \"$(",
        "time ",
    ];
    let closings =
        ["", ")", " )", ")\"", "; }", "}", "`", "))", " ]]", "; fi", "; done", ";; esac", "\nE\n)"];
    let work = move || {
        for opening in openings {
            for count in [1, 11, 23, 24, 25, 1_000, 100_000] {
                for closing in closings {
                    if count < 100 || closing.is_empty() {
                        let line = format!("{}a{}", opening.repeat(count), closing.repeat(count));
                        read(&line, SHELLS[count % 3]);
                        read(&line, Shell::Bash);
                    }
                }
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts");
    thread.join().expect("no line overflows the stack");
}

#[test]
fn seeds_of_the_fuzz_target_hold_together() {
    replay::replay("shell_line", body::run);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_bytes_have_an_answer(line in proptest::collection::vec(any::<u8>(), 0..60)) {
        body::run(&line);
    }

    #[test]
    fn any_text_of_shells_alphabet_has_an_answer(line in "([a-zé12 ;&|()<>{}\\[\\]$`'\"\\\\#!~*?=\n-]|\\$\\(|if |do |<<E|case |esac|in ){0,40}") {
        body::run(line.as_bytes());
    }
}
