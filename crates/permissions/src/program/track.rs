//! Follows a line's changes of directory from command to command, and so says where each one may run.
//!
//! A line does not show which of its commands succeed. Two things are kept for each scope: where it may be at all, which only
//! ever grows, and where it is if the last command succeeded. The second holds for what follows that very command
//! behind a `&&`, with nothing but blanks around it in the line; for anything else the first holds. A loop may run
//! its commands again: from the first branch of a scope on it may be wherever all its later changes can lead.

use super::change::{Change, Ground, changes};
use super::directory::Directory;
use crate::shell::{Command, Connector, Line, Place};
use palisade_policy::AbsPath;
use std::collections::BTreeSet;
use std::ops::Range;

/// Where each command of a line may run.
pub(super) fn directories(text: &str, line: &Line, start: &Directory, ground: &Ground) -> Vec<Directory> {
    let changes = changes(line, ground);
    let moves = |change: &Change| !matches!(change, Change::Stays | Change::Ends);
    if !changes.iter().any(moves) {
        return vec![start.clone(); line.commands.len()];
    }
    let states = vec![None; line.scopes.len().max(1)];
    let loops = text.contains("done") || line.commands.iter().any(|command| command.span.is_empty());
    let hides_branches = loops && (text.contains("[[") || text.contains("(("));
    let mut tracker = Tracker { text, line, changes, start, states, loops, hides_branches };
    (0..line.commands.len()).map(|index| tracker.step(index)).collect()
}

struct Tracker<'a> {
    text: &'a str,
    line: &'a Line,
    changes: Vec<Change>,
    start: &'a Directory,
    states: Vec<Option<State>>,
    /// Whether there may be a loop: none ends without a `done`.
    loops: bool,
    /// Whether a loop's body may begin with a test, which is no command and so leaves no mark of a branch.
    hides_branches: bool,
}

/// What is known of one scope after its last command.
#[derive(Clone)]
struct State {
    /// Where it may be.
    any: Directory,
    /// Where it is if that command succeeded.
    success: Directory,
    /// Where that command ran.
    ran: Directory,
    /// Where the shells around it have been.
    been: Directory,
    /// That command's place in the line.
    span: Range<usize>,
    /// Whether the first branch was passed.
    branched: bool,
    /// Whether every command so far follows the one before it however that ended.
    straight: bool,
}

impl Tracker<'_> {
    fn step(&mut self, index: usize) -> Directory {
        let command = &self.line.commands[index];
        let scope = command.scope.min(self.states.len() - 1);
        let mut state = self.enter(scope, index);
        if command.connector == Connector::Branch || self.hides_branches {
            self.branch(&mut state, index, scope);
        }
        let follows = command.connector == Connector::And && self.opens_after_success(&state.span, command);
        let runs = if follows { state.success.clone() } else { state.any.clone() };
        let reached = self.reached(&self.changes[index], &runs, &state);
        let negated =
            self.text.get(..command.span.start).is_none_or(|before| before.trim_end().ends_with('!'));
        if self.ends_straight(index, command, &state) {
            state.any = state.success.clone();
        } else if !state.branched {
            state.any = state.any.or(&reached);
        }
        state.success = match command.connector {
            Connector::Or => state.any.clone(),
            _ if negated => state.any.clone(),
            _ => reached,
        };
        state.straight &= command.connector == Connector::Sequence;
        state.ran = runs.clone();
        state.span = command.span.clone();
        self.states[scope] = Some(state);
        runs
    }

    /// `cd x || exit` before anything else that is conditional: what comes after is in `x`.
    fn ends_straight(&self, index: usize, command: &Command, state: &State) -> bool {
        let before = || self.text.get(..state.span.start);
        self.changes[index] == Change::Ends
            && command.connector == Connector::Or
            && state.straight
            && self.between(&state.span, command) == Some("||")
            && before().is_some_and(|text| !text.contains(['&', '|', '{', '(', '!', '`']))
    }

    /// What stands between two commands of a scope, without the blanks around it.
    fn between(&self, last: &Range<usize>, command: &Command) -> Option<&str> {
        self.text.get(last.end..command.span.start).map(str::trim)
    }

    /// The state of a scope as `command` finds it, made from the scope around it for its first command.
    fn enter(&mut self, scope: usize, index: usize) -> State {
        if let Some(state) = &self.states[scope] {
            return state.clone();
        }
        let info = self.line.scopes.get(scope);
        let parent = info.and_then(|info| info.parent).filter(|parent| *parent < scope);
        let (Some(parent), Some(info)) = (parent, info) else { return State::new(self.start, self.start) };
        let command = &self.line.commands[index];
        let mut outer = self.enter(parent, index);
        let is_substitution = matches!(info.place, Place::Substitution | Place::ProcessSubstitution);
        // Then it is the first of a branch of the scope around it, or else of its own.
        if command.connector == Connector::Branch && !is_substitution {
            self.branch(&mut outer, index, parent);
        }
        let here = match info.place {
            Place::Function => Directory::Unknown,
            _ if is_substitution && encloses(&outer.span, &command.span) => outer.ran.clone(),
            Place::Subshell | Place::Pipe
                if command.connector == Connector::And && self.opens_after_success(&outer.span, command) =>
            {
                outer.success.clone()
            }
            _ => outer.any.clone(),
        };
        let state = State::new(&here, &outer.been.or(&outer.any));
        self.states[parent] = Some(outer);
        state
    }

    /// From here on, a scope's commands may run again.
    fn branch(&self, state: &mut State, index: usize, scope: usize) {
        if self.loops && !state.branched {
            state.branched = true;
            state.any = self.closure(index, scope, state);
            state.success = state.any.clone();
        }
        state.straight = false;
    }

    /// Whether only a `&&` and what opens a group or a subshell stand between two commands.
    fn opens_after_success(&self, last: &Range<usize>, command: &Command) -> bool {
        let opens =
            |text: &str| text.trim_end_matches(|c: char| matches!(c, '(' | '{') || c.is_whitespace()) == "&&";
        self.between(last, command).is_some_and(opens)
    }

    fn reached(&self, change: &Change, from: &Directory, state: &State) -> Directory {
        match change {
            Change::Stays | Change::Ends => from.clone(),
            Change::To(path) => from.join(path),
            Change::Back => state.been.or(&state.any),
            Change::Lost => Directory::Unknown,
        }
    }

    /// Wherever the changes of a scope from the command of that index on can lead, in any order and number.
    fn closure(&self, index: usize, scope: usize, state: &State) -> Directory {
        let commands = self.line.commands.iter().zip(&self.changes).skip(index);
        let here = commands.filter(|(command, _)| command.scope == scope).map(|(_, change)| change);
        let mut steps = BTreeSet::new();
        let mut all = state.any.clone();
        for change in here {
            match change {
                Change::Stays | Change::Ends => {}
                Change::To(path) => drop(steps.insert(&**path)),
                Change::Back => all = all.or(&state.been),
                Change::Lost => return Directory::Unknown,
            }
        }
        match all.known() {
            Some(paths) => close(paths, &steps),
            // An absolute path is known from anywhere, the rest is not.
            None => Directory::Unknown,
        }
    }
}

impl State {
    fn new(here: &Directory, been: &Directory) -> Self {
        State {
            any: here.clone(),
            success: here.clone(),
            ran: here.clone(),
            been: been.clone(),
            span: 0..0,
            branched: false,
            straight: true,
        }
    }
}

fn encloses(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end && !outer.is_empty()
}

/// The paths, and what any of the steps reaches from them in any number.
fn close(paths: &[AbsPath], steps: &BTreeSet<&str>) -> Directory {
    let mut seen: BTreeSet<AbsPath> = paths.iter().cloned().collect();
    let mut open: Vec<AbsPath> = paths.to_vec();
    while let Some(path) = open.pop() {
        for step in steps {
            let Ok(next) = path.join(step) else { return Directory::Unknown };
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
        if seen.len() > Directory::MOST {
            return Directory::Unknown;
        }
    }
    Directory::collect(seen.into_iter().map(Some))
}
