//! Machines whose file systems, `/proc` and rights are not as usual, made by bubblewrap around `palisade`.

use super::{Ends, Fails, Works, assert_ends, behind, shell, trying, words};
use palisade_tests::{Project, Tools};
use serde_json::json;
use std::ffi::OsString;

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The host, but for what `options` mount.
fn host_with(options: &str) -> Vec<OsString> {
    words(&format!("bwrap --dev-bind / / {options} --"))
}

/// Hides a file of a fresh `/proc`, as container runtimes do.
const MASKED: &str = "--unshare-pid --proc /proc --ro-bind /dev/null /proc/version";

#[test]
fn odd_mounts_do_not_matter_or_are_named() {
    let Some(project) = Project::where_it_works() else { return };
    let home = project.home();
    let home = home.display();
    for (options, ends) in [
        ("--unshare-net", Works),
        ("--unshare-ipc --unshare-uts", Works),
        ("--dev /dev", Works),
        ("--tmpfs /run", Works),
        // What was mounted below is covered, and writable.
        ("--tmpfs /sys", Works),
        (&format!("--tmpfs {home}"), Works),
        (&format!("--ro-bind {home} {home}"), Works),
        (&format!("--tmpfs {0} --chdir {0}", project.root().display()), Works),
        (MASKED, Fails("SANDBOX_UNAVAILABLE", "systempaths=unconfined")),
        ("--tmpfs /proc", Fails("SANDBOX_LAUNCH", "/proc")),
    ] {
        let output = behind(host_with(options), &trying(&project).into_command());
        assert_ends(options, &project, &output, &ends);
    }
}

/// That the sandbox cannot be built shows only while it is being built.
#[test]
fn without_a_fresh_proc_the_settings_may_let_a_command_run_without_the_sandbox() {
    let Some(project) = Project::where_it_works() else { return };
    let run =
        project.run().sandbox(json!({ "failIfUnavailable": false })).options(["--json", "-c", "echo ran"]);
    let output = behind(host_with(MASKED), &run.into_command());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ran\n"[..]), "{stderr}");
    assert!(stderr.contains("WITHOUT the sandbox"), "{stderr}");
    assert!(stderr.contains(r#""sandboxed":false,"unsandboxed_reason":"unavailable""#), "{stderr}");
}

/// The host with another `/tmp`, in which only the project and `palisade` itself are to be seen.
fn host_with_tmp(project: &Project, mode: &str, size: u32, then: &str) -> Vec<OsString> {
    let palisade = &Tools::here().palisade;
    // What cargo built has two names.
    let copy = project.base().join("palisade");
    std::fs::copy(palisade, &copy).expect("own directory");
    let seen = format!("--bind {0} {0} --ro-bind {1} {2}", base(project), copy.display(), palisade.display());
    host_with(format!("--perms {mode} --size {size} --tmpfs /tmp {seen} {then}").trim_end())
}

fn base(project: &Project) -> String {
    std::fs::canonicalize(project.base()).expect("it exists").display().to_string()
}

#[test]
fn a_tmp_that_cannot_be_used_is_named() {
    let Some(project) = Project::where_it_works() else { return };
    const ROOM: u32 = 64 << 10;
    let fill = || shell("head -c 1000000 /dev/zero > /tmp/fill 2> /dev/null");
    for (what, mode, size, then, inside, ends) in [
        ("small", "1777", ROOM, "", Vec::new(), Works),
        ("of this user alone", "0700", ROOM, "", Vec::new(), Works),
        ("full", "1777", ROOM, "", fill(), Fails("SANDBOX_SHORTAGE", "no room left")),
        ("read-only", "1777", ROOM, "--remount-ro /tmp", Vec::new(), Fails("SANDBOX_SCRATCH", "/tmp")),
        ("open to all", "0777", ROOM, "", Vec::new(), Fails("SANDBOX_SCRATCH", "chmod +t")),
    ] {
        let words = host_with_tmp(&project, mode, size, then).into_iter().chain(inside);
        assert_ends(what, &project, &behind(words, &trying(&project).into_command()), &ends);
    }
}

/// The root and the command's temporary directory lie below it, and are there all the same.
#[test]
fn a_tmp_may_be_hidden() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "echo root > made; mktemp > \"$TMPDIR/made\"; cat made; test -s \"$TMPDIR/made\" && echo temporary; ls /tmp";
    let run = project.run().options(["--deny-read", "/tmp", "-c", line]);
    let output = behind(host_with_tmp(&project, "1777", 64 << 10, ""), &run.into_command());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout, "root\ntemporary\n", "{stderr}");
    assert!(stderr.contains("'/tmp': Permission denied"), "{stderr}");
}

/// Programs there cannot be executed; everything else is as ever. (An ordinary user has all capabilities in this machine,
/// as some containers give them.)
#[test]
fn a_tmp_without_programs_will_do() {
    let Some(project) = Project::where_it_works() else { return };
    let mount = "exec 7< \"$0\" 8< \"$1\"; mount -t tmpfs -o noexec,mode=1777 none /tmp; \
                 mkdir -p \"$0\"; mount -c --bind /proc/self/fd/7 \"$0\"; \
                 test -e \"$1\" || { mkdir -p \"${1%/*}\"; : > \"$1\"; mount -c --bind /proc/self/fd/8 \"$1\"; }; \
                 cd \"$0/root\"; exec 7<&- 8<&-; exec \"$@\"";
    let mut words = words("unshare --user --map-current-user --keep-caps --mount sh -c");
    words.extend([mount.into(), base(&project).into()]);
    let output = behind(words, &trying(&project).into_command());
    assert_ends("noexec", &project, &output, &Works);
}

/// A tree in which system directories are links: `/tmp`, `/bin`, `/lib64`, `/var/run`, `/etc/resolv.conf`.
#[test]
fn system_directories_may_be_links() {
    let Some(project) = Project::where_it_works() else { return };
    let is_merged = std::fs::symlink_metadata("/bin").is_ok_and(|entry| entry.is_symlink());
    if !is_merged {
        return;
    }
    let palisade = Tools::here().palisade.display();
    let tree = format!(
        "bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib \
         --symlink usr/lib64 /lib64 --ro-bind /etc/passwd /etc/passwd --ro-bind-try /etc/alternatives /etc/alternatives \
         --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind-try /etc/ssl /etc/ssl --dev-bind /dev /dev --bind /proc /proc \
         --ro-bind /etc/resolv.conf /run/resolv.conf --symlink ../run/resolv.conf /etc/resolv.conf \
         --perms 1777 --dir /big/tmp --symlink big/tmp /tmp --dir /var --symlink ../run /var/run \
         --bind {0} {0} --ro-bind {palisade} {palisade} --",
        base(&project)
    );
    // Whose `/` it is could put an administrator's settings there.
    let ends: Ends = if is_root() { Works } else { Fails("SETTINGS_INVALID", "belongs to user") };
    let output = behind(words(&tree), &trying(&project).into_command());
    assert_ends("links", &project, &output, &ends);
}

/// Under a filter that lets everything through.
#[test]
fn another_filter_does_not_matter() {
    let Some(project) = Project::where_it_works() else { return };
    let program = project.outside().join("filter");
    // Return, allow.
    let allow = [&6u16.to_ne_bytes()[..], &[0, 0], &0x7fff_0000_u32.to_ne_bytes()].concat();
    std::fs::write(&program, allow).expect("own directory");
    let mut words = shell(&format!("exec 8< {}", program.display()));
    words.extend(host_with("--seccomp 8"));
    assert_ends("filter", &project, &behind(words, &trying(&project).into_command()), &Works);
}

#[test]
fn root_without_rights_is_told_so() {
    let Some(project) = Project::where_it_works() else { return };
    if is_root() {
        let output = behind(words("setpriv --bounding-set=-all"), &trying(&project).into_command());
        assert_ends("bounded", &project, &output, &Fails("SANDBOX_UNAVAILABLE", "container"));
    }
}

/// A process that is of two users at once, as a set-user-ID program's, is confined as neither.
#[test]
fn rights_of_two_users_are_refused() {
    let Some(project) = Project::where_it_works() else { return };
    if !is_root() {
        return;
    }
    let become_two = "import os, sys; os.setresuid(65534, 0, 0); os.execvp(sys.argv[1], sys.argv[1:])";
    let words = ["python3", "-c", become_two].map(OsString::from);
    let output = behind(words, &trying(&project).into_command());
    assert_ends("set-user-ID", &project, &output, &Fails("SANDBOX_LAUNCH", "set-user-ID"));
}

/// Sets itself as who inherits orphans, runs its arguments five times, and shows what these left it besides their status.
const INHERITS: &str = "import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
ended = [subprocess.run(sys.argv[1:]).returncode for _ in range(5)]
while True:
    try: ended.append(os.waitpid(-1, 0))
    except ChildProcessError: break
print(ended)";

/// As in a container whose process 1 waits for no children but its own.
#[test]
fn no_zombie_is_left_to_whoever_inherits_orphans() {
    let Some(project) = Project::where_it_works() else { return };
    let run = project.run().options(["-c", "sleep 100 & true"]).into_command();
    let output = behind(["python3", "-c", INHERITS], &run);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[0, 0, 0, 0, 0]\n");
}
