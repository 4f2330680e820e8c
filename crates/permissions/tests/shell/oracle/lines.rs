//! Lines to ask bash about: half are made by a grammar, half are lines of the corpus with pieces exchanged.

use crate::corpus;

/// An endless supply of lines, the same for the same seed.
pub(crate) struct Lines {
    state: u64,
    corpus: Vec<String>,
}

const NAMES: &[&str] =
    &["rm", "ls", "echo", "cat", "git", "a", "b", "test", "[", "printf", "export", ":", "f"];
const PLAIN: &[&str] = &[
    "x",
    "-rf",
    "a=b",
    "./x",
    "/tmp/y",
    "*.c",
    "~",
    "~/x",
    "{a,b}",
    "{1..3}",
    "{}",
    "a{b",
    "x}",
    "HEAD@{1}",
    "a:~",
    "a=~",
    "1",
    "2",
    "#x",
    "x#",
    "!",
    "=",
    "%",
    "@",
    "+",
    "[x]",
    "]",
    "a[1]",
    "if",
    "done",
    "}",
    "{",
    "[[",
    "time",
    "-",
    "--",
    "\\a",
    "\\ ",
    "\\;",
    "\\\\",
    "''",
    "\"\"",
    "'a b'",
    "\"a b\"",
    "a'b'c",
    "\"a'b\"",
    "'a\"b'",
    "$'a\\nb'",
    "$'\\x41'",
    "\"\\$x\"",
    "\"\\x\"",
    "a\"b\"'c'",
    "é",
    "{a,'b c'}",
    "a{x,y}b",
    "{a,b}{c,d}",
    "{,a}",
    "a,b",
    "{a..c}",
    "^",
    "x$",
    "\"x$\"",
    "?",
    "a?b",
    "\"{a,b}\"",
    "\\{a,b}",
    "{a\\,b,c}",
    "{3..1}",
    "{01..3}",
    "a={x,y}",
    "~a",
    "x~",
    "'~'",
    "\"*\"",
    "\\*",
];
const DYNAMIC: &[&str] = &[
    "$x",
    "\"$x\"",
    "${x}",
    "\"${x}\"",
    "$1",
    "$@",
    "\"$@\"",
    "$?",
    "$#",
    "$$",
    "${#x}",
    "${x:-y}",
    "${x%.c}",
    "${x##*/}",
    "${x/a/b}",
    "${x^}",
    "${x:1}",
    "${x:1:2}",
    "${x[@]}",
    "${#x[@]}",
    "${x[0]}",
    "$((1+2))",
    "$((1 + (2 * 3)))",
    "\"$((1))\"",
    "${x:-$y}",
    "a$x",
    "$x$y",
    "\"a $x b\"",
    "$x/*",
    "${x+y}",
    "${x:?no}",
    "${!x}",
    "${x@Q}",
    "$[1]",
    "${x,,}",
    "$-",
    "$!",
    "${x[i]}",
    "${x[$i]}",
    "${x[-1]}",
    "${x[$i+1]}",
    "${x: -1}",
    "${x:$i:2}",
    "${x:0:-1}",
    "${x: -$(a)}",
];
const TOKENS: &[&str] = &[
    ";", "&", "&&", "||", "|", "|&", "\n", " ", "\t", "(", ")", "{", "}", "((", "))", "[[", "]]", "$(",
    "$((", "`", "'", "\"", "\\", "\\\n", "<", ">", ">>", "<<E", "<<'E'", "<<-E", "<<<", "<(", ">(", ">&",
    "<&", "&>", ">|", "<>", "2>", "{fd}>", "#", "if", "then", "elif", "else", "fi", "for", "in", "do",
    "done", "while", "until", "case", "esac", ";;", ";&", "function", "f()", "!", "time", "coproc", "select",
    "$x", "${x", "${x:-", "${!", "$'", "$\"", "$[", "$$", "$", "*", "?", "[", "]", "~", "{a,b}", "a=", "a+=",
    "a=(", "a[", "rm x", "rm", "x", "E", "\nE\n", "é", "-f", "==", "=~", "-eq", "1", "eval", "@(", "!(", "}",
    "2>&1", ">&-", ";", " ", "\n", "\"$(", ")\"", "echo ", "cat ",
];

impl Lines {
    pub(crate) fn new(seed: u64) -> Self {
        let corpus =
            corpus::entries().into_iter().map(|entry| entry.line).filter(|line| !line.contains('\0'));
        Lines { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, corpus: corpus.collect() }
    }

    pub(crate) fn next_line(&mut self) -> String {
        if self.chance(2) { self.mutated() } else { self.made() }
    }

    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64*: good enough to choose with, and the same everywhere.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let number = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).map_or(0, |number| number % limit)
    }

    /// Once in so many times.
    fn chance(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.below(choices.len())]
    }

    fn mutated(&mut self) -> String {
        let index = self.below(self.corpus.len());
        let mut pieces = split(&self.corpus[index]);
        for _ in 0..=self.below(4) {
            self.mutate(&mut pieces);
        }
        pieces.concat()
    }

    fn mutate(&mut self, pieces: &mut Vec<String>) {
        let at = self.below(pieces.len() + 1);
        match self.below(6) {
            0 if at < pieces.len() => {
                pieces.remove(at);
            }
            1 if at < pieces.len() => pieces[at] = self.pick(TOKENS).into(),
            2 if at < pieces.len() => {
                let other = self.below(pieces.len());
                pieces.swap(at, other);
            }
            3 => {
                let index = self.below(self.corpus.len());
                let other = split(&self.corpus[index]);
                let (from, to) = (self.below(other.len() + 1), self.below(other.len() + 1));
                let part = other[from.min(to)..from.max(to)].to_vec();
                pieces.splice(at..at, part);
            }
            _ => pieces.insert(at, self.pick(TOKENS).into()),
        }
    }

    fn made(&mut self) -> String {
        let depth = 1 + self.below(4);
        let mut bodies = String::new();
        let mut line = self.list(depth, &mut bodies);
        if !bodies.is_empty() {
            line.push('\n');
            line.push_str(&bodies);
            if self.chance(2) {
                line.push_str("b x");
            }
        }
        line
    }

    fn list(&mut self, depth: usize, bodies: &mut String) -> String {
        let mut line = self.and_or(depth, bodies);
        while self.chance(3) {
            line.push_str(self.pick(&["; ", ";", " & ", "&", "; "]));
            line.push_str(&self.and_or(depth, bodies));
        }
        line
    }

    fn and_or(&mut self, depth: usize, bodies: &mut String) -> String {
        let mut line = String::from(self.pick(&[
            "",
            "",
            "",
            "",
            "! ",
            "time ",
            "",
            "time -p ",
            "time -- ",
            "time -p -- ",
        ]));
        line.push_str(&self.command(depth, bodies));
        while self.chance(4) {
            line.push_str(self.pick(&[" && ", "||", " | ", "|", "&&", " |& ", " |\n"]));
            line.push_str(&self.command(depth, bodies));
        }
        line
    }

    fn command(&mut self, depth: usize, bodies: &mut String) -> String {
        if depth == 0 || !self.chance(4) {
            return self.simple(depth, bodies);
        }
        let inner = self.list(depth - 1, bodies);
        let other = self.list(depth - 1, bodies);
        let word = self.word(depth - 1);
        let mut command = match self.below(13) {
            0 => format!("({inner})"),
            1 => format!("{{ {inner}; }}"),
            2 => format!("if {inner}; then {other}; fi"),
            3 => format!("if {inner}; then {other}; else {inner}; fi"),
            4 => format!("while {inner}; do {other}; done"),
            5 => format!("for i in {word} {}; do {inner}; done", self.word(depth - 1)),
            6 => format!("case {word} in {}) {inner};; *) {other} ;; esac", self.word(depth - 1)),
            7 => format!("f() {{ {inner}; }}"),
            8 => format!("[[ {word} == {} && -f {} ]]", self.word(depth - 1), self.word(depth - 1)),
            9 => format!("(( {} ))", self.pick(&["1 + 2", "i = 1", "i < 3", "$i + 1", "(1) + (2)", "$(a)"])),
            10 => format!("( ({inner}) )"),
            11 => format!("for ((i=0; i<{}; i++)); do {inner}; done", self.below(9)),
            _ => format!("[[ {word} =~ {} ]]", self.expression()),
        };
        if self.chance(4) {
            command.push_str(&self.redirection(depth - 1, bodies));
        }
        command
    }

    /// A regular expression, or what looks like one.
    fn expression(&mut self) -> String {
        let pieces = [
            "a",
            "(a)",
            "(a|b)",
            "|",
            "^",
            "$",
            "[0-9]",
            "[[:alpha:]]",
            "+",
            "?",
            "{1,2}",
            "\\.",
            "\\(",
            "(",
            ")",
            "[(]",
            "$x",
            "$(a)",
            "((a)|b$)",
            "&&",
            " ",
            "\"a\"",
        ];
        (0..=self.below(4)).map(|_| self.pick(&pieces)).collect()
    }

    fn simple(&mut self, depth: usize, bodies: &mut String) -> String {
        let mut command = String::new();
        while self.chance(6) {
            let value = self.word(depth);
            command.push_str(&format!(
                "{}{}{value} ",
                self.pick(&["a", "PATH", "i"]),
                self.pick(&["=", "=", "+="])
            ));
        }
        if self.chance(12) {
            command.push_str(&format!("{} ", self.redirection(depth, bodies)));
        }
        command.push_str(&if self.chance(8) { self.word(depth) } else { self.pick(NAMES).to_owned() });
        for _ in 0..self.below(4) {
            command.push(' ');
            command.push_str(&self.word(depth));
        }
        while self.chance(7) {
            command.push_str(&self.redirection(depth, bodies));
        }
        command
    }

    fn redirection(&mut self, depth: usize, bodies: &mut String) -> String {
        let word = self.word(depth);
        match self.below(9) {
            0 => format!(" >{word}"),
            1 => format!(" > {word}"),
            2 => format!(" 2>> {word}"),
            3 => " 2>&1".into(),
            4 => format!(" &>{word}"),
            5 => format!(" <{word}"),
            6 => format!(" <<< {word}"),
            7 => format!(" >{word} 3<{word}"),
            _ => self.here_document(depth, bodies),
        }
    }

    fn here_document(&mut self, depth: usize, bodies: &mut String) -> String {
        let (delimiter, end) =
            [("E", "E"), ("'E'", "E"), ("\"E\"", "E"), ("\\E", "E"), ("E", "Ex")][self.below(5)];
        let dash = self.pick(&["", "", "-"]);
        for _ in 0..self.below(3) {
            let word = self.word(depth.saturating_sub(1));
            bodies.push_str(&format!(
                "{}{} {word}\n",
                self.pick(&["", "\t", " "]),
                self.pick(&["text", "it's", "E", "(", ")"])
            ));
        }
        bodies.push_str(&format!("{}{end}\n", if dash.is_empty() { "" } else { "\t" }));
        format!(" <<{dash}{delimiter}")
    }

    fn word(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 7 } else { 10 }) {
            0..=3 => self.pick(PLAIN).into(),
            4 | 5 => self.pick(DYNAMIC).into(),
            6 => format!(
                "{}{}",
                self.pick(PLAIN),
                self.pick(if depth.is_multiple_of(2) { PLAIN } else { DYNAMIC })
            ),
            _ => self.nested(depth),
        }
    }

    fn nested(&mut self, depth: usize) -> String {
        let mut bodies = String::new();
        let mut inner = self.list(depth - 1, &mut bodies);
        if !bodies.is_empty() {
            inner = format!("{inner}\n{bodies}");
        }
        match self.below(8) {
            0 => format!("`{inner}`"),
            1 => format!("<({inner})"),
            2 => format!("\"$({inner})\""),
            3 => format!("\"a $({inner}) b\""),
            4 => format!("x$({inner})y"),
            5 => format!("$( {inner} )"),
            6 => format!("${{x:-$({inner})}}"),
            _ => format!("$({inner})"),
        }
    }
}

/// A line as pieces to exchange: runs of letters, and single other characters.
fn split(line: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for c in line.chars() {
        match pieces.last_mut() {
            Some(last) if c.is_alphanumeric() && last.ends_with(char::is_alphanumeric) => last.push(c),
            _ => pieces.push(c.into()),
        }
    }
    pieces
}
