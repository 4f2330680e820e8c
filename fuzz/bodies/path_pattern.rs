//! What must hold of a path pattern and a path, whatever their bytes. The input is the pattern, a line feed, and the
//! path. It panics where something does not hold.

use palisade_policy::{AbsPath, Access, Anchor, FileIndex, FileRule, FileSets, Origin, PathPattern};

pub(crate) fn run(data: &[u8]) {
    let line = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (pattern, asked) = (&data[..line], data.get(line + 1..).unwrap_or(b"/p/a"));
    let anchor = Anchor { base: path(b"/p"), home: Some(path(b"/home/u")) };
    let (Ok(pattern), Ok(asked)) = (PathPattern::parse(pattern, &anchor), AbsPath::new(asked)) else {
        return;
    };
    assert!(pattern.names(pattern.as_literal()), "a pattern names its literal reading");
    covers_what_it_names(&pattern, &asked);
    is_judged_alike(pattern, &asked);
}

fn path(bytes: &[u8]) -> AbsPath {
    AbsPath::new(bytes).expect("absolute")
}

/// A pattern covers a path exactly when it names it or a directory above it, as narrowly as the longest of those.
fn covers_what_it_names(pattern: &PathPattern, asked: &AbsPath) {
    let named = asked.ancestors().find(|above| pattern.names(above));
    assert_eq!(pattern.covers(asked), named.map(|above| above.as_bytes().len()));
}

fn is_judged_alike(pattern: PathPattern, asked: &AbsPath) {
    let rule = FileRule { pattern, origin: Origin::flag("--path", "") };
    let sets = FileSets { deny_read: vec![rule.clone()], allow_write: vec![rule], ..FileSets::default() };
    for access in [Access::Read, Access::Write] {
        assert_eq!(FileIndex::new(&sets).judge(access, asked), sets.judge(access, asked));
    }
}
