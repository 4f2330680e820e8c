//! Verdicts on calls: a line as an agent writes it, read and judged by a hundred rules, and how that grows with the
//! line and with the rules.

use crate::figure::{Figure, least, slowest};
use palisade_permissions::shell::Shell;
use palisade_permissions::{
    Call, Context, List, Mode, PermissionRule, Rule, RuleAnchor, RuleSet, Verdict, judge,
};
use palisade_policy::{AbsPath, Origin};
use std::time::Duration;

/// How many rules a set has.
const RULES: usize = 100;
/// What one verdict on a typical line may take, reading it included.
const BUDGET: Duration = Duration::from_micros(30);
/// How many times as long a line, or as many rules.
const TIMES: u32 = 10;

pub(crate) fn figures() -> [Figure; 3] {
    let typical = rule_set(RULES);
    let more_rules = rule_set(RULES * TIMES as usize);
    let line = "cd crates/policy && cargo test --all-features 2>&1 | tail -20";
    let long: String = (0..TIMES).map(|_| format!("{line}; ")).collect();
    [
        Figure { name: "verdict on a line, 100 rules", time: slowest_verdict(&typical), budget: BUDGET },
        Figure {
            name: "… a line ten times as long",
            time: least(|| verdict(&typical, long.trim_end_matches("; ")).answer),
            budget: BUDGET * TIMES,
        },
        Figure {
            name: "… ten times as many rules",
            time: least(|| verdict(&more_rules, line).answer),
            budget: BUDGET * TIMES,
        },
    ]
}

fn slowest_verdict(rules: &RuleSet) -> Duration {
    let lines = [
        "git status && git diff --stat",
        "cargo test --workspace 2>&1 | tail -40",
        "cd crates/policy && cargo clippy --all-targets -- -D warnings",
        "rg -n 'fn main' src | head -20",
        "NODE_ENV=test timeout 60 npm run build -- --watch=false",
        "for f in src/*.rs; do wc -l \"$f\"; done",
    ];
    slowest(lines, |line| verdict(rules, line).answer)
}

fn verdict<'a>(rules: &'a RuleSet, line: &str) -> Verdict<'a> {
    let (root, home) = (path("/home/u/project"), path("/home/u"));
    let context = Context {
        mode: Mode::Default,
        sandboxed: false,
        files_disabled: false,
        auto_allow: true,
        guardrails_want_approval: false,
        root: &root,
        working_directory: &root,
        home: Some(&home),
        directories: &[],
        shell: Shell::Bash,
        folds_case: false,
        follow: &AbsPath::clone,
    };
    judge(rules, &Call::command(line), &context)
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("absolute")
}

/// As many rules of each list as people have: mostly commands, some paths and hosts.
fn rule_set(count: usize) -> RuleSet {
    let of = |list: List, words: &str| {
        (0..count / 3).map(|number| rule(&words.replace('N', &number.to_string()), number, list)).collect()
    };
    RuleSet {
        deny: of(List::Deny, "Bash(tool-N *)"),
        ask: of(List::Ask, "Bash(git push remote-N *)"),
        allow: of(List::Allow, "Bash(npm run task-N *)"),
        ..RuleSet::default()
    }
}

fn rule(command: &str, number: usize, list: List) -> PermissionRule {
    let anchor = RuleAnchor {
        working_directory: path("/home/u/project"),
        source: Some(path("/home/u/project")),
        home: Some(path("/home/u")),
        other_home: None,
        folds_case: false,
    };
    let text = match (number % 10, list) {
        (0, _) => format!("Read(secrets-{number}/**)"),
        (1, _) => format!("WebFetch(domain:host-{number}.example.com)"),
        _ => command.to_owned(),
    };
    let rule = Rule::parse(&text, list, &anchor).expect("valid");
    PermissionRule { rule, origin: Origin::flag("--rule", &text) }
}
