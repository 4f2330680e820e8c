//! Absolute paths as bytes: what the kernel sees, whatever the locale or the platform this is built on.
//!
//! An [`AbsPath`] is normalised *lexically*; whether it names a link, or anything at all, is for the
//! resolver to find out.

use crate::printable::write_escaped;
use std::cmp::Ordering;
use std::fmt;

/// An absolute path: starts with `/`, holds no NUL byte, no `.` or `..` component, no doubled and no
/// trailing slash. Any other byte is allowed.
///
/// `..` is taken lexically (`/a/../b` is `/b`), as Claude Code reads the paths of settings files.
/// Ordering is by component, so that a directory sorts before everything below it and directly so.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AbsPath(Box<[u8]>);

/// Why some bytes are not an absolute path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text does not start with `/`.
    #[error("is not absolute")]
    Relative,
    /// The kernel ends a path at the first NUL byte, so a rule that holds one would name another file.
    #[error("holds a NUL byte")]
    Nul,
}

impl AbsPath {
    /// The longest path that Linux takes, in bytes. macOS takes less.
    pub const LONGEST: usize = 4095;

    /// The file system's root, `/`.
    pub fn root() -> Self {
        AbsPath(Box::from(&b"/"[..]))
    }

    /// Reads and normalises an absolute path.
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let bytes = bytes.as_ref();
        if bytes.first() != Some(&b'/') {
            return Err(PathError::Relative);
        }
        if bytes.contains(&0) {
            return Err(PathError::Nul);
        }
        Ok(Self::root().join_normalised(bytes))
    }

    /// This path followed by `relative`; an absolute `relative` replaces it, as for [`std::path::Path::join`].
    pub fn join(&self, relative: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let relative = relative.as_ref();
        if relative.contains(&0) {
            return Err(PathError::Nul);
        }
        let from = if relative.first() == Some(&b'/') { Self::root() } else { self.clone() };
        Ok(from.join_normalised(relative))
    }

    fn join_normalised(&self, relative: &[u8]) -> Self {
        let mut out = self.0.to_vec();
        for component in relative.split(|&b| b == b'/') {
            match component {
                b"" | b"." => {}
                b".." => out.truncate(out.iter().rposition(|&b| b == b'/').unwrap_or(0).max(1)),
                name => {
                    if out.len() > 1 {
                        out.push(b'/');
                    }
                    out.extend_from_slice(name);
                }
            }
        }
        AbsPath(out.into())
    }

    /// The bytes, as the kernel takes them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path for the standard library's file functions.
    #[cfg(unix)]
    pub fn as_path(&self) -> &std::path::Path {
        use std::os::unix::ffi::OsStrExt;
        std::path::Path::new(std::ffi::OsStr::from_bytes(&self.0))
    }

    /// Whether no kernel opens it, since it is longer than [`LONGEST`](Self::LONGEST).
    pub fn is_too_long(&self) -> bool {
        self.0.len() > Self::LONGEST
    }

    /// Whether this is `/`.
    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// The directory that holds this path; `None` for `/`.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let slash = self.0.iter().rposition(|&b| b == b'/').unwrap_or(0);
        Some(AbsPath(Box::from(&self.0[..slash.max(1)])))
    }

    /// The last component; `None` for `/`.
    pub fn file_name(&self) -> Option<&[u8]> {
        self.0.rsplit(|&b| b == b'/').next().filter(|name| !name.is_empty())
    }

    /// This path, the directory above it, and so on up to `/`.
    pub fn ancestors(&self) -> impl Iterator<Item = AbsPath> + use<> {
        std::iter::successors(Some(self.clone()), AbsPath::parent)
    }

    /// Whether this path is `other` or a directory above it.
    pub fn covers(&self, other: &AbsPath) -> bool {
        self.is_root()
            || (other.0.starts_with(&self.0) && matches!(other.0.get(self.0.len()), None | Some(b'/')))
    }

    /// How many bytes the two begin with in common.
    pub(crate) fn shared_bytes(&self, other: &AbsPath) -> usize {
        let (own_blocks, _) = self.0.as_chunks::<32>();
        let (other_blocks, _) = other.0.as_chunks::<32>();
        let blocks = own_blocks.iter().zip(other_blocks).take_while(|(own, other)| own == other).count() * 32;
        let rest = self.0[blocks..].iter().zip(&other.0[blocks..]);
        blocks + rest.take_while(|(own, other)| own == other).count()
    }

    /// The components, without slashes.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&b| b == b'/').filter(|component| !component.is_empty())
    }
}

#[cfg(unix)]
impl TryFrom<&std::path::Path> for AbsPath {
    type Error = PathError;

    fn try_from(path: &std::path::Path) -> Result<Self, PathError> {
        use std::os::unix::ffi::OsStrExt;
        AbsPath::new(path.as_os_str().as_bytes())
    }
}

/// A slash counts as lower than every other byte, which makes the order of bytes that of components.
impl Ord for AbsPath {
    fn cmp(&self, other: &Self) -> Ordering {
        let shared = self.shared_bytes(other);
        let next = |path: &AbsPath| path.0.get(shared).map(|&byte| if byte == b'/' { 0 } else { byte });
        next(self).cmp(&next(other))
    }
}

impl PartialOrd for AbsPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// For people: bytes that are not UTF-8 and characters that cannot be seen are escaped (see
/// [`Printable`](crate::Printable)), so that a path can never forge another line of a message; a backslash is
/// doubled, so that no other path is shown alike.
impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            write_escaped(f, chunk.valid(), &['\\'])?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, normal: &str) {
        assert_eq!(AbsPath::new(text).expect("an absolute path").as_bytes(), normal.as_bytes(), "{text}");
    }

    #[test]
    fn is_normalised() {
        check("/", "/");
        check("//", "/");
        check("/a//b/", "/a/b");
        check("/a/./b/.", "/a/b");
        check("/a/../b", "/b");
        check("/../..", "/");
        check("/a/b/../../..", "/");
        check("/...", "/...");
    }

    #[test]
    fn refuses_what_is_no_absolute_path() {
        assert_eq!(AbsPath::new(""), Err(PathError::Relative));
        assert_eq!(AbsPath::new("a"), Err(PathError::Relative));
        assert_eq!(AbsPath::new("/a\0b"), Err(PathError::Nul));
    }

    #[test]
    fn covers_by_component() {
        let path = |text: &str| AbsPath::new(text).expect("absolute");
        assert!(path("/a").covers(&path("/a")));
        assert!(path("/a").covers(&path("/a/b")));
        assert!(!path("/a").covers(&path("/ab")));
        assert!(!path("/a/b").covers(&path("/a")));
        assert!(path("/").covers(&path("/a")));
    }

    #[test]
    fn shows_what_cannot_be_seen() {
        for (bytes, shown) in [
            (&b"/a\nb\xff\x1b"[..], r"/a\nb\xff\u{1b}"),
            (br"/a\nb", r"/a\\nb"),
            ("/\u{202e}txt.sh".as_bytes(), r"/\u{202e}txt.sh"),
            ("/.\u{200b}env\u{2028}".as_bytes(), r"/.\u{200b}env\u{2028}"),
            ("/é 漢".as_bytes(), "/é 漢"),
        ] {
            assert_eq!(AbsPath::new(bytes).expect("absolute").to_string(), shown);
        }
    }

    proptest! {
        #[test]
        fn normalising_is_idempotent(bytes in proptest::collection::vec(
            proptest::sample::select(&b"/.a\xff"[..]), 0..24)) {
            let mut text = vec![b'/'];
            text.extend(bytes);
            let once = AbsPath::new(&text).expect("absolute");
            prop_assert_eq!(AbsPath::new(once.as_bytes()).expect("still absolute"), once.clone());
            prop_assert!(once.ancestors().all(|above| above.covers(&once)));
        }

        /// So no two paths are shown alike.
        #[test]
        fn what_is_shown_reads_back(text in "/([a\\\\x{}\n\u{1b}\u{202e}é]|\\PC){0,12}", byte in 0x80..=0xffu8) {
            let path = AbsPath::new([text.as_bytes(), &[byte]].concat()).expect("absolute");
            prop_assert_eq!(read_back(&path.to_string()), path.as_bytes());
        }
    }

    /// The bytes that a shown path stands for.
    fn read_back(shown: &str) -> Vec<u8> {
        let Some((plain, escaped)) = shown.split_once('\\') else { return shown.into() };
        let (bytes, rest) = match escaped.as_bytes() {
            [b'n', ..] => (vec![b'\n'], &escaped[1..]),
            [b'x', ..] => (vec![u8::from_str_radix(&escaped[1..3], 16).expect("two digits")], &escaped[3..]),
            [b'u', ..] => {
                let (digits, rest) = escaped[2..].split_once('}').expect("a closing brace");
                let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).expect("a character");
                (c.to_string().into(), rest)
            }
            _ => (escaped[..1].into(), &escaped[1..]),
        };
        [plain.as_bytes(), &bytes, &read_back(rest)].concat()
    }
}
