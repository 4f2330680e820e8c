//! The share of `cargo xtask bench` that needs no sandbox: what a question to the rules costs.
//!
//! `rules` prints one line for each thing measured, `NAME`, `SECONDS` and `BUDGET` in seconds, apart by tabs. The
//! lists are long and mixed; each question is asked many times, and what counts is the slowest question. It judges
//! nothing; the bench does that.
//!
//! These are everyday lists and questions. What the worst ones cost stands with the indexes.
#![forbid(unsafe_code)]

use palisade_policy::{
    AbsPath, Access, Anchor, Endpoint, FileIndex, FileRule, FileSets, HostPattern, HostRule, IndexedNetwork,
    NetworkPolicy, Origin, PathPattern,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How many rules the lists of one policy hold together.
const RULES: usize = 10_000;
/// How often a question is asked in one measurement.
const TIMES: u32 = 2_000;
/// How often a question is measured; the median counts.
const MEASUREMENTS: usize = 21;
/// What one verdict on that many rules may take.
const VERDICT_BUDGET: Duration = Duration::from_micros(10);

fn main() {
    print("host verdict on 10,000 patterns", slowest_host_verdict(), VERDICT_BUDGET);
    print("path verdict on 10,000 patterns", slowest_path_verdict(), VERDICT_BUDGET);
}

fn print(name: &str, time: Duration, budget: Duration) {
    println!("{name}\t{:.9}\t{:.9}", time.as_secs_f64(), budget.as_secs_f64());
}

/// The time of the slowest question.
fn slowest<Q, A>(questions: impl IntoIterator<Item = Q>, ask: impl Fn(&Q) -> A) -> Duration {
    questions.into_iter().map(|question| median(|| ask(black_box(&question)))).max().unwrap_or_default()
}

fn median<A>(ask: impl Fn() -> A) -> Duration {
    let mut times: Vec<Duration> = (0..MEASUREMENTS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..TIMES {
                black_box(ask());
            }
            start.elapsed() / TIMES
        })
        .collect();
    times.sort_unstable();
    times[MEASUREMENTS / 2]
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
    slowest(questions, |endpoint| network.judge(endpoint) == palisade_policy::HostVerdict::Ask)
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
