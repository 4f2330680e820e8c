//! What would change the verdict on a path: the fewest steps that do, each tried on the policy before it is said.
//!
//! What is advised for the command line goes through the same reading of options as the user's own would, so a text
//! that means another path, and a rule that Palisade refuses, are never advised.

use super::files::{Inquiry, Kind, View};
use super::take_away;
use crate::failure::Failure;
use crate::options::RuleOptions;
use crate::policy::read;
use palisade_policy::{
    AbsPath, Access, Effect, FileList, FileRule, FileSets, Layer, Origin, PathPattern, Policy, Printable,
};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// How many ways are tried for one answer: each costs as much as the answer itself.
const MOST_TRIED: usize = 24;

/// One thing that somebody can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Add the path to a list.
    Add(FileList, AbsPath),
    /// Have an administrator make the path readable again, where a lock lets nobody else.
    AddManaged(AbsPath),
    /// Take a rule away.
    TakeAway(Origin),
    /// Set `filesystem.disabled`.
    Disable,
    /// Take `filesystem.disabled` away.
    Enable,
}

impl Step {
    /// The rule that it adds, and to which list.
    pub(super) fn added(&self) -> Option<(FileList, FileRule)> {
        let (list, path, layer) = match self {
            Step::Add(list, path) => (*list, path, Layer::Flag),
            Step::AddManaged(path) => (FileList::AllowRead, path, Layer::Managed),
            Step::TakeAway(_) | Step::Disable | Step::Enable => return None,
        };
        let origin = Origin { layer, ..Origin::flag("", &path.to_string()) };
        Some((list, FileRule { pattern: PathPattern::literal(path.clone()), origin }))
    }
}

/// The steps that turn `view`, the answer under `policy`, into its opposite, for a person; none where nothing does.
pub(super) fn changes(inquiry: &Inquiry<'_>, view: &View, policy: &Policy) -> Vec<String> {
    let mut ways: VecDeque<Vec<Step>> =
        steps_from(inquiry, view).into_iter().map(|step| vec![step]).collect();
    for _ in 0..MOST_TRIED {
        let Some(way) = ways.pop_front() else { break };
        // What cannot be said or is refused is no way.
        let Ok(after) = supposed(inquiry, policy, &way).and_then(|policy| inquiry.view(&policy, &way)) else {
            continue;
        };
        if after.effect != view.effect {
            return way.iter().map(|step| said(step, view, policy, &inquiry.whose)).collect();
        }
        let further = steps_from(inquiry, &after).into_iter().filter(|step| !way.contains(step));
        ways.extend(further.map(|step| [way.as_slice(), &[step]].concat()));
    }
    Vec::new()
}

/// What could be done about what decides now.
fn steps_from(inquiry: &Inquiry<'_>, view: &View) -> Vec<Step> {
    let add = |list| Step::Add(list, view.at.clone());
    let rule = view.rule.as_ref().map(|(list, rule)| (*list, rule));
    match (view.effect, view.kind, rule) {
        (_, Kind::Nobody, _) => vec![Step::Enable],
        (Effect::Allow, ..) if inquiry.access == Access::Read => vec![add(FileList::DenyRead)],
        (Effect::Allow, ..) => vec![add(FileList::DenyWrite)],
        (Effect::Deny, _, Some((_, rule))) if rule.origin.layer == Layer::Builtin => vec![Step::Disable],
        (Effect::Deny, _, Some((Some(FileList::DenyRead), rule))) => {
            let is_narrower = !rule.pattern.names(&view.at);
            let mut steps: Vec<Step> = is_narrower.then(|| add(FileList::AllowRead)).into_iter().collect();
            steps.extend((is_narrower && inquiry.access == Access::Write).then(|| add(FileList::AllowWrite)));
            steps.extend(is_narrower.then(|| Step::AddManaged(view.at.clone())));
            steps.push(Step::TakeAway(rule.origin.clone()));
            steps
        }
        (Effect::Deny, _, Some((_, rule))) => vec![Step::TakeAway(rule.origin.clone())],
        (Effect::Deny, Kind::Own, None) => Vec::new(),
        (Effect::Deny, Kind::Rules, None) => vec![add(FileList::AllowWrite)],
    }
}

/// The policy after the steps were taken.
fn supposed(inquiry: &Inquiry<'_>, policy: &Policy, steps: &[Step]) -> Result<Policy, Failure> {
    let mut options = inquiry.options.clone();
    let mut policy = policy.clone();
    for step in steps {
        match step {
            Step::Add(list, path) => {
                options_of(&mut options, *list).push(OsString::from_vec(text_for(path)?))
            }
            // There is no option that stands for it.
            Step::AddManaged(path) => drop(std::str::from_utf8(&text_for(path)?).map_err(|_| unnamed(path))?),
            Step::TakeAway(_) | Step::Disable | Step::Enable => {}
        }
    }
    if steps.iter().any(|step| matches!(step, Step::Add(..))) {
        policy = read(&options)?.0.loaded.policy;
    }
    for step in steps {
        match step {
            Step::AddManaged(_) if policy.read_lock.is_none() => {}
            Step::AddManaged(_) => policy.files.allow_read.extend(step.added().map(|(_, rule)| rule)),
            Step::Add(..) => {}
            Step::TakeAway(origin) => {
                for list in
                    [FileList::AllowWrite, FileList::DenyWrite, FileList::DenyRead, FileList::AllowRead]
                {
                    list_of(&mut policy.files, list).retain(|rule| rule.origin != *origin);
                }
            }
            Step::Disable => policy.files_disabled = true,
            Step::Enable => policy.files_disabled = false,
        }
    }
    // What was left out for a rule that is gone now is not any more.
    if steps.iter().any(|step| matches!(step, Step::TakeAway(_))) {
        for (list, rule) in steps.iter().filter_map(Step::added) {
            list_of(&mut policy.files, list).push(rule);
        }
    }
    Ok(policy)
}

fn list_of(files: &mut FileSets, list: FileList) -> &mut Vec<FileRule> {
    match list {
        FileList::AllowWrite => &mut files.allow_write,
        FileList::DenyWrite => &mut files.deny_write,
        FileList::DenyRead => &mut files.deny_read,
        FileList::AllowRead => &mut files.allow_read,
    }
}

fn text_for(path: &AbsPath) -> Result<Vec<u8>, Failure> {
    PathPattern::text_for(path).ok_or_else(|| unnamed(path))
}

fn unnamed(path: &AbsPath) -> Failure {
    Failure::new("PATH_INVALID", format!("no entry names {path}"))
}

fn options_of(options: &mut RuleOptions, list: FileList) -> &mut Vec<OsString> {
    match list {
        FileList::AllowWrite => &mut options.allow_write,
        FileList::DenyWrite => &mut options.deny_write,
        FileList::DenyRead => &mut options.deny_read,
        FileList::AllowRead => &mut options.allow_read,
    }
}

fn option_name(list: FileList) -> &'static str {
    match list {
        FileList::AllowWrite => "--allow-write",
        FileList::DenyWrite => "--deny-write",
        FileList::DenyRead => "--deny-read",
        FileList::AllowRead => "--allow-read",
    }
}

/// For a person. `whose` are the settings in which an entry that opens something to be written counts.
fn said(step: &Step, view: &View, policy: &Policy, whose: &str) -> String {
    let opens = matches!(step.added(), Some((FileList::AllowRead | FileList::AllowWrite, _)));
    let first = if view.is_missing && opens { "make it first; then " } else { "" };
    match (step, &policy.read_lock) {
        (Step::Add(list, path), _) => {
            let text = PathPattern::text_for(path).unwrap_or_default();
            let (option, word) = (option_name(*list), shell_word(&text));
            let whose = match list {
                FileList::AllowWrite if !whose.is_empty() => whose,
                _ if opens && view.is_hidden_by_others() => " of your own settings",
                _ => "",
            };
            let add = std::str::from_utf8(&text)
                .ok()
                .map(|text| format!("add {} to sandbox.filesystem.{list}{whose}, or ", json_text(text)));
            format!("{first}{}give {option} {word} for one run", add.unwrap_or_default())
        }
        (Step::AddManaged(path), lock) => {
            let entry = json_text(&String::from_utf8_lossy(&PathPattern::text_for(path).unwrap_or_default()));
            let by = lock.as_ref().map(|lock| format!(", by {lock}")).unwrap_or_default();
            format!(
                "{first}add {entry} to sandbox.filesystem.allowRead of managed settings; no others count{by}"
            )
        }
        (Step::TakeAway(origin), _) => take_away(origin),
        (Step::Disable, _) => "nothing lifts what Palisade protects but sandbox.filesystem.disabled".into(),
        (Step::Enable, _) => "take filesystem.disabled out of the settings".into(),
    }
}

/// As a string of JSON in which nothing is invisible.
fn json_text(text: &str) -> String {
    let mut json = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if is_visible(c) => json.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| json.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    json.push('"');
    json
}

/// As a word that bash reads as these very bytes, in which nothing is invisible.
fn shell_word(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.chars().all(is_visible));
    match text {
        Some(text) if text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c)) => {
            text.into()
        }
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => format!("$'{}'", bytes.utf8_chunks().map(dollar_quoted).collect::<String>()),
    }
}

fn dollar_quoted(chunk: std::str::Utf8Chunk<'_>) -> String {
    let mut word = String::new();
    let code = |byte: &u8| format!("\\x{byte:02x}");
    for c in chunk.valid().chars() {
        match c {
            '\'' | '\\' => word.extend(['\\', c]),
            // A letter after a code would be read as one more digit of it, but bash takes two at most.
            c if is_visible(c) => word.push(c),
            c => word.extend(c.encode_utf8(&mut [0; 4]).as_bytes().iter().map(code)),
        }
    }
    word.extend(chunk.invalid().iter().map(code));
    word
}

fn is_visible(c: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    Printable(text).to_string() == text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_invisible_is_in_what_is_to_be_typed() {
        for (bytes, word) in [
            (&b"/a/b-c.d"[..], "/a/b-c.d"),
            (b"/a b", "'/a b'"),
            (b"/it's", r"'/it'\''s'"),
            (b"/t\tx", r"$'/t\x09x'"),
            (b"/\xffa'", r"$'/\xffa\''"),
            ("/z\u{200b}".as_bytes(), r"$'/z\xe2\x80\x8b'"),
        ] {
            assert_eq!(shell_word(bytes), word);
        }
        for text in ["/a\"b\\", "/t\tx\n", "/z\u{200b}\u{e0041}é"] {
            let json = json_text(text);
            assert!(json.chars().all(is_visible), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
        }
    }
}
