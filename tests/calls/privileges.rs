//! No process inside holds a capability, whoever runs it, or can come by one.

use palisade_tests::{Project, Tools};

/// One line of `/proc/PID/status` that every process inside has.
pub(super) const EXPECTED: [(&str, &str); 7] = [
    ("CapInh", "0000000000000000"),
    ("CapPrm", "0000000000000000"),
    ("CapEff", "0000000000000000"),
    ("CapBnd", "0000000000000000"),
    ("CapAmb", "0000000000000000"),
    ("NoNewPrivs", "1"),
    ("Seccomp", "2"),
];

#[test]
fn every_process_inside_is_without_capabilities_and_under_the_filter() {
    let Some(project) = Project::where_it_works() else { return };
    let line = "for status in /proc/[0-9]*/status; do echo $status; cat $status; done; python3 -c \"print(open('/proc/self/status').read())\"";
    let run = project.line(line).ok();
    assert!(run.stdout.contains("/proc/2/status\n"), "the command is among them: {run:?}");
    for (name, value) in EXPECTED {
        let values: Vec<&str> =
            run.stdout.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(":\t")).collect();
        assert!(values.len() >= 2, "{name}: {run:?}");
        assert!(values.iter().all(|found| *found == value), "{name}: {values:?}");
    }
}

#[test]
fn the_helper_in_either_linkage_finds_no_capability() {
    let Some(project) = Project::where_it_works() else { return };
    for program in [&Tools::here().attempt, &Tools::here().attempt_static] {
        let run = project.run().argv([program.as_os_str(), "--caps".as_ref()]).ok();
        let expected: String = EXPECTED
            .iter()
            .filter(|(name, _)| name.starts_with("Cap"))
            .map(|(name, value)| format!("{name}:\t{value}\n"))
            .collect();
        assert_eq!(run.stdout, expected);
    }
}

/// Who a command is stays as it was, and so does what it may do to other people's files.
#[test]
fn the_user_is_the_callers_and_cannot_become_another() {
    let Some(project) = Project::where_it_works() else { return };
    let user = nix::unistd::geteuid();
    assert_eq!(project.line("id -u; stat -c %u .").ok().stdout, format!("{user}\n{user}\n"));
    let run = project.line("python3 -c 'import os; os.setgroups([])' || python3 -c 'import os; os.setuid(1)' || python3 -c 'import os; os.chown(\".\", 1, 1)'");
    assert_eq!(
        run.stderr.matches("Error: [Errno 1] Operation not permitted").count()
            + run.stderr.matches("Error: [Errno 22]").count(),
        3,
        "{run:?}"
    );
}

/// Whoever runs such a file outside would become the command's user. Nothing of the kind is there for a moment.
#[test]
fn no_file_is_made_to_lend_its_users_rights() {
    let Some(project) = Project::where_it_works() else { return };
    let python = "import os\n\
                  file = os.open('f', os.O_RDWR)\n\
                  for change in (lambda: os.chmod('f', 0o4755), lambda: os.fchmod(file, 0o6755),\n\
                  \x20              lambda: os.chmod('f', 0o104700, dir_fd=os.open('.', os.O_RDONLY))):\n\
                  \x20try: change(); print('changed')\n\
                  \x20except OSError as error: print(error.strerror)";
    let run = project.run().env("PYTHON", python);
    let run = run.line("echo text > f; chmod 644 f; python3 -c \"$PYTHON\"; chmod u+s f; stat -c %a f; chmod 2755 f; mkdir -m 2750 d; stat -c %a f d");
    let refused = "Operation not permitted\n".repeat(3);
    assert_eq!(run.stdout, format!("{refused}644\n2755\n2750\n"), "{run:?}");
    assert!(run.stderr.contains("chmod: changing permissions of 'f': Operation not permitted"), "{run:?}");
}

/// One that is created so is empty, and loses the bit with the first byte, however that comes.
#[test]
fn a_file_created_with_its_users_rights_loses_them_when_it_is_written() {
    let Some(project) = Project::where_it_works() else { return };
    let python = "import mmap, os\n\
                  def lengthened(file): os.truncate(file, 4096); mmap.mmap(file, 4096)[:4] = b'evil'\n\
                  def allocated(file): os.posix_fallocate(file, 0, 4096); mmap.mmap(file, 4096)[:4] = b'evil'\n\
                  def copied(file): os.copy_file_range(os.open('text', os.O_RDONLY), file, 4)\n\
                  def sent(file): os.sendfile(file, os.open('text', os.O_RDONLY), 0, 4)\n\
                  os.umask(0); open('text', 'w').write('evil')\n\
                  for way in (lambda file: os.write(file, b'evil'), lengthened, allocated, copied, sent):\n\
                  \x20file = os.open('f', os.O_RDWR | os.O_CREAT, 0o4755)\n\
                  \x20way(file); print(oct(os.fstat(file).st_mode), os.pread(file, 4, 0)); os.unlink('f')";
    let run = project.run().env("PYTHON", python).line("python3 -c \"$PYTHON\"").ok();
    assert_eq!(run.stdout, "0o100755 b'evil'\n".repeat(5), "{run:?}");
}
