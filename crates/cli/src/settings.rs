//! `palisade settings`: what is in force and who said it, the format of the files, and what is wrong with one.

use crate::explain::origin_to_json;
use crate::failure::{Failure, print, say};
use crate::options::{LayerOption, RuleOptions, SettingsOptions, SettingsVerb};
use crate::policy::{inspect_all, scene, working_directory};
use palisade_policy::{AbsPath, Layer, Printable, Quoted};
use palisade_settings::{Findings, Loaded, Places, Shown, Trust, check_file, schema};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;

/// Exit status when a file that was checked is not right.
const WRONG: u8 = 1;

/// Does what was asked and gives the exit status for it.
pub(crate) fn settings(options: &SettingsOptions) -> u8 {
    let done = match &options.verb {
        SettingsVerb::Show { rules, json } => show(rules, *json),
        SettingsVerb::Schema => print(&format!("{:#}\n", schema())).map(|()| 0),
        SettingsVerb::Check { root, layer, json, files } => check(root.as_deref(), *layer, *json, files),
    };
    done.unwrap_or_else(|failure| {
        say(&failure.message);
        failure.status
    })
}

fn show(rules: &RuleOptions, as_json: bool) -> Result<u8, Failure> {
    let loaded = inspect_all(rules)?;
    print(&if as_json { format!("{:#}\n", to_json(&loaded)) } else { to_text(&loaded) })?;
    Ok(0)
}

fn to_text(loaded: &Loaded) -> String {
    let mut text = String::new();
    for value in loaded.in_force() {
        let said = match &value.origin {
            Some(origin) => format!("{origin} ({})", origin.layer),
            None => "default".into(),
        };
        let shown = match &value.value {
            Shown::Switch(on) => on.to_string(),
            Shown::Text(text) => Quoted(text).to_string(),
        };
        text.push_str(&format!("{} = {shown}  <- {}\n", value.key, Printable(&said)));
    }
    for dropped in &loaded.dropped {
        text.push_str(&format!("dropped: {}\n", Printable(&dropped.to_string())));
    }
    for warning in &loaded.warnings {
        text.push_str(&format!("warning: {}\n", Printable(&warning.to_string())));
    }
    text
}

fn to_json(loaded: &Loaded) -> Value {
    let in_force: Vec<Value> = loaded
        .in_force()
        .iter()
        .map(|value| {
            let origin = value.origin.as_ref().map(origin_to_json);
            let shown = match &value.value {
                Shown::Switch(on) => json!(on),
                Shown::Text(text) => json!(text),
            };
            json!({ "key": value.key, "value": shown, "origin": origin })
        })
        .collect();
    let dropped: Vec<Value> = loaded
        .dropped
        .iter()
        .map(|dropped| json!({ "origin": origin_to_json(&dropped.origin), "reason": dropped.reason.to_string() }))
        .collect();
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    json!({ "in_force": in_force, "dropped": dropped, "warnings": warnings })
}

fn check(
    root: Option<&Path>,
    layer: Option<LayerOption>,
    as_json: bool,
    files: &[OsString],
) -> Result<u8, Failure> {
    let here = working_directory()?;
    let root = root.map_or_else(|| here.clone(), Path::to_path_buf);
    let places = scene(Trust::Trusted, &root, here)?.places;
    let checked: Vec<Checked> =
        files.iter().map(|file| Checked::of(file, layer, &places)).collect::<Result<_, _>>()?;
    print(&match as_json {
        true => {
            format!("{:#}\n", json!({ "files": checked.iter().map(Checked::to_json).collect::<Vec<_>>() }))
        }
        false => checked.iter().map(Checked::to_text).collect(),
    })?;
    let is_wrong = checked.iter().any(|file| !file.findings.errors.is_empty());
    Ok(if is_wrong { WRONG } else { 0 })
}

/// One file, and what is wrong with it.
struct Checked {
    path: AbsPath,
    layer: Layer,
    findings: Findings,
}

impl Checked {
    fn of(file: &OsString, layer: Option<LayerOption>, places: &Places) -> Result<Self, Failure> {
        let invalid = |error: palisade_policy::PathError| {
            Failure::new("PATH_INVALID", format!("the path {:?} {error}", file.to_string_lossy()))
        };
        let path: AbsPath = places.working_directory.join(file.as_encoded_bytes()).map_err(invalid)?;
        let layer = layer.map(Layer::from).or_else(|| places.layer(&path)).unwrap_or(Layer::Flag);
        let findings = check_file(&path, layer, places);
        Ok(Checked { path, layer, findings })
    }

    fn to_text(&self) -> String {
        let Checked { path, layer, findings: Findings { errors, warnings } } = self;
        let mut text = String::new();
        for error in errors {
            text.push_str(&format!("error: {}\n", Printable(&error.to_string())));
        }
        for warning in warnings {
            text.push_str(&format!("warning: {}\n", Printable(&warning.to_string())));
        }
        if errors.is_empty() {
            text.push_str(&format!("{path}: read as {layer} settings, {}\n", counted(warnings.len())));
        }
        text
    }

    fn to_json(&self) -> Value {
        let Findings { errors, warnings } = &self.findings;
        json!({
            "file": self.path.to_string(),
            "layer": self.layer.to_string(),
            "errors": errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "warnings": warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}

fn counted(warnings: usize) -> String {
    match warnings {
        0 => "no warnings".into(),
        1 => "1 warning".into(),
        many => format!("{many} warnings"),
    }
}

impl From<LayerOption> for Layer {
    fn from(layer: LayerOption) -> Self {
        match layer {
            LayerOption::User => Layer::User,
            LayerOption::Project => Layer::Project,
            LayerOption::Local => Layer::Local,
            LayerOption::CommandLine => Layer::Flag,
            LayerOption::Managed => Layer::Managed,
        }
    }
}
