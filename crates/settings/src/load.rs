//! Which settings there are, in which order, and reading them all. What a key means is for other modules.

use crate::{Combine, Error, Flags, MAX_BYTES, Options, Place, Position, Warning, file, section::Source};
use palisade_permissions::RuleSet;
use palisade_policy::{AbsPath, Anchor, Layer, Policy};
use std::sync::Arc;

/// Where settings are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The project's root.
    pub root: AbsPath,
    /// The home directory, where there is one.
    pub home: Option<AbsPath>,
    /// `$CLAUDE_CONFIG_DIR`, which takes the place of `~/.claude`; `None` where it is unset or empty.
    pub config_dir: Option<AbsPath>,
    /// Where relative paths of options start.
    pub working_directory: AbsPath,
}

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
    /// What both were made from: every value that was said, with its origin.
    pub options: Options,
    /// What was left out, from the highest layer down.
    pub warnings: Vec<Warning>,
}

/// The directories that hold settings files, highest first: the product's own names stand above Claude Code's.
const DIRECTORIES: [&str; 3] = [".palisade", ".cogitator", CLAUDE];
const CLAUDE: &str = ".claude";
const SHARED: &str = "settings.json";
const LOCAL: &str = "settings.local.json";
/// The option that gives an [`Extra`], which stands for a file's name in messages.
const SETTINGS_OPTION: &str = "--settings";

/// Reads all settings and merges them. What is missing says nothing; what is malformed is an error.
pub fn load(places: &Places, extras: &[Extra], flags: &Flags) -> Result<Loaded, Error> {
    let mut warnings = Vec::new();
    let mut options = flags.read(&places.anchor(&places.working_directory))?;
    for extra in extras.iter().rev() {
        options = options.combine(extra.read(places, &mut warnings)?);
    }
    for (layer, path, base) in places.files() {
        if let Some(bytes) = file::read(&path)? {
            let source = Source { layer, file: path.to_string().into(), anchor: places.anchor(&base) };
            options = options.combine(read_bytes(&source, bytes, &mut warnings)?);
        }
    }
    let (policy, rules) = options.in_force();
    Ok(Loaded { policy, rules, options, warnings })
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

    fn read(&self, places: &Places, warnings: &mut Vec<Warning>) -> Result<Options, Error> {
        let source = |file: Arc<str>| Source {
            layer: Layer::Flag,
            file,
            anchor: places.anchor(&places.working_directory),
        };
        match self {
            Extra::Json(text) if text.len() as u64 > MAX_BYTES => {
                Err(Error::TooLarge { file: SETTINGS_OPTION.into() })
            }
            Extra::Json(text) => Options::read(&source(SETTINGS_OPTION.into()), text, warnings),
            Extra::File(path) => {
                let source = source(path.to_string().into());
                let bytes = file::read(path)?.ok_or_else(|| Error::Missing { file: source.file.clone() })?;
                read_bytes(&source, bytes, warnings)
            }
        }
    }
}

impl Places {
    /// Every settings file that may be there, highest first, with the directory its relative paths start at.
    ///
    /// A project may be the home directory itself: a file that is the user's is then no file of the project.
    fn files(&self) -> Vec<(Layer, AbsPath, AbsPath)> {
        let user: Vec<_> = self
            .user_directories()
            .into_iter()
            .map(|directory| (Layer::User, below(&directory, SHARED), directory))
            .collect();
        let in_root = |layer: Layer, name: &'static str| {
            DIRECTORIES
                .map(|directory| (layer, below(&below(&self.root, directory), name), self.root.clone()))
        };
        let is_of_the_project = |path: &AbsPath| user.iter().all(|(_, of_user, _)| of_user != path);
        let project = in_root(Layer::Local, LOCAL).into_iter().chain(in_root(Layer::Project, SHARED));
        let mut files: Vec<_> = project.filter(|(_, path, _)| is_of_the_project(path)).collect();
        files.extend(user);
        files
    }

    fn user_directories(&self) -> Vec<AbsPath> {
        DIRECTORIES
            .into_iter()
            .filter_map(|directory| match (&self.config_dir, &self.home) {
                (Some(config_dir), _) if directory == CLAUDE => Some(config_dir.clone()),
                (_, home) => home.as_ref().map(|home| below(home, directory)),
            })
            .collect()
    }

    fn anchor(&self, base: &AbsPath) -> Anchor {
        Anchor { base: base.clone(), home: self.home.clone() }
    }
}

/// `name` in `directory`. The names are constants of this module, which hold no NUL byte.
fn below(directory: &AbsPath, name: &'static str) -> AbsPath {
    directory.join(name).unwrap_or_else(|_| unreachable!("{name} holds no NUL byte"))
}

fn read_bytes(source: &Source, bytes: Vec<u8>, warnings: &mut Vec<Warning>) -> Result<Options, Error> {
    Options::read(source, &utf8(&source.file, bytes)?, warnings)
}

fn utf8(file: &Arc<str>, bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let position: Position = json5::Position::from_offset(valid.len(), &valid).into();
        Error::NotUtf8 { place: Place { file: file.clone(), position } }
    })
}
