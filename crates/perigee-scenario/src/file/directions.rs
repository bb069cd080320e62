// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nested port tables for directions: `[port.terminal.up]` becomes the table of the port
//! `terminal.up`.

use crate::file::tree::{Entry, Raw, Table};

/// Moves tables `up` and `down` out of the port tables that contain them, to follow those.
pub fn apply(table: &mut Table) {
    for entry in table.0.iter_mut().filter(|e| e.key == "port" || e.key == "link") {
        let Raw::Table(ports) = &mut entry.item.value else { continue };
        let mut flat = Vec::new();
        for mut port in std::mem::take(&mut ports.0) {
            let mut inner = Vec::new();
            if let Raw::Table(t) = &mut port.item.value {
                let is_way = |e: &Entry| {
                    ["up", "down"].contains(&e.key.as_str()) && matches!(e.item.value, Raw::Table(_))
                };
                let (ways, rest): (Vec<Entry>, Vec<Entry>) =
                    std::mem::take(&mut t.0).into_iter().partition(is_way);
                t.0 = rest;
                inner = ways;
                // A table written only to contain these has no keys of its own.
                if t.0.is_empty() && !inner.is_empty() {
                    flat.extend(named(&port.key, inner));
                    continue;
                }
            }
            let key = port.key.clone();
            flat.push(port);
            flat.extend(named(&key, inner));
        }
        ports.0 = flat;
    }
}

fn named(port: &str, ways: Vec<Entry>) -> impl Iterator<Item = Entry> + '_ {
    ways.into_iter().map(move |e| Entry { key: format!("{port}.{}", e.key), ..e })
}
