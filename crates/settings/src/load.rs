//! Reading all settings, one layer after the other, and making of them what is in force. What a key means is for other
//! modules.

use crate::dropped::Dropped;
use crate::lock::tighten;
use crate::places::ManagedFiles;
use crate::section::{Purpose, Source};
use crate::way::Way;
use crate::{
    Error, Findings, Flags, MAX_BYTES, Options, Place, Places, Position, Warning, WarningKind, file,
};
use palisade_permissions::RuleSet;
use palisade_policy::{AbsPath, Anchor, Layer, Policy};
use std::sync::Arc;

/// One `--settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extra {
    /// A file, which must be there.
    File(AbsPath),
    /// The text itself.
    Json(String),
}

/// All settings, merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The policy in force.
    pub policy: Policy,
    /// The permission rules in force.
    pub rules: RuleSet,
    /// What both were made from: every value that counts, with its origin.
    pub options: Options,
    /// What was said and does not count, because of a lock or since the project is not trusted; from the highest layer
    /// down.
    pub dropped: Vec<Dropped>,
    /// What was left out or is odd for itself, from the highest layer down.
    pub warnings: Vec<Warning>,
}

/// What each file says, with its layer; highest first.
pub(crate) type Layers = Vec<(Layer, Options)>;

/// The option that gives an [`Extra`], which stands for a file's name in messages.
const SETTINGS_OPTION: &str = "--settings";

/// Reads all settings and merges them. What is missing says nothing; what is malformed is an error, the first one
/// that is found.
pub fn load(places: &Places, extras: &[Extra], flags: &Flags) -> Result<Loaded, Error> {
    Reading::of(places).load(extras, flags)
}

/// The same for somebody who wants to know: with a warning, too, for each deny of a path that does not exist.
pub fn inspect(places: &Places, extras: &[Extra], flags: &Flags) -> Result<Loaded, Error> {
    Reading { purpose: Purpose::Inspect, ..Reading::of(places) }.load(extras, flags)
}

/// All errors and warnings of one settings text, read as the file at `path` of `layer`, and the policy that it would be by
/// itself. What it says together with others is not looked at, but denies of paths that do not exist are: a slip of the
/// pen often looks like that.
pub fn check(bytes: Vec<u8>, path: &AbsPath, layer: Layer, places: &Places) -> Findings {
    let mut reading = Reading { purpose: Purpose::Check, ..Reading::of(places) };
    let options = reading.bytes(places.source(layer, path), bytes);
    Findings { policy: options.in_force().0, ..reading.findings }
}

/// The same of the file at `path`, and whether it counts: where it is one of an administrator's, others must not be
/// able to change it.
pub fn check_file(path: &AbsPath, layer: Layer, places: &Places) -> Findings {
    let mut findings = match read_file(path) {
        Ok(bytes) => check(bytes, path, layer, places),
        Err(error) => Findings { errors: vec![error], ..Findings::default() },
    };
    if places.layer(path) == Some(Layer::Managed) {
        findings.errors.extend(places.managed.check_owners(path).err());
    }
    findings
}

/// One time of reading settings, and what it has found.
struct Reading<'a> {
    places: &'a Places,
    purpose: Purpose,
    findings: Findings,
}

impl<'a> Reading<'a> {
    fn of(places: &'a Places) -> Self {
        Reading { places, purpose: Purpose::Load, findings: Findings::default() }
    }

    fn load(mut self, extras: &[Extra], flags: &Flags) -> Result<Loaded, Error> {
        let layers = self.layers(extras, flags)?;
        let Findings { mut errors, warnings, .. } = self.findings;
        if !errors.is_empty() {
            return Err(errors.swap_remove(0));
        }
        let real = |path: &AbsPath| Way::of(path).ok().map(|way| way.end);
        let (options, dropped) = tighten(layers, self.places.trust, &real);
        let (policy, rules) = options.in_force();
        Ok(Loaded { policy, rules, options, dropped, warnings })
    }

    fn layers(&mut self, extras: &[Extra], flags: &Flags) -> Result<Layers, Error> {
        let mut layers = Vec::new();
        let ManagedFiles { files, passed_over } = self.places.managed.files()?;
        self.findings
            .warnings
            .extend(passed_over.iter().map(|path| Warning::of_file(path, WarningKind::PassedOver)));
        for path in files {
            layers.push((Layer::Managed, self.if_there(Layer::Managed, &path)?));
        }
        let places = self.places;
        let here = Anchor { base: places.working_directory.clone(), home: places.home.clone() };
        layers.push((Layer::Flag, flags.read(&here)?));
        for extra in extras.iter().rev() {
            layers.push((Layer::Flag, self.extra(extra)?));
        }
        for (layer, path) in places.files() {
            layers.push((layer, self.if_there(layer, &path)?));
        }
        Ok(layers)
    }

    fn if_there(&mut self, layer: Layer, path: &AbsPath) -> Result<Options, Error> {
        Ok(match file::read(path)? {
            Some(bytes) => self.bytes(self.places.source(layer, path), bytes),
            None => {
                self.look_for_directory(path);
                Options::default()
            }
        })
    }

    /// Warns where a missing file could not be there.
    fn look_for_directory(&mut self, file: &AbsPath) {
        let in_the_way = file.parent().and_then(|directory| file::in_the_way(&directory));
        if let Some((path, kind)) = in_the_way {
            let warning = Warning::of_file(&path, WarningKind::NoDirectory { kind });
            // Several files would be in one directory.
            if !self.findings.warnings.contains(&warning) {
                self.findings.warnings.push(warning);
            }
        }
    }

    fn extra(&mut self, extra: &Extra) -> Result<Options, Error> {
        match extra {
            Extra::Json(text) if text.len() as u64 > MAX_BYTES => {
                Err(Error::TooLarge { file: SETTINGS_OPTION.into() })
            }
            Extra::Json(text) => Ok(self.text(self.places.source_of_option(SETTINGS_OPTION.into()), text)),
            Extra::File(path) => Ok(self.bytes(self.places.source(Layer::Flag, path), read_file(path)?)),
        }
    }

    fn bytes(&mut self, source: Source, bytes: Vec<u8>) -> Options {
        match utf8(&source.file, bytes) {
            Ok(text) => self.text(source, &text),
            Err(error) => {
                self.findings.errors.push(error);
                Options::default()
            }
        }
    }

    fn text(&mut self, source: Source, text: &str) -> Options {
        let source = Source { purpose: self.purpose, ..source };
        Options::read(&source, text, &mut self.findings)
    }
}

impl Extra {
    /// The value of one `--settings`: text that starts with `{` after white space is settings itself, all else
    /// names a file.
    pub fn parse(value: &[u8], working_directory: &AbsPath) -> Result<Self, Error> {
        if value.trim_ascii_start().starts_with(b"{") {
            return utf8(&SETTINGS_OPTION.into(), value.to_vec()).map(Extra::Json);
        }
        let bad = |reason: &str| Error::BadFlag {
            option: SETTINGS_OPTION,
            text: crate::error::quoted(&String::from_utf8_lossy(value)),
            reason: reason.into(),
        };
        if value.is_empty() {
            return Err(bad("is empty; name a file, or write settings in braces, such as {}"));
        }
        working_directory.join(value).map(Extra::File).map_err(|error| bad(&error.to_string()))
    }
}

fn read_file(path: &AbsPath) -> Result<Vec<u8>, Error> {
    file::read(path)?.ok_or_else(|| Error::Missing { file: path.to_string().into() })
}

/// The text, without the mark that some editors put in front and that none shows as a column.
fn utf8(file: &Arc<str>, mut bytes: Vec<u8>) -> Result<String, Error> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        Error::NotUtf8 { place: Place { file: file.clone(), position: Position::behind(&valid) } }
    })
}
