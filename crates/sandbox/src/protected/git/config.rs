//! The few values of a git configuration file that lead git to further files: includes, the hooks' directory, the
//! templates of new repositories, the work tree.
//!
//! It is read more generously than git reads it: a file that git would refuse still yields what it seems to name, and
//! a conditional include counts whatever its condition. Only too much is then protected. Other values name programs
//! to run; those are for whoever wrote the configuration, which no command can.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, open, openat2};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How much of a file is read. More is no configuration that a person wrote.
const MOST_BYTES: u64 = 4 << 20;

/// What a configuration file names.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct GitConfig {
    /// `include.path` and `includeIf.*.path`.
    pub(super) includes: Vec<Vec<u8>>,
    /// `core.hooksPath`; of several the last one counts, and each may be in force under another condition.
    pub(super) hooks: Vec<Vec<u8>>,
    /// `init.templateDir`: what is put into each new repository, hooks among it.
    pub(super) templates: Vec<Vec<u8>>,
    /// `core.worktree`.
    pub(super) work_tree: Option<Vec<u8>>,
}

impl GitConfig {
    /// Reads a file; one that is not there, or no regular one, names nothing.
    pub(super) fn read(path: &Path) -> Self {
        regular_content(path).map(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// Takes in a value by its whole name, as variables give it: `core.hooksPath`, `includeIf.CONDITION.path`.
    pub(super) fn take_named(&mut self, name: &[u8], value: Vec<u8>) {
        let key = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default().to_ascii_lowercase();
        self.take(&section_name(name), &key, value);
    }

    fn parse(text: &[u8]) -> Self {
        let mut config = GitConfig::default();
        let mut section = Vec::new();
        for line in logical_lines(text) {
            let mut line = line.trim_ascii_start();
            while let Some((header, rest)) = line.strip_prefix(b"[").and_then(split_header) {
                section = section_name(header);
                line = rest.trim_ascii_start();
            }
            if let Some(at) = line.iter().position(|&byte| byte == b'=') {
                let key = line[..at].trim_ascii().to_ascii_lowercase();
                config.take(&section, &key, unquote(&line[at + 1..]));
            }
        }
        config
    }

    /// Whether git is led to hooks by it, or may be by what it includes.
    pub(super) fn may_name_hooks(&self) -> bool {
        !self.hooks.is_empty() || !self.includes.is_empty()
    }

    /// The text without the lines in which git wrote `core.worktree`, where that says the same in all else. `None` where
    /// there are none, and where somebody wrote the text otherwise than git does.
    pub(super) fn without_work_tree(text: &[u8]) -> Option<Vec<u8>> {
        if text.windows(2).any(|pair| pair == b"\\\n") {
            // What stands on a line may belong to the line before.
            return None;
        }
        let mut is_core = false;
        let is_kept = |line: &&[u8]| {
            let words = line.trim_ascii();
            if words.starts_with(b"[") {
                is_core = words.eq_ignore_ascii_case(b"[core]");
            }
            let key = words.split(|&byte| byte == b'=').next().unwrap_or_default().trim_ascii();
            !(is_core && key.eq_ignore_ascii_case(b"worktree"))
        };
        let kept = text.split_inclusive(|&byte| byte == b'\n').filter(is_kept).collect::<Vec<_>>().concat();
        let (before, after) = (Self::parse(text), Self::parse(&kept));
        let is_the_same = after == GitConfig { work_tree: None, ..before.clone() };
        (before.work_tree.is_some() && is_the_same).then_some(kept)
    }

    fn take(&mut self, section: &[u8], key: &[u8], value: Vec<u8>) {
        match (section, key) {
            (b"include" | b"includeif", b"path") => self.includes.push(value),
            (b"core", b"hookspath") => self.hooks.push(value),
            (b"init", b"templatedir") => self.templates.push(value),
            (b"core", b"worktree") => self.work_tree = Some(value),
            _ => {}
        }
    }
}

/// The content of a regular file of reasonable size. A pipe that somebody put there, even just now, is not waited for.
pub(super) fn regular_content(path: &Path) -> Option<Vec<u8>> {
    content_by(path, ResolveFlags::empty())
}

/// The same, with no symbolic link on the way: for content that is to be shown to a command. Another one could have put
/// a link there just now, to a file that neither may read.
pub(super) fn content_without_links(path: &Path) -> Option<Vec<u8>> {
    content_by(path, ResolveFlags::NO_SYMLINKS)
}

fn content_by(path: &Path, resolve: ResolveFlags) -> Option<Vec<u8>> {
    // Devices are not even opened.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match resolve.is_empty() {
        true => open(path, flags, Mode::empty()),
        false => openat2(CWD, path, flags, Mode::empty(), resolve),
    };
    let file = File::from(file.ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Lines, with those joined that end in a backslash which no other one escapes.
fn logical_lines(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut open = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        open.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        if open.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1 {
            open.pop();
        } else {
            lines.push(std::mem::take(&mut open));
        }
    }
    lines.push(open);
    lines
}

/// Splits at the `]` that ends a section's header; one within quotes does not.
fn split_header(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// The section of `include "x"` or the old `include.x`, in lower case.
fn section_name(header: &[u8]) -> Vec<u8> {
    let end = header.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'.'));
    header[..end.unwrap_or(header.len())].to_ascii_lowercase()
}

/// A value without its quotes, escapes and comment.
fn unquote(text: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    let mut kept = 0;
    let mut is_quoted = false;
    let mut bytes = text.trim_ascii().iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'#' | b';' if !is_quoted => break,
            b'\\' => value.extend(bytes.next().map(|&escaped| match escaped {
                b'n' => b'\n',
                b't' => b'\t',
                b'b' => 8,
                other => other,
            })),
            other => value.push(other),
        }
        if is_quoted || !byte.is_ascii_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_found_however_it_is_written() {
        for (text, includes, hooks, work_tree) in [
            ("[include]\n\tpath = a\n", &["a"][..], &[][..], None),
            ("[INCLUDE] Path=a ; comment\n", &["a"], &[], None),
            ("[includeIf \"gitdir:~/x]/\"]\n path = \"a b#\" # no\n", &["a b#"], &[], None),
            ("[include] path = a\\\nb\n[core]\nhooksPath = .husky/_\n", &["ab"], &[".husky/_"], None),
            (
                "[core]\r\n\thookspath = ~/h \r\n\tworktree = ../../../sub\r\n",
                &[],
                &["~/h"],
                Some("../../../sub"),
            ),
            ("[core]\nhooksPath=a\nhooksPath=b\n[user]\npath=c\nhooksPath=d\n", &[], &["a", "b"], None),
            ("[core \"x\"]\nhooksPath = \\\"q\\\\\n", &[], &["\"q\\"], None),
            ("[core", &[], &[], None),
            ("hooksPath = x\n= y\n[]\n", &[], &[], None),
        ] {
            let config = GitConfig::parse(text.as_bytes());
            let words = |list: &[&str]| list.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
            assert_eq!(config.includes, words(includes), "{text}");
            assert_eq!(config.hooks, words(hooks), "{text}");
            assert_eq!(config.work_tree.as_deref(), work_tree.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn the_work_tree_is_left_out_where_it_stands_as_git_writes_it() {
        for (text, kept) in [
            ("[core]\n\tbare = false\n\tworktree = ../s\n[a]\n", Some("[core]\n\tbare = false\n[a]\n")),
            ("[core]\n\tworktree = a\n\tworktree = \"b\"", Some("[core]\n")),
            ("[CORE]\r\nWorkTree=a # b\r\nx = y\r\n", Some("[CORE]\r\nx = y\r\n")),
            ("[core]\nworktree = a\n[x]\nworktree = b\n", Some("[core]\n[x]\nworktree = b\n")),
            ("[core] worktree = a\n", None),
            ("[core]\nbare = false\n[x]\nworktree = b\n", None),
            ("[core]\neditor = a \\\nworktree = b\nworktree = c\n", None),
            ("[core]\nworktree = a \\\nb\n", None),
            ("", None),
        ] {
            let found = GitConfig::without_work_tree(text.as_bytes());
            assert_eq!(found.as_deref().map(String::from_utf8_lossy).as_deref(), kept, "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_through_no_link_and_no_pipe_is_waited_for() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().expect("writable");
        let top = directory.path().canonicalize().expect("just made");
        let at = |name: &str| top.join(name);
        std::fs::create_dir(at("real")).expect("writable");
        std::fs::write(at("real/config"), "x").expect("writable");
        symlink("real/config", at("link")).expect("writable");
        symlink("real", at("way")).expect("writable");
        for (name, is_shown) in [("real/config", true), ("link", false), ("way/config", false)] {
            assert_eq!(regular_content(&at(name)).as_deref(), Some(&b"x"[..]), "{name}");
            assert_eq!(content_without_links(&at(name)).is_some(), is_shown, "{name}");
        }
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRUSR).expect("writable");
        for path in [at("pipe"), at("real"), at("missing")] {
            assert_eq!(regular_content(&path), None, "{}", path.display());
            assert_eq!(content_without_links(&path), None, "{}", path.display());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_odd(text in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            GitConfig::parse(&text);
            GitConfig::without_work_tree(&text);
        }
    }
}
