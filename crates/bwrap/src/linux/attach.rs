//! Mounts made from outside, in a sandbox that bubblewrap has built and holds.
//!
//! bubblewrap reads the whole mount table again for each of its mounts, so the fifty of an ordinary plan take it ten
//! milliseconds and thousands many seconds, and it takes 9,000 arguments at most. So a plan is mounted by a short-lived
//! child of ours: it enters the sandbox's mount namespace while bubblewrap waits to be released, and makes each mount by
//! a few calls whose time depends on nothing but the depth of its path. What is made, and in which order, is the same as
//! where bubblewrap must do it. A symbolic link that must stay is mounted over itself, which bubblewrap cannot: it would
//! follow it.
//!
//! What the attacker controls here: nothing of his runs in this sandbox yet, but in another one he may be moving
//! directories of a shared root at this moment. Each path is opened refusing links
//! on the way (one that is mounted itself is the end of its path, and none but that), and what is open is what is mounted, and where; where those are two looks at one path, they must have found
//! the same file. What was mounted is
//! [verified](super::Held::verify) afterwards, as if bubblewrap had done it.
//!
//! The nodes in the sandbox's `/dev` that are the host's own are made read-only first, which bubblewrap cannot without
//! making them no devices: a confined root owns them, and could else change their mode on the host.
//!
//! What this does not do: what a rule names below `/dev` and `/proc`, of which the sandbox has its own, bubblewrap mounts,
//! since it can still reach the host's. [`Mounts::split`] says who does what.

use super::error::{LaunchError, failed};
use super::sys::{self, Change, Progress, Source, Step, What, Work};
use super::verify::mount_points;
use crate::mounts::{Mount, Mounts, prefixes};
use nix::errno::Errno;
use nix::unistd::Pid;
use palisade_policy::AbsPath;
use std::collections::{BTreeSet, HashMap};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

/// Whether mounts can be made from outside here: the kernel has the calls (Linux 5.12).
pub fn can_attach() -> bool {
    sys::has_mount_calls()
}

/// Mounts to be made once bubblewrap has built the rest.
#[derive(Debug, Clone)]
pub struct Attachments {
    /// The steps: the second half of a [split](Mounts::split).
    pub mounts: Mounts,
    /// As in [`Setting`](crate::Setting).
    pub hidden_file: AbsPath,
    /// As in [`Setting`](crate::Setting).
    pub hidden_directory: AbsPath,
}

/// Where mounts are made: the mount namespace of a process, with the user namespace that it belongs to.
#[derive(Debug)]
pub(super) struct Place {
    user: OwnedFd,
    mounts: File,
    /// What is mounted there.
    points: BTreeSet<AbsPath>,
}

impl Place {
    pub(super) fn of(pid: u32) -> Result<Self, LaunchError> {
        let mounts = File::open(format!("/proc/{pid}/ns/mnt")).map_err(LaunchError::Namespaces)?;
        let user = sys::owner_of(mounts.as_fd()).map_err(LaunchError::Namespaces)?;
        let points = mount_points(pid).map_err(failed("looking at the sandbox's mounts"))?;
        Ok(Place { user, mounts, points })
    }
}

/// A child that has made its mounts and ends. Dropped, it is waited for.
#[derive(Debug)]
pub(super) struct Attacher(Pid);

impl Drop for Attacher {
    fn drop(&mut self) {
        // Where the host ignores SIGCHLD there is nobody to wait for.
        let _ = sys::wait_for(self.0);
    }
}

/// Makes the mounts in a place where everything else is mounted. The child that does it has done so by then; its end takes
/// a while longer.
pub(super) fn attach(place: &Place, attachments: &Attachments) -> Result<Attacher, LaunchError> {
    let work = Work {
        user: place.user.as_fd(),
        mounts: place.mounts.as_fd(),
        hidden_file: c_path(&attachments.hidden_file)?,
        hidden_directory: c_path(&attachments.hidden_directory)?,
        substitutes: substitutes(&attachments.mounts)?,
        steps: steps(&attachments.mounts, &place.points)?,
    };
    let (progress, attacher) = run(&work).map_err(failed("making the sandbox's mounts"))?;
    outcome(progress, &attachments.mounts).map(|()| attacher)
}

fn run(work: &Work<'_>) -> io::Result<(Progress, Attacher)> {
    let (from_child, to_us): (OwnedFd, OwnedFd) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let attacher = Attacher(sys::fork_attacher(work, to_us.as_fd())?);
    drop(to_us);
    // All that it says is said in one piece, after its last mount.
    let mut report = Vec::new();
    File::from(from_child).take(size_of::<Progress>() as u64).read_to_end(&mut report)?;
    let progress = sys::read_progress(&report);
    let progress = progress.ok_or_else(|| io::Error::other("the process that mounts ended early"))?;
    Ok((progress, attacher))
}

fn outcome(progress: Progress, mounts: &Mounts) -> Result<(), LaunchError> {
    let error = || io::Error::from_raw_os_error(progress.errno);
    let step = match progress.step {
        sys::DONE => return Ok(()),
        sys::ENTERING => return Err(LaunchError::Namespaces(error())),
        sys::MASKS => return Err(failed("opening what hides files")(error())),
        sys::DEVICES => return Err(failed("making the sandbox's device nodes read-only")(error())),
        step => usize::try_from(step).ok().and_then(|step| mounts.steps().get(step)),
    };
    let at = step.map_or_else(AbsPath::root, |step| step.path().clone());
    Err(match Errno::from_raw(progress.errno) {
        Errno::ELOOP => LaunchError::Changed(format!("a symbolic link is on the way to {at}")),
        Errno::ENOENT | Errno::ENOTDIR | Errno::ESTALE => {
            LaunchError::Changed(format!("{at} is not what it was"))
        }
        _ => LaunchError::Mount { at, error: error() },
    })
}

fn c_path(path: &AbsPath) -> Result<CString, LaunchError> {
    CString::new(path.as_bytes()).map_err(|error| failed("naming a mount")(error.into()))
}

/// What is seen in other files' places, in the order of the steps.
fn substitutes(mounts: &Mounts) -> Result<Vec<CString>, LaunchError> {
    let with = mounts.steps().iter().filter_map(|step| match step {
        Mount::Substitute { with, .. } => Some(c_path(with)),
        _ => None,
    });
    with.collect()
}

/// The steps in the words of the child, given what is mounted before them.
fn steps(mounts: &Mounts, submounts: &BTreeSet<AbsPath>) -> Result<Vec<Step>, LaunchError> {
    let mut compiler = Compiler { submounts, left: HashMap::new(), bases: HashMap::new(), substitutes: 0 };
    mounts.steps().iter().map(|step| compiler.step(step)).collect()
}

struct Compiler<'a> {
    submounts: &'a BTreeSet<AbsPath>,
    /// Whether the steps so far left the host's files to be seen at their paths.
    left: HashMap<&'a [u8], bool>,
    /// The numbers of the bases by their paths.
    bases: HashMap<&'a [u8], usize>,
    /// How many substitutes the steps so far have.
    substitutes: usize,
}

impl<'a> Compiler<'a> {
    fn step(&mut self, step: &'a Mount) -> Result<Step, LaunchError> {
        let at = step.path();
        let what = match step {
            Mount::ReadOnly(_) => self.bind(at, Change::ToReadOnly)?,
            Mount::Substitute { .. } => {
                self.substitutes += 1;
                What::Substitute(self.substitutes - 1)
            }
            Mount::Writable(_) => self.bind(at, Change::ToWritable)?,
            Mount::Pin(_) => self.bind(at, Change::Keep)?,
            Mount::PinLink(_) => What::Link(self.source(at)?),
            Mount::HideFile(_) => What::HideFile,
            Mount::HideDirectory(_) => What::HideDirectory,
            Mount::SearchOnly(_) => {
                self.left.insert(at.as_bytes(), false);
                let is_base = nearest(&self.bases, at).is_none();
                if is_base {
                    self.add_base(at);
                }
                What::Empty { is_base }
            }
            Mount::Passage(_) => What::Directory,
            Mount::Seal(_) => What::Seal,
        };
        let (above, name) = (at.parent().unwrap_or_else(AbsPath::root), at.file_name().unwrap_or_default());
        let name = CString::new(name).map_err(|error| failed("naming a mount")(error.into()))?;
        Ok(Step { at: c_path(at)?, above: c_path(&above)?, name, what })
    }

    fn bind(&mut self, at: &'a AbsPath, change: Change) -> Result<What, LaunchError> {
        let source = self.source(at)?;
        self.left.insert(at.as_bytes(), true);
        if change == Change::ToWritable {
            self.add_base(at);
        }
        let below = self.submounts.range::<AbsPath, _>(at..).skip_while(|mount| *mount == at);
        let submounts = below.take_while(|mount| at.covers(mount)).map(c_path).collect::<Result<_, _>>()?;
        Ok(What::Bind { source, change, submounts })
    }

    fn add_base(&mut self, at: &'a AbsPath) {
        self.bases.insert(at.as_bytes(), self.bases.len());
    }

    fn source(&self, at: &AbsPath) -> Result<Source, LaunchError> {
        let Some((above, base)) = nearest(&self.bases, at) else { return Ok(Source::Itself) };
        let below = &at.as_bytes()[above.len() + 1..];
        let below = CString::new(below).map_err(|error| failed("naming a mount")(error.into()))?;
        let is_visible = nearest(&self.left, at).is_some_and(|(_, is_visible)| is_visible);
        Ok(if is_visible { Source::Visible(base, below) } else { Source::Hidden(base, below) })
    }
}

/// The entry at the path or nearest above it.
fn nearest<'p, T: Copy>(entries: &HashMap<&[u8], T>, path: &'p AbsPath) -> Option<(&'p [u8], T)> {
    prefixes(path).find_map(|above| Some((above, *entries.get(above)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{Confinement, FileRule, FileSets, NetworkPolicy, Node, Origin, PathPattern};

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).expect("absolute")
    }

    fn rules(texts: &[&str]) -> Vec<FileRule> {
        let rule = |text: &&str| FileRule {
            pattern: PathPattern::literal(path(text)),
            origin: Origin::flag("--test", text),
        };
        texts.iter().map(rule).collect()
    }

    fn planned(files: FileSets) -> Mounts {
        let nodes = files.rules().map(|rule| (rule.pattern.as_literal().clone(), Node::Directory)).collect();
        Mounts::plan(&Confinement {
            files,
            nodes,
            links: Default::default(),
            stepped_out_of: Default::default(),
            files_disabled: false,
            network: NetworkPolicy::default(),
            working_directory: AbsPath::root(),
        })
    }

    fn in_words(mounts: &Mounts, submounts: &[&str]) -> String {
        let submounts = submounts.iter().map(|text| path(text)).collect();
        let steps = steps(mounts, &submounts).expect("no NUL byte");
        let line = |step: &Step| format!("{} {:?}", step.at.to_string_lossy(), step.what);
        steps.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What is below a writable directory is cloned from its lower mount, and what is below a hidden one from what it
    /// hides, even if that lies in a writable one again.
    #[test]
    fn every_bind_has_a_source_that_is_not_hidden() {
        let files = FileSets {
            allow_write: rules(&["/p", "/home/u/w"]),
            deny_write: rules(&["/p/d/keep"]),
            deny_read: rules(&["/home/u", "/home/u/w/h", "/p/h", "/p/x"]),
            allow_read: rules(&["/p/h/in/doc", "/home/u/w/h/doc"]),
        };
        insta::assert_snapshot!(in_words(&planned(files), &["/p/d", "/p/d/keep/m", "/pp"]), @r#"
        /home/u Empty { is_base: true }
        /home/u/w Bind { source: Hidden(0, "w"), change: ToWritable, submounts: [] }
        /home/u/w/h Empty { is_base: false }
        /home/u/w/h/doc Bind { source: Hidden(1, "h/doc"), change: ToWritable, submounts: [] }
        /p Bind { source: Itself, change: ToWritable, submounts: ["/p/d", "/p/d/keep/m"] }
        /p/d Bind { source: Visible(3, "d"), change: Keep, submounts: ["/p/d/keep/m"] }
        /p/d/keep Bind { source: Visible(3, "d/keep"), change: ToReadOnly, submounts: ["/p/d/keep/m"] }
        /p/h Empty { is_base: false }
        /p/h/in Directory
        /p/h/in/doc Bind { source: Hidden(3, "h/in/doc"), change: ToWritable, submounts: [] }
        /p/x HideDirectory
        /p/h Seal
        /home/u/w/h Seal
        /home/u Seal
        "#);
    }

    /// Each is opened before anything is mounted, and found again by its number.
    #[test]
    fn substitutes_are_numbered_in_the_order_of_their_steps() {
        let files = FileSets {
            allow_write: rules(&["/p"]),
            deny_write: rules(&["/p/b", "/p/a", "/p/c"]),
            ..FileSets::default()
        };
        let mut mounts = planned(files);
        mounts.substitute(&path("/p/c"), path("/s/first"));
        mounts.substitute(&path("/p/a"), path("/s/second"));
        assert_eq!(
            substitutes(&mounts).expect("no NUL byte"),
            [c"/s/second".to_owned(), c"/s/first".to_owned()]
        );
        insta::assert_snapshot!(in_words(&mounts, &[]), @r#"
        /p Bind { source: Itself, change: ToWritable, submounts: [] }
        /p/a Substitute(0)
        /p/b Bind { source: Visible(0, "b"), change: ToReadOnly, submounts: [] }
        /p/c Substitute(1)
        "#);
    }

    #[test]
    fn a_step_that_fails_is_named() {
        let files = FileSets { deny_read: rules(&["/a", "/b"]), ..FileSets::default() };
        let nodes = [("/a", Node::File), ("/b", Node::File)].map(|(text, node)| (path(text), node));
        let mounts = Mounts::plan(&Confinement {
            files,
            nodes: nodes.into(),
            links: Default::default(),
            stepped_out_of: Default::default(),
            files_disabled: false,
            network: NetworkPolicy::default(),
            working_directory: AbsPath::root(),
        });
        let said = |step, errno: Errno| {
            outcome(Progress { step, errno: errno as i32 }, &mounts).map_err(|error| error.to_string())
        };
        assert_eq!(said(sys::DONE, Errno::UnknownErrno), Ok(()));
        for (step, errno, part) in [
            (1, Errno::ELOOP, "a symbolic link is on the way to /b); run the command again"),
            (0, Errno::ENOENT, "/a is not what it was); run the command again"),
            (1, Errno::ENOSPC, "/b cannot be mounted in the sandbox: No space left"),
            (sys::ENTERING, Errno::EPERM, "cannot be entered from outside: Operation not permitted"),
        ] {
            let said = said(step, errno).expect_err("a failure");
            assert!(said.contains(part), "{said}");
        }
    }
}
