//! Reading all settings, one layer after the other, and making of them what is in force. What a key means is for other
//! modules.

use crate::dropped::Dropped;
use crate::lock::tighten;
use crate::section::Source;
use crate::way::Way;
use crate::{Combine, Error, Findings, Flags, MAX_BYTES, Options, Place, Places, Position, Warning, file};
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

/// What each layer says, highest first.
pub(crate) type Layers = Vec<(Layer, Options)>;

/// The option that gives an [`Extra`], which stands for a file's name in messages.
const SETTINGS_OPTION: &str = "--settings";

/// Reads all settings and merges them. What is missing says nothing; what is malformed is an error, the first one
/// that is found.
pub fn load(places: &Places, extras: &[Extra], flags: &Flags) -> Result<Loaded, Error> {
    let mut findings = Findings::default();
    let layers = read_layers(places, extras, flags, &mut findings)?;
    if !findings.errors.is_empty() {
        return Err(findings.errors.swap_remove(0));
    }
    let real = |path: &AbsPath| Way::of(path).ok().map(|way| way.end);
    let (options, dropped) = tighten(layers, places.trust, &real);
    let (policy, rules) = options.in_force();
    Ok(Loaded { policy, rules, options, dropped, warnings: findings.warnings })
}

/// All errors and warnings of one settings text, read as the file at `path` of `layer`. What it says together with
/// others is not looked at, but denies of paths that do not exist are: a slip of the pen often looks like that.
pub fn check(bytes: Vec<u8>, path: &AbsPath, layer: Layer, places: &Places) -> Findings {
    let mut findings = Findings::default();
    let options = read_bytes(&places.source(layer, path), bytes, &mut findings);
    findings.warnings.extend(options.denies_of_nothing());
    findings
}

/// The same of the file at `path`.
pub fn check_file(path: &AbsPath, layer: Layer, places: &Places) -> Findings {
    match read_file(path) {
        Ok(bytes) => check(bytes, path, layer, places),
        Err(error) => Findings { errors: vec![error], warnings: Vec::new() },
    }
}

fn read_layers(
    places: &Places,
    extras: &[Extra],
    flags: &Flags,
    findings: &mut Findings,
) -> Result<Layers, Error> {
    let mut layers = Vec::new();
    for path in places.managed.files()? {
        add(&mut layers, Layer::Managed, read_if_there(places, Layer::Managed, &path, findings)?);
    }
    let here = Anchor { base: places.working_directory.clone(), home: places.home.clone() };
    add(&mut layers, Layer::Flag, flags.read(&here)?);
    for extra in extras.iter().rev() {
        add(&mut layers, Layer::Flag, extra.read(places, findings)?);
    }
    for (layer, path) in places.files() {
        add(&mut layers, layer, read_if_there(places, layer, &path, findings)?);
    }
    Ok(layers)
}

/// Puts what one file says below what its layer has said so far.
fn add(layers: &mut Layers, layer: Layer, options: Options) {
    match layers.last_mut() {
        Some((last, said)) if *last == layer => *said = std::mem::take(said).combine(options),
        _ => layers.push((layer, options)),
    }
}

fn read_if_there(
    places: &Places,
    layer: Layer,
    path: &AbsPath,
    findings: &mut Findings,
) -> Result<Options, Error> {
    Ok(match file::read(path)? {
        Some(bytes) => read_bytes(&places.source(layer, path), bytes, findings),
        None => Options::default(),
    })
}

impl Extra {
    /// The value of one `--settings`: text that starts with `{` after white space is settings itself, all else
    /// names a file.
    pub fn parse(value: &[u8], working_directory: &AbsPath) -> Result<Self, Error> {
        if value.trim_ascii_start().starts_with(b"{") {
            return utf8(&SETTINGS_OPTION.into(), value.to_vec()).map(Extra::Json);
        }
        let file = working_directory.join(value).map_err(|error| Error::BadFlag {
            option: SETTINGS_OPTION,
            text: crate::error::quoted(&String::from_utf8_lossy(value)),
            reason: error.to_string().into(),
        })?;
        Ok(Extra::File(file))
    }

    fn read(&self, places: &Places, findings: &mut Findings) -> Result<Options, Error> {
        match self {
            Extra::Json(text) if text.len() as u64 > MAX_BYTES => {
                Err(Error::TooLarge { file: SETTINGS_OPTION.into() })
            }
            Extra::Json(text) => {
                Ok(Options::read(&places.source_of_option(SETTINGS_OPTION.into()), text, findings))
            }
            Extra::File(path) => {
                Ok(read_bytes(&places.source(Layer::Flag, path), read_file(path)?, findings))
            }
        }
    }
}

fn read_file(path: &AbsPath) -> Result<Vec<u8>, Error> {
    file::read(path)?.ok_or_else(|| Error::Missing { file: path.to_string().into() })
}

fn read_bytes(source: &Source, bytes: Vec<u8>, findings: &mut Findings) -> Options {
    match utf8(&source.file, bytes) {
        Ok(text) => Options::read(source, &text, findings),
        Err(error) => {
            findings.errors.push(error);
            Options::default()
        }
    }
}

fn utf8(file: &Arc<str>, bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let position: Position = json5::Position::from_offset(valid.len(), &valid).into();
        Error::NotUtf8 { place: Place { file: file.clone(), position } }
    })
}
