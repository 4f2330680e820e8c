//! Which one argument a word is certain to become.

use palisade_permissions::shell::{Shell, Word, read};

/// The words behind `:` in `line`.
fn words(line: &str) -> Vec<Word> {
    let reading = read(&format!(": {line}"), Shell::Bash);
    assert_eq!(reading.reason(), None, "{line}");
    reading.line().commands[0].words[1..].to_vec()
}

#[test]
fn certain_words() {
    for (word, value) in [
        ("'a b'", "a b"),
        ("a'b'\"c\"", "abc"),
        ("\"\"", ""),
        ("''", ""),
        ("\"\\$x\\`\\\"\\\\\\a\"", "$x`\"\\\\a"),
        ("\\a\\ \\;", "a ;"),
        ("'\\n'", "\\n"),
        ("$'a\\tb\\x41\\101\\'\\\\'", "a\tbAA'\\"),
        ("\"a'b\"", "a'b"),
        ("x\"$\"", "x$"),
        ("x$", "x$"),
        ("a#b", "a#b"),
        ("{}", "{}"),
        ("{a}", "{a}"),
        ("HEAD@{1}", "HEAD@{1}"),
        ("a~", "a~"),
        ("'~'", "~"),
        ("\\~", "~"),
        ("--p=~/x", "--p=~/x"),
        ("[", "["),
        ("]", "]"),
        ("\\*", "*"),
        ("\"*\"", "*"),
        ("\"{a,b}\"", "{a,b}"),
        ("\\{a,b}", "{a,b}"),
        ("é", "é"),
        ("!", "!"),
        ("'a\nb'", "a\nb"),
    ] {
        let found = words(word);
        // A brace that is quoted is not worth a certain value where a group might follow.
        let value_found = found[0].value.as_deref();
        assert!(
            found.len() == 1 && (value_found == Some(value) || found[0].flags.brace),
            "{word}: {found:?}"
        );
    }
}

#[test]
fn braces() {
    for (word, values) in [
        ("{a,b}", vec!["a", "b"]),
        ("x{1..3}y", vec!["x1y", "x2y", "x3y"]),
        ("{a,'b c'}", vec!["a", "b c"]),
        ("{a,b}{c,d}", vec!["ac", "ad", "bc", "bd"]),
        ("f{,.bak}", vec!["f", "f.bak"]),
    ] {
        let found: Vec<_> = words(word).iter().map(|word| word.value.clone().expect("static")).collect();
        assert_eq!(found.iter().map(|value| &**value).collect::<Vec<_>>(), values, "{word}");
    }
}

#[test]
fn uncertain_words() {
    for (word, what) in [
        ("*.c", "glob"),
        ("a?", "glob"),
        ("[ab]", "glob"),
        ("~", "tilde"),
        ("~/x", "tilde"),
        ("~root", "tilde"),
        ("~+", "tilde"),
        ("$x", "dynamic splits"),
        ("\"$x\"", "dynamic quoted"),
        ("${x}", "dynamic splits"),
        ("\"a $(b)\"", "dynamic quoted"),
        ("`b`", "dynamic splits"),
        ("$((1))", "dynamic"),
        ("<(b)", "dynamic"),
        ("a=~/x", "dynamic"),
        ("a={b,c}", "brace"),
        ("{a,{b,c}}", "brace"),
        ("{1..1000}", "brace"),
        ("{a,}", "brace"),
        ("$x/*", "glob dynamic splits"),
    ] {
        let found = words(word);
        let flags = found[0].flags;
        let named = [
            (flags.glob, "glob"),
            (flags.brace, "brace"),
            (flags.tilde, "tilde"),
            (flags.dynamic, "dynamic"),
            (flags.quoted, "quoted"),
            (flags.splits, "splits"),
        ];
        let shown: Vec<_> = named.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        assert_eq!(
            (found.len(), found[0].value.as_deref(), shown.join(" ").as_str()),
            (1, None, what),
            "{word}"
        );
    }
}
