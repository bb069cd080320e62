// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two hosts in one kernel, a wire of 100 Mbit/s and 25 ms between them, one TCP transfer:
//! `cargo run --release -p perigee-hosts --example two_hosts -- KERNEL_FOLDER`

use perigee_hosts::{Guest, GuestSpec};
use perigee_units::Nanos;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const EPOCH: Nanos = Nanos(4_000_000_000);
const DELAY: Nanos = Nanos(25_000_000);
const QUEUE: u64 = 50_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = std::path::PathBuf::from(std::env::args().nth(1).expect("a folder with linux and agent"));
    let secs: u64 = std::env::args().nth(2).map_or(20, |s| s.parse().unwrap());
    let cc = std::env::args().nth(3).unwrap_or("cubic".into());
    let folder = std::env::temp_dir().join(format!("perigee-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("proc"))?;
    std::fs::copy(kernel.join("agent"), folder.join("agent"))?;
    let mac = |i: u8| [2, 0, 0, 0, 0, i];
    let job = format!("epoch {}\nsample 1000000000\nhost a eth1 10.0.0.1/16 fd00::1/64\nhost b eth2 10.0.0.2/16 fd00::2/64\nneighbour 0 10.0.0.2 02:00:00:00:00:02\nneighbour 1 10.0.0.1 02:00:00:00:00:01\nsysctl 0 net.ipv4.tcp_rmem 4096 8388608 67108864\nsysctl 0 net.ipv4.tcp_wmem 4096 262144 67108864\nsysctl 1 net.ipv4.tcp_rmem 4096 8388608 67108864\nsysctl 1 net.ipv4.tcp_wmem 4096 262144 67108864\nflow 0 0 1 10.0.0.2 5001 0 {} {} {cc}\n", EPOCH.0, u64::MAX/2, u64::MAX);
    std::fs::write(folder.join("job"), job)?;
    let spec = GuestSpec {
        kernel: kernel.join("linux"),
        folder: folder.clone(),
        init: "/agent".into(),
        memory_mib: 384,
        seed: 1,
        interfaces: vec![[2, 0, 0, 0, 0xff, 0xfe], mac(1), mac(2)],
        patience: Duration::from_secs(30),
    };
    let t0 = Instant::now();
    let mut guest = Guest::boot(&spec)?;
    println!("boot {:?} at {}", t0.elapsed(), guest.now());
    let mut wire: [VecDeque<(Nanos, Box<[u8]>)>; 2] = Default::default();
    let mut free_at = [Nanos::ZERO; 2];
    let end = EPOCH + Nanos(secs * 1_000_000_000);
    let (mut frames, mut runs, mut drops, mut hash) = (0u64, 0u64, 0u64, 0xcbf29ce484222325u64);
    let mut t1 = Instant::now();
    let mut ready = false;
    loop {
        let next = wire.iter().filter_map(|w| w.front().map(|f| f.0)).min().unwrap_or(Nanos::MAX);
        let wake = guest.wakes_at().unwrap_or(Nanos::MAX);
        let at = next.min(wake);
        if at >= end {
            break;
        }
        if !ready && at >= EPOCH {
            ready = true;
            t1 = Instant::now();
            println!("epoch {:?}", t0.elapsed());
        }
        for (i, w) in wire.iter_mut().enumerate() {
            while w.front().is_some_and(|f| f.0 <= at) {
                guest.deliver(2 - i, w.pop_front().unwrap().1);
            }
        }
        let next = wire.iter().filter_map(|w| w.front().map(|f| f.0)).min().unwrap_or(Nanos::MAX);
        runs += 1;
        loop {
            guest.run(at, next.min(end))?;
            if !guest.is_pending() {
                break;
            }
        }
        for f in guest.sent() {
            frames += 1;
            for b in f.bytes.iter() {
                hash = (hash ^ *b as u64).wrapping_mul(0x100000001b3);
            }
            hash = (hash ^ f.at.0).wrapping_mul(0x100000001b3);
            if f.interface == 0 {
                if std::env::var_os("V").is_some() {
                    println!("{} report {} bytes", f.at, f.bytes.len());
                }
                continue;
            }
            let i = f.interface - 1;
            if f.bytes[0] != 2 {
                continue;
            }
            let start = free_at[i].max(f.at);
            let rate = if i == 0 { 100e6 } else { 1e12 };
            if (start - f.at).0 > QUEUE {
                drops += 1;
                continue;
            }
            free_at[i] = start + Nanos((f.bytes.len() as f64 * 8e9 / rate) as u64);
            wire[i].push_back((free_at[i] + DELAY, f.bytes));
        }
    }
    println!("{secs} s in {:?}: {frames} frames, {drops} dropped, {runs} runs, {:.1} us per frame, hash {hash:016x}", t1.elapsed(), t1.elapsed().as_secs_f64() * 1e6 / frames as f64);
    drop(guest);
    print!("{}", std::fs::read_to_string(folder.join("console"))?);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
