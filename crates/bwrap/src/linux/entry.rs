//! The command's first moment inside: a program that sets the scene and then *becomes* the command.
//!
//! bubblewrap's own outer process leads the command's process group, so Ctrl-C reaches it too; it has to block
//! such signals or the sandbox would die of them. But a blocked signal stays blocked over `exec`, in the
//! command too, and nothing in bubblewrap gives it its effect back. So bubblewrap starts the entry, which does,
//! and then executes the command in its own place: no process of Palisade's stays inside.
//!
//! What the attacker controls here: the command's variables, `LD_PRELOAD` among them. The entry is the host's
//! own program file, opened by descriptor; a library loaded into it could keep that file open and, where the
//! user may write it, later overwrite it (as CVE-2019-5736 did to runc). So the entry starts with an empty
//! environment; the command and its variables come as data through a descriptor, and count from the `exec` on. Nothing
//! else runs in the sandbox before that, and every descriptor but 0, 1 and 2 is closed by then.

use super::error::{LaunchError, failed};
use super::sys;
use nix::errno::Errno;
use rustix::fs::{
    FileType, Mode, OFlags, SeekFrom, Stat, fcntl_getfl, fcntl_setfl, fstat, major, minor, seek,
};
use rustix::process::geteuid;
use rustix::stdio;
use std::convert::Infallible;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The first argument of a program that is started as an entry.
pub const MARK: &str = "--palisade-entry";

/// Exit status when the command exists but cannot be executed, as shells have it.
const CANNOT_EXECUTE: i32 = 126;
/// Exit status when the command does not exist, as shells have it.
const NOT_FOUND: i32 = 127;

/// A program that calls [`run_if_asked`] first of all, held open: `palisade` itself, or the host program of
/// the library.
#[derive(Debug)]
pub struct Entry {
    pub(super) file: OwnedFd,
    ignored: u64,
}

impl Entry {
    /// The running program. It must call [`run_if_asked`] before anything else.
    ///
    /// Call this before signal handlers are set, so that the signals found ignored are those that whoever
    /// started the program wanted ignored.
    pub fn this_program() -> io::Result<Self> {
        let file = rustix::fs::open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Entry { file, ignored: ignored_signals(&std::fs::read_to_string("/proc/self/status")?) })
    }

    /// What bubblewrap is to run: the entry, told to execute what descriptor `command_fd` describes.
    pub(super) fn argv(&self, entry_fd: i32, command_fd: i32) -> Vec<OsString> {
        vec![
            format!("/proc/self/fd/{entry_fd}").into(),
            MARK.into(),
            command_fd.to_string().into(),
            self.ignored.to_string().into(),
        ]
    }
}

/// The mask of ignored signals in `/proc/self/status`: bit n-1 for signal n.
fn ignored_signals(status: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// A command as the entry reads it: how many words it has, its program's path, the words, then the variables as
/// `name=value`, each ended by a NUL byte. `None` when one holds a NUL byte itself.
///
/// The words do not go through bubblewrap's own command line, which takes a few thousand at most.
fn command_block(program: &OsStr, argv: &[OsString], variables: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<u8>> {
    let count = argv.len().to_string();
    let words = [count.as_ref(), program].into_iter().chain(argv.iter().map(OsString::as_os_str));
    let words = words.map(|word| word.as_bytes().to_vec());
    let variables = variables.iter().map(|(name, value)| [name, &b"="[..], value].concat());
    let mut block = Vec::new();
    for item in words.chain(variables) {
        if item.contains(&0) {
            return None;
        }
        block.extend(item);
        block.push(0);
    }
    Some(block)
}

/// The command as the entry reads it, without what can be no variables.
pub(super) fn described(
    program: &OsStr,
    argv: &[OsString],
    variables: &[(Vec<u8>, Vec<u8>)],
) -> Result<Vec<u8>, LaunchError> {
    let valid = |(name, _): &&(Vec<u8>, Vec<u8>)| is_variable_name(OsStr::from_bytes(name));
    let variables: Vec<_> = variables.iter().filter(valid).cloned().collect();
    command_block(program, argv, &variables)
        .ok_or_else(|| failed("passing the command on")(io::ErrorKind::InvalidInput.into()))
}

/// When the program was started as an entry, becomes the command and never returns, but with an exit status
/// for when that fails (the reason is on standard error by then). Otherwise returns `None` at once.
pub fn run_if_asked() -> Option<i32> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != OsStr::new(MARK) {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    let Err((status, reason)) = become_command(&words);
    eprintln!("palisade: {reason}");
    Some(status)
}

fn become_command(words: &[OsString]) -> Result<Infallible, (i32, String)> {
    let internal = |reason: &str| {
        (super::launch::ENTRY_FAILED, format!("the sandbox's entry was called wrongly: {reason}"))
    };
    let [command, ignored] = words else { return Err(internal("not two arguments")) };
    let number = |word: &OsString| word.to_str().and_then(|text| text.parse::<u64>().ok());
    let fd =
        number(command).and_then(|fd| i32::try_from(fd).ok()).ok_or_else(|| internal("no descriptor"))?;
    let ignored = number(ignored).ok_or_else(|| internal("no signal mask"))?;
    let block = read_block(fd).map_err(|error| internal(&error.to_string()))?;
    let described = Described::read(&block).ok_or_else(|| internal("no description of a command"))?;
    shut_streams().map_err(|reason| (super::launch::ENTRY_FAILED, reason))?;
    sys::close_all_others();
    sys::reset_signals(ignored).map_err(|error| internal(&error.to_string()))?;
    let error = execute(&described);
    let status = if error == Errno::ENOENT { NOT_FOUND } else { CANNOT_EXECUTE };
    Err((status, reason(&described.program, error)))
}

/// Through `/proc/self/fd` a stream leads, by the host's own mounts, to what the caller opened: what he opened for
/// reading can be opened again for writing there, and the mode of what the user owns can be changed, of a device node as
/// of the terminal. So each is exchanged for the same one by the sandbox's mounts, which are read-only where that
/// matters. What remains is a file that he opened for writing: nothing read-only could be written.
fn shut_streams() -> Result<(), String> {
    shut("standard input", stdio::stdin(), stdio::dup2_stdin)?;
    shut("standard output", stdio::stdout(), stdio::dup2_stdout)?;
    shut("standard error", stdio::stderr(), stdio::dup2_stderr)
}

fn shut(
    name: &str,
    stream: BorrowedFd<'_>,
    replace: fn(OwnedFd) -> rustix::io::Result<()>,
) -> Result<(), String> {
    let (Ok(stat), Ok(flags)) = (fstat(stream), fcntl_getfl(stream)) else { return Ok(()) };
    let is_for_reading = !flags.intersects(OFlags::WRONLY | OFlags::RDWR);
    let is_own = stat.st_uid == geteuid().as_raw();
    let refused = |what: &str| format!("{name} is {what}; pass it through a pipe instead");
    let exchanged = match FileType::from_raw_mode(stat.st_mode) {
        // What has no name any more (a here-document) is nobody else's.
        FileType::RegularFile | FileType::Fifo if stat.st_nlink == 0 => return Ok(()),
        FileType::RegularFile if is_for_reading => same_file(stream, &stat),
        // Only its owner may change what the rest is, and a rule may hide the sandbox's.
        FileType::Fifo => match named(stream) {
            Some(at) => same_pipe(&at, &stat, flags).or_else(|error| kept(stream, is_own, error)),
            None => return Ok(()),
        },
        FileType::CharacterDevice if own_node(stat.st_rdev).is_some() => {
            same_node(&stat, flags).or_else(|error| kept(stream, is_own, error))
        }
        // Where neither of these is this terminal, Palisade puts its mode back in the end.
        FileType::CharacterDevice if stream.is_terminal() => {
            same_terminal(&stat, flags).or_else(|error| kept(stream, false, error))
        }
        FileType::CharacterDevice | FileType::BlockDevice if is_for_reading || is_own => {
            return Err(refused("a device, which the command could open for writing or to others"));
        }
        _ => return Ok(()),
    };
    let exchanged = exchanged.and_then(|same| Ok(replace(same)?));
    exchanged.map_err(|error| refused(&format!("a file that the sandbox does not show ({error})")))
}

/// The stream itself, unless that must not be.
fn kept(stream: BorrowedFd<'_>, must_not_be: bool, error: io::Error) -> io::Result<OwnedFd> {
    if must_not_be { Err(error) } else { stream.try_clone_to_owned() }
}

/// The name of what `stream` is, if it has one: an ordinary pipe has none.
fn named(stream: BorrowedFd<'_>) -> Option<PathBuf> {
    let at = std::fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).ok()?;
    at.is_absolute().then_some(at)
}

/// What has the name of `stream` in the sandbox, if it is the same file, at the same place in it.
fn same_file(stream: BorrowedFd<'_>, stat: &Stat) -> io::Result<OwnedFd> {
    let at = named(stream).ok_or(io::ErrorKind::NotFound)?;
    let same = if_same(File::open(at)?.into(), stat)?;
    seek(&same, SeekFrom::Start(seek(stream, SeekFrom::Current(0))?))?;
    Ok(same)
}

/// The named pipe at `at`, opened as the caller's is. A writer alone cannot be opened; then it is not for a moment.
fn same_pipe(at: &Path, stat: &Stat, flags: OFlags) -> io::Result<OwnedFd> {
    match reopened(at, flags) {
        Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => {
            let _reader = reopened(at, OFlags::RDONLY)?;
            reopened(at, flags)
        }
        opened => opened,
    }
    .and_then(|same| if_same(same, stat))
}

/// The sandbox's own node of the same device, opened as the caller's is.
fn same_node(stat: &Stat, flags: OFlags) -> io::Result<OwnedFd> {
    let at = own_node(stat.st_rdev).ok_or(io::ErrorKind::NotFound)?;
    let same = reopened(at.as_ref(), flags)?;
    let seen = fstat(&same)?;
    let is_device = FileType::from_raw_mode(seen.st_mode) == FileType::CharacterDevice;
    if is_device && seen.st_rdev == stat.st_rdev { Ok(same) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// The terminal by one of the sandbox's nodes: bubblewrap binds that on standard output to `/dev/console`, and `/dev/tty`
/// is the controlling one.
fn same_terminal(stat: &Stat, flags: OFlags) -> io::Result<OwnedFd> {
    let console = reopened("/dev/console".as_ref(), flags).and_then(|console| if_same(console, stat));
    console.or_else(|error| match controlling_terminal() {
        Some(device) if device == (major(stat.st_rdev), minor(stat.st_rdev)) => {
            reopened("/dev/tty".as_ref(), flags)
        }
        _ => Err(error),
    })
}

/// The device numbers of the terminal that `/dev/tty` leads to.
fn controlling_terminal() -> Option<(u32, u32)> {
    terminal_in(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// As a `stat` of `/proc` has them, in the fifth field behind the program's name: bits 8 to 19 are the one number, the
/// others the other.
fn terminal_in(stat: &str) -> Option<(u32, u32)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let number = fields.split_whitespace().nth(4)?.parse::<i32>().ok()?.cast_unsigned();
    (number != 0).then_some((number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xf_ff00))
}

fn if_same(opened: OwnedFd, stat: &Stat) -> io::Result<OwnedFd> {
    let seen = fstat(&opened)?;
    let is_same = (seen.st_dev, seen.st_ino) == (stat.st_dev, stat.st_ino);
    if is_same { Ok(opened) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// What is at `at`, opened as `flags` say, but without waiting for anybody.
fn reopened(at: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let kept = flags & (OFlags::ACCMODE | OFlags::APPEND | OFlags::NONBLOCK);
    let opening = kept | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(at, opening, Mode::empty())?;
    fcntl_setfl(&opened, kept)?;
    Ok(opened)
}

/// Where the sandbox has a node of this device. The numbers are the kernel's for good.
fn own_node(device: u64) -> Option<&'static str> {
    match (major(device), minor(device)) {
        (1, 3) => Some("/dev/null"),
        (1, 5) => Some("/dev/zero"),
        (1, 7) => Some("/dev/full"),
        (1, 8) => Some("/dev/random"),
        (1, 9) => Some("/dev/urandom"),
        (5, 0) => Some("/dev/tty"),
        _ => None,
    }
}

fn reason(program: &CString, error: Errno) -> String {
    let shown = program.to_string_lossy().escape_debug().to_string();
    let is_there = std::fs::metadata(OsStr::from_bytes(program.as_bytes())).is_ok();
    match error {
        // The kernel says the same of a program that is there and names another one that is not.
        Errno::ENOENT if is_there => {
            format!("cannot run {shown}: the interpreter or loader that it names does not exist")
        }
        error => format!("cannot run {shown}: {}", error.desc()),
    }
}

fn read_block(fd: i32) -> io::Result<Vec<u8>> {
    let mut block = Vec::new();
    File::from(sys::adopt(fd)?).read_to_end(&mut block)?;
    Ok(block)
}

/// What a [`command_block`] describes.
#[derive(Debug, PartialEq, Eq)]
struct Described {
    program: CString,
    argv: Vec<CString>,
    variables: Vec<CString>,
}

impl Described {
    fn read(block: &[u8]) -> Option<Self> {
        let items = block.strip_suffix(b"\0")?.split(|&byte| byte == 0);
        let mut items = items.map(|item| CString::new(item).ok());
        let count = items.next()??.to_str().ok()?.parse().ok()?;
        let program = items.next()??;
        let argv: Vec<CString> = items.by_ref().take(count).collect::<Option<_>>()?;
        let variables = items.collect::<Option<_>>()?;
        (argv.len() == count).then_some(Described { program, argv, variables })
    }
}

/// Becomes the command; a file that is no program of a known kind is a script for `sh`, as `execvp` has it.
fn execute(Described { program, argv, variables }: &Described) -> Errno {
    let Err(error) = nix::unistd::execve(program, argv, variables);
    if error != Errno::ENOEXEC {
        return error;
    }
    let shell = CString::from(c"/bin/sh");
    let mut script = vec![shell.clone(), program.clone()];
    script.extend(argv.iter().skip(1).cloned());
    let Err(error) = nix::unistd::execve(&shell, &script, variables);
    error
}

/// Whether `name` can be a variable of the block: not empty, without `=` and NUL.
fn is_variable_name(name: &OsStr) -> bool {
    !name.is_empty() && !name.as_bytes().iter().any(|byte| b"=\0".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        assert_eq!(ignored_signals("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"), 0x1001);
        assert_eq!(ignored_signals("nothing of the kind"), 0);
    }

    #[test]
    fn the_controlling_terminal_is_read() {
        let of = |number| terminal_in(&format!("7 (a) b) S 1 7 7 {number} 7 4194304 104 0\n"));
        assert_eq!(of(0), None);
        assert_eq!(of(34_819), Some((136, 3)));
        assert_eq!(of(1_083_393), Some((136, 257)));
        assert_eq!(of(1025), Some((4, 1)));
        assert_eq!(terminal_in(""), None);
    }

    #[test]
    fn a_described_command_reads_back() {
        let c = |text: &str| CString::new(text).expect("no NUL byte");
        let argv = ["cat", "", "a=b\n"].map(OsString::from);
        let variables = [(b"A".to_vec(), b"x=\ny".to_vec()), (b"B".to_vec(), Vec::new())];
        let block = command_block("/bin/cat".as_ref(), &argv, &variables).expect("no NUL byte");
        let all = Described {
            program: c("/bin/cat"),
            argv: ["cat", "", "a=b\n"].map(c).into(),
            variables: ["A=x=\ny", "B="].map(c).into(),
        };
        assert_eq!(Described::read(&block), Some(all));
        let bare = command_block("/bin/cat".as_ref(), &[], &[]).expect("no NUL byte");
        assert_eq!(bare, b"0\0/bin/cat\0");
        assert!(Described::read(&bare).is_some_and(|described| described.argv.is_empty()));
        assert_eq!(command_block("x".as_ref(), &["a\0b".into()], &[]), None);
        for cut in [&b""[..], b"\0", b"2\0/bin/cat\0cat\0", b"x\0/bin/cat\0", b"1\0/bin/cat\0cat"] {
            assert_eq!(Described::read(cut), None, "{cut:?}");
        }
    }
}
