//! Asks a finished profile what it says of a path: its text is parsed and folded as Seatbelt does.
//!
//! The judge shares no decision with the writer, so that a test which compares its answers with
//! [`FileSets::judge`](palisade_policy::FileSets::judge) holds the writer to the specification. It knows the
//! operations and filters that the writer uses and refuses a profile with any other, since what it does not
//! know might decide. It answers for paths as the kernel sees them, links resolved.
//!
//! Accounts of Seatbelt differ in one point: whether simply the last matching rule decides, or the last one for
//! the most specific operation that matches. The judge folds in both ways and allows what both allow.

use crate::expression::{self, Expression};
use crate::{Profile, ReadError};
use palisade_policy::{AbsPath, Access, Effect};

/// Operations on files. `file-link` and `file-clone` are written, and asked about by nobody.
const FILE_OPERATIONS: [&str; 12] = [
    "file*",
    "file-clone",
    "file-ioctl",
    "file-link",
    "file-map-executable",
    "file-read*",
    "file-read-data",
    "file-read-metadata",
    "file-write*",
    "file-write-create",
    "file-write-data",
    "file-write-unlink",
];

/// Everything else that rules of a profile speak of.
const OTHER_OPERATIONS: [&str; 14] = [
    "default",
    "ipc-posix-sem",
    "ipc-posix-shm",
    "mach-lookup",
    "network-bind",
    "network-inbound",
    "network-outbound",
    "process-exec*",
    "process-fork",
    "process-info*",
    "signal",
    "sysctl-read",
    "sysctl-write",
    "system-socket",
];

/// Filters on other things than paths.
const OTHER_FILTERS: [&str; 9] = [
    "global-name",
    "local",
    "remote",
    "require-all",
    "socket-domain",
    "socket-protocol",
    "sysctl-name",
    "sysctl-name-prefix",
    "target",
];

impl Profile {
    /// What the profile says of one access on `path`.
    ///
    /// Outside `/dev`, and but for listing `/` itself, this is what
    /// [`FileSets::judge`](palisade_policy::FileSets::judge) says of the rules that the profile was made from,
    /// each taken in both spellings of its path. A write stands for changing what a file holds; whether it can
    /// be made, renamed or removed, [`is_pinned`](Self::is_pinned) says.
    pub fn judge(&self, access: Access, path: &AbsPath) -> Result<Effect, ReadError> {
        let operation = match access {
            Access::Read => "file-read-data",
            Access::Write => "file-write-data",
        };
        Ok(Rules::read(self)?.effect(operation, path))
    }

    /// Whether the profile keeps `path` from being renamed or removed.
    pub fn is_pinned(&self, path: &AbsPath) -> Result<bool, ReadError> {
        Ok(Rules::read(self)?.effect("file-write-unlink", path) == Effect::Deny)
    }
}

/// A profile's rules about files, in the order of the text.
struct Rules(Vec<Rule>);

struct Rule {
    effect: Effect,
    operations: Vec<String>,
    /// Any of them; none at all means every path.
    filters: Vec<PathFilter>,
}

enum PathFilter {
    Literal(AbsPath),
    Subpath(AbsPath),
}

impl Rules {
    fn read(profile: &Profile) -> Result<Self, ReadError> {
        let mut rules = Vec::new();
        let forms = expression::read(&profile.text)?;
        for (index, (line, form)) in forms.iter().enumerate() {
            let rule = if index == 0 { read_version(form).map(|()| None) } else { read_rule(form, profile) };
            rules.extend(rule.map_err(|problem| ReadError { line: *line, problem })?);
        }
        Ok(Rules(rules))
    }

    /// Denied unless both ways to fold the rules allow.
    fn effect(&self, operation: &str, path: &AbsPath) -> Effect {
        let allowed = self.foldings(operation, path).iter().all(|effect| *effect == Some(Effect::Allow));
        if allowed { Effect::Allow } else { Effect::Deny }
    }

    /// By the last rule that matches, and by the last one among those for the most specific operation.
    fn foldings(&self, operation: &str, path: &AbsPath) -> [Option<Effect>; 2] {
        let matching =
            || self.0.iter().filter_map(|rule| Some((rule.specificity(operation, path)?, rule.effect)));
        let last = matching().next_back();
        let most_specific = matching().max_by_key(|(specificity, _)| *specificity);
        [last, most_specific].map(|found| found.map(|(_, effect)| effect))
    }
}

impl Rule {
    /// How specific the rule's operation is, where the rule matches. A longer name is a smaller group.
    fn specificity(&self, operation: &str, path: &AbsPath) -> Option<usize> {
        if !self.filters.is_empty() && !self.filters.iter().any(|filter| filter.matches(path)) {
            return None;
        }
        let covering = self.operations.iter().filter_map(|name| match name.strip_suffix('*') {
            _ if name == "default" => Some(0),
            Some(group) => operation.starts_with(group).then_some(group.len()),
            None => (name == operation).then_some(usize::MAX),
        });
        covering.max()
    }
}

impl PathFilter {
    fn matches(&self, path: &AbsPath) -> bool {
        match self {
            PathFilter::Literal(named) => named == path,
            PathFilter::Subpath(named) => named.covers(path),
        }
    }
}

fn read_version(form: &Expression) -> Result<(), String> {
    let first = [Expression::Symbol("version".into()), Expression::Symbol("1".into())];
    if *form == Expression::List(first.into()) {
        Ok(())
    } else {
        Err("does not start with (version 1)".into())
    }
}

/// A rule about files, or nothing where the rule is about something else.
fn read_rule(form: &Expression, profile: &Profile) -> Result<Option<Rule>, String> {
    let Expression::List(items) = form else { return Err("not a rule".into()) };
    let [Expression::Symbol(action), rest @ ..] = &items[..] else { return Err("not a rule".into()) };
    let effect = match action.as_str() {
        "allow" => Effect::Allow,
        "deny" => Effect::Deny,
        _ => return Err(format!("{action} is neither allow nor deny")),
    };
    let filters_from =
        rest.iter().position(|item| !matches!(item, Expression::Symbol(_))).unwrap_or(rest.len());
    let operations = read_operations(&rest[..filters_from])?;
    let filters = read_filters(&rest[filters_from..], profile)?;
    match filters {
        Some(filters) => Ok(Some(Rule { effect, operations, filters })),
        None if operations
            .iter()
            .any(|name| name == "default" || FILE_OPERATIONS.contains(&name.as_str())) =>
        {
            Err("a rule about files with a filter that is not about paths".into())
        }
        None => Ok(None),
    }
}

fn read_operations(items: &[Expression]) -> Result<Vec<String>, String> {
    if items.is_empty() {
        return Err("a rule without an operation".into());
    }
    items.iter().map(read_operation).collect()
}

fn read_operation(item: &Expression) -> Result<String, String> {
    match item {
        Expression::Symbol(name) if is_operation(name) => Ok(name.clone()),
        other => Err(format!("{other:?} is no operation that this crate writes")),
    }
}

fn is_operation(name: &str) -> bool {
    FILE_OPERATIONS.contains(&name) || OTHER_OPERATIONS.contains(&name)
}

/// Filters on paths; `None` where any is about something else.
fn read_filters(items: &[Expression], profile: &Profile) -> Result<Option<Vec<PathFilter>>, String> {
    let filters = items.iter().map(|item| read_filter(item, profile)).collect::<Result<Vec<_>, _>>()?;
    Ok(filters.into_iter().collect())
}

fn read_filter(item: &Expression, profile: &Profile) -> Result<Option<PathFilter>, String> {
    let Expression::List(items) = item else { return Err("a filter that is not a list".into()) };
    match &items[..] {
        [Expression::Symbol(name), path] if name == "literal" => {
            Ok(Some(PathFilter::Literal(read_path(path, profile)?)))
        }
        [Expression::Symbol(name), path] if name == "subpath" => {
            Ok(Some(PathFilter::Subpath(read_path(path, profile)?)))
        }
        [Expression::Symbol(name), _, ..] if OTHER_FILTERS.contains(&name.as_str()) => Ok(None),
        _ => Err("a filter that this crate does not write".into()),
    }
}

/// A path as a string, or as the parameter that stands for it.
fn read_path(item: &Expression, profile: &Profile) -> Result<AbsPath, String> {
    let bytes = match item {
        Expression::Text(bytes) => bytes,
        Expression::List(items) => match &items[..] {
            [Expression::Symbol(param), Expression::Text(name)] if param == "param" => {
                parameter(name, profile)?
            }
            _ => return Err("neither a path nor a parameter".into()),
        },
        Expression::Symbol(_) => return Err("neither a path nor a parameter".into()),
    };
    let path = AbsPath::new(bytes).map_err(|error| format!("a path that {error}"))?;
    if path.as_bytes() == bytes { Ok(path) } else { Err(format!("{path} is not written as the kernel does")) }
}

/// `sandbox-exec` lets a later value replace an earlier one; here a second value is refused.
fn parameter<'a>(name: &[u8], profile: &'a Profile) -> Result<&'a Vec<u8>, String> {
    let mut values = profile.parameters.iter().filter(|(known, _)| known.as_bytes() == name);
    match (values.next(), values.next()) {
        (Some((_, value)), None) => Ok(value),
        (None, _) => Err("a parameter without a value".into()),
        (Some(_), Some(_)) => Err("a parameter with two values".into()),
    }
}

#[cfg(test)]
mod tests;
