//! Long, deep and strange lines: an answer within a bounded time, and never a looser one.

use crate::fixture::{Session, follow, path, said};
use palisade_permissions::{Call, Input, Mode};
use palisade_policy::AbsPath;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Far more than any of these takes on a busy machine, and far less than a quadratic one would.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn hostile_lines_are_judged_in_time() {
    let rules =
        ["Bash(rm *)", "Bash(*a*b*c*d*e*f*)", "Read(**/.env)", "Read(**/a/**/b/**/c)", "Edit(src/**)"];
    let session = Session::new().deny(&rules).allow(&["Bash(npm *)"]);
    let lines = [
        "true;".repeat(10_000),
        "$(".repeat(100_000),
        "(".repeat(100_000),
        format!("echo {}", "a".repeat(1_000_000)),
        format!("cat {}", "../".repeat(20_000)),
        format!("cat {}", "a/".repeat(20_000)),
        format!("cat {}", "*/a/b/".repeat(5_000)),
        format!("git {}", "-x ".repeat(20_000)),
        format!("env {}ls", "env ".repeat(10_000)),
        format!("{}ls", "find . -exec ".repeat(4_900)),
        format!("{}ls", "sudo -u x ".repeat(6_000)),
        format!("{}ls", "find . -exec cp a b ; ".repeat(2_900)),
        format!("x {}", "$A ".repeat(20_000)),
        format!("x {}", "abcdef ".repeat(9_000)),
        "xargs ".repeat(10_000),
        "xargs ".repeat(160_000),
        "env -S '".repeat(8_000),
        "nice ".repeat(12_000),
        format!("{}ls", "xargs -I% ".repeat(6_000)),
        "echo rm x | sh | ".repeat(1_000),
        "sh <<E\nrm\nE\n".repeat(2_000),
        "awk 'system(\"x\")' ".repeat(3_000),
        format!("psql -c '{}'", "\\! a ".repeat(12_000)),
        format!("sqlite3 <<E\n{}E\n", ".shell a\n".repeat(6_000)),
        format!("psql <<E\n{}E\n", "\\! a ".repeat(12_000)),
        format!("[[ a =~ {} ]]", "(a|".repeat(20_000)),
        format!("TAR_OPTIONS='{}' tar", "-I a ".repeat(12_000)),
        "git -c alias.x=y ".repeat(3_500),
        "tmux new \\; ".repeat(5_000),
        "/b*/r? x; ".repeat(2_000),
        "a=1 ".repeat(15_000),
        "> x ".repeat(15_000),
        format!("sed {}s/a/b/ f", "-i.x ".repeat(6_000)),
        format!("sed {}p {}", numbered("-i."), numbered("f")),
        format!("cp {}{}", "-S.x ".repeat(4_000), "a ".repeat(4_000)),
        format!("mv {}{}", numbered("-S."), numbered("f")),
        format!("rsync {}{}", "--suffix=x ".repeat(4_000), "a ".repeat(4_000)),
        format!("gzip -S.x {}", "a.gz ".repeat(6_000)),
        format!("{}rm -rf {}", "ln -s ~/x $X;".repeat(60), "a/b ".repeat(7_500)),
        format!("{}rm -rf {}", "ln -s a/a a;".repeat(60), "a/a/a/a ".repeat(4_000)),
        "cat f | ".repeat(1_000),
        "\0".repeat(1_000),
        "\u{202e}".repeat(1_000),
    ];
    for line in &lines {
        let start = Instant::now();
        let answer = session.says(line);
        let took = start.elapsed();
        assert!(
            took < PATIENCE,
            "{took:?} for {} bytes that start with {:?}",
            line.len(),
            line.chars().take(20).collect::<String>()
        );
        assert_ne!(answer, "allow", "{:?}", line.chars().take(20).collect::<String>());
    }
}

/// Many words, each another.
fn numbered(start: &str) -> String {
    (0..2_500).map(|at| format!("{start}{at} ")).collect()
}

/// Lines of about `n` bytes that name long paths, or many in long directories.
fn long_paths(n: usize) -> Vec<String> {
    let (deep, many) = ("a/".repeat(n / 2), "x ".repeat(n / 2));
    let words = ["~/", "$HOME/", "\"${HOME}\"/", "", "/", "../", "*/", "~/a:~/"];
    let mut lines = Vec::new();
    for word in words {
        let verbs = [
            "cat",
            "rm",
            "rm -rf",
            "rmdir -p",
            "touch",
            "mv x",
            "cp --parents x",
            "ls >",
            "sort <",
            "sed -i p",
        ];
        lines.extend(verbs.map(|verb| format!("{verb} {word}{deep}")));
        lines.extend(
            ["cd", "find", "xargs cat", "dd of=x", "git show", "grep -r x", "env tee"]
                .map(|verb| format!("{verb} {word}{deep}; ls")),
        );
        lines.push(format!("cat {word}{}", "a/../".repeat(n / 5)));
        lines.push(format!("rm {word}{}", "./".repeat(n / 2)));
        for verb in ["cat", "rm -rf", "touch", "cp -r", "rm -rf l/"] {
            lines.push(format!("cd {word}{}; {verb} {many}", "d/".repeat(n.min(4_000) / 2)));
        }
    }
    lines.push(format!("cat {}", "~/a:".repeat(n / 4)));
    lines.push(format!("{}touch {}", "mv a b c d e;".repeat(16), "e/x ".repeat(n / 4)));
    lines.push("cp -r a b;".repeat(n / 10));
    lines.push(format!(
        "{}cat {many}",
        (0..7).map(|at| format!("cd /{at}/{};", "d/".repeat(100))).collect::<String>()
    ));
    lines
}

/// The work of following links is counted, since each step of it is a question to the kernel.
#[test]
fn links_are_asked_about_in_proportion_to_the_line() {
    for mode in [Mode::Default, Mode::AcceptEdits] {
        let session = Session::new().deny(&["Bash(rm z)", "Read(**/.env)", "Edit(src/**)"]).mode(mode);
        for line in long_paths(6_000) {
            let asked = RefCell::new(Vec::new());
            let counting = |path: &AbsPath| {
                asked.borrow_mut().push(path.as_bytes().len());
                follow(path)
            };
            session.judge_where(&counting, &Call::command(&line), said);
            let (longest, bytes) =
                asked.borrow().iter().fold((0, 0), |(most, sum), length| (most.max(*length), sum + *length));
            assert!(longest <= AbsPath::LONGEST, "{longest} in {line:.40}");
            // A few questions for each word, in one of a few directories of a few hundred bytes.
            assert!(bytes < 20_000 * line.len(), "{bytes} for {} in {line:.40}", line.len());
        }
    }
}

/// A line that is sixteen times as long does not take 256 times the time. A busy machine has only the long ones wait,
/// and makes none faster: what is between the two numbers is for that, and one quiet moment is enough.
#[test]
fn time_grows_as_the_line_does() {
    let session = Session::new().deny(&["Bash(rm z)", "Read(.env)"]);
    let time = |line: &String| {
        let start = Instant::now();
        session.says(line);
        start.elapsed()
    };
    for (short, long) in long_paths(400).iter().zip(&long_paths(6_400)) {
        let is_linear = || {
            let (short, long) = (time(short), time(long));
            long < short * 100 + Duration::from_millis(20)
        };
        assert!((0..10).any(|_| is_linear()), "{long:.40}");
    }
}

/// No tool opens such a path, so nothing is lost with it, and no rule about it is passed over.
#[test]
fn a_path_that_nothing_opens_is_refused_to_every_tool() {
    for length in [AbsPath::LONGEST, AbsPath::LONGEST + 1, 1_000_000] {
        let path = path(&format!("/w/proj/{}", "a".repeat(length - 8)));
        for (input, expected) in [
            (Input::Read(path.clone()), "allow"),
            (Input::Edit(path.clone()), "ask"),
            (Input::Remove(path.clone()), "ask"),
        ] {
            let expected = if length > AbsPath::LONGEST { "deny" } else { expected };
            let call = Call { tool: "T".into(), input, fields: Vec::new() };
            assert_eq!(Session::new().judge(&call, said), expected, "{length}");
            if expected == "deny" {
                assert_eq!(Session::new().mode(Mode::BypassPermissions).judge(&call, said), "deny");
            }
        }
    }
}

#[test]
fn no_limit_makes_a_question_of_a_denial() {
    let line = format!("{}git push {}--force", "env ".repeat(9_000), "a ".repeat(100));
    Session::new().deny(&["Bash(git * --force)"]).check(&line, "deny");
    let line = format!("{}cat .env {}", "env ".repeat(9_000), "a ".repeat(100));
    Session::new().deny(&["Read(.env)"]).check(&line, "deny");
    let line = format!("{}cat .env", "cat a b c d e f; ".repeat(1_900));
    Session::new().deny(&["Read(.env)"]).check(&line, "deny");
    let line = format!("{}rm x", "nice a; ".repeat(4_000));
    Session::new().deny(&["Bash(rm *)"]).mode(Mode::BypassPermissions).check(&line, "deny");
    let line = format!("xargs {} env rm x", "-a f ".repeat(6_000));
    Session::new().deny(&["Bash(rm *)"]).mode(Mode::BypassPermissions).check(&line, "deny");
    // What is not listed may be a removal.
    let line = format!("{}ls", "env ".repeat(9_000));
    Session::new().mode(Mode::BypassPermissions).check(&line, "ask a person");
    let line = format!("cat {}.env", "a ".repeat(25_000));
    Session::new().deny(&["Read(.env)"]).check(&line, "deny");
}

#[test]
fn a_line_that_nobody_reads_asks_whatever_allows_it() {
    let line = format!("echo {}", "x".repeat(10_000));
    Session::new().allow(&["Bash", "Bash(echo *)"]).check(&line, "ask");
    Session::new().allow(&["Bash"]).mode(Mode::BypassPermissions).check(&line, "allow");
    Session::new().deny(&["Bash(echo *)"]).check(&line, "deny");
    Session::sandboxed().check(&line, "allow");
}

#[test]
fn what_is_not_read_is_never_allowed_by_a_rule() {
    let session = Session::new().allow(&["Bash", "Bash(select *)", "Bash(ls *)"]);
    for line in
        ["select x in a; do ls; done", "ls \u{200b}x", "ls\r", "ls 'x", "ls $'\\c'", "if", "ls ${x@P}"]
    {
        session.check(line, "asks");
        Session::sandboxed().check(line, "asks");
    }
}

#[test]
fn where_case_makes_no_difference_it_hides_nothing() {
    use palisade_permissions::{List, PermissionRule, Rule, RuleAnchor};
    use palisade_policy::Origin;
    let anchor = RuleAnchor {
        working_directory: path("/w/proj"),
        source: None,
        home: Some(path("/home/u")),
        other_home: None,
        folds_case: true,
    };
    let rule = |text: &str| PermissionRule {
        rule: Rule::parse(text, List::Deny, &anchor).expect("a rule of a test"),
        origin: Origin::builtin("permissions", text),
    };
    let mut session = Session { folds_case: true, ..Session::new() };
    session.rules.deny = vec![rule("Read(Secrets/**)"), rule("Bash(rm *)")];
    for line in ["cat secrets/x", "cat SECRETS/x", "cat sub/sECRETS/x", "RM x", "/bin/Rm x"] {
        session.check(line, "deny");
    }
    session.check("rmdir .GIT", "ask a person");
    session.check("echo x > .GIT/config", "ask");
    session.clone().mode(Mode::AcceptEdits).check("touch .Npmrc", "ask");
}
