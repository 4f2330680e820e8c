//! What must hold of a verdict, whatever the line: there is one, the same each time, and a line that is handed to
//! another shell, or stands in a group, never gets a laxer one than by itself.
//!
//! Rules that are compared with the line as it is written have no part in this: such a rule sees another line. Where a
//! file is denied, it may no longer be certain which file is meant: then a question is enough.

use palisade_permissions::shell::{Shell, read};
use palisade_permissions::{
    Answer, Call, Context, List, Mode, PermissionRule, Rule, RuleAnchor, RuleSet, judge,
};
use palisade_policy::{AbsPath, Origin};

pub(crate) fn run(line: &[u8]) {
    let Ok(line) = str::from_utf8(line) else { return };
    let commands = rules(&["Bash(rm *)", "Bash(curl:*)"]);
    let files = rules(&["Read(./.env)", "Edit(src/**)"]);
    for shell in [(Shell::Bash, "bash"), (Shell::Sh, "sh")] {
        for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions] {
            never_laxer(line, &commands, mode, false, shell);
            never_laxer(line, &files, mode, false, shell);
        }
        never_laxer(line, &commands, Mode::Default, true, shell);
    }
}

fn never_laxer(line: &str, rules: &RuleSet, mode: Mode, sandboxed: bool, (shell, name): (Shell, &str)) {
    let says = |line: &str| answer(rules, line, mode, sandboxed, shell);
    let alone = says(line);
    assert_eq!(says(line), alone, "the same line has the same answer");
    let is_about_files = rules.deny.iter().any(|rule| &*rule.rule.tool != "Bash");
    let least = match alone {
        Answer::Deny if is_about_files => 1,
        // What stands around it may make a line readable that is none by itself.
        Answer::Ask(_) if read(line, shell).reason().is_some() => 0,
        alone => severity(alone),
    };
    for wrapped in wrapped(line, name) {
        let answer = says(&wrapped);
        let what = format!("{mode:?}, sandboxed: {sandboxed}: {line:?} and {wrapped:?}");
        assert!(severity(answer) >= least, "{what}: {alone:?} becomes {answer:?}");
    }
}

/// The line behind what has it run as it is, by the same shell.
fn wrapped(line: &str, shell: &str) -> Vec<String> {
    // With a blank in front it is no option.
    let quoted = |line: &str| format!("' {}'", line.replace('\'', r"'\''"));
    let code = quoted(line);
    vec![
        format!("{shell} -c {code}"),
        format!("{shell} -c {}", quoted(&format!("{shell} -c {code}"))),
        format!("eval {code}"),
        format!("env -i A=1 timeout -k 5 9 {shell} -ec {code}"),
        format!("find . -exec {shell} -c {code} x {{}} +"),
        format!("{{ {line}\n}}"),
        format!("if true; then {line}\nfi"),
    ]
}

fn severity(answer: Answer) -> u8 {
    match answer {
        Answer::Allow => 0,
        Answer::Ask(_) => 1,
        Answer::Deny => 2,
    }
}

fn rules(deny: &[&str]) -> RuleSet {
    let list = |texts: &[&str], list| texts.iter().map(|text| rule(text, list)).collect();
    RuleSet {
        deny: list(deny, List::Deny),
        ask: list(&["Bash(git push *)"], List::Ask),
        allow: list(&["Bash(npm *)", "Bash(git *)", "Bash(env *)", "Bash(make)"], List::Allow),
        ..RuleSet::default()
    }
}

fn rule(text: &str, list: List) -> PermissionRule {
    let anchor = RuleAnchor {
        working_directory: path("/w/proj"),
        source: Some(path("/w/proj")),
        home: Some(path("/home/u")),
        other_home: None,
        folds_case: false,
    };
    let rule = Rule::parse(text, list, &anchor).unwrap_or_else(|error| panic!("{text} {error}"));
    PermissionRule { rule, origin: Origin::builtin("permissions", text) }
}

fn answer(rules: &RuleSet, line: &str, mode: Mode, sandboxed: bool, shell: Shell) -> Answer {
    let (root, home) = (path("/w/proj"), path("/home/u"));
    let follow = |asked: &AbsPath| asked.clone();
    let context = Context {
        mode,
        sandboxed,
        files_disabled: false,
        auto_allow: true,
        guardrails_want_approval: false,
        root: &root,
        working_directory: &root,
        home: Some(&home),
        directories: &[],
        shell,
        folds_case: false,
        follow: &follow,
    };
    judge(rules, &Call::command(line), &context).answer
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("an absolute path")
}
