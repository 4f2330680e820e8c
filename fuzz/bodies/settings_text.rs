//! What must hold of settings, whatever their text and layer: they are read, or refused in lines that a person can see
//! whole, and merged the same twice. It panics where something does not hold.

use palisade_policy::{AbsPath, Layer};
use palisade_settings::{Extra, Flags, Loaded, ManagedPlaces, Places, Trust, check, load};

pub(crate) fn run(data: &[u8]) {
    for layer in [Layer::User, Layer::Project, Layer::Local, Layer::Flag, Layer::Managed] {
        let findings = check(data.to_vec(), &path("/nonexistent/settings.json"), layer, &nowhere());
        findings.errors.iter().for_each(|error| can_be_seen(&error.to_string()));
        findings.warnings.iter().for_each(|warning| can_be_seen(&warning.to_string()));
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let merged = merge(text);
    merged
        .iter()
        .for_each(|loaded| loaded.dropped.iter().for_each(|dropped| can_be_seen(&dropped.to_string())));
    assert_eq!(merge(text), merged);
}

fn can_be_seen(line: &str) {
    assert!(!line.contains(char::is_control), "{line:?}");
}

fn merge(text: &str) -> Result<Loaded, String> {
    load(&nowhere(), &[Extra::Json(text.to_owned())], &Flags::default()).map_err(|error| error.to_string())
}

/// Where there are no other settings.
fn nowhere() -> Places {
    Places {
        managed: ManagedPlaces { directories: Vec::new(), owner: 0 },
        root: path("/nonexistent"),
        trust: Trust::Untrusted,
        home: Some(path("/nonexistent/home")),
        account_home: None,
        config_dir: None,
        working_directory: path("/nonexistent"),
    }
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("absolute")
}
