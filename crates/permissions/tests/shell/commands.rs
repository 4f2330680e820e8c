//! Which commands a line holds.

use crate::show::show;

#[test]
fn simple_commands() {
    for (line, shown) in [
        ("", ""),
        ("# nothing; rm x", ""),
        ("ls -la", "ls -la"),
        ("ls; rm -rf x", "ls; rm -rf x"),
        ("ls&&rm x||a|b", "ls; rm x; a; b"),
        ("a & b", "a; b"),
        ("A=1 B='x y' env", "A=1 B=\"x y\" env"),
        ("a=$x b", "a=«$x» b"),
        (">out ls 2>&1 <in", "ls Write:out 2Duplicate:1 Read:in"),
        ("r''m \"x\" y\\z", "rm x yz"),
        ("{rm,-rf,x}", "rm -rf x"),
        ("$x y", "«$x» y"),
        ("ls ~/x *.c", "ls «~/x» «*.c»"),
        ("echo \"$(rm x)\" `b`", "echo «\"$(rm x)\"» «`b`»; rm x; b"),
        (
            "git commit -m \"$(cat <<'EOF'\nit's (a) fix\nEOF\n)\"",
            "git commit -m «\"$(cat <<'EOF'\nit's (a) fix\nEOF\n)\"»; cat HereDocument:EOF",
        ),
        ("cat <<E\n$(rm x)\nE\nls", "cat HereDocument:E; rm x; ls"),
        ("if a; then b; elif c; then d; else e; fi >f", "a; b; c; d; e; Write:f"),
        ("for i in 1 2; do echo $i; done", "i=«i in 1 2»; echo «$i»"),
        ("while a; do b; done", "a; b"),
        ("case $x in a|b) c;; *) d; esac", "c; d"),
        ("f() { rm x; }; f", "rm x; f"),
        ("( (rm x) )", "rm x"),
        ("[[ -f x && $(a) == b* ]] && c", "a; c"),
        ("diff <(sort a) <(sort b)", "diff «<(sort a)» «<(sort b)»; sort a; sort b"),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done", "i=0; [ «$i» -lt 3 ]; i=«$((i+1))»"),
    ] {
        assert_eq!(show(line), shown, "{line}");
    }
}
