//! A line as short text: commands between `; `, words between blanks, each with its value where it has one.

use palisade_permissions::shell::{Command, Reading, Shell, Word, read};

/// What bash makes of `line`: its commands, or why it is not read.
pub(crate) fn show(line: &str) -> String {
    show_for(line, Shell::Bash)
}

/// What `shell` makes of `line`.
pub(crate) fn show_for(line: &str, shell: Shell) -> String {
    match read(line, shell) {
        Reading::Read(line) => line.commands.iter().map(command).collect::<Vec<_>>().join("; "),
        Reading::Unreadable { reason, .. } => format!("not read: {reason}"),
    }
}

/// `A=1 git push 2>log`: a word without a value as written between `«` and `»`.
fn command(command: &Command) -> String {
    let assignments = command.assignments.iter().map(|assignment| {
        let operator = if assignment.appends { "+=" } else { "=" };
        format!("{}{operator}{}", assignment.name, word(&assignment.value))
    });
    let redirections = command.redirections.iter().map(|redirection| {
        let descriptor = redirection.descriptor.map(|number| number.to_string()).unwrap_or_default();
        format!("{descriptor}{:?}:{}", redirection.operator, word(&redirection.target))
    });
    assignments.chain(command.words.iter().map(word)).chain(redirections).collect::<Vec<_>>().join(" ")
}

fn word(word: &Word) -> String {
    match word.value.as_deref() {
        Some(value) if !value.is_empty() && !value.contains([' ', '\n', '\t']) => value.into(),
        Some(value) => format!("{value:?}"),
        None => format!("«{}»", word.raw),
    }
}
