//! Allow rules that the mode `auto` leaves out, and rules that are never suggested: they allow running any
//! code.

use crate::{CommandPattern, Pattern, Rule};

/// Programs that run whatever code they are handed.
const INTERPRETERS: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bun",
    "busybox",
    "csh",
    "dash",
    "deno",
    "doas",
    "env",
    "eval",
    "exec",
    "fish",
    "gawk",
    "ksh",
    "lua",
    "node",
    "nodejs",
    "nohup",
    "npx",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pipx",
    "pwsh",
    "python",
    "python2",
    "python3",
    "ruby",
    "sh",
    "ssh",
    "su",
    "sudo",
    "tclsh",
    "timeout",
    "uvx",
    "xargs",
    "zsh",
    "bunx",
    "command",
    "builtin",
    "nice",
    "time",
];

/// Programs that a prefix rule does not allow: what they run is all that matters about them.
pub(super) const EXACT_ONLY: &[&str] = &["flock", "ionice", "setsid", "watch"];

/// Package managers, and their commands that run a project's scripts.
const RUNNERS: &[(&str, &[&str])] = &[
    ("npm", &["run", "run-script", "exec", "x", "start", "test", "t"]),
    ("pnpm", &["run", "exec", "dlx", "start", "test"]),
    ("yarn", &["run", "exec", "dlx", "start", "test"]),
    ("bun", &["run", "x"]),
    ("cargo", &["run"]),
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
];

/// Whether the mode `auto` leaves out an allow rule.
pub(super) fn is_broad(rule: &Rule) -> bool {
    match (&*rule.tool, &rule.pattern) {
        ("Agent" | "Monitor" | "PowerShell", _) => true,
        ("Bash", None) => true,
        ("Bash", Some(Pattern::Command(pattern))) => is_broad_pattern(pattern),
        _ => false,
    }
}

fn is_broad_pattern(pattern: &CommandPattern) -> bool {
    let fixed = match pattern {
        CommandPattern::Any => return true,
        CommandPattern::Exact(_) => return false,
        CommandPattern::Prefix(_) | CommandPattern::Wildcard(_) => pattern.fixed_start(),
    };
    let mut words = fixed.split(' ').filter(|word| !word.is_empty());
    let Some(program) = words.next() else { return true };
    let second = words.next();
    let is_interpreter = |name: &str| INTERPRETERS.contains(&name) || is_versioned(name);
    let base = program.rsplit('/').next().unwrap_or(program);
    let runs = RUNNERS.iter().find(|(name, _)| *name == base).is_some_and(|(_, commands)| {
        second.is_none_or(|second| commands.contains(&second)) && words.next().is_none()
    });
    (is_interpreter(base) && second.is_none_or(|second| second.starts_with('-'))) || runs
}

/// Whether a command is one that a rule should not let run with any words.
pub(super) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name) || EXACT_ONLY.contains(&name) || is_versioned(name)
}

/// `python3.12`
fn is_versioned(name: &str) -> bool {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    letters != name && matches!(letters, "python" | "ruby" | "perl" | "node" | "php" | "lua" | "pypy")
}
