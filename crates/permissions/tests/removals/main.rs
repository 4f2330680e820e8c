//! Which removals ask: a table of lines, each with what is critical in it or outside.
#![forbid(unsafe_code)]

mod laws;
mod links;
mod table;

use palisade_permissions::program::{Programs, Start, programs};
use palisade_permissions::removal::{Brought, Places, RemovalKind, removals};
use palisade_permissions::shell::{Shell, read};
use palisade_policy::AbsPath;

fn path(text: &str) -> AbsPath {
    path_of(text.as_bytes())
}

/// The links of the project, by their names in it, and where each leads.
const LINKS: &[(&str, &str)] = &[
    ("hl", "/home/u"),
    ("up", "/w"),
    ("gl", "/w/proj/.git"),
    ("in", "/w/proj/src"),
    ("out", "/srv/data"),
    ("sub/deep", "/home/u/x"),
];

/// Follows the links of the project.
fn follow(path: &AbsPath) -> AbsPath {
    let led = LINKS.iter().find_map(|(name, target)| {
        let rest = path.as_bytes().strip_prefix(format!("/w/proj/{name}").as_bytes())?;
        matches!(rest, [] | [b'/', ..]).then(|| path_of(&[target.as_bytes(), rest].concat()))
    });
    led.map_or_else(|| path.clone(), |led| follow(&led))
}

fn path_of(bytes: &[u8]) -> AbsPath {
    AbsPath::new(bytes).expect("absolute")
}

/// The root is `/w/proj`, home is `/home/u`, and `/x/y/add` is worked in too.
fn found(line: &str, directory: &str, folds_case: bool) -> Vec<String> {
    let (root, home, directory) = (path("/w/proj"), path("/home/u"), path(directory));
    let start = Start { shell: Shell::Bash, directory: Some(&directory), home: Some(&home), folds_case };
    let directories = [path("/x/y/add")];
    let places = Places {
        root: &root,
        home: Some(&home),
        directories: &directories,
        folds_case,
        follow: &follow,
        brought: &|_, _| Brought::default(),
    };
    let programs = programs(line, &read(line, Shell::Bash), &start);
    shown(&programs, &places)
}

fn shown(programs: &Programs, places: &Places<'_>) -> Vec<String> {
    let show = |kind: &RemovalKind| match kind {
        RemovalKind::Critical(critical) => format!("{critical:?}"),
        RemovalKind::Outside(path) => format!("outside {path}"),
    };
    removals(programs, places).iter().map(|removal| show(&removal.kind)).collect()
}
