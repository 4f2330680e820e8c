//! Things that stand at paths, found by the paths below them.
//!
//! Paths in order have each directory before everything below it, and directly so. The things above a path
//! are therefore the one that stands last before it in that order, or ones above that: one binary search,
//! then a walk up, whatever the number of things. The walk compares lengths only, so that a chain of
//! directories as deep as paths can be costs a thousand steps and not a thousand comparisons of text.

use crate::AbsPath;

/// Something that stands at one path.
pub(crate) trait Placed {
    /// Where.
    fn path(&self) -> &AbsPath;
}

/// Things by their paths, no two at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathTree<T> {
    /// In the order of their paths.
    things: Vec<T>,
    /// For each, the nearest one above it.
    above: Vec<Option<usize>>,
}

impl<T: Placed> PathTree<T> {
    /// Takes things in the order of their paths, no two at one path.
    pub(crate) fn new(things: Vec<T>) -> Self {
        let mut above: Vec<Option<usize>> = Vec::with_capacity(things.len());
        for (place, thing) in things.iter().enumerate() {
            let mut chain = std::iter::successors(place.checked_sub(1), |&before| above[before]);
            let nearest = chain.find(|&before| things[before].path().covers(thing.path()));
            above.push(nearest);
        }
        PathTree { things, above }
    }

    /// The things at `path` and above it, the nearest first.
    pub(crate) fn covering(&self, path: &AbsPath) -> impl Iterator<Item = &T> {
        let behind = self.things.partition_point(|thing| thing.path() <= path);
        let last = behind.checked_sub(1);
        let shared = last.map_or(0, |last| self.things[last].path().shared_bytes(path));
        std::iter::successors(last, |&below| self.above[below])
            .map(|place| &self.things[place])
            .filter(move |thing| thing.path().as_bytes().len() <= shared && thing.path().covers(path))
    }

    /// All of them, in the order of their paths.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    impl Placed for AbsPath {
        fn path(&self) -> &AbsPath {
            self
        }
    }

    fn path() -> impl Strategy<Value = AbsPath> {
        // A long name reaches beyond the blocks in which paths are compared.
        let long = "x".repeat(40);
        let name = proptest::sample::select(vec!["a".into(), "ab".into(), "a\u{1}".into(), "-".into(), long]);
        proptest::collection::vec(name, 0..6)
            .prop_map(|names| AbsPath::new(format!("/{}", names.join("/"))).expect("absolute"))
    }

    proptest! {
        #[test]
        fn what_stands_above_a_path_is_found(paths in proptest::collection::btree_set(path(), 0..30), asked in path()) {
            let tree = PathTree::new(paths.iter().cloned().collect());
            let found: Vec<&AbsPath> = tree.covering(&asked).collect();
            let expected: Vec<&AbsPath> = paths.iter().rev().filter(|path| path.covers(&asked)).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn the_order_is_that_of_the_components(paths in proptest::collection::vec(path(), 2)) {
            let by_component = paths[0].components().cmp(paths[1].components());
            prop_assert_eq!(paths[0].cmp(&paths[1]), by_component);
            prop_assert_eq!(paths.iter().collect::<BTreeSet<_>>().len() == 1, paths[0] == paths[1]);
        }
    }
}
