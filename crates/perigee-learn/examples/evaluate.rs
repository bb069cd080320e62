// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of policies:
//! `cargo run --release -p perigee-learn --example evaluate -- [KEY=VALUE…] [sieve=N] [ROW…] POLICY…`.
//! `scheme=astraea_leo` selects the table of policies for satellites.

#![expect(clippy::disallowed_methods, reason = "measures wall-clock time")]

use perigee_cc::Value;
use perigee_learn::evaluate::{merit, table, RowSet, Subject};
use std::collections::BTreeMap;

fn main() {
    let mut params = BTreeMap::new();
    let (mut rows, mut policies) = (Vec::new(), Vec::new());
    for word in std::env::args().skip(1) {
        if let Some((key, value)) = word.split_once('=') {
            params.insert(key.to_string(), Value::Text(value.to_string()));
        } else if word.starts_with('A') {
            rows.push(word);
        } else {
            policies.push(word);
        }
    }
    let scheme = match params.remove("scheme") {
        Some(Value::Text(name)) => name,
        _ => "astraea".to_string(),
    };
    let kind = if scheme == "astraea" { RowSet::Astraea } else { RowSet::Satellite };
    let allowed = params.remove("sieve").and_then(|v| v.to_string().trim_matches('"').parse::<usize>().ok());
    for policy in policies {
        let text = std::fs::read_to_string(&policy).expect("a policy");
        let subject = Subject { cc: scheme.clone(), params: params.clone(), policy: Some(text.into()) };
        let began = std::time::Instant::now();
        if let Some(allowed) = allowed {
            if merit(&subject, kind, allowed).expect("a merit").is_none() {
                println!("== {policy}: more than {allowed} fail, {:.0} s", began.elapsed().as_secs_f64());
                continue;
            }
        }
        let table = table(&subject, kind, &rows).expect("a table");
        let passed = table.iter().filter(|r| r.pass).count();
        println!("== {policy}: {passed} of {}, {:.0} s", table.len(), began.elapsed().as_secs_f64());
        for row in table.iter() {
            let values: Vec<String> = row.values.iter().map(|(n, v)| format!("{n} {v:.3}")).collect();
            println!("{} {}: {}", row.id, if row.pass { "pass" } else { "FAIL" }, values.join("; "));
        }
    }
}
