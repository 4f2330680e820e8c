//! Violations that are read from what real programs write to their standard error, and those that are kept quiet.

use super::{block_on, paths, run, sandbox, shell, text};
use palisade_policy::{Evidence, FileSets, IgnoredViolation, Origin, Policy, Violation};
use palisade_tests::{Project, Tools};

/// A directory `o` in which nothing can be written, and a hidden file `h`, both next to the root.
struct Walls {
    project: Project,
    policy: Policy,
}

impl Walls {
    fn where_it_works() -> Option<Self> {
        let project = Project::where_it_works()?;
        std::fs::create_dir(project.outside().join("o")).expect("own directory");
        std::fs::write(project.outside().join("h"), "").expect("own directory");
        let hidden = project.outside().join("h").display().to_string();
        let files = FileSets { deny_read: paths(&project, "denyRead", &[&hidden]), ..FileSets::default() };
        Some(Walls { project, policy: Policy { files, ..Policy::default() } })
    }

    /// The paths that the violations of `line` name, without the directory that both lie in.
    fn targets(&self, line: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let outside = self.project.outside().display().to_string();
        let mut request = shell(&self.project, line);
        request.variables.push(("OUT".into(), outside.clone().into()));
        request.variables.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
        let outcome = block_on(sandbox(self.policy.clone()).run(request)).expect("it runs");
        let violations = &outcome.sandbox.violations;
        assert!(violations.iter().all(|violation| violation.evidence == Evidence::Stderr), "{outcome:?}");
        let below = |violation: &Violation| violation.target().replace(&format!("{outside}/"), "");
        eprintln!("{line}\n{}", text(&outcome.stderr.bytes));
        violations.iter().map(below).collect()
    }

    #[track_caller]
    fn check(&self, line: &str, targets: &[&str]) {
        assert_eq!(self.targets(line, &[]), targets, "{line}");
    }

    /// The same where `program` is installed.
    #[track_caller]
    fn check_if_there(&self, program: &str, line: &str, targets: &[&str]) {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        if std::env::split_paths(&paths).any(|directory| directory.join(program).is_file()) {
            self.check(line, targets);
        }
    }
}

#[test]
fn shells_and_small_programs() {
    let Some(walls) = Walls::where_it_works() else { return };
    for (line, targets) in [
        ("echo > $OUT/o/x; cat < $OUT/h; . $OUT/h; $OUT/h", &["o/x", "h"][..]),
        ("echo > \"$OUT/o/it's\"; echo > \"$OUT/o/a b\"", &["o/it's", "o/a b"]),
        ("sh -c 'echo > $OUT/o/x; cat < $OUT/h'; sh $OUT/h", &["o/x", "h"]),
        ("cd $OUT/o && echo > x", &[]),
        (
            "touch $OUT/o/x \"$OUT/o/it's\" $OUT/o/$'n\\nl' $OUT/o/$'\\xff'",
            &["o/x", "o/it's", r"o/n\nl", r"o/\xff"],
        ),
        ("touch \"$OUT/o/\\\"q'\"", &["o/\"q'"]),
        ("mkdir $OUT/o/n; mkdir -p $OUT/o/m/n; rmdir $OUT/o", &["o/n", "o/m", "o"]),
        (
            "echo > f; mv f $OUT/o/; cp f $OUT/o/g; ln -s /etc $OUT/o/l; mv $OUT/h .",
            &["o/f", "o/g", "o/l", "h"],
        ),
        ("tee $OUT/o/t < /dev/null; dd of=$OUT/o/d < /dev/null", &["o/t", "o/d"]),
        ("cat $OUT/h; head $OUT/h; grep x $OUT/h; sed x $OUT/h; sort $OUT/h", &["h"]),
        ("chmod 700 $OUT/o; truncate -s 0 $OUT/o/t; mktemp -p $OUT/o mXXX", &["o", "o/t", "o/mXXX"]),
        ("echo > f; tar cf $OUT/o/t f; tar cf f.tar $OUT/h", &["o/t", "h"]),
        ("rm -rf $OUT/o; xargs -a $OUT/h", &["o", "h"]),
    ] {
        // What programs say is in another language where that is installed; what is read from it is the same.
        for language in
            ["C", "C.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8", "ja_JP.UTF-8", "ru_RU.UTF-8", "zh_CN.UTF-8"]
        {
            let found = walls.targets(line, &[("LC_ALL", language)]);
            assert_eq!(found, targets, "{line} in {language}");
        }
    }
}

#[test]
fn two_paths_and_messages_of_runtimes() {
    let Some(walls) = Walls::where_it_works() else { return };
    for (line, targets) in [
        ("git init $OUT/o/g", &["o/g"][..]),
        ("LC_ALL=C cp -s /etc/passwd $OUT/o/l", &["o/l"]),
        ("git config --file $OUT/o/config a.b c", &["o/config"]),
        ("git diff --no-index --output=$OUT/o/d /etc/passwd /etc/group", &["o/d"]),
        ("GIT_CONFIG_GLOBAL=$OUT/h git config --global -l", &["h"]),
        ("python3 -c 'open(\"'$OUT'/o/x\", \"w\")'; python3 -c 'open(\"'$OUT'/h\")'", &["o/x", "h"]),
        ("python3 -c 'open(b\"'$OUT'/o/\\xff\\n\", \"w\")'", &[r"o/\xff\n"]),
        ("python3 -c 'import os; os.symlink(\"/etc/passwd\", \"'$OUT'/o/l\")'", &["o/l"]),
        ("python3 -c 'import shutil; shutil.copy(\"/etc/passwd\", \"'$OUT'/o/c\")'", &["o/c"]),
        ("python3 $OUT/h; python3 -m venv --without-pip $OUT/o/v", &["h", "o/v"]),
        (
            "node -e 'fs.writeFileSync(\"'$OUT'/o/x\", \"\")'; node -e 'fs.readFileSync(\"'$OUT'/h\")'",
            &["o/x", "h"],
        ),
        ("node -e 'fs.copyFileSync(\"/etc/passwd\", \"'$OUT'/o/c\")'", &["o/c"]),
        ("node -e 'fs.promises.mkdir(process.env.OUT + \"/o/it\\x27s\")'", &["o/it's"]),
    ] {
        walls.check(line, targets);
    }
}

#[test]
fn rust() {
    let Some(walls) = Walls::where_it_works() else { return };
    let rustc = Tools::here().toolchain.join("bin/rustc");
    let rustc = rustc.display();
    let program = r#"fn main() {
        let path = std::env::var("OUT").unwrap() + "/h";
        eprintln!("{path}: {}", std::fs::read(&path).unwrap_err());
        std::fs::write(&path, "").unwrap();
    }"#;
    walls.project.write("a.rs", program);
    walls.check(&format!("{rustc} a.rs && ./a"), &["h"]);
    walls.check(&format!("{rustc} $OUT/h"), &["h"]);
}

/// Where they are installed.
#[test]
fn other_programs() {
    let Some(walls) = Walls::where_it_works() else { return };
    let java = "class A { public static void main(String[] a) throws Exception { \
        try { java.nio.file.Files.readString(java.nio.file.Path.of(a[0] + \"/h\")); } \
        catch (java.io.IOException e) { e.printStackTrace(); } \
        try { new java.io.FileInputStream(a[0] + \"/h\"); } \
        catch (java.io.IOException e) { e.printStackTrace(); } \
        java.nio.file.Files.writeString(java.nio.file.Path.of(a[0] + \"/o/x\"), \"\"); } }";
    walls.project.write("A.java", java);
    let go = "package main\nimport (\"fmt\"; \"os\")\nfunc main() { _, e := os.Create(os.Getenv(\"OUT\") + \"/o/x\"); \
        fmt.Fprintln(os.Stderr, e); _, e = os.Open(os.Getenv(\"OUT\") + \"/h\"); panic(e) }\n";
    walls.project.write("a.go", go);
    for (program, line, targets) in [
        ("java", "java A.java $OUT", &["h", "o/x"][..]),
        ("go", "HOME=$TMPDIR GO111MODULE=off go run a.go", &["o/x", "h"]),
        (
            "perl",
            "perl -e 'open(F, \">\", \"'$OUT'/o/x\") or die \"'$OUT'/o/x: $!\"'; perl $OUT/h",
            &["o/x", "h"],
        ),
        ("zsh", "zsh -fc 'echo > $OUT/o/x'; zsh -fc 'cat < $OUT/h'; zsh -fc 'cd $OUT/h/d'", &["o/x", "h"]),
        (
            "busybox",
            "busybox sh -c 'echo > $OUT/o/x; cat < $OUT/h'; busybox mkdir $OUT/o/n",
            &["o/x", "h", "o/n"],
        ),
        (
            "gcc",
            "echo 'int main() {}' > a.c; gcc -o $OUT/o/x a.c; gcc -c -o $OUT/o/x.o a.c",
            &["o/x", "o/x.o"],
        ),
        ("make", "make -f $OUT/h", &["h"]),
    ] {
        walls.check_if_there(program, line, targets);
    }
}

/// Ordinary denials, which a command would meet without the sandbox as well.
#[test]
fn what_files_themselves_deny_is_no_violation() {
    let Some(walls) = Walls::where_it_works() else { return };
    walls.project.write("script", "#!/bin/sh\n");
    walls.project.write("shut/f", "");
    for line in [
        "cat /etc/shadow > /dev/null; ls /root > /dev/null; cat /proc/1/mem > /dev/null",
        "./script; sh -c ./script",
        "chmod 0 shut; cat shut/f; touch shut/g; chmod 700 shut",
        "python3 -c 'open(\"/etc/shadow\")'; node -e 'fs.readFileSync(\"/etc/shadow\")'",
        "echo 'touch: cannot touch '\\''script'\\'': Read-only file system' >&2",
        "kill -9 1; chroot / true; mount -t tmpfs none .",
    ] {
        walls.check(line, &[]);
    }
}

#[test]
fn what_is_expected_is_not_reported_and_stopped_all_the_same() {
    let Some(walls) = Walls::where_it_works() else { return };
    let ignore = |command: &str, violation: &str| IgnoredViolation {
        command: command.into(),
        violation: violation.into(),
        origin: Origin::flag("ignoreViolations", command),
    };
    let policy = Policy {
        ignore_violations: vec![
            ignore("*", "quiet.invalid"),
            ignore("touch", "/o/quiet"),
            ignore("no such command", "/o/loud"),
        ],
        ..walls.policy.clone()
    };
    let outside = walls.project.outside().display().to_string();
    let line = format!(
        "touch {outside}/o/quiet {outside}/o/loud; \
         for host in quiet loud; do curl -s --noproxy '' http://$host.invalid/ > /dev/null; done"
    );
    let outcome = run(&walls.project, policy, &line);
    let targets: Vec<String> = outcome.sandbox.violations.iter().map(Violation::target).collect();
    assert_eq!(targets, ["loud.invalid:80".to_owned(), format!("{outside}/o/loud")], "{outcome:?}");
    let stderr = text(&outcome.stderr.bytes);
    let (written, block) = stderr.split_once("<sandbox_violations>").expect("a block");
    assert!(
        written.contains("/o/quiet") && !block.contains("quiet"),
        "the command's own words stay: {stderr}"
    );
    assert!(!walls.project.outside().join("o/quiet").exists());
}
