//! What holds for every line and every set of rules.

#[path = "../../../../fuzz/bodies/judge.rs"]
mod body;
#[path = "../../../../fuzz/replay.rs"]
mod replay;

use crate::fixture::{Session, said};
use palisade_permissions::{Answer, Call, Mode};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const DENY: &[&str] = &[
    "Bash(rm *)",
    "Bash(git push *)",
    "Bash(curl:*)",
    "Bash(* --force)",
    "Read(.env)",
    "Edit(src/**)",
    "Bash(timeout:5)",
    "Bash(npm test)",
    "Read(~/.ssh/**)",
    "B*",
];
const ASK: &[&str] =
    &["Bash", "Bash(git *)", "Bash(make *)", "Edit(*.md)", "Read(secret/**)", "Bash(run_in_background:true)"];
const ALLOW: &[&str] = &[
    "Bash(npm *)",
    "Bash(git * main)",
    "Bash(ls)",
    "Bash",
    "Bash(make *)",
    "Edit(out)",
    "Read(~/x)",
    "Bash(env *)",
    "Bash(FOO=1 npm *)",
    "Bash(find *)",
    "Bash(echo a && ls)",
];

fn line() -> impl Strategy<Value = String> {
    let word = select(vec![
        "rm",
        "git",
        "push",
        "npm",
        "test",
        "curl",
        "ls",
        "-rf",
        "--force",
        "echo",
        "env",
        "FOO=1",
        "timeout",
        "5",
        "xargs",
        "find",
        ".",
        "-exec",
        "{}",
        "\\;",
        "bash",
        "-c",
        "'rm x'",
        "$(rm x)",
        "`ls`",
        "$X",
        "\"$X\"",
        "*",
        "~",
        "/",
        "src/a",
        ".env",
        "out",
        ">",
        ">>",
        "<",
        "2>&1",
        "&&",
        "||",
        ";",
        "|",
        "&",
        "\n",
        "(",
        ")",
        "{",
        "}",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "cat",
        "cp",
        "a",
        "sed",
        "-i",
        "s/a/b/",
        "make",
        "CC=x",
        "eval",
        "source",
        "x=1",
        "cd",
        "sub",
        "..",
        "export",
        "<<E",
        "E",
        "'",
        "\"",
        "\\",
        "#",
        "main",
        "mkdir",
        "tee",
        "sh",
        "sudo",
        "watch",
        "$'\\x72m'",
        "f()",
        "!",
        "time",
        "[[",
        "]]",
        "${x@P}",
    ]);
    prop::collection::vec((word, any::<bool>()), 0..12).prop_map(|words| {
        words
            .into_iter()
            .map(|(word, glued)| if glued { word.to_owned() } else { format!("{word} ") })
            .collect()
    })
}

fn session() -> impl Strategy<Value = Session> {
    let rules = (subsequence(DENY, 0..4), subsequence(ASK, 0..3), subsequence(ALLOW, 0..5));
    (rules, select(Mode::ALL.to_vec()), any::<[bool; 3]>()).prop_map(
        |((deny, ask, allow), mode, [sandboxed, auto_allow, guardrails])| {
            let session = Session { sandboxed, auto_allow, guardrails, ..Session::new().mode(mode) };
            session.deny(&deny).ask(&ask).allow(&allow)
        },
    )
}

#[test]
fn no_wrapper_makes_a_seed_of_the_fuzz_target_laxer() {
    replay::replay("judge", body::run);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_wrapper_makes_a_line_laxer(line in line(), text in "\\PC{0,20}|[ -~\n\t]{0,40}") {
        body::run(line.as_bytes());
        body::run(text.as_bytes());
    }
}

proptest! {
    #[test]
    fn any_text_has_a_verdict(session in session(), text in "\\PC{0,40}|[ -~\n\t]{0,60}") {
        session.says(&text);
    }

    #[test]
    fn the_order_of_rules_has_no_meaning(session in session(), line in line()) {
        let mut other = session.clone();
        other.rules.deny.reverse();
        other.rules.ask.reverse();
        other.rules.allow.reverse();
        prop_assert_eq!(session.says(&line), other.says(&line), "{}", line);
    }

    #[test]
    fn another_deny_loosens_nothing(session in session(), line in line(), deny in select(DENY)) {
        let tighter = session.clone().deny(&[deny]);
        let (before, after) = (session.says(&line), tighter.says(&line));
        prop_assert!(rank(before) <= rank(after), "{}: {} became {} with {}", line, before, after, deny);
    }

    #[test]
    fn another_ask_loosens_nothing(session in session(), line in line(), ask in select(ASK)) {
        let tighter = session.clone().ask(&[ask]);
        let (before, after) = (session.says(&line), tighter.says(&line));
        prop_assert!(rank(before) <= rank(after), "{}: {} became {} with {}", line, before, after, ask);
    }

    #[test]
    fn another_allow_tightens_nothing(session in session(), line in line(), allow in select(ALLOW)) {
        let looser = session.clone().allow(&[allow]);
        let (before, after) = (session.says(&line), looser.says(&line));
        prop_assert!(rank(after) <= rank(before), "{}: {} became {} with {}", line, before, after, allow);
    }

    #[test]
    fn a_line_with_more_in_front_is_no_looser(session in session(), line in line()) {
        // Whatever a line is denied for, it is denied for behind another command.
        if session.says(&line) == "deny" && session.mode != Mode::DontAsk && !line.contains('\\') {
            prop_assert_ne!(session.says(&format!("true; {line}")), "allow", "{}", line);
        }
    }

    #[test]
    fn what_is_offered_is_enough_and_needed(session in session(), line in line()) {
        let call = Call::command(&line);
        let remedy = session.judge(&call, |verdict| verdict.remedy.clone());
        if !remedy.is_empty() {
            let texts: Vec<&str> = remedy.iter().map(|rule| &**rule).collect();
            prop_assert_eq!(session.clone().allow(&texts).says(&line), "allow", "{} with {:?}", line, texts);
        }
        for needless in 0..remedy.len() {
            let without = remedy.iter().enumerate().filter(|(at, _)| *at != needless);
            let texts: Vec<&str> = without.map(|(_, rule)| &**rule).collect();
            let enough = session.clone().allow(&texts).says(&line) == "allow";
            prop_assert!(!enough, "{} needs no {}", line, remedy[needless]);
        }
    }

    #[test]
    fn the_sandbox_only_loosens(session in session(), line in line()) {
        let (inside, outside) = (Session { sandboxed: true, ..session.clone() }, Session { sandboxed: false, ..session });
        prop_assert!(rank(inside.says(&line)) <= rank(outside.says(&line)), "{}", line);
    }

    #[test]
    fn nothing_asks_where_nobody_is_asked(session in session(), line in line()) {
        let answer = session.mode(Mode::DontAsk).judge(&Call::command(&line), |verdict| verdict.answer);
        prop_assert!(!matches!(answer, Answer::Ask(_)));
    }
}

fn rank(answer: &str) -> usize {
    ["allow", "ask", "ask a person", "deny"].iter().position(|known| *known == answer).expect("an answer")
}

#[test]
fn a_denied_line_is_denied_in_every_mode_and_place() {
    for mode in Mode::ALL {
        let session = Session::new().deny(&["Bash(rm *)"]).allow(&["Bash", "Bash(rm *)"]).mode(mode);
        for sandboxed in [false, true] {
            let session = Session { sandboxed, ..session.clone() };
            assert_eq!(session.judge(&Call::command("ls; rm x"), said), "deny");
        }
    }
}
