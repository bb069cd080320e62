// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program `perigee-delay-line`: a link with delay, rate, queue and loss between two
//! interfaces, for tests and measurements of the gateway.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    perigee_gateway::delay_line::run(&arguments)
}
