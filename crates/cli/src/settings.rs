//! `palisade settings`: what is in force and who said it, the format of the files, and what is wrong with one.

use crate::explain::origin_to_json;
use crate::failure::{Failure, print, say};
use crate::options::{LayerOption, RuleOptions, SettingsOptions, SettingsVerb};
use crate::policy::{Scene, inspect_all, scene, working_directory};
use crate::profile::asked_about;
use palisade_policy::{AbsPath, Layer, Policy, Printable, Quoted};
use palisade_settings::{Findings, Loaded, Shown, Trust, check_file, schema};
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
        let said = match (&value.origin, &value.value) {
            // A switch is no text.
            (Some(origin), Shown::Switch(on)) => {
                format!(
                    "{} ({})",
                    origin.to_string().replacen(&format!("\"{on}\""), &on.to_string(), 1),
                    origin.layer
                )
            }
            (Some(origin), Shown::Text(_)) => format!("{origin} ({})", origin.layer),
            (None, _) => "default".into(),
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
    let scene = scene(Trust::Trusted, &root, here)?;
    let checked: Vec<Checked> =
        files.iter().map(|file| Checked::of(file, layer, &scene)).collect::<Result<_, _>>()?;
    print(&match as_json {
        true => {
            format!("{:#}\n", json!({ "files": checked.iter().map(Checked::to_json).collect::<Vec<_>>() }))
        }
        false => checked.iter().map(Checked::to_text).collect(),
    })?;
    let is_wrong = checked.iter().any(|file| !file.errors.is_empty());
    Ok(if is_wrong { WRONG } else { 0 })
}

/// One file, and what is wrong with it.
struct Checked {
    path: AbsPath,
    layer: Layer,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Checked {
    fn of(file: &OsString, layer: Option<LayerOption>, scene: &Scene) -> Result<Self, Failure> {
        let invalid = |error: palisade_policy::PathError| {
            Failure::of_call("PATH_INVALID", format!("the path {:?} {error}", file.to_string_lossy()))
        };
        let places = &scene.places;
        let path: AbsPath = places.working_directory.join(file.as_encoded_bytes()).map_err(invalid)?;
        let layer = layer.map(Layer::from).or_else(|| places.layer(&path)).unwrap_or(Layer::Flag);
        let Findings { errors, warnings, policy } = check_file(&path, layer, places);
        let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        if errors.is_empty() {
            match refusal(policy, scene)? {
                Some(Refusal::Everywhere(error)) => errors.push(error),
                Some(Refusal::Here(warning)) => warnings.push(warning),
                None => {}
            }
        }
        Ok(Checked { path, layer, errors, warnings })
    }

    fn to_text(&self) -> String {
        let Checked { path, layer, errors, warnings } = self;
        let mut text = String::new();
        for error in errors {
            text.push_str(&format!("error: {}\n", Printable(error)));
        }
        for warning in warnings {
            text.push_str(&format!("warning: {}\n", Printable(warning)));
        }
        let errors = if errors.is_empty() { String::new() } else { counted(errors.len(), "error") + ", " };
        let warnings = counted(warnings.len(), "warning");
        text.push_str(&format!("{path}: read as {layer} settings, {errors}{warnings}\n"));
        text
    }

    fn to_json(&self) -> Value {
        json!({
            "file": self.path.to_string(),
            "layer": self.layer.to_string(),
            "errors": self.errors,
            "warnings": self.warnings,
        })
    }
}

/// Why a policy keeps commands from starting.
enum Refusal {
    /// Each, wherever it starts.
    Everywhere(String),
    /// Those that start in this directory.
    Here(String),
}

/// Why no command could start under `policy`, whatever the command. What keeps one from starting without it, too, is not
/// the file's fault.
fn refusal(policy: Policy, scene: &Scene) -> Result<Option<Refusal>, Failure> {
    let refused = |policy: Policy| -> Result<_, Failure> {
        let (sandbox, request) = asked_about(policy, scene.root.clone(), scene.working_directory.clone())?;
        Ok(sandbox.resolve(&request).err())
    };
    let Some(error) = refused(policy)? else { return Ok(None) };
    let while_this_stands = |what: &str| format!("{what} is refused while this stands: {error}");
    Ok(match error.code() {
        "SANDBOX_UNENFORCEABLE" => Some(Refusal::Everywhere(while_this_stands("every command"))),
        "SANDBOX_DIRECTORY" if refused(Policy::default())?.is_none() => {
            Some(Refusal::Here(while_this_stands("a command that starts here")))
        }
        _ => None,
    })
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
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
