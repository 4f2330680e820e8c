//! Links that a line brings to where it uses them: `cp -a link x && touch x/y`.
//!
//! Where links lead is asked before the line runs. A copy that keeps links, or a move, may put one in a place where none
//! is yet, and what the line names below that place lies elsewhere then. So a path below what is copied or moved to is
//! looked for in what it comes from; where that is a link, or is not known, nobody knows what the path will be.
//!
//! Programs that bring links without naming them (`tar`, `git checkout`, a script) are not seen.

use super::Context;
use super::access::{self, Touch};
use super::place::{Place, place_of};
use crate::program::{Operands, Program, Programs, keeps_first};
use crate::shell::{Reading, Word};
use palisade_policy::AbsPath;

/// More copies and moves than these are not told apart.
const MOST_MOVES: usize = 16;
/// In more than these nothing is looked for.
const MOST_SOURCES: usize = 16;

/// The copies and moves of a line.
#[derive(Debug, Default)]
pub(super) struct Moved {
    moves: Vec<Move>,
    /// Whether a program may run before one that stands in front of it.
    in_any_order: bool,
}

#[derive(Debug)]
struct Move {
    program: usize,
    targets: Vec<AbsPath>,
    /// What goes there; `None` where that is not known.
    sources: Option<Vec<AbsPath>>,
}

/// Where a path may lead once what is copied and moved is there.
#[derive(Debug, Default)]
pub(super) struct Led {
    /// Links that are known.
    paths: Vec<AbsPath>,
    /// Whether it may be anywhere else.
    is_open: bool,
}

impl Moved {
    pub(super) fn of(line: &str, reading: &Reading, programs: &Programs, context: &Context<'_>) -> Self {
        let mut moves = Vec::new();
        for (at, program) in programs.list.iter().enumerate().filter(|(_, program)| keeps_links(program)) {
            if moves.len() == MOST_MOVES {
                moves = vec![Move { program: usize::MAX, targets: vec![AbsPath::root()], sources: None }];
                break;
            }
            let known = moves.iter().flat_map(|one: &Move| &one.sources).map(Vec::len).sum();
            moves.push(Move::of(at, program, MOST_SOURCES.saturating_sub(known), context));
        }
        Moved { in_any_order: !moves.is_empty() && runs_in_any_order(line, reading), moves }
    }

    /// The touch as it is once what the program may find moved has been.
    pub(super) fn settle(&self, program: usize, mut touch: Touch, context: &Context<'_>) -> Touch {
        let named = if let Place::Paths(paths) | Place::Below { paths, .. } = &touch.place {
            paths
        } else {
            &Vec::new()
        };
        let led: Vec<Led> = named.iter().map(|path| self.led(path, Some(program), context)).collect();
        if led.iter().any(|led| led.is_certain().is_none()) {
            touch.place = Place::Unknown;
        }
        touch.reached.extend(led.into_iter().flat_map(|led| led.paths));
        if let Place::Wildcard(paths) = &touch.place
            && paths.iter().any(|path| self.led(path, Some(program), context).is_certain().is_none())
        {
            touch.place = Place::Unknown;
        }
        touch
    }

    /// The place as a program finds it.
    pub(super) fn settle_place(&self, program: usize, place: Place, context: &Context<'_>) -> Place {
        let is_certain = |path: &AbsPath| self.led(path, Some(program), context).is_certain().is_some();
        match &place {
            Place::Paths(paths) | Place::Wildcard(paths) | Place::Below { paths, .. } => {
                if paths.iter().all(is_certain) { place } else { Place::Unknown }
            }
            Place::Unknown => place,
        }
    }

    /// Where a path leads, by the links that are there and those that are brought.
    pub(super) fn follow(&self, path: &AbsPath, context: &Context<'_>) -> AbsPath {
        let brought = self.led(path, None, context).paths.pop();
        brought.unwrap_or_else(|| (context.follow)(path))
    }

    fn led(&self, path: &AbsPath, program: Option<usize>, context: &Context<'_>) -> Led {
        let mut led = Led::default();
        if self.moves.is_empty() {
            return led;
        }
        let counts = |other: &&Move| match program {
            Some(at) => {
                other.program != at
                    && (self.in_any_order || other.program < at || other.program == usize::MAX)
            }
            None => true,
        };
        let real = (context.follow)(path);
        for path in [path, &real].into_iter().take(if real == *path { 1 } else { 2 }) {
            for one in self.moves.iter().filter(counts) {
                for below in one.targets.iter().filter_map(|target| below(target, path)) {
                    self.add(one, below, context, &mut led);
                }
            }
        }
        led
    }

    /// Adds where `below`, a path in what `one` puts somewhere, leads now.
    fn add(&self, one: &Move, below: &[u8], context: &Context<'_>, led: &mut Led) {
        let Some(sources) = &one.sources else {
            led.is_open = true;
            return;
        };
        for source in sources {
            let is_own = |name: &&[u8]| source.file_name() == Some(name);
            let first = below.split(|&byte| byte == b'/').next().filter(is_own);
            let within = first.map(|name| below[name.len()..].strip_prefix(b"/").unwrap_or_default());
            for rest in [Some(below), within].into_iter().flatten() {
                let Ok(origin) = source.join(rest) else { continue };
                let is_moved = |other: &Move| {
                    other.program != one.program && other.targets.iter().any(|target| target.covers(&origin))
                };
                led.is_open |= origin.is_too_long() || self.moves.iter().any(is_moved);
                led.paths.extend(link(source, &origin, context));
            }
        }
    }
}

impl Led {
    /// `None` where links are brought, or may be.
    fn is_certain(&self) -> Option<()> {
        (!self.is_open && self.paths.is_empty()).then_some(())
    }
}

impl Move {
    fn of(at: usize, program: &Program, most_sources: usize, context: &Context<'_>) -> Self {
        let mut targets = Vec::new();
        for place in access::targets(program, context) {
            match place {
                Place::Paths(paths) => {
                    targets.extend(paths.iter().map(context.follow));
                    targets.extend(paths);
                }
                _ => targets.push(AbsPath::root()),
            }
        }
        targets.sort();
        targets.dedup();
        Move { program: at, targets, sources: sources(program, most_sources, context) }
    }
}

/// What a copy or move takes, as far as that is certain.
fn sources(program: &Program, most: usize, context: &Context<'_>) -> Option<Vec<AbsPath>> {
    // A new link leads wherever its text says from where it lies.
    if program.name.as_deref() == Some("ln") || program.operands == Operands::More {
        return None;
    }
    let words = access::sources(program);
    if words.len() > most {
        return None;
    }
    let mut sources = Vec::new();
    for word in words {
        match place_of(word, None, program, context) {
            Place::Paths(paths) => sources.extend(paths),
            _ => return None,
        }
    }
    (sources.len() <= most).then_some(sources)
}

/// Whether a program copies or moves in a way that keeps links, or makes one.
fn keeps_links(program: &Program) -> bool {
    let keeps = |word: &Word| match word.value.as_deref() {
        // A wildcard that may turn out to be an option.
        None => !keeps_first(word),
        Some(long) if long.starts_with("--") => {
            ["--a", "--n", "--p", "--r"].iter().any(|start| long.starts_with(start))
        }
        Some(value) => value.starts_with('-') && value.contains(['r', 'R', 'a', 'd', 'P']),
    };
    match program.name.as_deref() {
        Some("mv" | "ln" | "rsync") => true,
        Some("cp") => program.words.iter().skip(1).any(keeps),
        _ => false,
    }
}

/// Whether what stands first in a line may run last: in a loop, a function, beside another program.
fn runs_in_any_order(line: &str, reading: &Reading) -> bool {
    let rest = ["&&", "||", ">&", "&>"].iter().fold(line.to_owned(), |rest, joins| rest.replace(joins, ""));
    rest.contains(['&', '|'])
        || ["done", "trap", "coproc"].iter().any(|word| rest.contains(word))
        || !reading.line().functions.is_empty()
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
