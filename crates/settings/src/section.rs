//! Typed reading of one object of a settings text. It knows types, positions and origins, not what a key means.
//!
//! Each key is asked for once by name; what nobody asked for is looked up in the table of keys at the end.

use crate::error::{quoted, shown_key};
use crate::keys::{Key, Support, sounds_like_deny};
use crate::tree::{Field, Node, Value};
use crate::{Error, Place, Position, Setting, Warning, WarningKind};
use palisade_policy::{Anchor, FileRule, Layer, Origin, PathPattern, PathPatternError};
use std::fmt::Display;
use std::sync::Arc;

/// One settings text: what all its entries share.
pub(crate) struct Source {
    pub(crate) layer: Layer,
    /// The file's path, or the option's name.
    pub(crate) file: Arc<str>,
    /// Where its relative paths start.
    pub(crate) anchor: Anchor,
}

/// One object, or the lack of one.
pub(crate) struct Section<'a> {
    source: &'a Source,
    /// Its full name, such as `sandbox.network`.
    key: String,
    fields: &'a [Field],
    taken: Vec<&'static str>,
    warnings: &'a mut Vec<Warning>,
}

/// One text of a list.
struct Entry<'a> {
    text: &'a str,
    at: Position,
}

impl Source {
    fn place(&self, position: Position) -> Place {
        Place { file: self.file.clone(), position }
    }

    fn origin(&self, key: &Arc<str>, at: Position, text: &str) -> Origin {
        let file = self.file.clone();
        Origin { layer: self.layer, file, line: Some(at.line), key: key.clone(), text: text.into() }
    }

    fn file_rule(&self, text: &str, origin: Origin) -> Result<FileRule, PathPatternError> {
        Ok(FileRule { pattern: PathPattern::parse(text, &self.anchor)?, origin })
    }

    fn bad_entry(&self, key: &str, entry: &Entry<'_>, reason: &dyn Display) -> Error {
        let (key, text, reason) = (key.into(), quoted(entry.text), reason.to_string().into());
        Error::BadEntry { place: self.place(entry.at), key, text, reason }
    }

    fn wrong_type(&self, key: &str, expected: &'static str, node: &Node) -> Error {
        Error::WrongType { place: self.place(node.at), key: key.into(), expected, found: node.describe() }
    }
}

impl<'a> Section<'a> {
    /// The `sandbox` section of a whole text.
    pub(crate) fn sandbox(
        source: &'a Source,
        root: &'a Node,
        warnings: &'a mut Vec<Warning>,
    ) -> Result<Self, Error> {
        let Value::Object(fields) = &root.value else {
            return Err(source.wrong_type("settings", "an object in braces", root));
        };
        let node = fields.iter().find(|field| field.key == "sandbox").map(|field| &field.node);
        Section::new(source, "sandbox".into(), node, warnings)
    }

    fn new(
        source: &'a Source,
        key: String,
        node: Option<&'a Node>,
        warnings: &'a mut Vec<Warning>,
    ) -> Result<Self, Error> {
        let fields = match node {
            None => &[],
            Some(Node { value: Value::Object(fields), .. }) => fields.as_slice(),
            Some(node) => return Err(source.wrong_type(&key, "an object in braces", node)),
        };
        Ok(Section { source, key, fields, taken: Vec::new(), warnings })
    }

    /// The object at `name`.
    pub(crate) fn section(&mut self, name: &'static str) -> Result<Section<'_>, Error> {
        let node = self.take(name).map(|field| &field.node);
        Section::new(self.source, self.full_name(name), node, self.warnings)
    }

    /// The switch at `name`.
    pub(crate) fn switch(&mut self, name: &'static str) -> Result<Option<Setting<bool>>, Error> {
        let Some(field) = self.take(name) else { return Ok(None) };
        let key = self.full_name(name);
        let Value::Bool(value) = field.node.value else {
            return Err(self.source.wrong_type(&key, "true or false", &field.node));
        };
        let origin = self.source.origin(&key.into(), field.node.at, if value { "true" } else { "false" });
        Ok(Some(Setting { value, origin }))
    }

    /// The switch at `name`, which does not count from a repository's files.
    pub(crate) fn switch_of_the_user(&mut self, name: &'static str) -> Result<Option<Setting<bool>>, Error> {
        let Some(switch) = self.switch(name)? else { return Ok(None) };
        let layer = self.source.layer;
        if !matches!(layer, Layer::Project | Layer::Local) {
            return Ok(Some(switch));
        }
        let kind = WarningKind::Layer { layer, counts_from: "the user's and managed" };
        self.warn_at_key(name, kind);
        Ok(None)
    }

    /// The list at `name`, each text turned into a rule; `read` says why one cannot be.
    pub(crate) fn rules<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str, Origin) -> Result<T, E>,
    ) -> Result<Vec<T>, Error> {
        let entries = self.list(name)?;
        self.read_entries(name, &entries, read)
    }

    /// The list of paths at `name`.
    pub(crate) fn paths(&mut self, name: &'static str) -> Result<Vec<FileRule>, Error> {
        let entries = self.list(name)?;
        self.warn_of_own_directory(name, &entries);
        self.read_entries(name, &entries, |text, origin| self.source.file_rule(text, origin))
    }

    /// The list at `name`; a text that `read` cannot read is left out with a warning.
    pub(crate) fn lenient_rules<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str, Origin) -> Result<T, E>,
    ) -> Result<Vec<T>, Error> {
        let key: Arc<str> = self.full_name(name).into();
        let mut rules = Vec::new();
        for entry in self.list(name)? {
            match read(entry.text, self.source.origin(&key, entry.at, entry.text)) {
                Ok(rule) => rules.push(rule),
                Err(reason) => {
                    let (text, reason) = (quoted(entry.text), reason.to_string().into());
                    self.warn(name, entry.at, WarningKind::BadEntry { text, reason });
                }
            }
        }
        Ok(rules)
    }

    /// The list of files at `name`, each an object with a `path`.
    pub(crate) fn credential_files(&mut self, name: &'static str) -> Result<Vec<FileRule>, Error> {
        let entries = self.credentials(name, "path")?;
        self.read_entries(name, &entries, |text, origin| self.source.file_rule(text, origin))
    }

    /// The list at `name`, each entry an object with a `name`.
    pub(crate) fn credential_names<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str, Origin) -> Result<T, E>,
    ) -> Result<Vec<T>, Error> {
        let entries = self.credentials(name, "name")?;
        self.read_entries(name, &entries, read)
    }

    /// Speaks of the key `name`, where it stands.
    pub(crate) fn warn_at_key(&mut self, name: &'static str, kind: WarningKind) {
        if let Some(field) = self.fields.iter().find(|field| field.key == name) {
            self.warn(name, field.at, kind);
        }
    }

    /// Looks at the keys that nobody asked for.
    pub(crate) fn finish(self) -> Result<(), Error> {
        // Looking for what was meant takes time; nobody misspells more keys than this.
        const EXPLAINED: usize = 32;
        let mut unknown = 0;
        for field in self.fields.iter().filter(|field| !self.taken.contains(&field.key.as_str())) {
            let key = self.full_name(&shown_key(&field.key));
            let kind = match Key::find(&self.key, &field.key).map(|key| key.support) {
                Some(Support::LeftOut(why)) => WarningKind::LeftOut { why },
                Some(Support::Managed) => {
                    WarningKind::Layer { layer: self.source.layer, counts_from: "managed" }
                }
                Some(Support::Read | Support::Deny) | None => {
                    self.check_for_lost_deny(&key, field)?;
                    unknown += 1;
                    self.unknown(field, unknown <= EXPLAINED)
                }
            };
            self.warnings.push(Warning { place: self.source.place(field.at), key: key.into(), kind });
        }
        Ok(())
    }

    fn unknown(&self, field: &Field, explained: bool) -> WarningKind {
        let nearest = if explained { Key::nearest(&self.key, &field.key) } else { None };
        WarningKind::Unknown { nearest: nearest.map(Key::full_name), denies: sounds_like_deny(&field.key) }
    }

    /// A key that is not known must not be a deny, nor hold one.
    fn check_for_lost_deny(&self, key: &str, field: &Field) -> Result<(), Error> {
        if let Some(meant) = Key::almost_deny(&field.key) {
            let (place, meant) = (self.source.place(field.at), meant.full_name());
            return Err(Error::MisspeltDeny { place, key: key.into(), meant });
        }
        let Value::Object(fields) = &field.node.value else { return Ok(()) };
        fields.iter().try_for_each(|field| {
            self.check_for_lost_deny(&format!("{key}.{}", shown_key(&field.key)), field)
        })
    }

    fn read_entries<T, E: Display>(
        &self,
        name: &'static str,
        entries: &[Entry<'_>],
        read: impl Fn(&str, Origin) -> Result<T, E>,
    ) -> Result<Vec<T>, Error> {
        let key: Arc<str> = self.full_name(name).into();
        let read = |entry: &Entry<'_>| {
            read(entry.text, self.source.origin(&key, entry.at, entry.text))
                .map_err(|reason| self.source.bad_entry(&key, entry, &reason))
        };
        entries.iter().map(read).collect()
    }

    fn list(&mut self, name: &'static str) -> Result<Vec<Entry<'a>>, Error> {
        let nodes = self.nodes(name, "a list of strings")?;
        let read = |(index, node): (usize, &'a Node)| match &node.value {
            Value::Text(text) => Ok(Entry { text, at: node.at }),
            _ => Err(self.source.wrong_type(&format!("{}[{index}]", self.full_name(name)), "a string", node)),
        };
        nodes.iter().enumerate().map(read).collect()
    }

    /// The list at `name`, each entry an object with a text at `of`, or that text alone.
    fn credentials(&mut self, name: &'static str, of: &'static str) -> Result<Vec<Entry<'a>>, Error> {
        let mut entries = Vec::new();
        for (index, node) in self.nodes(name, "a list of objects")?.iter().enumerate() {
            let key = format!("{}[{index}]", self.full_name(name));
            entries.push(match &node.value {
                Value::Text(text) => Entry { text, at: node.at },
                Value::Object(fields) => self.credential(&key, of, node, fields)?,
                _ => return Err(self.source.wrong_type(&key, "an object", node)),
            });
        }
        Ok(entries)
    }

    /// The text at `of` of a credential, whatever its mode: each of the modes there are hides it.
    fn credential(
        &mut self,
        key: &str,
        of: &'static str,
        node: &'a Node,
        fields: &'a [Field],
    ) -> Result<Entry<'a>, Error> {
        let find = |name: &str| fields.iter().find(|field| field.key == name).map(|field| &field.node);
        if let Some(mode) = find("mode") {
            self.check_mode(&format!("{key}.mode"), mode)?;
        }
        match find(of) {
            Some(Node { value: Value::Text(text), at }) => Ok(Entry { text, at: *at }),
            Some(found) => Err(self.source.wrong_type(&format!("{key}.{of}"), "a string", found)),
            None => Err(Error::WrongType {
                place: self.source.place(node.at),
                key: format!("{key}.{of}").into(),
                expected: "a string",
                found: "nothing".into(),
            }),
        }
    }

    fn check_mode(&mut self, key: &str, mode: &Node) -> Result<(), Error> {
        match &mode.value {
            Value::Text(text) if text == "deny" => {}
            Value::Text(text) if text == "mask" => {
                let place = self.source.place(mode.at);
                self.warnings.push(Warning { place, key: key.into(), kind: WarningKind::Mask });
            }
            _ => return Err(self.source.wrong_type(key, "\"deny\" or \"mask\"", mode)),
        }
        Ok(())
    }

    fn take(&mut self, name: &'static str) -> Option<&'a Field> {
        self.taken.push(name);
        self.fields.iter().find(|field| field.key == name)
    }

    fn nodes(&mut self, name: &'static str, expected: &'static str) -> Result<&'a [Node], Error> {
        match self.take(name).map(|field| &field.node) {
            None => Ok(&[]),
            Some(Node { value: Value::List(nodes), .. }) => Ok(nodes),
            Some(node) => Err(self.source.wrong_type(&self.full_name(name), expected, node)),
        }
    }

    fn warn(&mut self, name: &'static str, at: Position, kind: WarningKind) {
        let (place, key) = (self.source.place(at), self.full_name(name).into());
        self.warnings.push(Warning { place, key, kind });
    }

    /// In a user's file `.` is the file's own directory, which is seldom meant.
    fn warn_of_own_directory(&mut self, name: &'static str, entries: &[Entry<'_>]) {
        let is_own = |entry: &&Entry<'_>| matches!(entry.text, "." | "./" | "./**");
        if self.source.layer == Layer::User {
            for entry in entries.iter().filter(is_own) {
                let directory = self.source.anchor.base.to_string().into();
                self.warn(name, entry.at, WarningKind::OwnDirectory { directory });
            }
        }
    }

    fn full_name(&self, name: &str) -> String {
        format!("{}.{name}", self.key)
    }
}
