//! What the sandbox has of its own: a fresh `/dev` and a fresh `/proc`, of which rules about the host's files say
//! nothing. [`OwnPath`] is a path in there, and answers what a command may do with it.
//!
//! The host's `/dev` and `/proc` lead elsewhere than the sandbox's (`/dev/stdin`, `/proc/self`), so a way is followed
//! to their doors and no further. Where a rule brings in something of the host's, or hides something, the rules decide
//! and there is no answer here. Nothing is tried: what exists is told by what bubblewrap makes, and by the permissions
//! that the kernel gives the same entries outside.

use crate::error::{Error, system};
use crate::sandbox::Sandbox;
use palisade_policy::{AbsPath, Access, Confinement, Effect, FileRule, Node};
use rustix::fs::Access as Mode;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};

/// What bubblewrap makes in `/dev`, besides [`LINKS`]. The console is there for a command at a terminal.
const DEVICES: [&[u8]; 10] =
    [b"null", b"zero", b"full", b"random", b"urandom", b"tty", b"console", b"shm", b"pts", b"ptmx"];

/// The links that bubblewrap makes in `/dev`.
const LINKS: [(&[u8], &str); 5] = [
    (b"fd", "/proc/self/fd"),
    (b"stdin", "/proc/self/fd/0"),
    (b"stdout", "/proc/self/fd/1"),
    (b"stderr", "/proc/self/fd/2"),
    (b"core", "/proc/kcore"),
];

/// Those of [`DEVICES`] that every program may write. The host's in their place would be mounted without devices.
const OPEN_DEVICES: [&[u8]; 7] = [b"null", b"zero", b"full", b"random", b"urandom", b"tty", b"ptmx"];

/// Whether the sandbox has a device of its own at `path`, a real one, which every command may write.
pub(crate) fn is_open_device(path: &AbsPath) -> bool {
    let mut names = path.components();
    names.next() == Some(b"dev")
        && names.next().is_some_and(|name| OPEN_DEVICES.contains(&name))
        && names.next().is_none()
}

/// How many links are followed; the kernel's own limit.
const MOST_LINKS: usize = 40;

/// A path in the sandbox's own `/dev` or `/proc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPath(AbsPath);

/// What the sandbox lets a command do with a path of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnVerdict {
    /// Whether it may.
    pub effect: Effect,
    /// Why, for a person.
    pub because: &'static str,
}

impl OwnPath {
    /// Where `path` leads, if that is into what the sandbox has of its own.
    pub fn of(path: &AbsPath) -> Result<Option<Self>, Error> {
        let Some(at) = door(path)? else { return Ok(None) };
        let Some(own) = Self::within(&at) else { return Ok(None) };
        Ok((!own.leads_out()).then_some(own))
    }

    /// `path` itself, or what the link of `/dev` that it goes through leads to.
    fn within(path: &AbsPath) -> Option<Self> {
        let names: Vec<&[u8]> = path.components().collect();
        let link = LINKS.iter().find(|(name, _)| names.get(..2) == Some(&[b"dev", *name]));
        match (link, names.first()?) {
            (Some((_, target)), _) => {
                let rest = names[2..].join(&b'/');
                AbsPath::new([target.as_bytes(), b"/", &rest].concat()).ok().map(OwnPath)
            }
            (None, &b"dev" | &b"proc") => Some(OwnPath(path.clone())),
            _ => None,
        }
    }

    /// Whether this goes through a process's link to a directory or program, which is a way to the host's files.
    fn leads_out(&self) -> bool {
        let names: Vec<&[u8]> = self.0.components().collect();
        matches!(names[..], [b"proc", b"self" | b"thread-self", b"root" | b"cwd" | b"exe", ..])
    }

    /// The path.
    pub fn path(&self) -> &AbsPath {
        &self.0
    }

    /// Whether the sandbox's own place, and no rule, says what happens here: rules that hide something in it, or
    /// bring the host's in, decide themselves.
    fn is_left_to_itself(&self, confinement: &Confinement) -> bool {
        let is_inside = |rule: &FileRule| {
            let at = rule.pattern.as_literal();
            !at.is_root() && at.covers(&self.0)
        };
        let files = &confinement.files;
        !files.deny_read.iter().chain(&files.allow_write).any(is_inside)
    }

    fn judge(&self, access: Access, hidden: &[(AbsPath, Node)]) -> OwnVerdict {
        let names: Vec<&[u8]> = self.0.components().collect();
        match names[..] {
            [b"proc", b"1", ..] => deny("it is the sandbox's first process, which no command may look at"),
            [b"proc", process, ref rest @ ..] if is_process(process) => of_process(access, rest),
            [b"proc", ..] if hidden.iter().any(|(at, _)| at.covers(&self.0)) => {
                deny("it tells of the machine as a whole, so the sandbox's own /proc hides it")
            }
            [b"proc", ..] => self.judge_kernels(access),
            [_, b"pts", ref rest @ ..] => of_terminals(access, rest),
            [_] => allow(OWN_DEVICES),
            [_, name] if DEVICES.contains(&name) => allow(OWN_DEVICES),
            _ => self.judge_other_device(access),
        }
    }

    /// In `/proc`, what belongs to no process.
    fn judge_kernels(&self, access: Access) -> OwnVerdict {
        if access == Access::Write {
            return deny(
                "in the sandbox's own /proc nothing can be written but what belongs to its processes",
            );
        }
        // Root keeps no capability, but owns it all.
        match rustix::fs::access(self.0.as_bytes(), Mode::READ_OK) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => deny(PERMISSIONS),
            _ => allow("it is of the sandbox's own /proc"),
        }
    }

    /// In `/dev`, what bubblewrap does not make.
    fn judge_other_device(&self, access: Access) -> OwnVerdict {
        match access {
            Access::Write => allow(OWN_DEVICES),
            Access::Read if self.0.as_path().symlink_metadata().is_ok() => {
                deny("the sandbox has a /dev of its own, and nothing of the host's is there")
            }
            Access::Read => allow(OWN_DEVICES),
        }
    }
}

const OWN_DEVICES: &str =
    "the sandbox has a /dev of its own, which is the command's to use, and ends with it";

const PERMISSIONS: &str = "its permissions do not let this user, in the sandbox or outside";

impl Sandbox {
    /// What a command under `confinement`, which this sandbox resolved, may do with a path that the sandbox has of its
    /// own; `None` where the file rules say it.
    pub fn judge_own(
        &self,
        confinement: &Confinement,
        access: Access,
        own: &OwnPath,
    ) -> Result<Option<OwnVerdict>, Error> {
        if !own.is_left_to_itself(confinement) {
            let is_allowed = confinement.files.judge(access, &own.0).effect == Effect::Allow;
            return Ok((is_allowed && own.is_device_of_host()).then_some(deny(
                "a rule has the host's brought in there, and a device that is brought in cannot be opened",
            )));
        }
        let guards = self.guards().map_err(system("reading /proc"))?;
        Ok(Some(own.judge(access, &guards.hidden)))
    }
}

impl OwnPath {
    fn is_device_of_host(&self) -> bool {
        let kind = self.0.as_path().metadata().map(|metadata| metadata.file_type());
        kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
    }
}

/// What a process's entry lets the process itself do: the same as outside.
fn of_process(access: Access, rest: &[&[u8]]) -> OwnVerdict {
    let own = "the sandbox has a /proc of its own: it is of one of the command's processes, and of none of the host's";
    if rest.is_empty() && access == Access::Write {
        return deny("nothing can be made in /proc");
    }
    let Ok(same) = AbsPath::new([b"/proc/self/", rest.join(&b'/').as_slice()].concat()) else {
        return deny(PERMISSIONS);
    };
    let bit = if access == Access::Read { 0o400 } else { 0o200 };
    // Who owns it is not looked at: the command's processes are the command's.
    match same.as_path().symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() || metadata.permissions().mode() & bit != 0 => allow(own),
        Ok(_) => deny(PERMISSIONS),
        Err(_) if access == Access::Read => allow(own),
        Err(_) => deny("nothing can be made in /proc"),
    }
}

fn of_terminals(access: Access, rest: &[&[u8]]) -> OwnVerdict {
    let is_terminal = |name: &[u8]| name == b"ptmx" || name.iter().all(u8::is_ascii_digit);
    match rest {
        [name] if is_terminal(name) => {
            allow("the sandbox has terminals of its own in /dev/pts: those that the command makes")
        }
        _ if access == Access::Read => allow(OWN_DEVICES),
        _ => deny("nothing can be made in /dev/pts but terminals"),
    }
}

fn allow(because: &'static str) -> OwnVerdict {
    OwnVerdict { effect: Effect::Allow, because }
}

fn deny(because: &'static str) -> OwnVerdict {
    OwnVerdict { effect: Effect::Deny, because }
}

fn is_process(name: &[u8]) -> bool {
    matches!(name, b"self" | b"thread-self") || name.iter().all(u8::is_ascii_digit)
}

/// Follows `path` as the kernel does, until it is in `/dev` or `/proc`; the path from there on.
fn door(path: &AbsPath) -> Result<Option<AbsPath>, Error> {
    let invalid = |_| Error::Path { path: path.clone(), error: ErrorKind::InvalidInput.into() };
    let mut at = AbsPath::root();
    let mut links = 0;
    let mut rest: Vec<Vec<u8>> = path.components().map(<[u8]>::to_vec).collect();
    rest.reverse();
    loop {
        let Some(name) = rest.pop() else { return Ok(is_door(&at).then_some(at)) };
        if name == b".." {
            at = at.parent().unwrap_or_else(AbsPath::root);
            continue;
        }
        let next = at.join(&name).map_err(invalid)?;
        if is_door(&at) {
            rest.reverse();
            let below = rest.join(&b'/');
            return next
                .join(if below.is_empty() { b".".to_vec() } else { below })
                .map(Some)
                .map_err(invalid);
        }
        let Ok(target) = std::fs::read_link(next.as_path()) else {
            at = next;
            continue;
        };
        links += 1;
        if links > MOST_LINKS {
            return Ok(None);
        }
        let target = target.as_os_str().as_bytes();
        if target.starts_with(b"/") {
            at = AbsPath::root();
        }
        let names = target.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        rest.extend(names.rev().map(<[u8]>::to_vec));
    }
}

fn is_door(at: &AbsPath) -> bool {
    matches!(at.as_bytes(), b"/dev" | b"/proc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).expect("absolute")
    }

    #[test]
    fn a_way_is_followed_to_the_door_and_no_further() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let base = AbsPath::try_from(std::fs::canonicalize(directory.path()).expect("exists").as_path());
        let at = |name: &str| base.as_ref().expect("absolute").join(name).expect("no NUL");
        symlink("/dev/null", at("null").as_path()).expect("writable");
        symlink("/proc/self/fd", at("fd").as_path()).expect("writable");
        symlink("/dev/../etc", at("etc").as_path()).expect("writable");
        for (from, to) in [
            (path("/dev"), Some("/dev")),
            (path("/dev/sda/x"), Some("/dev/sda/x")),
            (path("/dev/stdin"), Some("/proc/self/fd/0")),
            (path("/dev/fd/7"), Some("/proc/self/fd/7")),
            (path("/dev/core"), Some("/proc/kcore")),
            (path("/proc/self/comm"), Some("/proc/self/comm")),
            (path("/proc/self/root/etc/x"), None),
            (path("/proc/self/cwd"), None),
            (path("/proc/77/root/etc"), Some("/proc/77/root/etc")),
            (path("/etc/x"), None),
            (path("/device"), None),
            (at("null"), Some("/dev/null")),
            (at("fd/3"), Some("/proc/self/fd/3")),
            (at("etc/x"), None),
            (at("missing/x"), None),
        ] {
            let own = OwnPath::of(&from).expect("no loop");
            assert_eq!(own.as_ref().map(OwnPath::path), to.map(path).as_ref(), "{from}");
        }
    }

    #[test]
    fn what_is_hidden_of_the_fresh_proc_is_denied_and_what_is_a_process_is_not() {
        let hidden = [(path("/proc/keys"), Node::File)];
        let judge = |access, text: &str| OwnPath(path(text)).judge(access, &hidden).effect;
        for (access, text, effect) in [
            (Access::Read, "/proc/keys", Effect::Deny),
            (Access::Read, "/proc/1", Effect::Deny),
            (Access::Read, "/proc/1/environ", Effect::Deny),
            (Access::Write, "/proc/1/mem", Effect::Deny),
            (Access::Read, "/proc/12/stat", Effect::Allow),
            (Access::Write, "/proc/self/comm", Effect::Allow),
            (Access::Write, "/proc/self/stat", Effect::Deny),
            (Access::Write, "/proc/self/new", Effect::Deny),
            (Access::Read, "/proc/cpuinfo", Effect::Allow),
            (Access::Write, "/proc/sys/kernel/core_pattern", Effect::Deny),
            (Access::Write, "/dev/null", Effect::Allow),
            (Access::Write, "/dev/new/x", Effect::Allow),
            (Access::Write, "/dev/pts/x", Effect::Deny),
            (Access::Write, "/dev/pts/3", Effect::Allow),
        ] {
            assert_eq!(judge(access, text), effect, "{access:?} {text}");
        }
    }
}
