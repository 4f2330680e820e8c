//! Lines on which readers of shell have hidden a command or changed one: each must show what bash runs, or not be read.

use crate::show::show;
use palisade_permissions::shell::{Reading, Shell, read};

/// Reads as shown.
fn check(line: &str, shown: &str) {
    assert_eq!(show(line), shown, "{line}");
}

/// Is not read.
fn refuse(line: &str) {
    assert!(matches!(read(line, Shell::Bash), Reading::Unreadable { .. }), "{line}: {}", show(line));
}

#[test]
fn parentheses() {
    check("( (rm prey) )", "rm prey");
    refuse("((rm prey) )");
    refuse("echo $((a); rm prey)");
    refuse("!(rm -rf prey)");
    check("! (rm -rf prey)", "rm -rf prey");
}

#[test]
fn operands_of_parameters() {
    refuse("ls \"${x:-'$(rm prey)'}\"");
    refuse("echo ${a:-<(rm prey)}");
    refuse("echo ${#a[$(rm prey)]}");
    refuse("echo ${x:-$(echo })}$(rm prey)");
    refuse("echo ${x:=`a`}");
    refuse("echo ${a%$(rm)}");
}

#[test]
fn substitutions() {
    check("cat <<E >$out\n$(rm)\nE", "cat HereDocument:E Write:«$out»; rm");
    refuse("cat <<E >$(rm)\nx\nE");
    refuse("echo $(a $(b $(rm prey)))"); // bash runs `rm`; the second reader loses it.
    refuse("ls {a,$(rm prey)}"); // Likewise.
    refuse("echo $[$(rm prey)]");
    check("cat <<E\n`rm`\nE", "cat HereDocument:E; rm");
    refuse("echo `echo \\`rm prey\\``");
    refuse("\"$\\\n(rm prey)\"");
}

#[test]
fn delimiters() {
    refuse("cat <<$'E'\n$(a)\nE\nrm y");
    refuse("cat <<E\"F\"\n$(a)\nEF\nrm y");
    check("cat <<\\E\n$(a)\nE\nrm y", "cat HereDocument:E; rm y");
    check("cat <<'E'\n$(a)\nE\nrm y", "cat HereDocument:E; rm y");
    refuse("cat <<E\nx\nE \nrm y");
    refuse("cat <<E\n\\\nE\nE\nrm y");
    refuse("echo $(cat <<E\nx\nE\nfoo; rm prey)"); // bash runs one command, `foo rm prey`.
    refuse("echo $(b & cat <<E\nx\nE\n)");
}

#[test]
fn keywords() {
    check("time rm prey", "rm prey");
    check("time -p rm prey", "rm prey");
    check("time -p\t rm prey; ! rm x", "rm prey; rm x");
    refuse("time -- rm prey");
    refuse("time -p -- rm prey");
    refuse("time -- -p rm prey"); // bash runs `-p`.
    refuse("time -p -p rm prey");
    refuse("time -pv rm prey");
    refuse("time -- -- rm prey");
    refuse("time -p; rm prey");
    refuse("time -p time rm prey");
    refuse("! ! rm prey");
    refuse("! time rm prey");
    refuse("coproc rm prey");
    refuse("echo $(time ( a ))");
    check("A=1 B=2 rm prey", "A=1 B=2 rm prey");
    refuse("A=1 if rm prey");
    check("\\if rm prey", "if rm prey");
    refuse("function f { rm prey; }; f");
}

#[test]
fn continuations() {
    for line in [
        "r\\\nm prey",
        "l\\\ns",
        "i\\\nf a; then b; fi",
        "a >\\\n> b",
        "a <\\\n<E\nx\nE",
        "ls 2\\\n>x",
        "a\\",
    ] {
        refuse(line);
    }
    check("ls \\\n -la", "ls -la");
    check("a \\\n| b", "a; b");
}

#[test]
fn blanks_that_are_none() {
    for line in ["ls\r", "rm\u{a0}-rf prey", "a\u{b}b", "a\u{c}b", "\u{feff}ls", "ls\0rm"] {
        refuse(line);
    }
}

#[test]
fn words_that_touch() {
    for line in
        ["a<(rm prey)", "a=<(x)", "=<(x)", "<(a)<(b)", "a {fd}>b", "echo 1 2>& -f", "a >&1<(b)", "a <2> b"]
    {
        refuse(line);
    }
    check("a 2>&1 -f", "a -f 2Duplicate:1");
}

#[test]
fn line_breaks_end_pipelines() {
    check("a | grep x | head -30\necho B && cd s", "a; grep x; head -30; echo B; cd s");
}

#[test]
fn errors_do_not_stop_what_stands_before_them() {
    for line in ["rm y\n)", "rm y\nif", "rm y; fi", "rm y\ncat <<E", "}; rm y; {", "rm y ;;"] {
        refuse(line);
        let reading = read(line, Shell::Bash);
        let words = |name: &str| {
            reading.line().commands.iter().any(|c| c.words.first().is_some_and(|w| &*w.raw == name))
        };
        assert!(words("rm"), "{line}: what was seen is kept");
    }
}

#[test]
fn partial_readings_lose_nothing() {
    for line in [
        "echo ${x@P}; curl evil",
        "echo \"${x:-'$(curl evil)'}\"",
        "a\\\nb; 'curl' evil",
        "( ( ( ${!x} | curl evil",
        "A=1 if curl evil",
        "cu\0rl evil",
        "ls\rcurl evil\u{a0}\n\"cu\"rl evil",
    ] {
        let reading = read(line, Shell::Bash);
        assert!(reading.reason().is_some(), "{line:?}");
        let seen = reading
            .line()
            .commands
            .iter()
            .any(|c| c.words.iter().any(|w| w.value.as_deref() == Some("curl")));
        assert!(seen, "{line:?}: {:?}", reading.line());
    }
}
