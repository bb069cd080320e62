// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transparent gateway that splits TCP connections at the edge of a satellite link.
//!
//! `rules` and `routes` divert connections, `queue` holds SYNs until the far side has answered,
//! `worker` connects and accepts, `relay` moves bytes between the legs, and `backlog` bounds the
//! data that waits.

#![expect(clippy::disallowed_methods, reason = "connections of real hosts run by the wall clock")]

mod backlog;
mod control;
mod counters;
pub mod delay_line;
mod netlink;
mod options;
mod queue;
mod relay;
mod routes;
mod rules;
mod syn;
mod system;
mod worker;

use counters::Counters;
use options::{Options, Task};
use rules::{Ports, Table};
use std::process::ExitCode;
use std::sync::{mpsc, Arc};
use std::thread::{self, JoinHandle};

const FAILED: u8 = 1;
const BAD_INPUT: u8 = 2;

/// Runs the program with the arguments of its command line.
#[must_use]
pub fn run(arguments: &[String]) -> ExitCode {
    let options = match Options::read(arguments) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", options::help());
            return ExitCode::SUCCESS;
        }
        Err(message) => return fail(BAD_INPUT, &message),
    };
    let result = match options.task {
        Task::Run => gateway(options),
        Task::Clean => clean(),
        Task::Status => control::print(&options, "GET", "/health"),
        Task::Metrics => control::print(&options, "GET", "/metrics"),
        Task::Drain => control::print(&options, "POST", "/drain"),
    };
    result.map_or_else(|message| fail(FAILED, &message), |()| ExitCode::SUCCESS)
}

fn fail(code: u8, message: &str) -> ExitCode {
    eprintln!("perigee gateway: {message}");
    ExitCode::from(code)
}

/// Sets up the gateway, serves until it ends, and removes the rules and routes.
fn gateway(options: Options) -> Result<(), String> {
    check_privileges()?;
    check_congestion(&options)?;
    check_open_files(&options)?;
    let control = control::Endpoint::claim(&options)?;
    let counters = Arc::new(Counters::default());
    let (lanes, workers) = start_workers(&options, &counters)?;
    routes::add(&options).map_err(|e| options::no_capability(&e))?;
    let table = Table::install(&options, &lanes)?;
    let ended = control.serve(&options, &counters, &table);
    counters.stopping.store(true, std::sync::atomic::Ordering::Relaxed);
    for worker in workers {
        // A worker that panics has already printed the message.
        let _ = worker.join();
    }
    table.remove().map_err(|e| format!("cannot remove the rules: {e}"))?;
    remove_routes_of_last()?;
    ended
}

type Workers = (Vec<Vec<Ports>>, Vec<JoinHandle<()>>);

/// Starts the workers; returns the ports of each direction's workers.
fn start_workers(options: &Options, counters: &Arc<Counters>) -> Result<Workers, String> {
    let mut lanes = vec![Vec::new(); options.from.directions(options).len()];
    let mut workers = Vec::new();
    for index in 0..options.workers as usize {
        let (ready, is_ready) = mpsc::channel();
        let (options, counters) = (options.clone(), counters.clone());
        workers.push(thread::spawn(move || worker::run(index, options, counters, ready)));
        let ports = is_ready.recv().map_err(|_| "a worker ended early".to_owned())?;
        for (lane, ports) in lanes.iter_mut().zip(ports.map_err(|e| format!("cannot listen: {e}"))?) {
            lane.push(ports);
        }
    }
    Ok((lanes, workers))
}

/// Removes the rules and routes of killed gateways.
fn clean() -> Result<(), String> {
    let socket = netlink::Socket::open(libc::NETLINK_NETFILTER).map_err(|e| format!("no nf_tables: {e}"))?;
    let mut tables = 0;
    for name in rules::tables(&socket).map_err(|e| options::no_capability(&e))? {
        match rules::remove(&socket, &name) {
            Ok(()) => tables += 1,
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => {
                let process = name.trim_start_matches(rules::PREFIX);
                return Err(format!("the gateway of process {process} is running: end it first"));
            }
            Err(e) => return Err(format!("cannot remove table {name}: {e}")),
        }
    }
    let routes = routes::remove().map_err(|e| options::no_capability(&e))?;
    println!("removed {tables} tables, {routes} rules and routes");
    Ok(())
}

/// Removes the routing rule and routes unless another gateway on this machine uses them.
fn remove_routes_of_last() -> Result<(), String> {
    let socket = netlink::Socket::open(libc::NETLINK_NETFILTER).map_err(|e| e.to_string())?;
    if rules::tables(&socket).map_err(|e| e.to_string())?.is_empty() {
        routes::remove().map_err(|e| format!("cannot remove the routing rule: {e}"))?;
    }
    Ok(())
}

fn check_privileges() -> Result<(), String> {
    let address = system::loopback(false);
    let socket = system::tcp_socket(address).map_err(|e| e.to_string())?;
    let transparent = system::set_transparent(&socket, false);
    transparent.and_then(|()| system::raw_socket(false)).map(drop).map_err(|e| options::no_capability(&e))
}

fn check_congestion(options: &Options) -> Result<(), String> {
    for name in [&options.congestion, &options.inside_congestion].into_iter().flatten() {
        let socket = system::tcp_socket(system::loopback(false)).map_err(|e| e.to_string())?;
        system::set_congestion(&socket, name).map_err(|e| {
            let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            let available = available.unwrap_or_default();
            format!("no congestion control {name} ({e}); the kernel has {}", available.trim())
        })?;
    }
    Ok(())
}

/// Checks the limit of open files for each worker, which has its own table of descriptors.
fn check_open_files(options: &Options) -> Result<(), String> {
    let limit = system::raise_open_files().map_err(|e| e.to_string())?;
    // Each connection needs two sockets and the pipes in use; other descriptors are always open.
    let needed = u64::from(options.connections) * 5 / 2 / u64::from(options.workers) + 512;
    if needed > limit {
        return Err(format!(
            "--connections {} needs {needed} open files in each of {} threads, and the limit is {limit}: raise it \
             (ulimit -Hn, LimitNOFILE=), or use more --workers",
            options.connections, options.workers
        ));
    }
    Ok(())
}
