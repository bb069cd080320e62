// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of a policy: `cargo run --release -p perigee-learn --example evaluate -- POLICY LIFETIME [ROW…]`.

use perigee_cc::Value;
use perigee_learn::evaluate::{table, Subject};
use std::collections::BTreeMap;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, policy, lifetime, only @ ..] = words.as_slice() else { panic!("POLICY LIFETIME [ROW…]") };
    let text = std::fs::read_to_string(policy).expect("a policy");
    let params = BTreeMap::from([("lifetime".to_string(), Value::Text(lifetime.clone()))]);
    let subject = Subject { cc: "astraea".into(), params, policy: Some(text.into()) };
    for row in table(&subject, only).expect("a table") {
        let values: Vec<String> = row.values.iter().map(|(n, v)| format!("{n} {v:.3}")).collect();
        println!("{} {}: {}", row.id, if row.pass { "pass" } else { "FAIL" }, values.join("; "));
    }
}
