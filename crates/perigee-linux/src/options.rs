// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transport options in the form of hosts: kernel settings and route attributes.

use perigee_guest::job::Route;
use perigee_tcp::Config;
use perigee_timeline::Flow;
use perigee_units::params::Value;
use perigee_units::parse_time;

/// Minimum receive buffer of Linux, and a send buffer with room for several gigabits: initial and
/// maximum size.
pub const LEAST_RECEIVE_MEMORY: u64 = 4096;
const SEND_MEMORY: (u64, u64) = (262_144, 67_108_864);
/// Number of immediate ACKs at the start (`TCP_MAX_QUICKACKS`); each packet by which the window
/// grows restores one.
const QUICK_ACKS: i64 = 16;
/// Memory of a full packet in a receive buffer fed by the guests' devices.
const TRUESIZE: i64 = 2176;
/// Maximum value of a kernel setting of this type.
pub const LARGEST_MEMORY: u64 = i32::MAX as u64;

/// Transport options as kernel settings.
///
/// # Errors
/// If an option has no equivalent in the kernel.
pub fn sysctls(flow: &Flow) -> Result<Vec<(String, String)>, String> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut set = |key: &str, value: String| out.push((format!("net.ipv4.{key}"), value));
    set("tcp_rmem", receive_memory(flow)?);
    set("tcp_wmem", send_memory(flow)?);
    // Otherwise a second flow to the same host would start with metrics of the first one.
    set("tcp_no_metrics_save", "1".into());
    for (name, value) in &flow.tcp {
        let on = |v: &Value| String::from(if *v == Value::Bool(true) { "1" } else { "0" });
        match (name.as_str(), value) {
            ("timestamps", v @ Value::Bool(_)) => set("tcp_timestamps", on(v)),
            ("dsack", v @ Value::Bool(_)) => set("tcp_dsack", on(v)),
            ("slow_start_after_idle", v @ Value::Bool(_)) => set("tcp_slow_start_after_idle", on(v)),
            ("ecn", v @ Value::Bool(_)) => set("tcp_ecn", on(v)),
            ("frto", Value::Bool(v)) => set("tcp_frto", if *v { "2" } else { "0" }.into()),
            ("tlp", Value::Bool(v)) => set("tcp_early_retrans", if *v { "3" } else { "0" }.into()),
            ("pacing_ss_ratio", Value::Int(v)) => set("tcp_pacing_ss_ratio", v.to_string()),
            ("pacing_ca_ratio", Value::Int(v)) => set("tcp_pacing_ca_ratio", v.to_string()),
            ("min_rto", Value::Text(text)) => {
                let time = parse_time(text).map_err(|e| e.to_string())?;
                set("tcp_rto_min_us", (time.0 / 1_000).to_string());
            }
            // These are defaults of a kernel with a thousand ticks per second.
            ("hz", Value::Int(1000)) | ("timer_wheel", Value::Bool(true)) => {}
            ("quickack", Value::Int(QUICK_ACKS)) | ("truesize", Value::Int(TRUESIZE)) => {}
            // Already set above.
            ("rmem" | "rmem_max" | "wmem", Value::Int(_)) => {}
            // The resulting cap is set as the receiver's window, flow by flow.
            ("send_buffer" | "receive_buffer" | "buffer_factor", _) => {}
            // These are route attributes.
            ("init_cwnd", Value::Int(_)) | ("delayed_ack", Value::Int(1 | 2)) => {}
            _ => return Err(format!("the kernel has no equivalent of tcp.{name} = {value}")),
        }
    }
    Ok(out)
}

/// Send buffer: minimum, initial and maximum size.
fn send_memory(flow: &Flow) -> Result<String, String> {
    let first = match flow.tcp.get("wmem") {
        Some(Value::Int(n)) if *n != 0 => u64::try_from(*n).unwrap_or(0),
        _ => SEND_MEMORY.0,
    };
    if !(LEAST_RECEIVE_MEMORY..=LARGEST_MEMORY).contains(&first) {
        return Err(format!(
            "kernels have send buffers of {LEAST_RECEIVE_MEMORY} to {LARGEST_MEMORY} bytes, not tcp.wmem = {first}"
        ));
    }
    Ok(format!("{LEAST_RECEIVE_MEMORY} {first} {}", SEND_MEMORY.1.max(first)))
}

/// Receive buffer: minimum, initial and maximum size.
fn receive_memory(flow: &Flow) -> Result<String, String> {
    let own = Config::default();
    let given = |name: &str, default: u64| match flow.tcp.get(name) {
        Some(Value::Int(n)) => u64::try_from(*n).unwrap_or(0),
        _ => default,
    };
    let (first, most) = (given("rmem", own.rmem), given("rmem_max", own.rmem_max));
    for (name, bytes) in [("rmem", first), ("rmem_max", most)] {
        if !(LEAST_RECEIVE_MEMORY..=LARGEST_MEMORY).contains(&bytes) {
            return Err(format!("kernels have receive buffers of {LEAST_RECEIVE_MEMORY} to {LARGEST_MEMORY} bytes, not tcp.{name} = {bytes}"));
        }
    }
    Ok(format!("{LEAST_RECEIVE_MEMORY} {first} {}", most.max(first)))
}

/// Transport options as route attributes.
pub fn route(flow: &Flow) -> Route {
    let given = |name: &str| match flow.tcp.get(name) {
        Some(Value::Int(n)) => u32::try_from(*n).unwrap_or(0),
        _ => 0,
    };
    Route { initial_window: given("init_cwnd"), quick_acks: given("delayed_ack") == 1 }
}
