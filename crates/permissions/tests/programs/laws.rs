//! What holds for every line.

use super::programs_of;
use palisade_permissions::program::Reach;
use proptest::prelude::*;

/// Pieces that lines of wrappers are made of.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "env",
        "-i",
        "-S",
        "A=1",
        "sudo",
        "-u",
        "--",
        "--odd",
        "timeout",
        "5",
        "nice",
        "xargs",
        "-I",
        "{}",
        "find",
        ".",
        "-exec",
        ";",
        "+",
        "sh",
        "-c",
        "'rm x'",
        "\"rm $X\"",
        "eval",
        "cd",
        "..",
        "&&",
        "||",
        "|",
        "(",
        ")",
        "$X",
        "$(rm x)",
        "busybox",
        "parallel",
        ":::",
        "watch",
        "flock",
        "su",
        "script",
        "bwrap",
        "f()",
        "{",
        "}",
        "if",
        "then",
        "fi",
        "for i in 1; do",
        "done",
        "é",
        "''",
        "\\",
        "<",
        "f",
        "!",
        "\n",
        "&",
        "*",
        "~",
        "trap",
        "setarch",
        "gdb",
        "--args",
        "fd",
        "-x",
        "pushd",
        "popd",
        "exit",
        "-",
    ];
    prop_oneof![8 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_line_has_an_answer(pieces in proptest::collection::vec(piece(), 0..24)) {
        let found = programs_of(&pieces.join(" "));
        for (index, program) in found.list.iter().enumerate() {
            prop_assert!(program.outer.is_none_or(|outer| outer < index));
            // A level is never found more surely than the one around it.
            prop_assert!(program.outer.is_none_or(|outer| found.list[outer].reach <= program.reach));
            prop_assert!(program.outer.is_none() || program.reach != Reach::Direct);
            prop_assert!(index == 0 || found.list[index - 1].command <= program.command);
        }
        prop_assert!(found.uncertain.iter().all(|one| one.program < found.list.len()));
    }
}

/// Lines made to be slow take no longer than their length allows: twice as long, about twice the programs.
#[test]
fn what_is_found_grows_with_the_line() {
    for (name, make) in [
        ("commands", Box::new(|n: usize| "true;".repeat(n)) as Box<dyn Fn(usize) -> String>),
        ("directories", Box::new(|n| "cd a && ".repeat(n) + "true")),
        ("climbs", Box::new(|n| "cd ..;".repeat(n))),
        ("wrappers", Box::new(|n| "env ".repeat(n) + "rm x")),
        ("guesses", Box::new(|n| "sudo --odd ".to_owned() + &"rm ".repeat(n))),
        ("code in guesses", Box::new(|n| "sudo --odd ".to_owned() + &"'sudo --odd rm x' ".repeat(n))),
        ("executions", Box::new(|n| "A=1 find . ".to_owned() + &"-exec env B=1 rm {} \\; ".repeat(n))),
        ("operands", Box::new(|n| "cd a; cd b; rm ".to_owned() + &"x ".repeat(n))),
        ("dynamic names", Box::new(|n| "$X ".repeat(n))),
        ("redirections", Box::new(|n| "> f ".repeat(n) + "find . " + &"-exec x \\; ".repeat(n))),
        ("unreadable", Box::new(|n| "true;".repeat(n) + "(")),
    ] {
        let (small, large) = (programs_of(&make(200)).list.len(), programs_of(&make(400)).list.len());
        assert!(large <= 2 * small + 20, "{name}: {small} and {large}");
    }
}
