//! What variables say to git: which configuration it reads, values of it, and the git directory it works in.
//!
//! Programs that variables name (`GIT_SSH`, `GIT_EDITOR`) are left to whoever set them, as those are that a
//! configuration names. What names data only (`GIT_INDEX_FILE`) makes git run nothing.

use super::config::GitConfig;
use crate::error::Error;
use crate::protected::owner::way;
use crate::resolve::Way;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The environment as git reads it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    /// Configuration files besides those that are always looked at.
    pub(super) files: Vec<Way>,
    /// What is said without a file.
    pub(super) values: GitConfig,
    /// `GIT_DIR`: the git directory, whatever directories are above.
    pub(super) directory: Option<Way>,
    /// `GIT_COMMON_DIR`: where the hooks and the configuration of that are.
    pub(super) common: Option<Way>,
    /// `GIT_WORK_TREE`: its work tree.
    pub(super) work_tree: Option<Way>,
}

impl Variables {
    pub(crate) fn of(environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let path = |name: &str| environment(name).map(|value| way(&value)).transpose();
        let below = |mut value: OsString| {
            value.push("/git/config");
            way(&value)
        };
        let in_place_of_dot_config = environment("XDG_CONFIG_HOME").map(below).transpose()?;
        let files = [path("GIT_CONFIG_GLOBAL")?, path("GIT_CONFIG_SYSTEM")?, in_place_of_dot_config];
        Ok(Variables {
            files: files.into_iter().flatten().collect(),
            values: values(environment),
            directory: path("GIT_DIR")?,
            common: path("GIT_COMMON_DIR")?,
            work_tree: path("GIT_WORK_TREE")?,
        })
    }
}

/// `GIT_CONFIG_KEY_0` with `GIT_CONFIG_VALUE_0` and so on, and what `git -c` hands on. `GIT_CONFIG_COUNT` only says how
/// many there are.
fn values(environment: &dyn Fn(&str) -> Option<OsString>) -> GitConfig {
    let bytes = |name: &str| environment(name).map(OsStringExt::into_vec);
    let mut config = GitConfig::default();
    let numbered = (0..).map_while(|n| bytes(&format!("GIT_CONFIG_KEY_{n}")).map(|key| (n, key)));
    for (n, key) in numbered {
        config.take_named(&key, bytes(&format!("GIT_CONFIG_VALUE_{n}")).unwrap_or_default());
    }
    for word in quoted_words(&bytes("GIT_CONFIG_PARAMETERS").unwrap_or_default()) {
        // A name may have a sign like the one behind it: each could be that.
        for at in (0..word.len()).filter(|&at| word[at] == b'=') {
            config.take_named(&word[..at], word[at + 1..].to_vec());
        }
    }
    config
}

/// Words as a shell reads them that knows single quotes and backslashes only: all that git writes.
fn quoted_words(text: &[u8]) -> Vec<Vec<u8>> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), Vec::new(), false);
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\'' => is_quoted = !is_quoted,
            b'\\' if !is_quoted => word.extend(bytes.next()),
            byte if !is_quoted && byte.is_ascii_whitespace() => words.push(std::mem::take(&mut word)),
            byte => word.push(byte),
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_a_file_are_read_as_git_reads_them() {
        for (variables, hooks, includes) in [
            (&[("GIT_CONFIG_KEY_0", "core.hooksPath"), ("GIT_CONFIG_VALUE_0", "h")][..], &["h"][..], &[][..]),
            (
                &[
                    ("GIT_CONFIG_KEY_0", "user.name"),
                    ("GIT_CONFIG_VALUE_0", "x"),
                    ("GIT_CONFIG_KEY_1", "includeIf.gitdir:/a.b/.path"),
                    ("GIT_CONFIG_VALUE_1", "~/i"),
                ],
                &[],
                &["~/i"],
            ),
            (&[("GIT_CONFIG_PARAMETERS", "'a.b'='c d' 'core.hookspath'='/it'\\''s'")], &["/it's"], &[]),
            (&[("GIT_CONFIG_PARAMETERS", "'CORE.HooksPath=h'")], &["h"], &[]),
            (&[("GIT_CONFIG_PARAMETERS", "'includeif.gitdir:a=b.path'='c=d'")], &[], &["c=d"]),
            (&[("GIT_CONFIG_PARAMETERS", "'core.hooksPath' core")], &[], &[]),
            (&[("GIT_CONFIG_VALUE_0", "h"), ("GIT_CONFIG_KEY_1", "core.hooksPath")], &[], &[]),
        ] {
            let environment = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            };
            let found = values(&environment);
            let words = |list: &[&str]| list.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
            assert_eq!(found.hooks, words(hooks), "{variables:?}");
            assert_eq!(found.includes, words(includes), "{variables:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_odd(text in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            quoted_words(&text);
        }
    }
}
