// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fuzz targets: comma-separated tables of networks, schedules and amounts, and dates.

use perigee_orbit::time::Epoch;
use perigee_sources::{background, network, schedule};

/// Tables of links with changes, and without.
pub fn links() -> Vec<Vec<u8>> {
    vec![
        "from,to,t_s,rate_mbps,delay_ms,loss_pct,queue_packets\na,b,0,10,5,0.1,100\nb,c,1.5,,7,,\n".into(),
        "from,to\na,b\nb,c\n".into(),
    ]
}

/// Parses links.
pub fn link(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|t| network::parse_links(t).is_ok())
}

/// Routes of two and three nodes.
pub fn routes() -> Vec<Vec<u8>> {
    vec!["a, b, c\nc, a\n".into()]
}

/// Parses routes.
pub fn route(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|t| network::parse_routes(t).is_ok())
}

/// A schedule with all its columns.
pub fn schedules() -> Vec<Vec<u8>> {
    vec!["# measured\nt_s,rate_mbps,rtt_ms,outage_ms,loss_pct_down\n0,50,40,0,0.5\n15,80.5,35,120,0\n".into()]
}

/// Parses a schedule.
pub fn schedule(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|t| schedule::read_csv(t).is_ok())
}

/// Amounts over time, of one port and of two.
pub fn amounts() -> Vec<Vec<u8>> {
    vec!["t_s,rate_mbps,flows\n0,5,3\n2.5,0,0\n".into(), "port,t_s,rate_mbps\na,0,5\nb,0,7.5\na,4,1\n".into()]
}

/// Parses amounts over time.
pub fn amount(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|t| background::read_steps(t).is_ok())
}

/// Dates in all three forms.
pub fn epochs() -> Vec<Vec<u8>> {
    ["2022-09-14", "2024-02-29T12:00:00", "2100-12-31 23:59:59.25Z"].map(|t| t.as_bytes().to_vec()).into()
}

/// Parses a date.
pub fn epoch(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|t| Epoch::parse(t).is_ok())
}
