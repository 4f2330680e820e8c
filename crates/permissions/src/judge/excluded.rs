//! Which lines `excludedCommands` takes out of the sandbox: those of which every command matches an entry,
//! and that do nothing else.
//!
//! A line that is taken out runs with everything that its user may do. So the smallest doubt keeps it in: a
//! `cd`, a substitution, a redirection into or from a file, a here-document, a wrapper, a path, a variable
//! that is not known to be harmless. Being taken out approves nothing.

use super::spelling::Spellings;
use crate::program::{Program, Programs, Reach};
use crate::shell::{Line, Place, Reading, RedirectionOperator};
use crate::variables::is_safe;
use crate::{Excluded, RuleSet};

/// The entry that takes a line out of the sandbox, the first of them where it has several commands; `None`
/// when it stays in.
pub(super) fn excluded<'a>(
    rules: &'a RuleSet,
    reading: &Reading,
    programs: &Programs,
) -> Option<&'a Excluded> {
    let Reading::Read(line) = reading else { return None };
    if rules.excluded.is_empty() || !is_plain(line) || !programs.uncertain.is_empty() || programs.is_cut {
        return None;
    }
    let outermost = || programs.list.iter().filter(|program| program.reach == Reach::Direct);
    if outermost().count() != line.commands.len() {
        return None;
    }
    let mut entries = outermost().map(|program| entry(rules, program));
    let first = entries.next()??;
    entries.all(|entry| entry.is_some()).then_some(first)
}

fn is_plain(line: &Line) -> bool {
    let is_inner =
        |place: Place| matches!(place, Place::Substitution | Place::ProcessSubstitution | Place::Function);
    let redirections = line.commands.iter().flat_map(|command| &command.redirections);
    line.functions.is_empty()
        && !line.scopes.iter().any(|scope| is_inner(scope.place))
        && redirections.into_iter().all(|redirection| redirection.operator == RedirectionOperator::Duplicate)
}

fn entry<'a>(rules: &'a RuleSet, program: &Program) -> Option<&'a Excluded> {
    let is_certain = |set: &crate::shell::Assignment| is_safe(&set.name) && set.value.value.is_some();
    let name = program.name.as_deref()?;
    let first = program.words.first()?.value.as_deref()?;
    if first != name
        || name == "cd"
        || !program.assignments.iter().all(is_certain)
        || takes_other_settings(program)
    {
        return None;
    }
    let spellings = Spellings::of(program);
    rules.excluded.iter().find(|excluded| spellings.exact.iter().any(|text| excluded.pattern.covers(text)))
}

/// `git -c alias.x='!…' x`: what git runs then is another program.
fn takes_other_settings(program: &Program) -> bool {
    let is_setting = |value: &str| {
        value.starts_with("-c") || value.starts_with("--config-env") || value.starts_with("--exec-path")
    };
    program.name.as_deref() == Some("git")
        && program
            .words
            .iter()
            .skip(1)
            .map(|word| word.value.as_deref().unwrap_or("-c"))
            .take_while(|v| v.starts_with('-'))
            .any(is_setting)
}
