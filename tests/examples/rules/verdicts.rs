//! Verdicts on hosts and paths, by an index of many rules. The lists are long and mixed, and what counts is the slowest
//! question.
//!
//! These are everyday lists and questions. What the worst ones cost stands with the indexes.

use crate::figure::{Figure, slowest};
use palisade_policy::{
    AbsPath, Access, Anchor, Endpoint, FileIndex, FileRule, FileSets, HostPattern, HostRule, HostVerdict,
    IndexedNetwork, NetworkPolicy, Origin, PathPattern,
};
use std::time::Duration;

/// How many rules the lists of one policy hold together.
const RULES: usize = 10_000;
/// What one verdict on that many rules may take.
const BUDGET: Duration = Duration::from_micros(10);

pub(crate) fn figures() -> [Figure; 2] {
    [
        Figure { name: "host verdict on 10,000 patterns", time: slowest_host_verdict(), budget: BUDGET },
        Figure { name: "path verdict on 10,000 patterns", time: slowest_path_verdict(), budget: BUDGET },
    ]
}

fn slowest_host_verdict() -> Duration {
    let network = NetworkPolicy {
        allowed: (0..RULES / 2).map(|number| host_rule(number, "open")).collect(),
        denied: (0..RULES / 2).map(|number| host_rule(number, "shut")).collect(),
        ..NetworkPolicy::default()
    };
    let network = IndexedNetwork::new(network);
    let questions = [
        "api.open2500.example.com:443",
        "a.b.c.open2501.example.com:443",
        "bedrock.us-east-1.shut2502.example.com:443",
        "shut2503.example.com:8443",
        "10.0.9.200:443",
        "[64:ff9b::10.0.9.201]:443",
        "unknown.example.org:443",
        "one.two.three.four.five.six.seven.eight.nine.ten.example.com:443",
    ];
    let questions = questions.map(|text| Endpoint::parse(text, None).expect("an endpoint"));
    slowest(questions, |endpoint| network.judge(endpoint) == HostVerdict::Ask)
}

fn host_rule(number: usize, word: &str) -> HostRule {
    let text = match number % 5 {
        0 => format!("api.{word}{number}.example.com"),
        1 => format!("*.{word}{number}.example.com"),
        2 => format!("bedrock.*.{word}{number}.example.com"),
        3 => format!("{word}{number}.example.com:8443"),
        _ => format!("10.0.{}.{}", number / 256, number % 256),
    };
    HostRule { pattern: HostPattern::parse(&text).expect("valid"), origin: Origin::flag("--host", &text) }
}

fn slowest_path_verdict() -> Duration {
    let list = |word: &str| (0..RULES / 4).map(|number| file_rule(number, word)).collect();
    let sets = FileSets {
        allow_write: list("work"),
        deny_write: list("kept"),
        deny_read: list("hidden"),
        allow_read: list("shown"),
    };
    let index = FileIndex::new(&sets);
    let questions = [
        "/home/u/project/work1000/src/main.rs",
        "/home/u/project/hidden1001/a/b/c/key.pem",
        "/home/u/project/target/debug/build/out/kept1002.json",
        "/home/u/project/one/two/three/four/five/six/seven/eight/x.hidden1003",
        "/home/u/project/a/.shown1004.local",
        "/usr/lib/x86_64-linux-gnu/libc.so.6",
    ];
    let questions = questions.map(|text| AbsPath::new(text).expect("absolute"));
    slowest(questions, |path| index.judge(Access::Write, path).effect)
}

fn file_rule(number: usize, word: &str) -> FileRule {
    let anchor = Anchor { base: AbsPath::new("/home/u/project").expect("absolute"), home: None };
    let text = match number % 5 {
        0 => format!("{word}{number}"),
        1 => format!("{word}{number}/**/*.pem"),
        2 => format!("**/{word}{number}.json"),
        3 => format!("**/*.{word}{number}"),
        _ => format!("*/.{word}{number}.*"),
    };
    FileRule {
        pattern: PathPattern::parse(&text, &anchor).expect("valid"),
        origin: Origin::flag("--path", &text),
    }
}
