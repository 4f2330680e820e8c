//! What lies around a line: the mode, exclusions, a wish to leave the sandbox, hosts, and what earlier commands of it
//! may have changed. Faults that people reported of permission engines, with the right answers.

use crate::fixture::{Session, all, path, said};
use palisade_permissions::shell::Shell;
use palisade_permissions::{Call, Context, Mode, excluded, judge_host};
use palisade_policy::{AbsPath, Endpoint, Host};

#[test]
fn reading_lines_pass_in_plan_mode() {
    all(
        &Session::new().mode(Mode::Plan),
        &["git log -3", "git show HEAD:f | head", "jq . f", "ls -la | wc -l"],
        "allow",
    );
    all(&Session::new().ask(&["Bash"]).mode(Mode::Plan), &["git log -3"], "ask a person");
}

#[test]
fn a_cd_to_a_known_directory_asks_nothing() {
    let session = Session::new().allow(&["Bash(cd *)", "Bash(git *)", "Bash(grep *)", "Bash(head *)"]);
    session.check("cd /w/repo && git grep -n x src/ 2>/dev/null | head -20", "allow");
    // Where this one leads is only known once it runs, so what reads there is asked about.
    session.check("cd \"$(git rev-parse --show-toplevel)\" && ls", "ask");
    session.check("cd \"$(git rev-parse --show-toplevel)\" && git status", "allow");
}

#[test]
fn excluded_commands_leave_the_sandbox_alone_and_in_full_sight() {
    let leaves = |patterns: &[&str], line: &str| {
        let session = Session::new().exclude(patterns);
        let root = path("/w/proj");
        let follow = |path: &AbsPath| path.clone();
        let context = Context {
            mode: Mode::Default,
            sandboxed: true,
            files_disabled: false,
            auto_allow: true,
            guardrails_want_approval: false,
            root: &root,
            working_directory: &root,
            home: None,
            directories: &[],
            shell: Shell::Bash,
            folds_case: false,
            follow: &follow,
        };
        excluded(&session.rules, line, &context).is_some()
    };
    for (patterns, line, expected) in [
        (&["gh *", "git *"][..], "gh api user", true),
        (&["gh *", "git *"], "git push", true),
        (&["gh *", "git *"], "git push && gh pr create", true),
        (&["linear:*"], "env | grep -i proxy", false),
        (&["linear:*"], "linear x", true),
        (&["docker"], "docker build .", false),
        (&["docker"], "docker", true),
        (&["docker:*"], "docker build .", true),
        (&["docker *"], "docker-compose up", false),
        (&["docker *"], "/usr/bin/docker ps", false),
        (&["git *"], "X=1 git status", false),
        (&["git *"], "NODE_ENV=test git status", true),
        (&["git *"], "bash -c \"git status; cat ~/s\"", false),
        (&["git *"], "env git status", false),
        (&["git *"], "./git status", false),
        (&["git *"], "git -c alias.x='!cat ~/s' x", false),
        (&["git *"], "cat ~/.aws/credentials; git status", false),
        (&["git *"], "git log > f", false),
        (&["git *"], "git log <<X\nX", false),
        (&["git *"], "git log $(cat x)", false),
        (&["git *"], "cd x && git log", false),
        (&["git *"], "git log 2>&1", true),
        (&["git *"], "git log <(cat x)", false),
        (&["*"], "cd /", false),
        (&["git *"], "select x in a; do git log; done", false),
        (&["git *"], "git() { cat x; }; git log", false),
    ] {
        assert_eq!(leaves(patterns, line), expected, "{patterns:?} and {line:?}");
    }
    // Leaving approves nothing.
    Session::sandboxed().exclude(&["gh *"]).check("gh api user", "ask");
    Session::sandboxed().exclude(&["gh *"]).ask(&["Bash(gh *)"]).check("gh api user", "ask a person");
}

#[test]
fn a_retry_outside_of_the_sandbox_is_never_silent() {
    use palisade_permissions::Input;
    let call = |line: &str| {
        let input = Input::Command { line: line.into(), hosts: Vec::new(), unsandboxed: true };
        Call { input, ..Call::command(line) }
    };
    let mut session = Session::sandboxed().mode(Mode::BypassPermissions);
    let outcome =
        |session: &Session, line| session.judge(&call(line), |verdict| (said(verdict), verdict.sandboxed));
    assert_eq!(outcome(&session, "npm test"), ("allow", false));
    assert_eq!(outcome(&session, "rm -rf ~"), ("ask a person", false));
    session.rules.allow_unsandboxed = false;
    assert_eq!(outcome(&session, "npm test"), ("allow", true));
    assert_eq!(outcome(&Session::sandboxed(), "npm test"), ("ask", false));
}

#[test]
fn hosts_that_no_list_decides_are_decided_by_the_mode() {
    let endpoint = Endpoint { host: Host::parse("x.dev").expect("a host"), port: 443 };
    for (mode, expected) in [
        (Mode::Default, "ask a person"),
        (Mode::AcceptEdits, "ask a person"),
        (Mode::Plan, "ask a person"),
        (Mode::Auto, "deny"),
        (Mode::DontAsk, "deny"),
        (Mode::BypassPermissions, "allow"),
    ] {
        assert_eq!(said(&judge_host(&Session::new().rules, &endpoint, mode)), expected, "{mode}");
        let allowed = Session::new().allow(&["WebFetch(domain:x.dev)"]).rules;
        assert_eq!(said(&judge_host(&allowed, &endpoint, mode)), "allow", "{mode}");
        let denied = Session::new().allow(&["WebFetch"]).deny(&["WebFetch(domain:*.dev)"]).rules;
        assert_eq!(said(&judge_host(&denied, &endpoint, mode)), "deny", "{mode}");
        let asked = Session::new().allow(&["WebFetch"]).ask(&["WebFetch(domain:x.dev)"]).rules;
        let answer = if mode == Mode::DontAsk { "deny" } else { "ask a person" };
        assert_eq!(said(&judge_host(&asked, &endpoint, mode)), answer, "{mode}");
    }
}

#[test]
fn the_mode_auto_leaves_broad_rules_out() {
    for rule in [
        "Bash",
        "Bash(python*)",
        "Bash(python3:*)",
        "Bash(npm run *)",
        "Bash(bash *)",
        "Bash(node *)",
        "Bash(npm *)",
        "Bash(* x)",
    ] {
        let line = "python3 x && npm run x && bash x && node x";
        Session::new().allow(&[rule, "Bash(foo x)"]).mode(Mode::Auto).check(line, "ask");
    }
    Session::new()
        .allow(&["Bash(npm run build)", "Bash(cargo test *)"])
        .mode(Mode::Auto)
        .check("npm run build && cargo test x", "allow");
}

#[test]
fn what_only_steers_the_shell_needs_no_rule() {
    let session = Session::new().allow(&["Bash(npm test *)"]);
    let lines = [
        "npm test || exit 1",
        "set -e; npm test",
        "set -euo pipefail\nnpm test",
        "for x in a b; do npm test && break; done",
        "npm test & wait",
    ];
    all(&session, &lines, "allow");
    all(
        &session,
        &["set -a; npm test", "set -k; npm test", "set -o posix; npm test", "set -- x; npm test", "exit $X"],
        "ask",
    );
}

#[test]
fn what_could_change_the_program_of_a_later_command_is_not_passed_over() {
    let session = Session::new().allow(&["Bash(npm test *)"]);
    let lines = [
        "for PATH in ./evil; do npm test; done",
        "read PATH < x; npm test",
        "printf -v PATH x; npm test",
        "npm() { evil; }; npm test",
        "alias npm=evil; npm test",
        "unset PATH; npm test",
        "IFS=x; npm test",
        "BASH_ENV=x; npm test",
        "let PATH=1; npm test",
        "cd /evil && npm test",
        "export PATH=x; npm test",
    ];
    all(&session, &lines, "asks");
    all(&Session::sandboxed(), &lines[..4], "asks");
}

#[test]
fn an_input_that_shows_a_variable_is_no_mere_reading() {
    all(
        &Session::new(),
        &["cat <<E\n$SECRET\nE", "cat <<< $SECRET", "cat <<< \"$SECRET\"", "cat < /etc/passwd"],
        "ask",
    );
    all(
        &Session::new(),
        &["cat <<'E'\n$x\nE", "cat <<E\nx\nE", "cat <<< x", "cat < x", "cat < /dev/null"],
        "allow",
    );
}
