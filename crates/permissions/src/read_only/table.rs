//! The programs that only read, and which of their options do more.

use crate::shell::Word;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a program takes besides options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Bare,
    /// Any words: they are text.
    Text,
    /// Files.
    Files,
    /// So many files at most; with more it writes. Some versions take no option behind the first.
    AtMost(usize),
    /// A pattern, then files.
    PatternThenFiles,
    /// Words that start with `+`.
    Format,
}

/// How a program spells its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As `getopt` reads them.
    Letters,
    /// As `getopt` does, but a letter with a value takes the next word even where more letters follow.
    ValuesApart,
    /// Each is a word of its own; how many of the next words it takes.
    Words(&'static [(&'static str, usize)]),
}

/// One program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tool {
    name: &'static str,
    pub(super) kind: Kind,
    /// Options that write, run something, or read what stands in another file: letters and long names.
    pub(super) bad: &'static [&'static str],
    /// The letters of short options that take a value.
    pub(super) values: &'static str,
    /// The long options that take the next word as their value.
    pub(super) long_values: &'static [&'static str],
    /// The long options that take the next two words.
    pub(super) long_pairs: &'static [&'static str],
    /// Whether an operand may be a wildcard, whatever files there are: no option of the program writes or runs
    /// anything.
    pub(super) globs: bool,
    /// Whether no word behind the first operand is an option.
    pub(super) ends_options: bool,
    /// Whether it reads the directory that it runs in when no file is named.
    pub(super) here: bool,
    /// Whether all it does with any words whatever is to print: none of its options writes, reads a file, or shows more.
    pub(super) any_words: bool,
    pub(super) spelling: Spelling,
}

const PLAIN: Tool = Tool {
    name: "",
    kind: Kind::Files,
    bad: &[],
    values: "",
    long_values: &[],
    long_pairs: &[],
    globs: true,
    ends_options: false,
    here: false,
    any_words: false,
    spelling: Spelling::Letters,
};

const fn files(name: &'static str, bad: &'static [&'static str], values: &'static str) -> Tool {
    Tool { name, bad, values, ..PLAIN }
}

const fn text(name: &'static str, bad: &'static [&'static str]) -> Tool {
    Tool { name, bad, kind: Kind::Text, globs: bad.is_empty(), ..PLAIN }
}

/// One that prints, or tests, whatever it is given.
const fn pure(name: &'static str) -> Tool {
    Tool { any_words: true, ..text(name, &[]) }
}

const fn bare(name: &'static str, bad: &'static [&'static str], values: &'static str) -> Tool {
    Tool { name, bad, values, kind: Kind::Bare, ..PLAIN }
}

/// The finder of files that Debian calls `fdfind`.
const fn fd(name: &'static str) -> Tool {
    Tool {
        name,
        kind: Kind::PatternThenFiles,
        bad: &[
            "x",
            "X",
            "exec",
            "exec-batch",
            "base-directory",
            "search-path",
            "ignore-file",
            "gen-completions",
            "list-details",
            "l",
            "C",
        ],
        values: "etEdScoj",
        here: true,
        globs: false,
        ..PLAIN
    }
}

const fn grep(name: &'static str) -> Tool {
    Tool {
        name,
        kind: Kind::PatternThenFiles,
        bad: &["f", "file", "exclude-from"],
        values: "eABCmdD",
        long_values: &[
            "regexp",
            "max-count",
            "context",
            "after-context",
            "before-context",
            "include",
            "exclude",
            "exclude-dir",
        ],
        here: true,
        ..PLAIN
    }
}

/// `-r` writes, and so may what is no option: a second file.
const XXD: &[(&str, usize)] = &[
    ("-a", 0),
    ("-b", 0),
    ("-C", 0),
    ("-d", 0),
    ("-e", 0),
    ("-E", 0),
    ("-i", 0),
    ("-p", 0),
    ("-ps", 0),
    ("-plain", 0),
    ("-u", 0),
    ("-c", 1),
    ("-cols", 1),
    ("-g", 1),
    ("-l", 1),
    ("-len", 1),
    ("-o", 1),
    ("-s", 1),
    ("-seek", 1),
];

const TOOLS: &[Tool] = &[
    bare("arch", &[], ""),
    Tool {
        name: "base64",
        kind: Kind::AtMost(1),
        bad: &["o", "output"],
        values: "wb",
        globs: false,
        ..PLAIN
    },
    pure("basename"),
    files("cat", &[], ""),
    files("cd", &[], ""),
    Tool { name: "cksum", bad: &["c", "check"], values: "a", ..PLAIN },
    files("cmp", &[], "in"),
    Tool { name: "column", bad: &["file"], values: "scnNoRTWEOH", globs: false, ..PLAIN },
    files("comm", &[], ""),
    Tool {
        name: "cut",
        values: "bcdfO",
        long_values: &["delimiter", "fields", "bytes", "characters", "output-delimiter"],
        ..PLAIN
    },
    Tool {
        name: "date",
        kind: Kind::Format,
        bad: &["s", "f", "r", "set", "file", "reference"],
        values: "d",
        ..PLAIN
    },
    Tool { name: "df", bad: &[], values: "txB", ..PLAIN },
    Tool {
        name: "diff",
        bad: &["X", "l", "exclude-from", "from-file", "to-file", "paginate"],
        values: "UCIxFSW",
        globs: false,
        ..PLAIN
    },
    pure("dirname"),
    Tool { name: "du", bad: &["X", "exclude-from", "files0-from"], values: "dtB", here: true, ..PLAIN },
    pure("echo"),
    grep("egrep"),
    files("expand", &[], "t"),
    pure("expr"),
    bare("false", &[], ""),
    fd("fd"),
    fd("fdfind"),
    grep("fgrep"),
    Tool { globs: false, ..files("file", &["m", "f", "C", "magic-file", "files-from", "compile"], "Fe") },
    files("fmt", &[], "wgp"),
    files("fold", &[], "w"),
    bare("free", &[], "sc"),
    text("getconf", &["v"]),
    grep("grep"),
    pure("groups"),
    text("help", &[]),
    files("head", &[], "nc"),
    Tool { name: "hexdump", bad: &["f", "format-file"], values: "ens", globs: false, ..PLAIN },
    bare("hostname", &["F", "b", "file", "boot"], ""),
    pure("id"),
    files("join", &[], "aevjot12"),
    Tool {
        name: "jq",
        kind: Kind::PatternThenFiles,
        bad: &[
            "f",
            "L",
            "from-file",
            "library-path",
            "run-tests",
            "slurpfile",
            "rawfile",
            "argfile",
            "args",
            "jsonargs",
        ],
        values: "",
        long_values: &["indent"],
        long_pairs: &["arg", "argjson"],
        globs: false,
        ..PLAIN
    },
    Tool { name: "ls", values: "IwT", here: true, ..PLAIN },
    bare("locale", &[], ""),
    Tool { globs: false, ..files("lsof", &["D", "k", "m", "A"], "") },
    text(
        "man",
        &[
            "P",
            "H",
            "pager",
            "html",
            "T",
            "t",
            "X",
            "Z",
            "C",
            "M",
            "l",
            "config-file",
            "manpath",
            "local-file",
            "K",
            "L",
            "R",
            "e",
            "extension",
            "preprocessor",
            "p",
            "troff",
            "troff-device",
            "gxditview",
            "ditroff",
            "recode",
            "where",
            "update",
            "u",
            "m",
            "systems",
            "encoding",
            "E",
            "prompt",
            "r",
            "a",
            "f",
            "k",
            "w",
            "W",
            "D",
            "d",
            "c",
            "all",
            "apropos",
            "catman",
            "debug",
            "default",
            "global-apropos",
            "locale",
            "location",
            "location-cat",
            "path",
            "whatis",
            "where-cat",
        ],
    ),
    Tool { name: "md5sum", bad: &["c", "check"], ..PLAIN },
    files("nl", &[], "bdfhilnsvw"),
    bare("nproc", &[], ""),
    pure("numfmt"),
    files("od", &[], "AjNS"),
    files("paste", &[], "d"),
    text("pgrep", &["F", "pidfile"]),
    Tool { name: "pr", bad: &[], values: "DhlNoWw", ..PLAIN },
    Tool { ends_options: true, any_words: true, ..text("printf", &["v"]) },
    bare("pwd", &[], ""),
    files("readlink", &[], ""),
    files("realpath", &[], ""),
    files("rev", &[], ""),
    Tool {
        name: "rg",
        kind: Kind::PatternThenFiles,
        bad: &[
            "z",
            "f",
            "search-zip",
            "pre",
            "hostname-bin",
            "file",
            "ignore-file",
            "hyperlink-format",
            "generate",
            "debug",
            "trace",
        ],
        values: "eABCgmtTjMErd",
        long_values: &[
            "regexp",
            "glob",
            "iglob",
            "type",
            "type-not",
            "max-count",
            "context",
            "after-context",
            "before-context",
            "max-depth",
            "replace",
            "sort",
            "sortr",
            "color",
            "threads",
            "encoding",
        ],
        globs: false,
        here: true,
        ..PLAIN
    },
    pure("seq"),
    Tool { name: "sha1sum", bad: &["c", "check"], ..PLAIN },
    Tool { name: "sha256sum", bad: &["c", "check"], ..PLAIN },
    Tool { name: "sha512sum", bad: &["c", "check"], ..PLAIN },
    Tool { name: "shasum", bad: &["c", "check"], values: "a", ..PLAIN },
    pure("sleep"),
    Tool {
        name: "sort",
        bad: &[
            "o",
            "T",
            "S",
            "output",
            "compress-program",
            "files0-from",
            "temporary-directory",
            "random-source",
            "buffer-size",
        ],
        values: "kt",
        long_values: &["key", "field-separator"],
        globs: false,
        ..PLAIN
    },
    bare("ss", &["K", "D", "F", "N", "kill", "diag", "filter", "net"], "fA"),
    files("stat", &[], "c"),
    files("strings", &[], "net"),
    Tool { name: "sum", ..PLAIN },
    files("tac", &[], "s"),
    files("tail", &[], "ncs"),
    // What these evaluate is looked at where the line is read.
    Tool { globs: true, ..text("test", &["v", "R"]) },
    Tool { globs: true, ..text("[", &["v", "R"]) },
    text("tput", &["S", "T", "x"]),
    pure("tr"),
    Tool {
        name: "tree",
        spelling: Spelling::ValuesApart,
        bad: &["o", "R", "fromfile", "fromtabfile", "gitfile", "infofile", "hintro", "houtro", "H"],
        values: "LPI",
        long_values: &["filelimit", "charset", "timefmt", "sort"],
        here: true,
        globs: false,
        ..PLAIN
    },
    bare("true", &[], ""),
    bare(":", &[], ""),
    files("tsort", &[], ""),
    bare("tty", &[], ""),
    text("type", &[]),
    bare("uname", &[], ""),
    files("unexpand", &[], "t"),
    Tool { name: "uniq", kind: Kind::AtMost(1), values: "fsw", ..PLAIN },
    bare("uptime", &[], ""),
    bare("users", &[], ""),
    Tool { name: "wc", bad: &["files0-from"], ..PLAIN },
    pure("which"),
    bare("who", &[], ""),
    bare("whoami", &[], ""),
    Tool { name: "xxd", kind: Kind::AtMost(1), spelling: Spelling::Words(XXD), globs: false, ..PLAIN },
];

/// The row of a program.
pub(super) fn find(name: &str) -> Option<&'static Tool> {
    BY_NAME.get(name).copied()
}

static BY_NAME: LazyLock<HashMap<&'static str, &'static Tool>> =
    LazyLock::new(|| TOOLS.iter().map(|tool| (tool.name, tool)).collect());

/// Whether a command asks a program for its version and for nothing else. Not those that a project's files make run
/// other code before they answer: `rust-toolchain.toml` (cargo, rustc, rustup), `.mvn/jvm.config` (mvn), `.yarnrc.yml`
/// (yarn), `package.json` (pnpm), `global.json` (dotnet), `.bundle/config` (bundle).
pub(super) fn is_version_probe(name: &str, words: &[Word]) -> bool {
    const LONG: &[&str] = &[
        "ag", "awk", "bash", "bun", "clang", "cmake", "curl", "deno", "docker", "gcc", "gh", "git", "go",
        "grep", "java", "jq", "kubectl", "make", "node", "npm", "npx", "perl", "php", "pip", "pip3",
        "python", "python3", "rg", "ruby", "sed", "tar", "tsc", "uv",
    ];
    const SHORT: &[(&str, &str)] = &[
        ("java", "-version"),
        ("node", "-v"),
        ("npm", "-v"),
        ("python", "-V"),
        ("python3", "-V"),
        ("docker", "-v"),
        ("go", "version"),
        ("tsc", "-v"),
    ];
    let [_, option] = words else { return false };
    match option.value.as_deref() {
        Some("--version") => LONG.contains(&name),
        Some(option) => SHORT.contains(&(name, option)),
        None => false,
    }
}
