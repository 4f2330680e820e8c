//! The command policy of agents, and what went past it when it was compared word by word.

use crate::fixture::{Session, said};
use palisade_permissions::{AgentMode, Call, Context, Mode, judge_agent, shell::Shell};
use palisade_policy::AbsPath;

#[track_caller]
fn check(mode: AgentMode, line: &str, expected: &str) {
    let root = AbsPath::new("/w/proj").expect("a path");
    let follow = |path: &AbsPath| path.clone();
    let context = Context {
        mode: Mode::Default,
        sandboxed: false,
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
    let rules = mode.rules();
    let verdict = judge_agent(&rules, &Call::command(line), &context);
    assert_eq!(said(&verdict), expected, "{line:?} in {mode}: {}", verdict.reason);
}

#[test]
fn what_takes_the_machine_down_is_refused_in_every_mode() {
    let lines = [
        "sudo ls",
        "rm -rf /",
        "rm -fr /",
        "rm -r -f /",
        "rm -rf /*",
        "rm / -rf",
        "shutdown now",
        "reboot",
        "systemctl poweroff",
        "systemctl --force reboot",
        "mkfs.ext4 /dev/sda",
        "fdisk /dev/sda",
        "dd if=/dev/zero of=x",
        "dd of=/dev/sda",
        "docker run -v /:/host x",
        "docker --debug run --rm -v /:/host x",
        "docker run --privileged x",
        "chroot x",
        "unshare -r",
        "nsenter -t 1",
        "/sbin/reboot",
        "init 0",
        // Each of these hid the command once.
        "ls\nsudo ls",
        "ls & sudo ls",
        "echo $(sudo ls)",
        "echo `sudo ls`",
        "(sudo ls)",
        "FOO=1 sudo ls",
        "env sudo ls",
        "nice -n 5 sudo ls",
        "timeout 5 sudo ls",
        "echo x | xargs sudo",
        "find . -exec sudo ls {} \\;",
        "\\sudo ls",
        "su\"\"do ls",
        "bash -c 'sudo ls'",
        "sh -ec 'sudo ls'",
        "if true; then sudo ls; fi",
        "bash --norc -c 'reboot'",
    ];
    for line in lines {
        for mode in AgentMode::ALL {
            check(mode, line, "deny");
        }
    }
}

#[test]
fn what_others_see_is_asked_about_or_refused() {
    let lines = [
        "git push",
        "git -C x push",
        "git reset --hard",
        "git reset -q --hard HEAD",
        "git clean -fdx",
        "npm publish",
        "cargo publish",
        "gh pr create",
        "gh repo delete x",
        "docker run x",
        "npm install",
        "npm i x",
        "pip install x",
        "cargo add x",
        "cd x && git push",
        "git commit -m x; git push",
    ];
    for line in lines {
        check(AgentMode::Chat, line, "ask a person");
        for mode in [AgentMode::Review, AgentMode::Plan, AgentMode::Orchestrate] {
            check(mode, line, "deny");
        }
    }
}

#[test]
fn what_changes_the_project_is_refused_to_those_who_look() {
    for line in [
        "git add .",
        "git commit -m x",
        "git merge x",
        "git rebase x",
        "git checkout -- a",
        "git reset",
        "docker ps",
        "kubectl get pods",
        "terraform plan",
    ] {
        check(AgentMode::Chat, line, "allow");
        for mode in [AgentMode::Review, AgentMode::Plan, AgentMode::Orchestrate] {
            check(mode, line, "deny");
        }
    }
    for mode in AgentMode::ALL {
        for line in ["ls", "cargo test", "git status && git diff | head", "bash x", "git checkout main"] {
            check(mode, line, "allow");
        }
        // It reads its code from its input, which may be anything.
        check(mode, "bash --rcfile x", "ask a person");
        assert_eq!(mode.is_writing(), mode == AgentMode::Chat);
    }
}

#[test]
fn a_question_that_nobody_answers_is_a_refusal() {
    use palisade_permissions::{Answerer, DecidedBy, Decision, Verdict};
    use palisade_policy::Effect;
    let session = Session::new().ask(&["Bash(git push *)"]);
    let decided = |decision: Option<Decision>| {
        let mut decider = |_: &Verdict<'_>, _: Answerer| decision.clone();
        session.judge(&Call::command("git push"), |verdict| verdict.decide(&mut decider))
    };
    let by = |effect, by| Decision { effect, by };
    assert_eq!(decided(None), by(Effect::Deny, DecidedBy::Nobody));
    assert_eq!(decided(Some(by(Effect::Allow, DecidedBy::Person))), by(Effect::Allow, DecidedBy::Person));
    // Neither a classifier nor a hook answers for a person.
    assert_eq!(decided(Some(by(Effect::Allow, DecidedBy::Classifier))), by(Effect::Deny, DecidedBy::Nobody));
    assert_eq!(decided(Some(by(Effect::Allow, DecidedBy::Hook))), by(Effect::Deny, DecidedBy::Nobody));
    assert_eq!(decided(Some(by(Effect::Deny, DecidedBy::Hook))), by(Effect::Deny, DecidedBy::Hook));
    let inside = Session::sandboxed().judge(&Call::command("npm test"), |verdict| {
        verdict.decide(&mut |_: &Verdict<'_>, _: Answerer| None)
    });
    assert_eq!(inside, by(Effect::Allow, DecidedBy::Sandbox));
}
