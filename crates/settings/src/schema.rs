//! A JSON Schema of the settings, for editors and other people's checks: the table of keys in other words.
//!
//! It says what types there are, not which patterns are valid: only reading them finds that out. Keys of Claude Code's
//! that nothing here reads are allowed at the top, where they are its own, and unknown ones everywhere: reading only warns
//! of them, but for those that were plainly meant for a deny.

use crate::keys::{KEYS, Key, Kind, Layers, Support};
use palisade_permissions::Mode;
use serde_json::{Map, Value, json};

/// The schema, of the draft that most editors know.
pub fn schema() -> Value {
    let mut schema = object("");
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = "Settings of Palisade and Claude Code".into();
    schema
}

/// The object at `section`.
fn object(section: &str) -> Value {
    let keys = KEYS.iter().filter(|key| key.section == section);
    let properties: Map<String, Value> = keys.map(|key| (key.name.to_owned(), property(key))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": true })
}

fn property(key: &Key) -> Value {
    match key.support {
        Support::LeftOut(why) => {
            json!({ "description": format!("Left out with a warning: {why}."), "deprecated": true })
        }
        Support::Read(kind, layers, _) => {
            let mut value = kind.schema(key);
            if let Kind::Switch(default) = kind {
                value["default"] = default.into();
            }
            if layers != Layers::Any {
                value["description"] = format!("Counts from {} settings only.", layers.name()).into();
            }
            value
        }
    }
}

impl Kind {
    fn schema(self, key: &Key) -> Value {
        let texts = || json!({ "type": "array", "items": { "type": "string" } });
        let entries = || json!({ "type": "array", "items": { "type": "string", "minLength": 1 } });
        match self {
            Kind::Section => object(&key.full_name()),
            Kind::Switch(_) => json!({ "type": "boolean" }),
            Kind::Commands | Kind::Paths | Kind::Hosts | Kind::Rules | Kind::Directories => entries(),
            Kind::Files => credentials("path", json!({ "type": "string", "minLength": 1 })),
            Kind::Variables => credentials("name", json!({ "type": "string", "pattern": A_VARIABLE })),
            Kind::Ignored => json!({ "type": "object", "additionalProperties": texts() }),
            Kind::Program => json!({ "type": "string", "pattern": "^/" }),
            Kind::Mode => {
                let names = Mode::ALL.map(Mode::name).into_iter().chain(["manual"]);
                json!({ "type": "string", "enum": names.collect::<Vec<_>>() })
            }
            Kind::Disable => json!({ "const": "disable" }),
        }
    }
}

/// The names of variables.
const A_VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// A list of objects with such a `text` at `of`, or of such texts alone.
fn credentials(of: &str, text: Value) -> Value {
    let entry = json!({
        "type": "object",
        "properties": { of: text.clone(), "mode": { "enum": ["deny", "mask"] } },
        "required": [of],
    });
    json!({ "type": "array", "items": { "anyOf": [text, entry] } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::places;
    use crate::{Findings, Options};
    use palisade_policy::{AbsPath, Layer};

    /// What reading `value` at the key of that full name finds, in an administrator's file.
    fn read(name: &str, value: &Value) -> Findings {
        let text = name.rsplit('.').fold(value.to_string(), |inner, name| format!("{{\"{name}\": {inner}}}"));
        let mut findings = Findings::default();
        let source = places().source(Layer::Managed, &AbsPath::new("/m/s.json").expect("absolute"));
        Options::read(&source, &text, &mut findings);
        findings
    }

    /// Whether `value` is valid, as far as this module's schemas go.
    fn is_valid(schema: &Value, value: &Value) -> bool {
        let has_type = match schema["type"].as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            _ => true,
        };
        let items = value.as_array().is_none_or(|values| {
            values.iter().all(|value| schema.get("items").is_none_or(|items| is_valid(items, value)))
        });
        let others = value.as_object().is_none_or(|fields| {
            let others = schema.get("additionalProperties").filter(|others| others.is_object());
            fields.values().all(|value| others.is_none_or(|others| is_valid(others, value)))
        });
        let fields = schema.get("properties").and_then(Value::as_object).is_none_or(|properties| {
            properties
                .iter()
                .all(|(name, schema)| value.get(name).is_none_or(|value| is_valid(schema, value)))
        });
        let required = schema["required"].as_array().is_none_or(|names| {
            !value.is_object()
                || names.iter().all(|name| name.as_str().is_some_and(|name| value.get(name).is_some()))
        });
        let is_one = schema["enum"].as_array().is_none_or(|values| values.contains(value));
        let is_const = schema.get("const").is_none_or(|only| only == value);
        let is_variable = |text: &str| {
            let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            is_word && text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
        };
        let pattern = value.as_str().is_none_or(|text| match schema["pattern"].as_str() {
            Some("^/") => text.starts_with('/'),
            Some(A_VARIABLE) => is_variable(text),
            other => other.is_none(),
        });
        let length = schema["minLength"] != 1 || value != "";
        let any = schema["anyOf"]
            .as_array()
            .is_none_or(|schemas| schemas.iter().any(|schema| is_valid(schema, value)));
        has_type && items && others && fields && required && is_one && is_const && pattern && length && any
    }

    /// Values of every shape; for each key some are right.
    fn values() -> Vec<Value> {
        vec![
            json!(null),
            json!(true),
            json!(1),
            json!("x"),
            json!("/x"),
            json!("plan"),
            json!("disable"),
            json!([]),
            json!({}),
            json!([1]),
            json!(["Bash"]),
            json!(["/x"]),
            json!(["X"]),
            json!([""]),
            json!(["1X"]),
            json!([{ "path": "", "name": "" }]),
            json!([{ "path": "/x" }]),
            json!([{ "name": "X", "mode": "deny" }]),
            json!([{ "path": "/x", "name": "X", "mode": "allow" }]),
            json!({ "*": ["x"] }),
            json!({ "*": "x" }),
        ]
    }

    /// A value is refused for its type by both or by neither.
    #[test]
    fn the_schema_and_the_reader_agree() {
        for key in KEYS {
            let Support::Read(kind, ..) = key.support else { continue };
            if kind == Kind::Section {
                continue;
            }
            for value in values() {
                let findings = read(&key.full_name(), &value);
                let unknown_text = |error: &crate::Error| {
                    let is_shaped =
                        matches!(kind, Kind::Mode | Kind::Variables) || error.to_string().contains("\"\": ");
                    matches!(error, crate::Error::BadEntry { .. }) && !is_shaped
                };
                let is_read = findings.errors.iter().all(unknown_text);
                let name = key.full_name();
                assert_eq!(is_valid(&kind.schema(key), &value), is_read, "{name} {value}: {findings:?}");
            }
        }
    }

    /// Every key is in the schema at its place, with a default where it has one.
    #[test]
    fn every_key_has_its_place() {
        let schema = schema();
        for key in KEYS {
            let pointer: String =
                key.full_name().split('.').map(|name| format!("/properties/{name}")).collect();
            let property = schema.pointer(&pointer).unwrap_or_else(|| panic!("{pointer}"));
            if let Support::Read(Kind::Switch(default), ..) = key.support {
                assert_eq!(property["default"], default, "{pointer}");
            }
        }
    }
}
