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
//! environment; the variables come as data through a descriptor, and count from the `exec` on. Nothing
//! else runs in the sandbox before that, and every descriptor but 0, 1 and 2 is closed by then.

use super::sys;
use nix::errno::Errno;
use std::convert::Infallible;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

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
        use rustix::fs::{Mode, OFlags};
        let file = rustix::fs::open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Entry { file, ignored: ignored_signals(&std::fs::read_to_string("/proc/self/status")?) })
    }

    /// What bubblewrap is to run: the entry, told to execute `program` as `argv` with the
    /// variables of descriptor `variables_fd`.
    pub(super) fn argv(
        &self,
        entry_fd: i32,
        variables_fd: i32,
        program: OsString,
        argv: Vec<OsString>,
    ) -> Vec<OsString> {
        let mut all = vec![
            format!("/proc/self/fd/{entry_fd}").into(),
            MARK.into(),
            variables_fd.to_string().into(),
            self.ignored.to_string().into(),
            program,
        ];
        all.extend(argv);
        all
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

/// The variables as the entry reads them: `name=value`, each ended by a NUL byte.
pub(super) fn variables_block(variables: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    variables.iter().flat_map(|(name, value)| [name, &b"="[..], value, b"\0"].concat()).collect()
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
    let [variables, ignored, program, argv @ ..] = words else { return Err(internal("too few arguments")) };
    let number = |word: &OsString| word.to_str().and_then(|text| text.parse::<u64>().ok());
    let fd =
        number(variables).and_then(|fd| i32::try_from(fd).ok()).ok_or_else(|| internal("no descriptor"))?;
    let ignored = number(ignored).ok_or_else(|| internal("no signal mask"))?;
    let variables = read_variables(fd).map_err(|error| internal(&error.to_string()))?;
    let path = CString::new(program.as_bytes()).map_err(|_| internal("a NUL byte"))?;
    let argv =
        c_strings(argv.iter().map(|word| word.clone().into_vec())).map_err(|_| internal("a NUL byte"))?;
    sys::close_all_others();
    sys::reset_signals(ignored).map_err(|error| internal(&error.to_string()))?;
    let error = execute(&path, &argv, &variables);
    let status = if error == Errno::ENOENT { NOT_FOUND } else { CANNOT_EXECUTE };
    Err((status, format!("cannot run {}: {}", program.to_string_lossy().escape_debug(), error.desc())))
}

fn read_variables(fd: i32) -> io::Result<Vec<CString>> {
    let mut block = Vec::new();
    File::from(sys::adopt(fd)?).read_to_end(&mut block)?;
    let entries = block.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
    c_strings(entries.map(<[u8]>::to_vec)).map_err(io::Error::other)
}

fn c_strings(words: impl Iterator<Item = Vec<u8>>) -> Result<Vec<CString>, std::ffi::NulError> {
    words.map(CString::new).collect()
}

/// Executes `argv`; a file that is no program of a known kind is a script for `sh`, as `execvp` has it.
fn execute(path: &CString, argv: &[CString], variables: &[CString]) -> Errno {
    let Err(error) = nix::unistd::execve(path, argv, variables);
    if error != Errno::ENOEXEC {
        return error;
    }
    let shell = CString::from(c"/bin/sh");
    let mut script = vec![shell.clone(), path.clone()];
    script.extend(argv.iter().skip(1).cloned());
    let Err(error) = nix::unistd::execve(&shell, &script, variables);
    error
}

/// Whether `name` can be a variable of the block: not empty, without `=` and NUL.
pub(super) fn is_variable_name(name: &OsStr) -> bool {
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
    fn variables_are_ended_by_nul() {
        let block = variables_block(&[(b"A".to_vec(), b"x=\ny".to_vec()), (b"B".to_vec(), Vec::new())]);
        assert_eq!(block, b"A=x=\ny\0B=\0");
    }
}
