//! Reads file violations from the errors that a command wrote to its standard error.
//!
//! # What it can and cannot tell
//!
//! It is advisory: a command can hide an error or print one that never happened, and what is said in another
//! language than English is not understood. The access is blocked either way. To be reported, a line must
//! name one of the errors with which the sandbox refuses, and a path to which the rules really deny the
//! access; the path is judged as it is written, no link on the way is looked up. A file of which the host's
//! own permissions would have kept the command, too, is not reported unless a rule hides it.
//!
//! Where a line may name its path: see the module `error_line`. Of several texts that may be the path, the
//! rules pick the first that they deny.
//!
//! # Bounds
//!
//! Longer lines than [`LONGEST_LINE`] are skipped, [`MOST_JUDGED`] lines at most are looked at closely, and
//! [`MOST_VIOLATIONS`] paths at most are reported, each once. What goes beyond is left out in silence, as it
//! may for advice.

use super::error_line::ErrorLine;
use palisade_policy::{AbsPath, Access, Confinement, Effect, FileRule, FileSets, Layer, Violation};
use std::collections::HashSet;
use std::ops::Range;

/// A path is 4,096 bytes at most; no line that holds one needs to be much longer.
const LONGEST_LINE: usize = 8192;
/// How many lines that name an error are looked at closely.
const MOST_JUDGED: usize = 2000;
/// How many paths are reported.
const MOST_VIOLATIONS: usize = 100;

/// The accesses that `stderr` tells of and that the file rules of `confinement` deny.
pub(crate) fn stderr_violations(stderr: &[u8], confinement: &Confinement) -> Vec<Violation> {
    let refusals = if cfg!(target_os = "macos") { SEATBELT } else { BUBBLEWRAP };
    read(stderr, confinement, refusals)
}

/// An error's text in lower case, and the access that the sandbox refuses with it.
type Refusal = (&'static str, Refused);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    Read,
    Write,
    Either,
    /// A write that a rule denies by name, not only for want of an allow.
    WriteByRule,
}

/// A read-only mount answers the first and a hidden file the second. The third and fourth are answers of the
/// kernel with many other causes (a mount point cannot be removed: busy), so they count for a denied name
/// only.
const BUBBLEWRAP: &[Refusal] = &[
    ("read-only file system", Refused::Write),
    ("permission denied", Refused::Read),
    ("operation not permitted", Refused::WriteByRule),
    ("device or resource busy", Refused::WriteByRule),
];

/// Seatbelt has one answer for everything.
const SEATBELT: &[Refusal] = &[("operation not permitted", Refused::Either)];

fn read(stderr: &[u8], confinement: &Confinement, refusals: &[Refusal]) -> Vec<Violation> {
    if confinement.files_disabled {
        return Vec::new();
    }
    let mut reader = Reader { confinement, refusals, judged: 0, seen: HashSet::new() };
    let mut before: &[u8] = b"";
    let mut violations = Vec::new();
    for line in stderr.split(|&b| matches!(b, b'\n' | b'\r')).map(<[u8]>::trim_ascii) {
        violations.extend(reader.violation(line, before));
        if violations.len() >= MOST_VIOLATIONS || reader.judged >= MOST_JUDGED {
            break;
        }
        // Cargo and others that print a chain of causes put this line between a path and its error.
        if !line.is_empty() && line != b"Caused by:" {
            before = line;
        }
    }
    violations
}

struct Reader<'a> {
    confinement: &'a Confinement,
    refusals: &'a [Refusal],
    judged: usize,
    seen: HashSet<AbsPath>,
}

impl Reader<'_> {
    fn violation(&mut self, line: &[u8], before: &[u8]) -> Option<Violation> {
        if line.len() > LONGEST_LINE {
            return None;
        }
        let (error, refused) = find_refusal(line, self.refusals)?;
        self.judged += 1;
        let error_line = ErrorLine::new(line, error, before);
        let (path, remedy) = error_line.paths.iter().find_map(|text| self.denied(refused, text))?;
        self.seen.insert(path.clone()).then(|| Violation::file(&path, &error_line.text, Some(remedy)))
    }

    /// The path that `text` names, if the rules deny it, and what would allow it.
    fn denied(&self, refused: Refused, text: &[u8]) -> Option<(AbsPath, String)> {
        let path = self.confinement.working_directory.join(text).ok()?;
        let remedy = remedy(&self.confinement.files, refused, &path)?;
        Some((path, remedy))
    }
}

/// Where in `line` an error of the sandbox stands, whatever the letter case: node and Go write theirs in
/// small letters.
fn find_refusal(line: &[u8], refusals: &[Refusal]) -> Option<(Range<usize>, Refused)> {
    let lower = line.to_ascii_lowercase();
    refusals.iter().find_map(|(text, refused)| {
        let at = lower.windows(text.len()).position(|window| window == text.as_bytes())?;
        Some((at..at + text.len(), *refused))
    })
}

/// What would allow the access, if the rules are what denies it.
fn remedy(files: &FileSets, refused: Refused, path: &AbsPath) -> Option<String> {
    let denied = |access| {
        let verdict = files.judge(access, path);
        (verdict.effect == Effect::Deny).then_some(verdict.rule)
    };
    let rule = match refused {
        Refused::Read => denied(Access::Read),
        Refused::Write => denied(Access::Write),
        Refused::Either => denied(Access::Read).or_else(|| denied(Access::Write)),
        Refused::WriteByRule => denied(Access::Write).filter(Option::is_some),
    }?;
    Some(match rule {
        None => format!("add \"{path}\", or a directory above it, to sandbox.filesystem.allowWrite"),
        Some(rule) => remedy_of_deny(files, rule),
    })
}

fn remedy_of_deny(files: &FileSets, rule: &FileRule) -> String {
    let origin = &rule.origin;
    if origin.layer == Layer::Builtin {
        return format!("nothing allows it, it is always protected: {origin}");
    }
    let hides = files.deny_read.contains(rule);
    let reopen = if hides { ", or add a narrower path to sandbox.filesystem.allowRead" } else { "" };
    format!("remove the rule that denies it, {origin}{reopen}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use palisade_policy::{Anchor, NetworkPolicy, Origin, PathPattern};
    use std::collections::BTreeMap;

    fn rules(key: &str, texts: &[&str]) -> Vec<FileRule> {
        let anchor = Anchor { base: AbsPath::new("/p").expect("absolute"), home: AbsPath::new("/h").ok() };
        let rule = |text: &&str| FileRule {
            pattern: PathPattern::parse(text, &anchor).expect(text),
            origin: match text.contains(".git") {
                true => Origin::builtin("protected", text),
                false => Origin { file: "/h/settings.json".into(), ..Origin::flag(key, text) },
            },
        };
        texts.iter().map(rule).collect()
    }

    /// `/p` is writable but for some names, `~/.ssh` is hidden.
    fn confinement(working_directory: &str) -> Confinement {
        Confinement {
            files: FileSets {
                allow_write: rules("sandbox.filesystem.allowWrite", &["."]),
                deny_write: rules("sandbox.filesystem.denyWrite", &[".git/config", ".git/hooks", "./a b"]),
                deny_read: rules("sandbox.filesystem.denyRead", &["~/.ssh"]),
                allow_read: Vec::new(),
            },
            nodes: BTreeMap::new(),
            files_disabled: false,
            network: NetworkPolicy::default(),
            working_directory: AbsPath::new(working_directory).expect("absolute"),
        }
    }

    fn targets(stderr: &str, refusals: &[Refusal]) -> Vec<String> {
        let confinement = confinement("/p");
        read(stderr.as_bytes(), &confinement, refusals).iter().map(Violation::target).collect()
    }

    fn check(stderr: &str, target: &str) {
        assert_eq!(targets(stderr, BUBBLEWRAP), [target], "{stderr}");
    }

    #[test]
    fn lines_of_many_programs() {
        for (line, target) in [
            ("bash: /etc/x: Read-only file system", "/etc/x"),
            ("bash: line 1: /etc/x: Read-only file system", "/etc/x"),
            ("bash: line 1: .git/config: Read-only file system", "/p/.git/config"),
            ("bash: a b: Read-only file system", "/p/a b"),
            ("/bin/sh: 1: cannot create /etc/x: Read-only file system", "/etc/x"),
            ("sh: 1: cannot create .git/hooks/pre-commit: Read-only file system", "/p/.git/hooks/pre-commit"),
            ("sh: can't create /etc/my file: Read-only file system", "/etc/my file"),
            ("zsh:1: read-only file system: /etc/x", "/etc/x"),
            ("touch: cannot touch '/etc/x': Read-only file system", "/etc/x"),
            ("mkdir: cannot create directory ‘/etc/x’: Read-only file system", "/etc/x"),
            ("cat: /h/.ssh/id_rsa: Permission denied", "/h/.ssh/id_rsa"),
            ("ls: cannot open directory '../h/.ssh': Permission denied", "/h/.ssh"),
            ("mv: cannot move 'a' to '/etc/a': Read-only file system", "/etc/a"),
            ("rm: cannot remove '.git/hooks': Device or resource busy", "/p/.git/hooks"),
            ("tee: /etc/x: Read-only file system", "/etc/x"),
            ("tar: /etc/x: Cannot open: Read-only file system", "/etc/x"),
            ("sed: couldn't open temporary file /etc/sedab12: Read-only file system", "/etc/sedab12"),
            ("error: could not lock config file .git/config: Read-only file system", "/p/.git/config"),
            ("error: chmod on .git/config.lock failed: Read-only file system", ""),
            ("fatal: Unable to create '/q/.git/index.lock': Read-only file system", "/q/.git/index.lock"),
            ("Load key \"/h/.ssh/id_rsa\": Permission denied", "/h/.ssh/id_rsa"),
            ("PermissionError: [Errno 13] Permission denied: '/h/.ssh/id_rsa'", "/h/.ssh/id_rsa"),
            ("OSError: [Errno 30] Read-only file system: '/etc/x'", "/etc/x"),
            ("OSError: [Errno 30] Read-only file system: 'a' -> '/etc/a'", "/etc/a"),
            ("Error: EACCES: permission denied, open '/h/.ssh/id_rsa'", "/h/.ssh/id_rsa"),
            ("Error: EROFS: read-only file system, open '/etc/x'", "/etc/x"),
            ("npm error Error: EROFS: read-only file system, mkdir '/usr/lib/x'", "/usr/lib/x"),
            ("error: failed to write `/etc/x`: Read-only file system (os error 30)", "/etc/x"),
            ("panic: open /etc/x: read-only file system", "/etc/x"),
            ("2026/01/02 03:04:05 mkdir /etc/x: read-only file system", "/etc/x"),
            ("open .git/config: read-only file system", "/p/.git/config"),
            ("java.io.FileNotFoundException: /h/.ssh/id (Permission denied)", "/h/.ssh/id"),
            ("-e:1:in 'initialize': Read-only file system @ rb_sysopen - /etc/x (Errno::EROFS)", "/etc/x"),
            ("Can't open /h/.ssh/id: Permission denied at -e line 1.", "/h/.ssh/id"),
        ] {
            if target.is_empty() {
                assert_eq!(targets(line, BUBBLEWRAP), [""; 0], "{line}");
            } else {
                check(line, target);
            }
        }
    }

    #[test]
    fn a_path_on_the_line_before_its_error() {
        check(
            "error: failed to create directory `/h/.cargo/registry`\n\nCaused by:\n  \
             Read-only file system (os error 30)",
            "/h/.cargo/registry",
        );
        check(
            "error: failed to open: /h/.ssh/id\nCaused by:\n  0: Permission denied (os error 13)",
            "/h/.ssh/id",
        );
        assert_eq!(targets("Permission denied (os error 13)", BUBBLEWRAP), [""; 0]);
    }

    #[test]
    fn what_the_rules_do_not_cause_is_not_reported() {
        for line in [
            "all is well",
            "cat: /root/secret: Permission denied",
            "touch: cannot touch 'x': Read-only file system",
            "bash: line 1: ./x.sh: Permission denied",
            "kill: (1): Operation not permitted",
            "chown: changing ownership of '/etc/x': Operation not permitted",
            "umount: /mnt: device or resource busy",
            "Error: Read-only file system (os error 30)",
            "Read-only file system",
            ": Read-only file system",
            "\0: Read-only file system",
        ] {
            assert_eq!(targets(line, BUBBLEWRAP), [""; 0], "{line}");
        }
        let disabled = Confinement { files_disabled: true, ..confinement("/p") };
        assert_eq!(read(b"sh: /etc/x: Read-only file system", &disabled, BUBBLEWRAP), []);
    }

    #[test]
    fn outside_the_root_plain_words_are_not_taken_for_names() {
        for (line, found) in [
            ("bash: x: Read-only file system", &["/q/x"][..]),
            ("Error: Read-only file system (os error 30)", &[]),
            ("tar: x: Cannot open: Read-only file system", &["/q/x"]),
            ("OSError: [Errno 30] Read-only file system", &[]),
            ("mount: Read-only file system: see the manual", &[]),
        ] {
            let violations = read(line.as_bytes(), &confinement("/q"), BUBBLEWRAP);
            let targets: Vec<String> = violations.iter().map(Violation::target).collect();
            assert_eq!(targets, found, "{line}");
        }
    }

    #[test]
    fn seatbelt_answers_all_with_one_error() {
        let line = "/bin/sh: .git/config: Operation not permitted";
        assert_eq!(targets(line, SEATBELT), ["/p/.git/config"]);
        assert_eq!(targets("cat: /h/.ssh/id: Operation not permitted", SEATBELT), ["/h/.ssh/id"]);
        assert_eq!(targets("touch: /etc/x: Operation not permitted", SEATBELT), ["/etc/x"]);
        assert_eq!(targets("touch: x: Operation not permitted", SEATBELT), [""; 0]);
    }

    #[test]
    fn a_remedy_names_the_setting() {
        let stderr = b"touch: cannot touch '/etc/x': Read-only file system\n\
            bash: a b: Read-only file system\n\
            cat: /h/.ssh/id: Permission denied\r\n\
            bash: .git/config: Read-only file system\n\
            bash: .git/config: Read-only file system\n";
        let violations = read(stderr, &confinement("/p"), BUBBLEWRAP);
        insta::assert_snapshot!(super::super::plain(&violations), @r#"
        palisade: the sandbox stopped this:
          an access to /etc/x; the command says: touch: cannot touch '/etc/x': Read-only file system
              add "/etc/x", or a directory above it, to sandbox.filesystem.allowWrite
          an access to /p/a b; the command says: bash: a b: Read-only file system
              remove the rule that denies it, sandbox.filesystem.denyWrite "./a b" in /h/settings.json
          an access to /h/.ssh/id; the command says: cat: /h/.ssh/id: Permission denied
              remove the rule that denies it, sandbox.filesystem.denyRead "~/.ssh" in /h/settings.json, or add a narrower path to sandbox.filesystem.allowRead
          an access to /p/.git/config; the command says: bash: .git/config: Read-only file system
              nothing allows it, it is always protected: built-in protected ".git/config"
        "#);
    }

    #[test]
    fn bytes_that_are_not_utf8() {
        let violations = read(b"cat: /h/.ssh/\xff: Permission denied", &confinement("/p"), BUBBLEWRAP);
        assert_eq!(violations[0].target(), r"/h/.ssh/\xff");
    }

    #[test]
    fn what_is_looked_at_is_bounded() {
        let many: String = (0..500).map(|n| format!("sh: /etc/{n}: Read-only file system\n")).collect();
        assert_eq!(targets(&many, BUBBLEWRAP).len(), MOST_VIOLATIONS);
        let long = format!("sh: /etc/{}: Read-only file system", "x".repeat(LONGEST_LINE));
        assert_eq!(targets(&long, BUBBLEWRAP), [""; 0]);
        let harmless =
            "sh: x: Read-only file system\n".repeat(MOST_JUDGED) + "sh: /etc/x: Read-only file system";
        assert_eq!(targets(&harmless, BUBBLEWRAP), [""; 0]);
    }
}
