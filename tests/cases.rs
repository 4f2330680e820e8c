//! Single cases in which other sandboxes were found wanting, each by settings and a shell line, and what must come
//! of it. Whatever belongs to a larger subject stands with that subject.

use palisade_tests::{Origin, Project};
use serde_json::{Value, json};

/// What must come of a case.
struct Expected {
    status: Option<i32>,
    stdout: &'static str,
    /// Words of standard error.
    said: &'static [&'static str],
}

fn ends(status: i32, stdout: &'static str) -> Expected {
    Expected { status: Some(status), stdout, said: &[] }
}

/// It must fail, with any status but 0.
fn fails(stdout: &'static str, said: &'static [&'static str]) -> Expected {
    Expected { status: None, stdout, said }
}

/// Runs each case in a project of its own. `PORT` in settings and lines is that of a server that answers; `$OUT` is
/// the directory next to the root, which must stay empty.
fn check(cases: &[(Value, &str, Expected)]) {
    let origin = Origin::start();
    let with_port = |text: &str| text.replace("PORT", &origin.port().to_string());
    for (sandbox, line, expected) in cases {
        let Some(project) = Project::where_it_works() else { return };
        let sandbox: Value = serde_json::from_str(&with_port(&sandbox.to_string())).expect("still JSON");
        let run = project.run().env("OUT", project.outside()).sandbox(sandbox).line(with_port(line));
        match expected.status {
            Some(status) => assert_eq!(run.status, status, "{line}: {run:#?}"),
            None => assert_ne!(run.status, 0, "{line}: {run:#?}"),
        }
        assert_eq!(run.stdout, expected.stdout, "{line}: {run:#?}");
        for said in expected.said {
            assert!(run.stderr.contains(said), "{line}: {said:?} is missing: {run:#?}");
        }
        assert_eq!(std::fs::read_dir(project.outside()).expect("own directory").count(), 0, "{line}");
    }
}

/// Keys that make other sandboxes weaker are left out with a warning, and make this one no weaker.
#[test]
fn no_setting_weakens_the_sandbox() {
    let write_outside = "echo ran; echo evil > $OUT/f";
    let by_proxy = "curl -s -o /dev/null -w '%{http_code}' -m 10 http://other.example/";
    check(&[
        (
            json!({ "enableWeakerNestedSandbox": true }),
            write_outside,
            fails("ran\n", &["sandbox.enableWeakerNestedSandbox: left out", "Read-only file system"]),
        ),
        (
            json!({ "enableWeakerNetworkIsolation": true, "enabled": false }),
            write_outside,
            fails("ran\n", &["sandbox.enableWeakerNetworkIsolation: left out", "Read-only file system"]),
        ),
        (
            json!({ "excludedCommands": ["echo *"], "allowUnsandboxedCommands": true, "failIfUnavailable": false }),
            write_outside,
            fails("ran\n", &["Read-only file system"]),
        ),
        (
            json!({ "allowNestedUserNamespaces": true }),
            "unshare -Ur id -u",
            fails("", &["sandbox.allowNestedUserNamespaces: left out", "Operation not permitted"]),
        ),
        (
            json!({ "network": { "httpProxyPort": 1, "socksProxyPort": 1 } }),
            by_proxy,
            Expected {
                status: Some(0),
                stdout: "403",
                said: &["httpProxyPort: left out", "socksProxyPort: left out"],
            },
        ),
        (
            json!({ "network": { "parentProxy": { "http": "http://127.0.0.1:PORT" } } }),
            by_proxy,
            Expected { status: Some(0), stdout: "403", said: &["sandbox.network.parentProxy"] },
        ),
        (
            json!({ "network": { "strictAllowlist": true, "allowedDomains": ["allowed.example"] } }),
            by_proxy,
            ends(0, "403"),
        ),
    ]);
}

#[test]
fn hosts_are_matched_by_name_and_port() {
    let get = "curl -s -m 10 --noproxy '' -x $HTTP_PROXY -w ' %{http_code}'";
    let allowed = |hosts: &[&str]| json!({ "network": { "allowedDomains": hosts } });
    let denied =
        |hosts: &[&str]| json!({ "network": { "allowedDomains": ["127.0.0.1"], "deniedDomains": hosts } });
    let line = |target: &str| {
        format!("{get} http://{target} | head -1 | cut -d: -f1 | sed 's/^palisade.*/refused/'")
    };
    for (sandbox, target, stdout) in [
        (allowed(&["127.0.0.1"]), "127.0.0.1:PORT/any", "origin-ok /any\n"),
        (allowed(&["127.0.0.1:PORT"]), "127.0.0.1:PORT/first", "origin-ok /first\n"),
        (allowed(&["127.0.0.1:PORT"]), "127.1:PORT/short", "origin-ok /short\n"),
        (allowed(&["127.0.0.1:PORT"]), "2130706433:PORT/number", "origin-ok /number\n"),
        (allowed(&["*.localhost:PORT"]), "a.b.localhost:PORT/below", "origin-ok /below\n"),
    ] {
        check(&[(sandbox, &line(target), ends(0, stdout))]);
    }
    for (sandbox, target) in [
        (allowed(&["127.0.0.1:1"]), "127.0.0.1:PORT/"),
        (allowed(&["*.localhost:PORT"]), "localhost:PORT/"),
        (allowed(&["*.example"]), "example/"),
        (denied(&["127.0.0.1:PORT"]), "127.0.0.1:PORT/"),
        (denied(&["127.0.0.1"]), "2130706433:PORT/"),
        (denied(&["127.0.0.1"]), "0x7f.1:PORT/"),
    ] {
        let code = format!(
            "curl -s -m 10 --noproxy '' -x $HTTP_PROXY -o /dev/null -w '%{{http_code}}' http://{target}"
        );
        check(&[(sandbox, &code, ends(0, "403"))]);
    }
}

/// A program is what it is called; nothing is split into words that a shell did not read.
#[test]
fn a_line_in_one_word_is_a_program_that_does_not_exist() {
    let Some(project) = Project::where_it_works() else { return };
    let run = project.run().argv(["echo a b"]);
    assert_eq!((run.status, run.stdout.as_str()), (127, ""), "{run:#?}");
    assert!(run.stderr.contains("a line for the shell is given with -c"), "{run:#?}");
    let run = project.run().argv(["no-such-program", "a b"]);
    assert!(run.status == 127 && !run.stderr.contains("-c"), "{run:#?}");
    let tool = project.write("a b", "#!/bin/sh\nprintf '[%s]' \"$@\"\n");
    std::fs::set_permissions(tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("own file");
    assert_eq!(project.run().argv(["./a b", "", "-c", "c d"]).ok().stdout, "[][-c][c d]");
}

#[test]
fn nothing_inside_looks_names_up() {
    check(&[(json!({}), "getent hosts name.example || echo none", ends(0, "none\n"))]);
}

#[test]
fn what_is_protected_cannot_be_unmounted() {
    let Some(project) = Project::where_it_works() else { return };
    project.write("kept/f", "orig\n");
    project.write("secret", "s3cret");
    let rules = json!({ "filesystem": { "denyWrite": ["kept"], "denyRead": ["secret"] } });
    let line = "umount kept; umount -l kept; umount secret; umount -l \"$PWD\"; \
                mount --bind /tmp kept; mount -o remount,rw kept; mount -t tmpfs none kept; \
                cat secret; echo evil > kept/f; echo evil > kept/new";
    let run = project.run().sandbox(rules).line(line);
    assert!(run.status != 0 && run.stdout.is_empty(), "{run:#?}");
    assert_eq!(project.tree(), ["kept", "kept/f", "secret"]);
    assert_eq!(project.read("kept/f"), "orig\n");
}

/// Each is a mount, and bubblewrap has a limit and slows down: what is within the limit works.
#[test]
fn hundreds_of_rules_are_one_command() {
    let Some(project) = Project::where_it_works() else { return };
    let names: Vec<String> = (0..150).map(|number| format!("d{number}/f")).collect();
    for name in &names {
        project.write(name, "orig\n");
    }
    let missing: Vec<String> = (0..150).map(|number| format!("m{number}/f")).collect();
    let before = project.tree();
    let rules = json!({ "filesystem": { "denyWrite": names.iter().chain(&missing).collect::<Vec<_>>() } });
    let line = "for d in d*; do echo evil > $d/f && echo written; done; for m in $(seq 0 149); do mkdir m$m && echo made; done; echo end";
    let run =
        project.run().sandbox(rules).line(format!("{{ {line}; }} 2> errors; wc -l < errors; rm errors"));
    assert_eq!(run.ok().stdout, "end\n300\n");
    assert_eq!(project.tree(), before);
}

#[test]
fn programs_that_need_more_rights_fail_as_such() {
    let Some(project) = Project::where_it_works() else { return };
    for line in [
        "sudo -n true",
        "su -c true",
        "ping -c1 127.0.0.1",
        "chroot / true",
        "mknod d b 8 0",
        "swapon /dev/null",
    ] {
        let run = project.line(&format!("{line} > /dev/null; echo $?; id -u"));
        let (status, user) = run.stdout.trim_end().split_once('\n').expect("two lines");
        assert_eq!(user, nix::unistd::geteuid().to_string(), "{line}: {run:#?}");
        assert_ne!(status, "0", "{line}: {run:#?}");
    }
    assert_eq!(project.tree(), [""; 0]);
}
