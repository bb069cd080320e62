// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queue discipline of a port, as data: a name and parameters, which backends interpret.
//!
//! In a saved timeline: the name alone, or `{"codel": {"target": "5 ms", "interval": "100 ms"}}`.
//! Files of version 0.1, with times in nanoseconds and probabilities in 10^-9, are also supported.

use perigee_units::params::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rule that drops or marks packets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct Discipline {
    /// Name of the discipline.
    pub name: String,
    /// Parameters; those not given have the backend's default.
    pub params: BTreeMap<String, Value>,
}

impl Default for Discipline {
    /// Drop-tail: a packet that does not fit is dropped on arrival.
    fn default() -> Self {
        Discipline { name: "drop-tail".into(), params: BTreeMap::new() }
    }
}

/// Serialized form.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Name(String),
    With(BTreeMap<String, BTreeMap<String, Value>>),
}

impl From<Discipline> for Form {
    fn from(d: Discipline) -> Self {
        match d.params.is_empty() {
            true => Form::Name(d.name),
            false => Form::With(BTreeMap::from([(d.name, d.params)])),
        }
    }
}

impl TryFrom<Form> for Discipline {
    type Error = &'static str;

    fn try_from(form: Form) -> Result<Self, Self::Error> {
        match form {
            Form::Name(name) => Ok(Discipline { name, params: BTreeMap::new() }),
            Form::With(map) => {
                let mut entries = map.into_iter();
                match (entries.next(), entries.next()) {
                    (Some((name, params)), None) => {
                        Ok(Discipline { name, params: params.into_iter().map(present).collect() })
                    }
                    _ => Err("a discipline is a name, or one name with its parameters"),
                }
            }
        }
    }
}

/// Converts a parameter written by version 0.1 to its current form; others are unchanged.
fn present((name, value): (String, Value)) -> (String, Value) {
    let renamed = match name.as_str() {
        "min" => "red_min",
        "max" => "red_max",
        "p_ppb" => "red_p",
        "floor_ppb" => "red_floor",
        "weight_ppb" => "red_weight",
        same => same,
    };
    let value = match (name.as_str(), value) {
        ("min" | "max", Value::Int(bytes)) => Value::Text(format!("{} B", bytes.max(1))),
        ("p_ppb" | "floor_ppb" | "weight_ppb", Value::Int(ppb)) => Value::Float(ppb as f64 / 1e9),
        ("target" | "interval" | "burst", Value::Int(ns)) => Value::Text(format!("{ns} ns")),
        (_, value) => value,
    };
    (renamed.to_string(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Discipline {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_discipline_is_written_as_its_name_or_with_its_parameters() {
        assert_eq!(serde_json::to_string(&Discipline::default()).unwrap(), "\"drop-tail\"");
        let params = BTreeMap::from([("target".to_string(), Value::Text("5 ms".into()))]);
        let codel = Discipline { name: "codel".into(), params };
        let json = serde_json::to_string(&codel).unwrap();
        assert_eq!(json, r#"{"codel":{"target":"5 ms"}}"#);
        assert_eq!(read(&json), codel);
        assert!(serde_json::from_str::<Discipline>(r#"{"codel":{},"pie":{}}"#).is_err());
        assert!(serde_json::from_str::<Discipline>("{}").is_err());
    }

    #[test]
    fn timelines_of_version_0_1_are_read() {
        assert_eq!(read("\"drop-tail\""), Discipline::default());
        let red = read(
            r#"{"red":{"min":18000,"max":36000,"p_ppb":20000000,"floor_ppb":0,"weight_ppb":1000000000}}"#,
        );
        let text = |s: &str| Value::Text(s.into());
        assert_eq!((&red.params["red_min"], &red.params["red_max"]), (&text("18000 B"), &text("36000 B")));
        assert_eq!(
            (&red.params["red_p"], &red.params["red_weight"]),
            (&Value::Float(0.02), &Value::Float(1.0))
        );
        assert_eq!(red.params["red_floor"], Value::Float(0.0));
        let fq = read(r#"{"fq_codel":{"target":5000000,"interval":100000000,"quantum":1514,"queues":1024}}"#);
        assert_eq!((&fq.params["target"], &fq.params["quantum"]), (&text("5000000 ns"), &Value::Int(1514)));
        assert_eq!(read(r#"{"pie":{"target":15000000,"burst":0}}"#).params["burst"], text("0 ns"));
    }
}
