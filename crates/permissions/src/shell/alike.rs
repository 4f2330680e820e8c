//! Lines that every shell reads alike: plain words, a few operators between commands, whole words in quotes.
//!
//! Lines are read here as bash reads them. zsh and fish take more for code in some (`=rm`, `repeat 1 rm x`, `and rm x`,
//! file name patterns with code in them). This says of which lines that is certainly not so; it reads nothing else, and
//! what it does not know is not alike.

/// Words that start no command of that name in some shell: what follows them, or what they are given, runs.
const KEYWORDS: &[&str] = &[
    "always",
    "and",
    "autoload",
    "begin",
    "bind",
    "bindkey",
    "break",
    "builtin",
    "case",
    "command",
    "continue",
    "coproc",
    "do",
    "done",
    "elif",
    "else",
    "emulate",
    "end",
    "esac",
    "eval",
    "exec",
    "exit",
    "fc",
    "fi",
    "for",
    "foreach",
    "function",
    "functions",
    "hash",
    "if",
    "in",
    "nocorrect",
    "noglob",
    "not",
    "or",
    "print",
    "repeat",
    "return",
    "sched",
    "select",
    "set",
    "setopt",
    "source",
    "switch",
    "then",
    "time",
    "trap",
    "unsetopt",
    "until",
    "while",
    "zargs",
    "zcompile",
    "zle",
    "zmodload",
    "zpty",
    "zstyle",
];

/// Whether every shell that a person may have runs the same programs with the same words for `line`.
pub fn is_alike(line: &str) -> bool {
    let mut starts = true;
    for part in line.split('\n') {
        let Some(tokens) = tokens(part) else { return false };
        for token in tokens {
            let (word, ends) = match token.strip_suffix(';') {
                Some(word) => (word, true),
                None => (token, matches!(token, "&&" | "||" | "|")),
            };
            let is_operator = ends && (word.is_empty() || word == token);
            let is_known = is_operator || if starts { is_name(word) } else { is_word(word) };
            if !is_known || (is_operator && starts) {
                return false;
            }
            starts = ends;
        }
        starts = true;
    }
    true
}

/// The parts of a line between blanks, with quoted words whole; `None` where a quote is not all of a word.
fn tokens(line: &str) -> Option<Vec<&str>> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_matches([' ', '\t']);
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '\'' | '"' => rest[1..].find(first)? + 2,
            _ => rest.find([' ', '\t']).unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at(end);
        if !(behind.is_empty() || behind.starts_with([' ', '\t'])) {
            return None;
        }
        tokens.push(token);
        rest = behind.trim_start_matches([' ', '\t']);
    }
    Some(tokens)
}

/// Whether a word that starts a command is a program's name for every shell.
fn is_name(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphanumeric() || "/._".contains(c))
        && word.chars().all(is_plain)
        && word != "."
        && !KEYWORDS.contains(&word)
}

/// Whether a word stands for itself.
fn is_word(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./,:+@%-=".contains(c);
    match word.strip_prefix(['\'', '"']) {
        Some(quoted) => !quoted.contains(['$', '`', '\\', '!']) && !quoted.chars().any(char::is_control),
        None => {
            matches!(word, "2>&1" | ">/dev/null" | "2>/dev/null")
                || (!word.is_empty() && !word.starts_with(['=', '%']) && word.chars().all(is_plain))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_alike;

    #[test]
    fn plain_lines_are_alike() {
        for line in [
            "",
            "ls",
            "ls -la src && npm test -- -u; git status",
            "cargo test --features=a,b 2>&1 | tail -5",
            "git commit -m 'a (b) * c' --amend",
            "cat \"a b\"\nmake -j4 >/dev/null\n",
            "./run.sh x=1 user@host:/a -",
        ] {
            assert!(is_alike(line), "{line}");
        }
    }

    #[test]
    fn what_another_shell_may_read_more_in_is_not() {
        for line in [
            "=rm x",
            "ls =rm",
            "- rm x",
            "repeat 1 rm x",
            "ls; repeat 1 rm x",
            "ls\nnoglob rm x",
            "and rm x",
            "ls && not rm x",
            "emulate zsh -c 'rm x'",
            "ls *(e:'rm x':)",
            "ls <(rm x)",
            "ls ~x",
            "echo $x",
            "echo \"$x\"",
            "echo \"a!b\"",
            "echo 'a'x'",
            "echo a'b'c",
            "echo 'a''b'",
            "echo {a,b}",
            "echo a\\ b",
            "ls & rm",
            "ls &! rm",
            "ls |& rm",
            "ls > x",
            "'rm' x",
            "rm^x",
            "ls # x",
            "(ls)",
            "ls;; ls",
            "ls;ls",
            "| ls",
            "A=1 ls",
            "%1",
            ". x",
            "ls 'x",
            "ls\rx",
            "ls x\u{a0}y",
        ] {
            assert!(!is_alike(line), "{line}");
        }
    }
}
