//! What a person is told about rules that were left out or do not hold in full.
//!
//! The attacker writes rules, two hundred thousand if he likes. Each kind of warning has a limit of its own: so he can
//! neither fill a screen before each command, nor push a warning about a link out by a hundred about nothing.

use std::collections::BTreeMap;

/// How many warnings of one kind are told.
const MOST_TOLD: usize = 100;

/// The warnings of one command.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    told: Vec<String>,
    /// How many there were of each kind.
    counts: BTreeMap<Kind, usize>,
}

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// An entry opens nothing, since nothing is there.
    Missing,
    /// An entry opens nothing of what somebody else hides.
    Shut,
    /// An entry is left out because of where a symbolic link leads.
    Link,
    /// An entry is left out because of a directory that cannot be looked into.
    Closed,
    /// Something about a repository of git.
    Git,
    /// Something that is protected or denied, and how far that holds.
    Protected,
}

impl Warnings {
    pub(super) fn push(&mut self, kind: Kind, text: String) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= MOST_TOLD {
            self.told.push(text);
        }
    }

    /// In the order in which they came up, and behind them how many more there are of each kind.
    pub(super) fn into_told(self) -> Vec<String> {
        let untold = self.counts.into_iter().filter_map(|(kind, count)| {
            let more = count.checked_sub(MOST_TOLD).filter(|more| *more > 0)?;
            Some(format!("and {more} more {}", kind.of_many()))
        });
        self.told.into_iter().chain(untold).collect()
    }
}

impl Kind {
    fn of_many(self) -> &'static str {
        match self {
            Kind::Missing => "entries are left out that name nothing that exists",
            Kind::Shut => "entries open nothing of what others hide",
            Kind::Link => "entries are left out because of symbolic links",
            Kind::Closed => "entries are left out because of directories that cannot be looked into",
            Kind::Git => "warnings about git directories",
            Kind::Protected => "warnings about what is denied or protected",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_one_kind_push_out_none_of_another() {
        let mut warnings = Warnings::default();
        (0..200_000).for_each(|i| warnings.push(Kind::Missing, format!("{i} is missing")));
        (0..MOST_TOLD).for_each(|i| warnings.push(Kind::Git, format!("git {i}")));
        warnings.push(Kind::Link, "a link".into());
        let told = warnings.into_told();
        assert_eq!(told.len(), 2 * MOST_TOLD + 2);
        assert_eq!((&*told[0], &*told[99], &*told[100]), ("0 is missing", "99 is missing", "git 0"));
        let last = [&*told[200], &*told[201]];
        assert_eq!(last, ["a link", "and 199900 more entries are left out that name nothing that exists"]);
    }
}
