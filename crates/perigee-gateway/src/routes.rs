// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Routing rule and routing table that deliver marked packets to this machine.

use crate::netlink::{attributes, Messages, Received, Socket, ACK, CREATE, DUMP, EXCLUSIVE, REQUEST};
use crate::options::Options;
use crate::system;
use std::io;

/// Protocol number by which rules and routes of gateways are recognised (`ip rule`: "proto 80").
pub const PROTOCOL: u8 = 80;
/// Priority before that of the table "main".
const PRIORITY: u32 = 1080;
const LOCAL: u8 = 2;
const HOST: u8 = 254;
const TO_TABLE: u8 = 1;
const TABLE: u16 = 15;
const FAMILIES: [u8; 2] = [libc::AF_INET as u8, libc::AF_INET6 as u8];

const RULE_PRIORITY: u16 = 6;
const RULE_MARK: u16 = 10;
const RULE_MASK: u16 = 16;
const RULE_PROTOCOL: u16 = 21;
const ROUTE_OUT: u16 = 4;

/// Adds the rule and the route for both address families. Existing ones are kept.
///
/// # Errors
/// Errors that the kernel reports.
pub fn add(options: &Options) -> io::Result<()> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    let loopback = system::interface_index("lo")?;
    for family in FAMILIES {
        let mut route = Messages::default();
        // Family, lengths, service, table, protocol, scope, type, flags.
        let header = [family, 0, 0, 0, 0, PROTOCOL, HOST, LOCAL, 0, 0, 0, 0];
        route.start(24, REQUEST | ACK | CREATE | EXCLUSIVE, &header);
        route.attribute(TABLE, &options.table.to_ne_bytes()).attribute(ROUTE_OUT, &loopback.to_ne_bytes());
        let mut rule = Messages::default();
        rule.start(32, REQUEST | ACK | CREATE | EXCLUSIVE, &[family, 0, 0, 0, 0, 0, 0, TO_TABLE, 0, 0, 0, 0]);
        rule.attribute(TABLE, &options.table.to_ne_bytes())
            .attribute(RULE_PRIORITY, &PRIORITY.to_ne_bytes())
            .attribute(RULE_MARK, &options.mark.to_ne_bytes())
            .attribute(RULE_MASK, &u32::MAX.to_ne_bytes())
            .attribute(RULE_PROTOCOL, &[PROTOCOL]);
        for messages in [route, rule] {
            match socket.exchange(&messages, 1) {
                Err(e) if e.raw_os_error() == Some(libc::EEXIST) => {}
                // The machine has no IPv6.
                Err(e) if family != FAMILIES[0] && e.raw_os_error() == Some(libc::EAFNOSUPPORT) => {}
                other => drop(other?),
            }
        }
    }
    Ok(())
}

/// Removes all rules and routes of gateways, and returns their number.
///
/// # Errors
/// Errors that the kernel reports.
pub fn remove() -> io::Result<usize> {
    let socket = Socket::open(libc::NETLINK_ROUTE)?;
    let mut removed = 0;
    for family in FAMILIES {
        for (get, delete, is_ours) in [(34, 33, rule_is_ours as fn(&[u8]) -> bool), (26, 25, route_is_ours)] {
            let mut request = Messages::default();
            request.start(get, REQUEST | DUMP, &[family, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            let found = match socket.exchange(&request, 1) {
                Err(e) if family != FAMILIES[0] && e.raw_os_error() == Some(libc::EAFNOSUPPORT) => continue,
                other => other?,
            };
            for (_, body) in found.iter().filter(|(_, body): &&Received| body.len() >= 12 && is_ours(body)) {
                let mut request = Messages::default();
                request.start(delete, REQUEST | ACK, body);
                socket.exchange(&request, 1)?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

fn rule_is_ours(body: &[u8]) -> bool {
    attributes(&body[12..]).any(|(kind, value)| kind == RULE_PROTOCOL && value == [PROTOCOL])
}

/// The protocol alone is not sufficient: the route must also be a local default route.
fn route_is_ours(body: &[u8]) -> bool {
    body[5] == PROTOCOL && body[7] == LOCAL && body[1] == 0
}
