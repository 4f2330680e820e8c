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

/// Files of these names.
pub(crate) const FILES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".bazeliskrc",
    ".bazelrc",
    ".bazelversion",
    ".bunfig.toml",
    ".claude.json",
    ".devcontainer.json",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".lefthook.yaml",
    ".lefthook.yml",
    ".mcp.json",
    ".npmrc",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".profile",
    ".ripgreprc",
    ".yarnrc",
    ".yarnrc.yml",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
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
    let is = |name: &[u8], known: &&str| {
        if folds_case { name.eq_ignore_ascii_case(known.as_bytes()) } else { name == known.as_bytes() }
    };
    let is_any = |name: &[u8], list: &[&str]| list.iter().any(|known| is(name, known));
    let in_directory = names.iter().enumerate().any(|(at, name)| {
        // As the names of all of them do.
        name.starts_with(b".")
            && is_any(name, DIRECTORIES)
            && !(is(name, &".claude") && names.get(at + 1).is_some_and(|n| is(n, &"worktrees")))
    });
    let in_git_settings = names.windows(2).any(|pair| is(pair[0], &".config") && is(pair[1], &"git"));
    in_directory || in_git_settings || names.last().is_some_and(|name| is_any(name, FILES))
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
