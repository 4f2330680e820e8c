//! Whether some sandbox still has mounts at given paths, whoever started it.
//!
//! What the attacker controls: when the process that watches over a sandbox is killed, its locks go at once, but the
//! sandbox a moment later; by many busy processes a command makes that moment longer. Whoever then removed on the host
//! what a mount covers would remove the mount with it (the kernel detaches it in every namespace), and what is left of
//! the command could make a file there. So the mounts themselves are looked at. A process that was killed, but is still
//! listed with its mounts, runs no code of the command's any more; to wait for its end is to be sure.

use super::channels::wait_readable;
use super::verify::mount_points;
use palisade_policy::AbsPath;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Waits, at most for `limit`, until no process of another mount namespace than this one's has anything mounted at one
/// of `paths`. `false` when one still has. What cannot be looked at belongs to somebody else.
///
/// # Errors
/// Where `/proc` cannot be read, or a process cannot be waited for.
pub fn wait_until_unmounted(paths: &HashSet<&AbsPath>, limit: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + limit;
    while let Some(pid) = process_with(paths)? {
        match pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from) {
            Ok(process) if !has_ended_by(&process, deadline)? => return Ok(false),
            // One that has ended is not listed any more, or a number has been reused.
            _ if Instant::now() > deadline => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}

fn has_ended_by(process: &OwnedFd, deadline: Instant) -> io::Result<bool> {
    wait_readable(process.as_fd(), deadline)
}

/// Any process that has something mounted at one of `paths`, and lives in another mount namespace than this one.
fn process_with(paths: &HashSet<&AbsPath>) -> io::Result<Option<Pid>> {
    let mut known: HashSet<PathBuf> = std::fs::read_link("/proc/self/ns/mnt").into_iter().collect();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        let number = pid.as_raw_nonzero().get().unsigned_abs();
        let Ok(namespace) = std::fs::read_link(format!("/proc/{number}/ns/mnt")) else { continue };
        if known.contains(&namespace) {
            continue;
        }
        let Ok(points) = mount_points(number) else { continue };
        if points.iter().any(|point| paths.contains(point)) {
            return Ok(Some(pid));
        }
        known.insert(namespace);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn a_mount_of_another_namespace_is_seen_until_its_last_process_ends() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let real = std::fs::canonicalize(directory.path()).expect("exists");
        let at = |name: &str| AbsPath::try_from(real.join(name).as_path()).expect("absolute");
        for name in ["mounted", "other"] {
            std::fs::write(at(name).as_path(), "").expect("own directory");
        }
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        command.arg("mount --bind \"$0\" \"$0\" && echo mounted && exec cat").arg(at("mounted").as_path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("unshare starts");
        let mut said = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut said).expect("readable");
        if said != "mounted\n" {
            // Namespaces cannot be made here.
            child.wait().expect("own child");
            return;
        }
        let (mounted, other) = (at("mounted"), at("other"));
        let waited = |path, limit| wait_until_unmounted(&[path].into(), limit).expect("a /proc to look at");
        assert!(waited(&other, Duration::ZERO));
        assert!(!waited(&mounted, Duration::ZERO));
        let end = std::thread::spawn(move || {
            drop(child.stdin.take());
            child.wait()
        });
        assert!(waited(&mounted, Duration::from_secs(60)));
        end.join().expect("no panic").expect("own child");
    }
}
