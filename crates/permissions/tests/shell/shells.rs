//! Shells other than a present-day bash: what they read differently is not read.

use palisade_permissions::shell::{Reason, Shell, read};

fn is_read(line: &str, shell: Shell) -> bool {
    read(line, shell).reason().is_none()
}

#[test]
fn plain_sh() {
    for line in [
        "((rm prey))",
        "[[ a || rm prey ]]",
        "cmd &> f",
        "cmd &>> f",
        "$'\\x72m' x",
        "a+=b cmd",
        "{fd}>f cmd",
        "time cmd",
        "alias ls='rm prey'; ls",
        "a <(b)",
        "a <<< b",
        "a |& b",
        "a=(b c)",
        "for ((;;)); do a; done",
        "echo ${x/a/b}",
        "echo ${x^}",
        "echo ${x:1}",
        "echo ${x[0]}",
        "case a in a) b;& c) d;; esac",
        "f() rm prey; f",
        "a-b() { rm prey; }",
        "!(rm prey)",
    ] {
        assert!(!is_read(line, Shell::Sh), "{line}");
    }
    for line in [
        "ls -la | wc -l",
        "a=1 b \"$x\" $(c) ${d:-e}",
        "if a; then b; fi",
        "f() { a; }; f",
        "echo $((1 + 2))",
    ] {
        assert!(is_read(line, Shell::Sh), "{line}");
    }
    let braces = read("rm {a,b}", Shell::Sh);
    assert_eq!(braces.line().commands[0].words[1].value, None, "one word or two");
    assert!(braces.line().commands[0].words[1].flags.brace);
}

#[test]
fn bash_before_4() {
    for line in [
        "echo $(case a in a) b;; esac)",
        "echo $(cat <<E\nit's\nE\n)",
        "echo $(a # it's\n)",
        "a |& b",
        "a &>> f",
        "case a in a) b;& c) d;; esac",
        "echo ${x^}",
    ] {
        assert_eq!(read(line, Shell::OldBash).reason(), Some(Reason::OtherShell), "{line}");
        assert!(is_read(line, Shell::Bash), "{line}");
    }
    for line in
        ["case a in a) b;; esac", "cat <<E\nit's\nE", "a &> f", "[[ a == b ]]", "diff <(a) <(b)", "a=(b c)"]
    {
        assert!(is_read(line, Shell::OldBash), "{line}");
    }
}
