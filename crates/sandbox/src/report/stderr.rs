//! Reads file violations from the errors that a command wrote to its standard error.
//!
//! # What it can and cannot tell
//!
//! It is advisory: a command can hide an error or print one that never happened. The access is blocked either way. To
//! be reported, a line must name one of the errors with which the sandbox refuses (the module `refusal` has their
//! words), and a path to which the rules really deny the access; the path is judged as it is written, starting at the
//! directory that the command started in, and no link on the way is looked up. A file of which the host's own
//! permissions would have kept the command, too, is not reported unless a rule hides it.
//!
//! Where a line may name its path: see the module `error_line`. Of several texts that may be the path, the
//! rules pick the first that they deny.
//!
//! # Bounds
//!
//! The command chooses every byte, and how many there are up to what is captured. Each line is looked at once. Longer
//! lines than [`LONGEST_LINE`] are skipped, [`MOST_JUDGED`] lines at most are looked at closely, and
//! [`MOST_VIOLATIONS`] paths at most are reported, each once. What goes beyond is left out in silence, as it
//! may for advice.

use super::error_line::ErrorLine;
use super::ignored::Ignored;
use super::refusal::Refusal;
use palisade_policy::{
    AbsPath, Access, Confinement, Effect, FileIndex, FileRule, FileSets, Layer, Violation,
};
use std::collections::HashSet;

/// A path is 4,096 bytes at most; no line that holds one needs to be much longer.
const LONGEST_LINE: usize = 8192;
/// How many lines that name an error are looked at closely.
const MOST_JUDGED: usize = 2000;
/// How many paths are reported.
const MOST_VIOLATIONS: usize = 100;

/// The accesses that `stderr` tells of and that the file rules of `confinement` deny, without those that are ignored.
pub(crate) fn stderr_violations(
    stderr: &[u8],
    confinement: &Confinement,
    ignored: &Ignored,
) -> Vec<Violation> {
    read(stderr, confinement, ignored, if cfg!(target_os = "macos") { seatbelt } else { bubblewrap })
}

/// Which access a backend refuses with an error, if any.
type Refuses = fn(Refusal) -> Option<Refused>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// A read, or a write that a rule denies by name.
    ReadOrWriteByRule,
    Write,
    Either,
    /// A write that a rule denies by name, not only for want of an allow.
    WriteByRule,
}

/// A read-only mount answers the first and a hidden file the second, as does what stands in for a missing file. The third and fourth are answers of the
/// kernel with many other causes (a mount point cannot be removed: busy), so they count for a denied name
/// only.
fn bubblewrap(refusal: Refusal) -> Option<Refused> {
    Some(match refusal {
        Refusal::ReadOnly => Refused::Write,
        Refusal::Denied => Refused::ReadOrWriteByRule,
        Refusal::NotPermitted | Refusal::Busy => Refused::WriteByRule,
    })
}

/// Seatbelt has one answer for everything.
fn seatbelt(refusal: Refusal) -> Option<Refused> {
    (refusal == Refusal::NotPermitted).then_some(Refused::Either)
}

fn read(stderr: &[u8], confinement: &Confinement, ignored: &Ignored, refuses: Refuses) -> Vec<Violation> {
    if confinement.files_disabled || Refusal::find(stderr).is_none() {
        return Vec::new();
    }
    let index = FileIndex::new(&confinement.files);
    let mut reader = Reader { confinement, index, ignored, refuses, judged: 0, seen: HashSet::new() };
    let mut before: &[u8] = b"";
    let mut violations = Vec::new();
    for line in stderr.split(|&b| matches!(b, b'\n' | b'\r')).map(<[u8]>::trim_ascii) {
        violations.extend(reader.violation(line, before));
        if violations.len() >= MOST_VIOLATIONS || reader.judged >= MOST_JUDGED {
            break;
        }
        // Cargo and others that print a chain of causes put this line between a path and its error.
        if !line.is_empty() && line.len() <= LONGEST_LINE && line != b"Caused by:" {
            before = line;
        }
    }
    violations
}

struct Reader<'a> {
    confinement: &'a Confinement,
    index: FileIndex<'a>,
    ignored: &'a Ignored,
    refuses: Refuses,
    judged: usize,
    seen: HashSet<AbsPath>,
}

impl Reader<'_> {
    fn violation(&mut self, line: &[u8], before: &[u8]) -> Option<Violation> {
        if !(Refusal::SHORTEST..=LONGEST_LINE).contains(&line.len()) {
            return None;
        }
        let (error, refusal) = Refusal::find(line)?;
        let refused = (self.refuses)(refusal)?;
        self.judged += 1;
        let error_line = ErrorLine::new(line, error, before);
        let (path, remedy) = error_line.paths.iter().find_map(|text| self.denied(refused, text))?;
        let violation = Violation::file(&path, &error_line.text, Some(remedy));
        (!self.ignored.holds(&violation) && self.seen.insert(path)).then_some(violation)
    }

    /// The path that `text` names, if the rules deny it, and what would allow it.
    fn denied(&self, refused: Refused, text: &[u8]) -> Option<(AbsPath, String)> {
        let path = self.confinement.working_directory.join(text).ok()?;
        let remedy = self.remedy(refused, &path)?;
        Some((path, remedy))
    }

    /// What would allow the access, if the rules are what denies it.
    fn remedy(&self, refused: Refused, path: &AbsPath) -> Option<String> {
        let Confinement { links, stepped_out_of, .. } = self.confinement;
        let leads_on = links.get(path).or_else(|| stepped_out_of.get(path));
        if let (Refused::WriteByRule, Some(origin)) = (refused, leads_on) {
            return Some(format!("nothing allows it, it leads to what is protected: {origin}"));
        }
        let denied = |access| {
            let verdict = self.index.judge(access, path);
            (verdict.effect == Effect::Deny).then_some(verdict.rule)
        };
        let rule = match refused {
            Refused::ReadOrWriteByRule => {
                denied(Access::Read).or_else(|| denied(Access::Write).filter(Option::is_some))
            }
            Refused::Write => denied(Access::Write),
            Refused::Either => denied(Access::Read).or_else(|| denied(Access::Write)),
            Refused::WriteByRule => denied(Access::Write).filter(Option::is_some),
        }?;
        Some(match rule {
            None => format!("add \"{path}\", or a directory above it, to sandbox.filesystem.allowWrite"),
            Some(rule) => remedy_of_deny(&self.confinement.files, rule),
        })
    }
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
mod tests;
