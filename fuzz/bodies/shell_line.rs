//! What must hold of a shell line, whatever its bytes: there is an answer, for every shell, and it holds together.
//! It panics where something does not hold.

use palisade_permissions::shell::{Line, Shell, Word, read_bytes};

pub(crate) fn run(line: &[u8]) {
    for shell in [Shell::Bash, Shell::OldBash, Shell::Sh] {
        let reading = read_bytes(line, shell);
        holds_together(reading.line(), line.len());
        assert_eq!(read_bytes(line, shell), reading, "the same line has the same answer");
    }
}

fn holds_together(found: &Line, length: usize) {
    for command in &found.commands {
        assert!(command.scope < found.scopes.len(), "a command's scope is there");
        assert!(command.span.start <= command.span.end && command.span.end <= length);
        command.words.iter().for_each(has_no_value_in_doubt);
        command.assignments.iter().for_each(|assignment| has_no_value_in_doubt(&assignment.value));
        command.redirections.iter().for_each(|redirection| has_no_value_in_doubt(&redirection.target));
    }
    for (index, scope) in found.scopes.iter().enumerate() {
        assert!(scope.parent.is_none_or(|parent| parent < index), "a scope's parent stands before it");
        assert_eq!(scope.parent.is_none(), index == 0, "only the first has none");
    }
}

fn has_no_value_in_doubt(word: &Word) {
    let flags = word.flags;
    let in_doubt = flags.glob || flags.brace || flags.tilde || flags.dynamic;
    assert!(word.value.is_none() || !in_doubt, "{word:?}");
}
