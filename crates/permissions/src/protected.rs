//! Paths that no rule and no mode but `bypassPermissions` lets a call write without asking: what programs
//! load their settings and code from.
//!
//! Whoever may write one of these has code run later, outside of any sandbox, by a person's editor, shell, or
//! git. The list is wider than the sandbox's own protected paths, since asking costs less than refusing. It
//! knows names, at any depth, and follows no link: the judge asks about a path and about where it leads.

use palisade_policy::AbsPath;

/// Whatever lies in a directory of these names.
const DIRECTORIES: &[&str] = &[
    ".cargo",
    ".claude",
    ".cogitator",
    ".devcontainer",
    ".git",
    ".husky",
    ".idea",
    ".mvn",
    ".palisade",
    ".vscode",
    ".yarn",
];

/// And in these, below whatever directory.
const PATHS: &[&[&str]] = &[
    &[".cache", "fish"],
    &[".config", "bash_completion"],
    &[".config", "fish"],
    &[".config", "git"],
    &[".config", "zsh"],
    &[".local", "share", "bash-completion"],
    &[".local", "share", "fish"],
];

/// Files of these names; behind a star anything may follow.
pub(crate) const FILES: &[&str] = &[
    ".bash_aliases",
    ".bash_completion",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".bazeliskrc",
    ".bazelrc",
    ".bazelversion",
    ".bunfig.toml",
    ".claude.json",
    ".cshdirs",
    ".cshrc",
    ".devcontainer.json",
    ".editrc",
    ".envrc",
    ".gitconfig",
    ".gitk",
    ".gitmodules",
    ".inputrc",
    ".kshrc",
    ".lefthook.yaml",
    ".lefthook.yml",
    ".login",
    ".logout",
    ".mcp.json",
    ".mkshrc",
    ".npmrc",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".profile",
    ".ripgreprc",
    ".shrc",
    ".tcshrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".zcompdump*",
    ".zlogin",
    ".zlogin.zwc",
    ".zlogout",
    ".zlogout.zwc",
    ".zprofile",
    ".zprofile.zwc",
    ".zshenv",
    ".zshenv.zwc",
    ".zshrc",
    ".zshrc.zwc",
    "bunfig.toml",
    "gradle-wrapper.properties",
    "lefthook.yaml",
    "lefthook.yml",
    "maven-wrapper.properties",
    "pyrightconfig.json",
];

/// Whether a write of `path` is to be asked about.
pub(crate) fn is_protected(path: &AbsPath, folds_case: bool) -> bool {
    let names: Vec<&[u8]> = path.components().collect();
    let is = |name: &[u8], known: &str| {
        let (name, known) = match known.strip_suffix('*') {
            Some(start) => (name.get(..start.len()).unwrap_or(name), start),
            None => (name, known),
        };
        if folds_case { name.eq_ignore_ascii_case(known.as_bytes()) } else { name == known.as_bytes() }
    };
    let is_any = |name: &[u8], list: &[&str]| list.iter().any(|known| is(name, known));
    let in_directory = names.iter().enumerate().any(|(at, name)| {
        // As the names of all of them do.
        name.starts_with(b".")
            && is_any(name, DIRECTORIES)
            && !(is(name, ".claude") && names.get(at + 1).is_some_and(|n| is(n, "worktrees")))
    });
    let starts = |at: usize, known: &&[&str]| {
        names[at..].len() >= known.len()
            && names[at..].iter().zip(*known).all(|(name, known)| is(name, known))
    };
    let in_path =
        (0..names.len()).any(|at| names[at].starts_with(b".") && PATHS.iter().any(|known| starts(at, known)));
    in_directory || in_path || names.last().is_some_and(|name| is_any(name, FILES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (path, expected, folded) in [
            ("/w/.git/hooks/pre-commit", true, true),
            ("/w/.git", true, true),
            ("/w/.GIT/config", false, true),
            ("/w/.github/x", false, false),
            ("/w/sub/.vscode/settings.json", true, true),
            ("/home/u/.config/git/config", true, true),
            ("/home/u/.config/other", false, false),
            ("/home/u/.config/fish/conf.d/x.fish", true, true),
            ("/home/u/.local/share/fish/x", true, true),
            ("/w/share/fish/x", false, false),
            ("/home/u/.local/share", false, false),
            ("/home/u/.inputrc", true, true),
            ("/home/u/.zcompdump-host-5.9.zwc", true, true),
            ("/home/u/.ZCOMPDUMP", false, true),
            ("/home/u/.zcomp", false, false),
            ("/w/.claude/settings.json", true, true),
            ("/w/.claude/worktrees/a/x", false, false),
            ("/w/.claude/worktrees/a/.npmrc", true, true),
            ("/home/u/.bashrc", true, true),
            ("/w/.bashrc/x", false, false),
            ("/w/a/lefthook.yml", true, true),
            ("/w/README.md", false, false),
            ("/", false, false),
        ] {
            let path = AbsPath::new(path).expect("a path of a test");
            assert_eq!(is_protected(&path, false), expected, "{path}");
            assert_eq!(is_protected(&path, true), folded, "{path}, folded");
        }
    }
}
