// SPDX-License-Identifier: Apache-2.0 OR MIT
//! JSON descriptions: the list of schemes and the state of a controller as output, parameters as
//! input.

use perigee_cc::{
    CongestionControl, Controller, Domain, ParamSpec, Params, SchemeInfo, Value, Window, SCHEMES,
};
use serde_json::{json, Map, Value as Json};
use std::collections::BTreeMap;

/// All schemes with their parameters and files.
pub fn schemes() -> String {
    let scheme = |s: &SchemeInfo| {
        let files: Vec<Json> = s.files().iter().map(|f| json!({ "name": f.name, "help": f.help })).collect();
        let params: Vec<Json> = s.params.iter().map(param).collect();
        json!({ "id": s.id, "label": s.label, "summary": s.summary, "params": params, "files": files })
    };
    Json::Array(SCHEMES.iter().map(scheme).collect()).to_string()
}

fn param(p: &ParamSpec) -> Json {
    let mut row = match p.domain {
        Domain::Bool(_) => json!({ "type": "boolean" }),
        Domain::Int { min, max, .. } => json!({ "type": "integer", "min": min, "max": max }),
        Domain::Float { min, max, .. } => json!({ "type": "number", "min": min, "max": max }),
        Domain::Time { min, max, .. } => {
            json!({ "type": "time", "min": min.to_string(), "max": max.to_string() })
        }
        Domain::Data { .. } => json!({ "type": "data", "unit": "B" }),
        Domain::Choice(words) => json!({ "type": "choice", "choices": words }),
    };
    row["name"] = json!(p.name);
    row["default"] = value(&p.domain.default_value());
    row["unit"] = json!(p.unit);
    row["source"] = json!(p.source);
    row["help"] = json!(p.help);
    row
}

/// State of a controller: scheme, parameters, mode, window, named internal values.
pub fn state(info: &SchemeInfo, params: &Params, controller: &Controller, w: &Window) -> String {
    let params: Map<String, Json> =
        params.resolved().into_iter().map(|(name, v)| (name.to_string(), value(&v))).collect();
    let mut probe = Map::new();
    controller.probe(&mut |name, x| {
        probe.insert(name.to_string(), json!(x));
    });
    json!({
        "scheme": info.id,
        "params": params,
        "mode": controller.mode(w),
        "window": {
            "cwnd": w.cwnd,
            "ssthresh": w.ssthresh,
            "pacing": w.pacing.map(|r| r.0),
            "quantum": w.quantum,
            "next_timer": w.next_timer.map(|t| t.0),
            "mark_app_limited": w.mark_app_limited,
        },
        "probe": probe,
    })
    .to_string()
}

fn value(v: &Value) -> Json {
    match v {
        Value::Bool(b) => json!(b),
        Value::Int(i) => json!(i),
        Value::Float(f) => json!(f),
        Value::Text(t) => json!(t),
    }
}

/// Parameters from a JSON object; an empty text means no parameters. A member with the name of a
/// file parameter contains the content of the file.
///
/// # Errors
/// The error as text.
pub fn params(info: &SchemeInfo, text: &str) -> Result<Params, String> {
    let members: BTreeMap<String, Json> = match text.trim() {
        "" => BTreeMap::new(),
        text => serde_json::from_str(text).map_err(|e| format!("parameters: {e}"))?,
    };
    let (files, given): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(name, _)| info.files().iter().any(|f| f.name == name));
    let given = given.into_iter().map(|(name, v)| Ok((name.clone(), plain(&name, v)?)));
    let given = given.collect::<Result<BTreeMap<_, _>, String>>()?;
    let mut params = info.params(given).map_err(|e| e.to_string())?;
    for (name, content) in files {
        let content =
            content.as_str().ok_or_else(|| format!("{name}: the file's content as text is expected"))?;
        params.attach(info.files(), &name, content).map_err(|e| e.to_string())?;
    }
    Ok(params)
}

fn plain(name: &str, v: Json) -> Result<Value, String> {
    match v {
        Json::Bool(b) => Ok(Value::Bool(b)),
        Json::String(t) => Ok(Value::Text(t)),
        Json::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(i), _) => Ok(Value::Int(i)),
            (None, Some(f)) => Ok(Value::Float(f)),
            (None, None) => Err(format!("{name}: {n} is too large")),
        },
        _ => Err(format!("{name}: a boolean, a number or a text is expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_is_listed_with_its_parameters() {
        let list: Json = serde_json::from_str(&schemes()).unwrap();
        assert_eq!(list.as_array().unwrap().len(), SCHEMES.len());
        let cubic = list.as_array().unwrap().iter().find(|s| s["id"] == "cubic").unwrap();
        assert_eq!(cubic["params"][0]["name"], perigee_cc::cubic::PARAMS[0].name);
    }

    #[test]
    fn the_listed_defaults_are_accepted_as_parameters() {
        let list: Json = serde_json::from_str(&schemes()).unwrap();
        for s in list.as_array().unwrap() {
            let rows = s["params"].as_array().unwrap().iter();
            let defaults: Map<String, Json> =
                rows.map(|p| (p["name"].as_str().unwrap().to_string(), p["default"].clone())).collect();
            let info = perigee_cc::info(s["id"].as_str().unwrap()).unwrap();
            params(info, &Json::Object(defaults).to_string()).unwrap();
        }
    }

    #[test]
    fn a_file_is_given_as_its_content_and_refused_if_it_is_not_one() {
        let astraea = perigee_cc::info("astraea").unwrap();
        assert!(params(astraea, r#"{"weights": "nonsense"}"#).unwrap_err().starts_with("weights"));
        assert!(params(astraea, r#"{"weights": 1}"#).unwrap_err().contains("content"));
    }
}
