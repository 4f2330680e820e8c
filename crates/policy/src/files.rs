//! File rules: which paths a command may read and write. [`FileSets::judge`] is the specification that every
//! backend is held to; it is meant to be obvious, not fast ([`FileIndex`](crate::FileIndex) is). The page
//! `docs/spec/paths.md` shows what patterns and lists mean.

use crate::{AbsPath, Origin, PathPattern};

/// One attempt on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// To see what is there.
    Read,
    /// To change, create, rename or remove it.
    Write,
}

/// What a file rule, or the lack of one, does to an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The access goes through.
    Allow,
    /// The access is stopped.
    Deny,
}

/// One entry of a file list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRule {
    /// Which paths.
    pub pattern: PathPattern,
    /// Who said so.
    pub origin: Origin,
}

/// The four file lists. The order within a list has no meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSets {
    /// Writable. What may be written may be read as well, unless a narrower [`deny_read`](Self::deny_read)
    /// says otherwise.
    pub allow_write: Vec<FileRule>,
    /// Never writable, whatever allows it.
    pub deny_write: Vec<FileRule>,
    /// Hidden.
    pub deny_read: Vec<FileRule>,
    /// Readable again inside something hidden.
    pub allow_read: Vec<FileRule>,
}

/// The answer to one access, with the rule that decided it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVerdict<'a> {
    /// What happens to the access.
    pub effect: Effect,
    /// The deciding rule; `None` where no rule covers the path: reads are then allowed, writes denied.
    pub rule: Option<&'a FileRule>,
}

impl FileSets {
    /// What happens to one access on `path`.
    ///
    /// - A read is allowed unless a [`deny_read`](Self::deny_read) covers the path. Between a deny and an allow
    ///   that both cover it the narrower (longer) wins; a tie denies.
    /// - A write is allowed iff the path may be read, is under an [`allow_write`](Self::allow_write) and
    ///   under no [`deny_write`](Self::deny_write).
    pub fn judge(&self, access: Access, path: &AbsPath) -> FileVerdict<'_> {
        self.lists().judge(access, path)
    }

    fn lists(&self) -> FileLists<&[FileRule]> {
        FileLists {
            allow_write: &self.allow_write,
            deny_write: &self.deny_write,
            deny_read: &self.deny_read,
            allow_read: &self.allow_read,
        }
    }

    /// Every rule, whatever its list.
    pub fn rules(&self) -> impl Iterator<Item = &FileRule> {
        [&self.allow_write, &self.deny_write, &self.deny_read, &self.allow_read].into_iter().flatten()
    }
}

/// A list of rules, however it is looked through.
pub(crate) trait FileRules<'a> {
    /// The rule that covers `path` most narrowly, and how narrowly; of equally narrow ones the last.
    fn narrowest(&self, path: &AbsPath) -> Option<(usize, &'a FileRule)>;
}

impl<'a> FileRules<'a> for &'a [FileRule] {
    fn narrowest(&self, path: &AbsPath) -> Option<(usize, &'a FileRule)> {
        self.iter().filter_map(|rule| Some((rule.pattern.covers(path)?, rule))).max_by_key(|(at, _)| *at)
    }
}

/// What the four lists mean together.
#[derive(Debug, Clone)]
pub(crate) struct FileLists<L> {
    pub(crate) allow_write: L,
    pub(crate) deny_write: L,
    pub(crate) deny_read: L,
    pub(crate) allow_read: L,
}

impl<'a, L: FileRules<'a>> FileLists<L> {
    pub(crate) fn judge(&self, access: Access, path: &AbsPath) -> FileVerdict<'a> {
        let read = self.judge_read(path);
        if access == Access::Read || read.effect == Effect::Deny {
            return read;
        }
        match (self.deny_write.narrowest(path), self.allow_write.narrowest(path)) {
            (Some((_, rule)), _) => FileVerdict { effect: Effect::Deny, rule: Some(rule) },
            (None, Some((_, rule))) => FileVerdict { effect: Effect::Allow, rule: Some(rule) },
            (None, None) => FileVerdict { effect: Effect::Deny, rule: None },
        }
    }

    fn judge_read(&self, path: &AbsPath) -> FileVerdict<'a> {
        let Some((denied_at, deny)) = self.deny_read.narrowest(path) else {
            return FileVerdict { effect: Effect::Allow, rule: None };
        };
        let allowed = [&self.allow_read, &self.allow_write]
            .into_iter()
            .filter_map(|list| list.narrowest(path))
            .max_by_key(|(at, _)| *at);
        match allowed {
            Some((at, rule)) if at > denied_at => FileVerdict { effect: Effect::Allow, rule: Some(rule) },
            _ => FileVerdict { effect: Effect::Deny, rule: Some(deny) },
        }
    }
}
