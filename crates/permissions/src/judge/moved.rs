//! Links that a line brings to where it uses them: `cp -a link x && touch x/y`, `ln -s ~ x; rm -rf x/y`.
//!
//! Where links lead is asked before the line runs. A copy that keeps links, a move, or a new link may put one in a place
//! where none is yet, and what the line names below that place lies elsewhere then. So a path below what is brought is
//! looked for in what that comes from, through several of them where one brings what another has brought. Where that is
//! not known, nobody knows what the path will be.
//!
//! Programs that bring links without naming them (`tar`, `git checkout`, a script) are not seen.

use super::Context;
use super::access::Touch;
use super::copied::{Copied, Source};
use super::place::Place;
use crate::program::{Globs, Programs, Role};
use crate::removal::Brought;
use crate::shell::Reading;
use palisade_policy::AbsPath;
use std::cell::Cell;

/// More copies and moves than these are not told apart.
const MOST_MOVES: usize = 64;
/// In more than these nothing is looked for.
const MOST_SOURCES: usize = 64;
/// For one path, nothing is looked for in more than these.
const MOST_STEPS: usize = 32;
/// Nor for all paths of a line together.
const MOST_STEPS_OF_LINE: usize = 4_000;

/// The copies and moves of a line.
#[derive(Debug, Default)]
pub(super) struct Moved {
    moves: Vec<Move>,
    /// Whether a program may run before one that stands in front of it.
    in_any_order: bool,
    /// What the line's wildcards find.
    globs: Globs,
    /// How often something may still be looked for.
    left: Cell<usize>,
}

#[derive(Debug)]
struct Move {
    program: usize,
    copied: Copied,
}

/// Where a path may lead once what is copied and moved is there.
#[derive(Debug, Default)]
struct Led {
    /// Where links that are known lead.
    paths: Vec<AbsPath>,
    /// Whether it may be anywhere else.
    is_open: bool,
    /// How often something may still be looked for.
    left: usize,
}

impl Moved {
    pub(super) fn of(line: &str, reading: &Reading, programs: &Programs, context: &Context<'_>) -> Self {
        let (mut moves, mut left) = (Vec::new(), MOST_SOURCES);
        for (at, program) in programs.list.iter().enumerate() {
            let Some(copied) = Copied::of(program, left, context) else { continue };
            if moves.len() == MOST_MOVES {
                moves = vec![Move { program: usize::MAX, copied: Copied::anything() }];
                break;
            }
            left = left.saturating_sub(copied.sources.len());
            moves.push(Move { program: at, copied });
        }
        let repeats =
            |one: &Move| programs.outwards(one.program).skip(1).any(|outer| outer.role == Role::Other);
        let in_any_order =
            !moves.is_empty() && (runs_in_any_order(line, reading) || moves.iter().any(repeats));
        Moved { in_any_order, moves, globs: programs.globs, left: Cell::new(MOST_STEPS_OF_LINE) }
    }

    /// The touch as it is once what the program may find moved has been.
    pub(super) fn settle(&self, program: usize, mut touch: Touch, context: &Context<'_>) -> Touch {
        let named = if let Place::Paths(paths) | Place::Below { paths, .. } = &touch.place {
            paths
        } else {
            &Vec::new()
        };
        let led: Vec<Led> = named.iter().map(|path| self.found(path, program, context)).collect();
        if !led.iter().all(Led::is_certain) {
            touch.place = Place::Unknown;
        }
        touch.reached.extend(led.into_iter().flat_map(|led| led.paths));
        touch.place = touch.place.with(self.globs);
        if let Place::Wildcard(paths) = &touch.place
            && !paths.iter().all(|path| self.found(path, program, context).is_certain())
        {
            touch.place = Place::Unknown;
        }
        touch
    }

    /// The place as a program finds it.
    pub(super) fn settle_place(&self, program: usize, place: Place, context: &Context<'_>) -> Place {
        let is_certain = |path: &AbsPath| self.found(path, program, context).is_certain();
        match &place {
            Place::Paths(paths) | Place::Wildcard(paths) | Place::Below { paths, .. } => {
                if paths.iter().all(is_certain) { place } else { Place::Unknown }
            }
            Place::Unknown => place,
        }
    }

    /// Where else than by the links that are there a path may lead that a program removes, or something in it. What is
    /// certain of what the program has brought itself counts too.
    pub(super) fn brought(&self, program: usize, path: &AbsPath, context: &Context<'_>) -> Brought {
        let led = self.found(path, program, context);
        let own = self.led(path, |one| one.program == program, program, context);
        Brought { paths: [led.paths, own.paths].concat(), anywhere: led.is_open }
    }

    fn found(&self, path: &AbsPath, program: usize, context: &Context<'_>) -> Led {
        self.led(path, |one| one.program != program, program, context)
    }

    /// Where a path leads by the moves of which `counts` is true and that may run before or as `program`.
    fn led(
        &self,
        path: &AbsPath,
        counts: impl Fn(&Move) -> bool,
        program: usize,
        context: &Context<'_>,
    ) -> Led {
        let is_first = |one: &Move| self.in_any_order || one.program <= program || one.program == usize::MAX;
        let may_run = |one: &&Move| counts(one) && is_first(one);
        let moves: Vec<&Move> = self.moves.iter().filter(may_run).collect();
        let mut led = Led { left: self.left.get().min(MOST_STEPS), ..Led::default() };
        let before = led.left;
        if !moves.is_empty() {
            led.look(path, &moves, context);
        }
        self.left.set(self.left.get() - (before - led.left));
        led
    }
}

impl Led {
    /// Whether no link is brought, nor may be.
    fn is_certain(&self) -> bool {
        !self.is_open && self.paths.is_empty()
    }

    /// Looks for `path` in what `moves` bring.
    fn look(&mut self, path: &AbsPath, moves: &[&Move], context: &Context<'_>) {
        let real = (context.follow)(path);
        for path in [path, &real].into_iter().take(if real == *path { 1 } else { 2 }) {
            for (at, one) in moves.iter().enumerate() {
                let anywhere = one.copied.targets.is_none().then(|| replaceable(path, context));
                for target in one.copied.targets.iter().chain(&anywhere).flatten() {
                    if let Some(below) = below(target, path) {
                        self.look_in((at, moves), target, below, context);
                    }
                }
            }
        }
    }

    /// Looks for `below`, a path in a target of one of the moves.
    fn look_in(
        &mut self,
        (at, moves): (usize, &[&Move]),
        target: &AbsPath,
        below: &[u8],
        context: &Context<'_>,
    ) {
        let copied = &moves[at].copied;
        self.is_open |= copied.is_open && !(copied.is_within && below.is_empty());
        let parent = target.parent().unwrap_or_else(AbsPath::root);
        for source in &copied.sources {
            let is_contents = matches!(source, Source::Itself { is_contents: true, .. });
            if !copied.is_within || is_contents {
                self.look_behind(source, &parent, below, (at, moves), context);
            }
            let end = below.iter().position(|&byte| byte == b'/').unwrap_or(below.len());
            if end > 0 && source.may_be_called(&below[..end]) {
                let within = below[end..].strip_prefix(b"/").unwrap_or_default();
                self.look_behind(source, target, within, (at, moves), context);
            }
        }
    }

    /// Looks for `rest` behind what one of the moves brought into `directory`, and there for what others brought.
    fn look_behind(
        &mut self,
        source: &Source,
        directory: &AbsPath,
        rest: &[u8],
        (at, moves): (usize, &[&Move]),
        context: &Context<'_>,
    ) {
        let Some(left) = self.left.checked_sub(1) else {
            self.is_open = true;
            return;
        };
        self.left = left;
        let origins = match source {
            Source::Found(_) => None,
            Source::Itself { path, .. } => path.join(rest).ok().map(|origin| {
                self.paths.extend(link(path, &origin, context));
                vec![origin]
            }),
            Source::Link(text) => Source::led(text, directory, context).map(|paths| {
                let led: Vec<AbsPath> = paths.iter().filter_map(|path| path.join(rest).ok()).collect();
                self.paths.extend(led.iter().filter(|path| !path.is_too_long()).map(context.follow));
                led
            }),
        };
        self.is_open |= origins.is_none();
        let others = [&moves[..at], &moves[at + 1..]].concat();
        for origin in origins.into_iter().flatten() {
            match origin.is_too_long() {
                true => self.is_open = true,
                false => self.look(&origin, &others, context),
            }
        }
    }
}

/// Whether what stands first in a line may run last: in a loop, a function, beside another program.
fn runs_in_any_order(line: &str, reading: &Reading) -> bool {
    let rest = ["&&", "||", ">&", "&>"].iter().fold(line.to_owned(), |rest, joins| rest.replace(joins, ""));
    rest.contains(['&', '|'])
        || ["done", "trap", "coproc"].iter().any(|word| rest.contains(word))
        || !reading.line().functions.is_empty()
}

/// What of a path another file may come to stand for: neither a directory that is worked in nor one above it.
fn replaceable(path: &AbsPath, context: &Context<'_>) -> Vec<AbsPath> {
    let is_free = |path: &AbsPath| !path.covers(context.root) && !path.covers(context.working_directory);
    std::iter::successors(Some(path.clone()), AbsPath::parent).take_while(is_free).take(MOST_STEPS).collect()
}

/// What follows `target` in a path at or below it, without a slash in front.
fn below<'p>(target: &AbsPath, path: &'p AbsPath) -> Option<&'p [u8]> {
    let rest = target.covers(path).then(|| &path.as_bytes()[target.as_bytes().len()..])?;
    Some(rest.strip_prefix(b"/").unwrap_or(rest))
}

/// Where `origin` leads, a path in `source`, if a link in it or the link that it is leads away.
fn link(source: &AbsPath, origin: &AbsPath, context: &Context<'_>) -> Option<AbsPath> {
    let real = (context.follow)(origin);
    let directory = source.parent().map_or_else(AbsPath::root, |parent| (context.follow)(&parent));
    let from = source.parent().map_or(0, |parent| parent.as_bytes().len());
    let rest = origin.as_bytes().get(from..).unwrap_or_default();
    let is_plain = directory.join(rest.strip_prefix(b"/").unwrap_or(rest)).is_ok_and(|plain| plain == real);
    (!is_plain).then_some(real)
}
