//! Typed reading of one object of a settings text. It knows types, positions and origins, not what a key means.
//!
//! Each key is asked for once by name; what nobody asked for is looked at in the end (see [`unknown`]). What is
//! wrong is put on record and reading goes on, so that one look finds every fault of a file.

use crate::error::{quoted, shown_key};
use crate::file::is_absent;
use crate::keys::{Key, Layers, Support, full_name};
use crate::read::each;
use crate::tree::{Field, Node, Value};
use crate::{Error, Findings, Place, Position, Setting, Warning, WarningKind};
use palisade_permissions::RuleAnchor;
use palisade_policy::{
    AbsPath, Access, Anchor, FileRule, Layer, Origin, PathPattern, PathPatternError, why_no_mount,
};
use std::fmt::Display;
use std::sync::Arc;

mod unknown;

/// One settings text: what all its entries share.
pub(crate) struct Source {
    pub(crate) layer: Layer,
    /// The file's path, or the option's name.
    pub(crate) file: Arc<str>,
    /// Where its relative paths start; `None` where there are none, in an administrator's files.
    pub(crate) base: Option<AbsPath>,
    /// Where relative extra directories start, likewise.
    pub(crate) directories: Option<AbsPath>,
    /// Where the paths of its rules start.
    pub(crate) rules: RuleAnchor,
    pub(crate) purpose: Purpose,
}

/// What a text is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To put it in force.
    Load,
    /// To tell somebody what is in force, and whether what is denied exists.
    Inspect,
    /// To tell somebody what is wrong with it, by itself and here.
    Check,
}

/// Keys of a credential that say how to mask it, which changes nothing where it is hidden.
const OF_MASKS: &[&str] =
    &["extract", "onExtractNoMatch", "decode", "maskClaims", "maskDuplicates", "injectHosts"];

/// One object, or the lack of one.
pub(crate) struct Section<'a> {
    source: &'a Source,
    /// Its full name, such as `sandbox.network`; empty for the whole text.
    key: String,
    /// Where it stands.
    at: Option<Position>,
    fields: &'a [Field],
    taken: Vec<&'static str>,
    findings: &'a mut Findings,
}

/// One text of a list.
struct Entry<'a> {
    text: &'a str,
    at: Position,
}

/// Why a text of an administrator's file is no path, besides the grammar's reasons.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error(
        "is relative, and an administrator's file has no directory to start at; write the full path, or ~/"
    )]
    Relative,
    #[error(transparent)]
    Pattern(#[from] PathPatternError),
}

impl Source {
    pub(crate) fn file_rule(&self, text: &str, origin: Origin) -> Result<FileRule, PathError> {
        Ok(FileRule { pattern: self.pattern(text, self.rules.home.as_ref())?, origin })
    }

    /// The same for a denial, which holds below each home directory.
    pub(crate) fn denials(&self, text: &str, origin: Origin) -> Result<Vec<FileRule>, PathError> {
        let mut homes = vec![self.rules.home.as_ref()];
        if text.starts_with('~') {
            let other = self.rules.other_home.as_ref();
            homes.extend(other.map(Some));
            homes.retain(|home| home.is_some() || other.is_none());
        }
        homes.dedup();
        let rule = |home| Ok(FileRule { pattern: self.pattern(text, home)?, origin: origin.clone() });
        homes.into_iter().map(rule).collect()
    }

    /// The directory that `text` names, every character but a `~` in front standing for itself.
    pub(crate) fn directory(&self, text: &str) -> Result<AbsPath, PathError> {
        let home = || self.rules.home.clone().ok_or(PathPatternError::NoHome);
        PathPattern::check_spelling(text.as_bytes())?;
        let (base, rest) = match text.strip_prefix('~') {
            _ if text.is_empty() => return Err(PathPatternError::Empty.into()),
            Some(rest) if rest.is_empty() || rest.starts_with('/') => (home()?, rest.trim_start_matches('/')),
            Some(_) => return Err(PathPatternError::OtherHome.into()),
            None if text.starts_with('/') => (AbsPath::root(), text),
            None => (self.directories.clone().ok_or(PathError::Relative)?, text),
        };
        base.join(rest).map_err(|error| PathPatternError::from(error).into())
    }

    fn pattern(&self, text: &str, home: Option<&AbsPath>) -> Result<PathPattern, PathError> {
        PathPattern::check_spelling(text.as_bytes())?;
        let is_anchored = text.is_empty() || text.starts_with(['/', '~']);
        let base = match &self.base {
            Some(base) => base.clone(),
            None if is_anchored => AbsPath::root(),
            None => return Err(PathError::Relative),
        };
        Ok(PathPattern::parse(text, &Anchor { base, home: home.cloned() })?)
    }

    /// Where a single slash in its rules starts, where that is not in the project.
    fn start_elsewhere(&self) -> Option<AbsPath> {
        let start = self.rules.source.clone().filter(|start| *start != self.rules.working_directory);
        start.filter(|_| !self.layer.is_of_repository())
    }

    pub(crate) fn place(&self, position: Position) -> Place {
        Place { file: self.file.clone(), position }
    }

    fn origin(&self, key: &Arc<str>, at: Position, text: &str) -> Origin {
        let file = self.file.clone();
        Origin { layer: self.layer, file, line: Some(at.line), key: key.clone(), text: text.into() }
    }
}

impl<'a> Section<'a> {
    /// The whole text.
    pub(crate) fn top(source: &'a Source, root: &'a Node, findings: &'a mut Findings) -> Self {
        let mut top = Section {
            source,
            key: String::new(),
            at: Some(root.at),
            fields: &[],
            taken: Vec::new(),
            findings,
        };
        match &root.value {
            Value::Object(fields) => top.fields = fields,
            _ => top.wrong_type("settings", "an object in braces", root),
        }
        top
    }

    /// The object at `name`.
    pub(crate) fn section(&mut self, name: &'static str) -> Section<'_> {
        let (at, fields) = match self.take(name).map(|field| &field.node) {
            None => (None, &[][..]),
            Some(Node { value: Value::Object(fields), at }) => (Some(*at), fields.as_slice()),
            Some(node) => {
                self.wrong_type(&self.full_name(name), "an object in braces", node);
                (None, &[][..])
            }
        };
        let key = self.full_name(name);
        Section { source: self.source, key, at, fields, taken: Vec::new(), findings: self.findings }
    }

    /// The switch at `name`.
    pub(crate) fn switch(&mut self, name: &'static str) -> Option<Setting<bool>> {
        let field = self.take(name)?;
        let key = self.full_name(name);
        let Value::Bool(value) = field.node.value else {
            self.wrong_type(&key, "true or false", &field.node);
            return None;
        };
        let origin = self.source.origin(&key.into(), field.node.at, if value { "true" } else { "false" });
        Some(Setting { value, origin })
    }

    /// The text at `name`, turned into a value; `expected` says what it should be.
    pub(crate) fn text<T>(
        &mut self,
        name: &'static str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<Setting<T>> {
        let field = self.take(name)?;
        let key = self.full_name(name);
        let read = match &field.node.value {
            Value::Text(text) => read(text).map(|value| (value, text)),
            _ => None,
        };
        let Some((value, text)) = read else {
            self.wrong_type(&key, expected, &field.node);
            return None;
        };
        Some(Setting { value, origin: self.source.origin(&key.into(), field.node.at, text) })
    }

    /// The list at `name`, each text turned into a rule; `read` says why one cannot be.
    pub(crate) fn rules<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str, Origin) -> Result<T, E>,
    ) -> Vec<T> {
        self.rules_at(name, read).into_iter().map(|(_, rule)| rule).collect()
    }

    /// The same, each with its position.
    pub(crate) fn rules_at<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str, Origin) -> Result<T, E>,
    ) -> Vec<(Position, T)> {
        let entries = self.list(name);
        self.read_entries(name, &entries, read)
    }

    /// The list of paths at `name`, each with its position.
    pub(crate) fn paths_at(&mut self, name: &'static str) -> Vec<(Position, FileRule)> {
        let entries = self.list(name);
        self.warn_of_own_directory(name, &entries);
        let source = self.source;
        self.read_entries(name, &entries, |text, origin| source.file_rule(text, origin))
    }

    /// The list of paths at `name`.
    pub(crate) fn paths(&mut self, name: &'static str) -> Vec<FileRule> {
        self.paths_at(name).into_iter().map(|(_, rule)| rule).collect()
    }

    /// The list of denied paths at `name`, each with its position.
    pub(crate) fn denied_paths_at(&mut self, name: &'static str) -> Vec<(Position, FileRule)> {
        let entries = self.list(name);
        self.warn_of_own_directory(name, &entries);
        let source = self.source;
        each(self.read_entries(name, &entries, |text, origin| source.denials(text, origin)))
    }

    /// The list at `name`, each entry an object with a text at `of`, or that text alone; with their positions.
    pub(crate) fn credentials<T, E: Display>(
        &mut self,
        name: &'static str,
        of: &'static str,
        read: impl Fn(&str, Origin) -> Result<T, E>,
    ) -> Vec<(Position, T)> {
        let mut entries = Vec::new();
        for (index, node) in self.nodes(name, "a list of objects").iter().enumerate() {
            let key = format!("{}[{index}]", self.full_name(name));
            match &node.value {
                Value::Text(text) => entries.push(Entry { text, at: node.at }),
                Value::Object(fields) => entries.extend(self.credential(&key, of, node, fields)),
                _ => self.wrong_type(&key, "an object", node),
            }
        }
        self.read_entries(name, &entries, read)
    }

    /// The object at `name`, in which each key holds a list: every text of a list with its key.
    pub(crate) fn texts_by_key<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str, &str, Origin) -> T,
    ) -> Vec<T> {
        let Some(field) = self.take(name) else { return Vec::new() };
        let key: Arc<str> = self.full_name(name).into();
        let Value::Object(fields) = &field.node.value else {
            self.wrong_type(&key, "an object of lists", &field.node);
            return Vec::new();
        };
        let mut read_texts = Vec::new();
        for field in fields {
            let inner = format!("{key}.{}", shown_key(&field.key));
            for entry in self.texts(&inner, &field.node, "a list of strings") {
                read_texts.push(read(&field.key, entry.text, self.source.origin(&key, entry.at, entry.text)));
            }
        }
        read_texts
    }

    /// Who says the section itself, whatever it holds; `None` where there is none.
    pub(crate) fn origin(&self) -> Option<Origin> {
        let key: Arc<str> = self.key.as_str().into();
        self.at.map(|at| self.source.origin(&key, at, "{}"))
    }

    /// What the whole text shares.
    pub(crate) fn source(&self) -> &'a Source {
        self.source
    }

    /// Speaks of the key `name`, where it stands.
    pub(crate) fn warn_at_key(&mut self, name: &'static str, kind: WarningKind) {
        if let Some(field) = self.fields.iter().find(|field| field.key == name) {
            self.warn(name, field.at, kind);
        }
    }

    /// Refuses the value of the key `name`.
    pub(crate) fn refuse_at_key(&mut self, name: &'static str, text: &str, reason: &dyn Display) {
        if let Some(field) = self.fields.iter().find(|field| field.key == name) {
            self.refuse(name, &Entry { text, at: field.node.at }, reason);
        }
    }

    /// Says so where a deny names nothing that exists: often a slip of the pen, often a precaution. So it is told to
    /// whoever asks, and not at every command.
    pub(crate) fn look_for(&mut self, name: &str, at: Position, access: Access, denied: &PathPattern) {
        if self.source.purpose != Purpose::Load {
            self.look_at(name, at, denied, |path| WarningKind::NothingThere { access, path });
        }
    }

    /// The same of a rule. One that starts elsewhere than it may seem is told of at every command, too.
    pub(crate) fn look_for_rule(
        &mut self,
        name: &str,
        at: Position,
        text: &str,
        (access, denied): (Access, &PathPattern),
    ) {
        let has_single_slash =
            text.split_once('(').is_some_and(|(_, path)| path.starts_with('/') && !path.starts_with("//"));
        match self.source.start_elsewhere().filter(|_| has_single_slash) {
            Some(start) => {
                self.look_at(name, at, denied, |path| WarningKind::StartsElsewhere { access, path, start })
            }
            None => self.look_for(name, at, access, denied),
        }
    }

    fn look_at(
        &mut self,
        name: &str,
        at: Position,
        denied: &PathPattern,
        kind: impl FnOnce(AbsPath) -> WarningKind,
    ) {
        let path = denied.as_literal();
        // Whether there is something in a directory that nobody may look into is not known.
        let is_missing = || path.as_path().symlink_metadata().is_err_and(|error| is_absent(&error));
        if !denied.has_wildcards() && is_missing() {
            self.warn(name, at, kind(path.clone()));
        }
    }

    /// Says that no mount can stand for the write rule `text`.
    pub(crate) fn refuse_mount(&mut self, name: &str, at: Position, text: &str) {
        let (text, reason) = (quoted(text), why_no_mount(text).into());
        if self.source.purpose == Purpose::Check {
            let (place, key) = (self.source.place(at), self.full_name(name).into());
            self.findings.errors.push(Error::NoMount { place, key, text, reason });
        } else {
            self.warn(name, at, WarningKind::WriteWildcard { text, reason });
        }
    }

    /// Speaks of what stands at `at`, under the key `name`.
    pub(crate) fn warn(&mut self, name: &str, at: Position, kind: WarningKind) {
        let (place, key) = (self.source.place(at), self.full_name(name).into());
        self.findings.warnings.push(Warning { place, key, kind });
    }

    fn read_entries<T, E: Display>(
        &mut self,
        name: &'static str,
        entries: &[Entry<'_>],
        read: impl Fn(&str, Origin) -> Result<T, E>,
    ) -> Vec<(Position, T)> {
        let key: Arc<str> = self.full_name(name).into();
        let mut rules = Vec::with_capacity(entries.len());
        for entry in entries {
            match read(entry.text, self.source.origin(&key, entry.at, entry.text)) {
                Ok(rule) => rules.push((entry.at, rule)),
                Err(reason) => self.refuse(name, entry, &reason),
            }
        }
        rules
    }

    /// An entry that cannot be read is an error where its loss would leave something open, or where an administrator
    /// wrote it; elsewhere it costs itself.
    fn refuse(&mut self, name: &'static str, entry: &Entry<'_>, reason: &dyn Display) {
        let (text, reason) = (quoted(entry.text), reason.to_string().into());
        let is_strict =
            self.source.layer == Layer::Managed || Key::find(&self.key, name).is_none_or(Key::denies);
        if is_strict {
            let (place, key) = (self.source.place(entry.at), self.full_name(name).into());
            self.findings.errors.push(Error::BadEntry { place, key, text, reason });
        } else {
            self.warn(name, entry.at, WarningKind::BadEntry { text, reason });
        }
    }

    fn list(&mut self, name: &'static str) -> Vec<Entry<'a>> {
        match self.take(name).map(|field| &field.node) {
            None => Vec::new(),
            Some(node) => self.texts(&self.full_name(name), node, "a list of strings"),
        }
    }

    fn texts(&mut self, key: &str, node: &'a Node, expected: &'static str) -> Vec<Entry<'a>> {
        let Value::List(nodes) = &node.value else {
            self.wrong_type(key, expected, node);
            return Vec::new();
        };
        let mut entries = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            match &node.value {
                Value::Text(text) => entries.push(Entry { text, at: node.at }),
                _ => self.wrong_type(&format!("{key}[{index}]"), "a string", node),
            }
        }
        entries
    }

    /// The text at `of` of a credential, whatever its mode: each of the modes there are hides it.
    fn credential(
        &mut self,
        key: &str,
        of: &'static str,
        node: &'a Node,
        fields: &'a [Field],
    ) -> Option<Entry<'a>> {
        let find = |name: &str| fields.iter().find(|field| field.key == name).map(|field| &field.node);
        if let Some(mode) = find("mode") {
            self.check_mode(&format!("{key}.mode"), mode);
        }
        self.warn_of_others(key, of, fields);
        let key = format!("{key}.{of}");
        match find(of) {
            Some(Node { value: Value::Text(text), at }) => return Some(Entry { text, at: *at }),
            Some(found) => self.wrong_type(&key, "a string", found),
            None => self.findings.errors.push(Error::WrongType {
                place: self.source.place(node.at),
                key: key.into(),
                expected: "a string",
                found: "nothing".into(),
            }),
        }
        None
    }

    /// Warns of keys of a credential that none has: it hides one thing, and what else it names stays as it is.
    fn warn_of_others(&mut self, key: &str, of: &'static str, fields: &[Field]) {
        let is_known = |name: &str| name == of || name == "mode" || OF_MASKS.contains(&name);
        for field in fields.iter().filter(|field| !is_known(&field.key)) {
            let kind = WarningKind::Unknown { nearest: None, denies: true };
            let (place, key) = (self.source.place(field.at), format!("{key}.{}", shown_key(&field.key)));
            self.findings.warnings.push(Warning { place, key: key.into(), kind });
        }
    }

    fn check_mode(&mut self, key: &str, mode: &Node) {
        match &mode.value {
            Value::Text(text) if text == "deny" => {}
            Value::Text(text) if text == "mask" => {
                let place = self.source.place(mode.at);
                self.findings.warnings.push(Warning { place, key: key.into(), kind: WarningKind::Mask });
            }
            _ => self.wrong_type(key, "\"deny\" or \"mask\"", mode),
        }
    }

    /// What stands at `name`, where it counts from this layer.
    fn take(&mut self, name: &'static str) -> Option<&'a Field> {
        self.taken.push(name);
        let field = self.fields.iter().find(|field| field.key == name)?;
        let layers = match Key::find(&self.key, name).map(|key| key.support) {
            Some(Support::Read(_, layers, _)) => layers,
            _ => Layers::Any,
        };
        if layers.hold(self.source.layer) {
            return Some(field);
        }
        let kind = WarningKind::Layer { layer: self.source.layer, counts_from: layers.name() };
        self.warn(name, field.at, kind);
        None
    }

    fn nodes(&mut self, name: &'static str, expected: &'static str) -> &'a [Node] {
        match self.take(name).map(|field| &field.node) {
            None => &[],
            Some(Node { value: Value::List(nodes), .. }) => nodes,
            Some(node) => {
                self.wrong_type(&self.full_name(name), expected, node);
                &[]
            }
        }
    }

    fn wrong_type(&mut self, key: &str, expected: &'static str, node: &Node) {
        let (place, found) = (self.source.place(node.at), node.describe());
        self.findings.errors.push(Error::WrongType { place, key: key.into(), expected, found });
    }

    /// In a user's file `.` is the file's own directory, which is seldom meant.
    fn warn_of_own_directory(&mut self, name: &'static str, entries: &[Entry<'_>]) {
        let is_own = |entry: &&Entry<'_>| matches!(entry.text, "." | "./" | "./**");
        if let (Layer::User, Some(base)) = (self.source.layer, &self.source.base) {
            for entry in entries.iter().filter(is_own) {
                let directory = base.to_string().into();
                self.warn(name, entry.at, WarningKind::OwnDirectory { directory });
            }
        }
    }

    fn full_name(&self, name: &str) -> String {
        full_name(&self.key, name)
    }
}
