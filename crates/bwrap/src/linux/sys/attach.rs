//! A child that enters a sandbox's mount namespace and makes mounts there. As everywhere in `sys`, nothing here
//! allocates after the `fork`.

use super::libc::{self, c_int};
use nix::sys::signal::SigSet;
use nix::unistd::Pid;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, mknodat, openat2};
use rustix::io::{Errno, Result, fcntl_dupfd_cloexec};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// One mount to make.
#[derive(Debug)]
pub(in crate::linux) struct Step {
    /// Where, on the way to which there must be no link.
    pub(in crate::linux) at: CString,
    /// The directory that it lies in.
    pub(in crate::linux) above: CString,
    /// Its last component.
    pub(in crate::linux) name: CString,
    pub(in crate::linux) what: What,
}

/// What a step mounts.
#[derive(Debug)]
pub(in crate::linux) enum What {
    /// What the host has there.
    Bind {
        source: Source,
        change: Change,
        /// What the host has mounted below, as paths; the bind takes it along.
        submounts: Vec<CString>,
    },
    /// A symbolic link, over itself.
    Link(Source),
    /// The substitute with this number, read-only.
    Substitute(usize),
    HideFile,
    HideDirectory,
    /// An empty directory to be filled. With `is_base` what it hides is the next of the bases.
    Empty {
        is_base: bool,
    },
    /// A directory in one of those.
    Directory,
    /// Makes one of those read-only.
    Seal,
}

/// Where the host's file or directory can be had.
#[derive(Debug)]
pub(in crate::linux) enum Source {
    /// Where it is to be mounted.
    Itself,
    /// Below one of the bases, by this relative path; it is also to be seen where it is to be mounted.
    Visible(usize, CString),
    /// Below one of the bases, by this relative path.
    Hidden(usize, CString),
}

/// What a bind does to being writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::linux) enum Change {
    Keep,
    ToReadOnly,
    /// As far as the host allows: what it has mounted read-only stays so. The bind is the next of the bases.
    ToWritable,
}

/// All that the child needs, made before the `fork`.
#[derive(Debug)]
pub(in crate::linux) struct Work<'a> {
    pub(in crate::linux) user: BorrowedFd<'a>,
    pub(in crate::linux) mounts: BorrowedFd<'a>,
    pub(in crate::linux) hidden_file: CString,
    pub(in crate::linux) hidden_directory: CString,
    /// Files that are to be seen in other files' places.
    pub(in crate::linux) substitutes: Vec<CString>,
    pub(in crate::linux) steps: Vec<Step>,
}

/// How far the child came: [`DONE`], or the step that failed and why.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(in crate::linux) struct Progress {
    pub(in crate::linux) step: i32,
    pub(in crate::linux) errno: c_int,
}

/// [`Progress::step`] once everything is mounted.
pub(in crate::linux) const DONE: i32 = -1;
/// [`Progress::step`] when the namespaces could not be entered.
pub(in crate::linux) const ENTERING: i32 = -2;
/// [`Progress::step`] when the masks could not be opened.
pub(in crate::linux) const MASKS: i32 = -3;
/// [`Progress::step`] when the devices could not be made read-only.
pub(in crate::linux) const DEVICES: i32 = -4;

/// What of the sandbox's own `/dev` is the host's: bubblewrap binds these nodes, the last one where standard output is a
/// terminal, which that is then.
const HOSTS_DEVICES: [&CStr; 7] =
    [c"/dev/null", c"/dev/zero", c"/dev/full", c"/dev/random", c"/dev/urandom", c"/dev/tty", c"/dev/console"];

/// Whether this kernel has all the calls that are needed (Linux 5.12), and nobody refuses them.
pub(in crate::linux) fn has_mount_calls() -> bool {
    // SAFETY: no attributes are passed, which is an error; were it none, nothing would be changed on descriptor -1.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            -1,
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            std::ptr::null::<u8>(),
            0usize,
        )
    };
    answer != 0 && nix::errno::Errno::last_raw() == libc::EINVAL
}

/// Forks the child. It writes its [`Progress`] to `to` and ends.
pub(in crate::linux) fn fork_attacher(work: &Work<'_>, to: BorrowedFd<'_>) -> io::Result<Pid> {
    let mut bases = Vec::with_capacity(work.steps.len());
    let mut substitutes = Vec::with_capacity(work.substitutes.len());
    // SAFETY: the child calls only `live`, which allocates nothing, and ends with `_exit`.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let progress = live(work, &mut bases, &mut substitutes);
            // SAFETY: the pointer leads to as many bytes as are written. Then the child ends without running
            // destructors or exit handlers of the parent's program.
            unsafe {
                libc::write(to.as_raw_fd(), (&raw const progress).cast(), size_of::<Progress>());
                libc::_exit(c_int::from(progress.step != DONE))
            }
        }
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// What the child wrote, if it came to that.
pub(in crate::linux) fn read_progress(bytes: &[u8]) -> Option<Progress> {
    let (step, errno) = bytes.split_first_chunk::<4>()?;
    let (errno, []) = errno.split_first_chunk::<4>()? else { return None };
    Some(Progress { step: i32::from_ne_bytes(*step), errno: c_int::from_ne_bytes(*errno) })
}

/// The child's whole life. `bases` and `substitutes` have room for all that will be in them; the child's end closes them.
fn live(work: &Work<'_>, bases: &mut Vec<OwnedFd>, substitutes: &mut Vec<OwnedFd>) -> Progress {
    // The parent's handlers are none of this process's, and its end is near.
    let _ = SigSet::all().thread_set_mask();
    let failed = |step| move |errno: Errno| Progress { step, errno: errno.raw_os_error() };
    let result = enter(work).map_err(failed(ENTERING)).and_then(|()| {
        let mut masks = Masks::open(work, substitutes).map_err(failed(MASKS))?;
        shut_devices().map_err(failed(DEVICES))?;
        for (index, step) in work.steps.iter().enumerate() {
            step.make(&mut masks, bases).map_err(failed(index as i32))?;
        }
        Ok(())
    });
    result.err().unwrap_or(Progress { step: DONE, errno: 0 })
}

fn enter(work: &Work<'_>) -> Result<()> {
    move_into_link_name_space(work.user, Some(LinkNameSpaceType::User))?;
    move_into_link_name_space(work.mounts, Some(LinkNameSpaceType::Mount))?;
    rustix::process::umask(Mode::empty());
    keep_apart()?;
    // Each writable directory keeps a descriptor open. What cannot be raised shows by then.
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    Ok(())
}

/// What the host mounts from now on does not come to be in the sandbox: it would be writable there, or lie over what is
/// hidden. What is mounted already stays when the host unmounts it.
fn keep_apart() -> Result<()> {
    let attributes = libc::mount_attr { propagation: libc::MS_PRIVATE, ..UNCHANGED };
    set_all(&open(c"/")?, &attributes, true)
}

/// Keeps the nodes themselves, which a confined root owns as it does outside, from being changed. What is read and
/// written through them is not the file system's, so that goes on.
fn shut_devices() -> Result<()> {
    for at in HOSTS_DEVICES {
        match open(at).and_then(|node| set_attributes(&node, libc::MOUNT_ATTR_RDONLY, 0, false)) {
            // bubblewrap made none, or a rule hides it.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
            // A rule has put the host's whole directory there, without devices: the node, or a link, is no mount.
            Err(Errno::INVAL | Errno::LOOP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The sources of hidden files and directories, opened before anything is mounted over them; after the first, the
/// mount that was made last, on which nothing is mounted. Substitutes likewise, of which each is used once.
#[derive(Default)]
struct Masks<'a> {
    file: Option<OwnedFd>,
    directory: Option<OwnedFd>,
    substitutes: &'a [OwnedFd],
}

impl<'a> Masks<'a> {
    /// Opens those that a step needs: where bubblewrap has hidden all that is to be hidden, they may be hidden with it.
    fn open(work: &Work<'_>, substitutes: &'a mut Vec<OwnedFd>) -> Result<Self> {
        for path in &work.substitutes {
            substitutes.push(open(path)?);
        }
        let mut masks = Masks { substitutes, ..Masks::default() };
        for step in &work.steps {
            match step.what {
                What::HideFile if masks.file.is_none() => masks.file = Some(open(&work.hidden_file)?),
                What::HideDirectory if masks.directory.is_none() => {
                    masks.directory = Some(open(&work.hidden_directory)?);
                }
                _ => {}
            }
        }
        Ok(masks)
    }
}

/// Hides what is at `at` by the mask, whose place the new mount takes.
fn hide(mask: &mut Option<OwnedFd>, at: &CStr) -> Result<()> {
    let source = mask.as_ref().ok_or(Errno::BADF)?;
    *mask = Some(bind(source, &open(at)?, Change::ToReadOnly, false)?);
    Ok(())
}

impl Step {
    fn make(&self, masks: &mut Masks<'_>, bases: &mut Vec<OwnedFd>) -> Result<()> {
        match &self.what {
            What::Bind { source, change, submounts } => {
                let (source, target) = self.ends(source, bases, OFlags::empty())?;
                if *change == Change::ToWritable {
                    bases.push(bind_writable(&source, &target, submounts)?);
                } else {
                    bind(&source, &target, *change, !submounts.is_empty())?;
                }
            }
            What::Link(source) => {
                let (source, target) = self.ends(source, bases, OFlags::NOFOLLOW)?;
                bind(&source, &target, Change::ToReadOnly, false)?;
            }
            What::Substitute(number) => {
                let source = masks.substitutes.get(*number).ok_or(Errno::BADF)?;
                let target = match open(&self.at) {
                    Err(Errno::NOENT) => self.make_target(source)?,
                    target => target?,
                };
                bind(source, &target, Change::ToReadOnly, false)?;
            }
            What::HideFile => hide(&mut masks.file, &self.at)?,
            What::HideDirectory => hide(&mut masks.directory, &self.at)?,
            What::Empty { is_base } => {
                let hidden = open(&self.at)?;
                attach(&empty_directory()?, &hidden)?;
                if *is_base {
                    bases.push(hidden);
                }
            }
            What::Directory => mkdirat(open(&self.above)?, self.name.as_c_str(), SEARCH_ONLY)?,
            What::Seal => set_writable(&open(&self.at)?, false, false)?,
        }
        Ok(())
    }

    /// What is to be mounted, and on what. With `NOFOLLOW` it may be a link, otherwise none.
    fn ends(&self, source: &Source, bases: &[OwnedFd], last: OFlags) -> Result<(OwnedFd, OwnedFd)> {
        match source {
            Source::Itself => {
                let target = open_last(&self.at, last)?;
                // A second look at the path might find something else there.
                Ok((fcntl_dupfd_cloexec(&target, 0)?, target))
            }
            Source::Visible(base, below) => {
                let (source, target) = (open_below(bases, *base, below, last)?, open_last(&self.at, last)?);
                let (from, to) = (fstat(&source)?, fstat(&target)?);
                let is_same = (from.st_dev, from.st_ino) == (to.st_dev, to.st_ino);
                if is_same { Ok((source, target)) } else { Err(Errno::STALE) }
            }
            Source::Hidden(base, below) => {
                let source = open_below(bases, *base, below, last)?;
                let target = self.make_target(&source)?;
                Ok((source, target))
            }
        }
    }

    /// What a mount needs to be mounted on.
    fn make_target(&self, source: &OwnedFd) -> Result<OwnedFd> {
        let (above, name) = (open(&self.above)?, self.name.as_c_str());
        let made = if FileType::from_raw_mode(fstat(source)?.st_mode) == FileType::Directory {
            mkdirat(above, name, SEARCH_ONLY)
        } else {
            mknodat(above, name, FileType::RegularFile, Mode::empty(), 0)
        };
        match made {
            // A directory that something deeper needed is there already.
            Ok(()) | Err(Errno::EXIST) => open(&self.at),
            Err(error) => Err(error),
        }
    }
}

const SEARCH_ONLY: Mode = Mode::XUSR.union(Mode::XGRP).union(Mode::XOTH);

fn open(at: &CStr) -> Result<OwnedFd> {
    open_last(at, OFlags::empty())
}

fn open_last(at: &CStr, last: OFlags) -> Result<OwnedFd> {
    openat2(CWD, at, OFlags::PATH | OFlags::CLOEXEC | last, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn open_below(bases: &[OwnedFd], base: usize, below: &CStr, last: OFlags) -> Result<OwnedFd> {
    let base = bases.get(base).ok_or(Errno::BADF)?;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    openat2(base, below, OFlags::PATH | OFlags::CLOEXEC | last, Mode::empty(), resolve)
}

/// Mounts what `source` leads to on `target`, and gives back the mount, to be the source of others like it.
fn bind(source: &OwnedFd, target: &OwnedFd, change: Change, recursive: bool) -> Result<OwnedFd> {
    let tree = clone(source, recursive)?;
    match change {
        Change::Keep => {}
        Change::ToReadOnly => set_writable(&tree, false, recursive)?,
        Change::ToWritable => unlock(&tree)?,
    }
    attach(&tree, target)?;
    Ok(tree)
}

/// To clone a part of a mount the kernel looks at everything that is mounted on it, so thousands of clones from one on
/// which they are mounted would take the square of their number. So a writable directory is mounted twice: upon the
/// upper one everything else is mounted, and the lower one, which nobody sees and which is given back, is the source of that.
fn bind_writable(source: &OwnedFd, target: &OwnedFd, submounts: &[CString]) -> Result<OwnedFd> {
    let recursive = !submounts.is_empty();
    let lower = bind(source, target, Change::ToWritable, recursive)?;
    for submount in submounts {
        unlock(&open(submount)?)?;
    }
    bind(&lower, &lower, Change::Keep, recursive)?;
    Ok(lower)
}

fn clone(source: &OwnedFd, recursive: bool) -> Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let recursive = if recursive { OpenTreeFlags::AT_RECURSIVE } else { OpenTreeFlags::empty() };
    open_tree(source, c"", flags | recursive)
}

/// Makes one mount writable, unless the host has it read-only: then the kernel refuses that.
fn unlock(mount: &OwnedFd) -> Result<()> {
    match set_writable(mount, true, false) {
        Err(Errno::PERM) => Ok(()),
        result => result,
    }
}

fn attach(tree: &OwnedFd, target: &OwnedFd) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", target, c"", flags)
}

/// A new empty directory that can be searched and not listed. Its owner could change that until it is sealed, but
/// nothing of his runs before.
fn empty_directory() -> Result<OwnedFd> {
    let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), c"mode", c"0111")?;
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Whatever is mounted is without set-user-ID programs and devices as well.
fn set_writable(mount: &OwnedFd, is_writable: bool, recursive: bool) -> Result<()> {
    const ALWAYS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    let (set, clear) = if is_writable { (0, libc::MOUNT_ATTR_RDONLY) } else { (libc::MOUNT_ATTR_RDONLY, 0) };
    set_attributes(mount, ALWAYS | set, clear, recursive)
}

fn set_attributes(mount: &OwnedFd, set: u64, clear: u64, recursive: bool) -> Result<()> {
    set_all(mount, &libc::mount_attr { attr_set: set, attr_clr: clear, ..UNCHANGED }, recursive)
}

const UNCHANGED: libc::mount_attr =
    libc::mount_attr { attr_set: 0, attr_clr: 0, propagation: 0, userns_fd: 0 };

fn set_all(mount: &OwnedFd, attributes: &libc::mount_attr, recursive: bool) -> Result<()> {
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a C string, and the pointer leads to as many bytes of attributes as the call is told.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(nix::errno::Errno::last_raw())) }
}
