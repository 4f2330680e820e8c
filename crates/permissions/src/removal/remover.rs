//! The programs that remove, and which of their words name what they remove.

use crate::command_pattern::may_meet;
use crate::program::{Operands, Program, Reach, open_name};
use crate::shell::Word;

/// What one program removes.
#[derive(Debug, Default)]
pub(super) struct Removed<'a> {
    /// The words that name it.
    pub(super) operands: Vec<&'a Word>,
    /// Whether another program names more.
    pub(super) elsewhere: bool,
    /// Whether directories above an operand go with it, as written.
    pub(super) parents: bool,
    /// Whether an operand that is a link stands for what it leads to.
    pub(super) through: bool,
}

/// What `program` removes; `None` when it is not known to remove anything.
pub(super) fn removed(program: &Program) -> Option<Removed<'_>> {
    let words = program.words.get(1..)?;
    if program.is_all_from_elsewhere() {
        return Some(Removed { elsewhere: true, ..Removed::default() });
    }
    let operands = match program.name.as_deref().or_else(|| possible_name(program)) {
        Some("rm" | "grm" | "rmdir" | "grmdir" | "unlink" | "gunlink") => operands(words),
        // Where a guess ends is not known, so that any operand may be the last.
        Some("mv" | "gmv") if program.reach == Reach::Guessed => operands(words),
        Some("mv" | "gmv") => moved_away(words),
        Some("rsync") if program.reach == Reach::Guessed => cleared(words).map(|_| operands(words))?,
        Some("rsync") => cleared(words)?,
        Some("find" | "gfind") => {
            let deletes = words.iter().any(|word| value(word) == Some("-delete"));
            return deletes.then_some(Removed { elsewhere: true, ..Removed::default() });
        }
        // The name is not certain, but the options are `rm`'s.
        None if words.iter().any(is_recursive_force) => operands(words),
        _ => return None,
    };
    let elsewhere = program.operands == Operands::More;
    let parents =
        program.name.as_deref().is_some_and(|name| name.ends_with("rmdir")) && words.iter().any(is_parents);
    let through = program.name.as_deref().is_none_or(|name| name == "rsync");
    Some(Removed { operands, elsewhere, parents, through })
}

/// The program that removes and that a name with wildcards may find: `/bin/r?`.
fn possible_name(program: &Program) -> Option<&'static str> {
    let open = open_name(program.words.first()?);
    let is_telling = open.chars().any(char::is_alphanumeric);
    ["rm", "rmdir", "unlink", "mv", "rsync", "find"]
        .into_iter()
        .find(|name| is_telling && program.name.is_none() && may_meet(name, &open))
}

fn value(word: &Word) -> Option<&str> {
    word.value.as_deref()
}

/// The words that are no options. Options may stand anywhere before a `--`.
fn operands(words: &[Word]) -> Vec<&Word> {
    let end = words.iter().position(|word| value(word) == Some("--")).unwrap_or(words.len());
    let is_operand = |word: &&Word| !value(word).is_some_and(|text| text.len() > 1 && text.starts_with('-'));
    words[..end].iter().filter(is_operand).chain(words.iter().skip(end + 1)).collect()
}

/// `-rf` in any order, with `rm`'s other letters.
fn is_recursive_force(word: &Word) -> bool {
    let letters = value(word).and_then(|text| text.strip_prefix('-')).unwrap_or_default();
    letters.contains(['r', 'R']) && letters.contains('f') && letters.chars().all(|c| "rRfidIvP".contains(c))
}

/// `rmdir -p`, in a bundle or in full.
fn is_parents(word: &Word) -> bool {
    let text = value(word).unwrap_or_default();
    match text.strip_prefix("--") {
        Some(long) => !long.is_empty() && "parents".starts_with(long),
        None => text.starts_with('-') && text.contains('p'),
    }
}

/// The operands of `mv` but the last, or all where an option names the target.
fn moved_away(words: &[Word]) -> Vec<&Word> {
    let (mut sources, mut has_target, mut at) = (Vec::new(), false, 0);
    while let Some(word) = words.get(at) {
        at += 1;
        match value(word) {
            Some("--") => {
                sources.extend(&words[at..]);
                break;
            }
            Some(text) if text.starts_with("--") => {
                let is_target = text.starts_with("--t");
                has_target |= is_target;
                at += usize::from((is_target || text.starts_with("--su")) && !text.contains('='));
            }
            Some(text) if text.len() > 1 && text.starts_with('-') => {
                has_target |= text.contains('t');
                at += usize::from(text.ends_with(['t', 'S']));
            }
            _ => sources.push(word),
        }
    }
    if !has_target && sources.len() > 1 {
        sources.pop();
    }
    sources
}

/// Letters of `rsync` that take a value.
const RSYNC_LETTERS: [char; 6] = ['e', 'f', 'B', 'T', 'M', '@'];
/// Names of `rsync`'s options that take a value, which may be the next word.
const RSYNC_NAMES: &str = "--exclude --include --filter --exclude-from --include-from --files-from --rsh --rsync-path \
     --backup-dir --suffix --compare-dest --copy-dest --link-dest --log-file --log-file-format --out-format \
     --password-file --port --timeout --contimeout --bwlimit --temp-dir --partial-dir --max-size --min-size \
     --max-delete --max-alloc --chmod --chown --usermap --groupmap --info --debug --stderr --block-size --sockopts \
     --address --iconv --checksum-choice --checksum-seed --compress-choice --compress-level --skip-compress \
     --modify-window --protocol --stop-after --stop-at --copy-as --outbuf --remote-option --early-input \
     --write-batch --only-write-batch --read-batch --dparam --config";

/// What `rsync` removes files in: its destination with a `--delete…`, its sources with `--remove-source-files`.
/// `None` when it only copies, or only says what it would do.
fn cleared(words: &[Word]) -> Option<Vec<&Word>> {
    let texts = || words.iter().filter_map(value);
    let deletes = texts().any(|text| text.starts_with("--del"));
    let removes_sources = texts().any(|text| text.starts_with("--remove-s"));
    let is_dry = |text: &str| {
        text == "--dry-run" || (text.starts_with('-') && !text.starts_with("--") && dry_bundle(text))
    };
    let may_undo = texts().any(|text| text.starts_with("--no-"));
    if !(deletes || removes_sources) || (texts().any(is_dry) && !may_undo) {
        return None;
    }
    let mut operands = rsync_operands(words);
    let destination = if operands.len() > 1 { operands.pop() } else { None };
    let sources = if removes_sources { operands } else { Vec::new() };
    Some(sources.into_iter().chain(destination.filter(|_| deletes)).filter(|word| !is_remote(word)).collect())
}

/// Whether an `n` stands in the bundle before a letter that takes the rest.
fn dry_bundle(text: &str) -> bool {
    let end = text.find(RSYNC_LETTERS).unwrap_or(text.len());
    text[..end].contains('n')
}

fn rsync_operands(words: &[Word]) -> Vec<&Word> {
    let (mut operands, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at) {
        at += 1;
        match value(word) {
            Some("--") => {
                operands.extend(&words[at..]);
                break;
            }
            Some(text) if text.starts_with("--") => {
                at += usize::from(RSYNC_NAMES.split_whitespace().any(|name| name == text));
            }
            Some(text) if text.len() > 1 && text.starts_with('-') => {
                // The value is the next word where nothing follows the letter.
                let letter = text.find(RSYNC_LETTERS);
                at += usize::from(letter.is_some_and(|letter| letter + 1 == text.len()));
            }
            _ => operands.push(word),
        }
    }
    operands
}

/// `host:path`, whatever the host; a colon that belongs to an expansion does not count.
fn is_remote(word: &Word) -> bool {
    let raw = word.raw.trim_start_matches(['"', '\'']);
    let first = raw.split('/').next().unwrap_or(raw);
    let host = first.split_once(':').map(|(host, _)| host);
    host.is_some_and(|host| host.chars().all(|c| c.is_ascii_alphanumeric() || "._-@$[]".contains(c)))
}
