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
