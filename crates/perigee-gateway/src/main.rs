// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program `perigee-gateway`.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    perigee_gateway::run(&arguments)
}
