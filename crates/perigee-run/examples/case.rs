// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One case of the benchmark without Python, for profilers: `case NAME`.

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    match perigee_run::bench::measure(&name) {
        Ok(measured) => println!("{measured}"),
        Err(why) => eprintln!("{why}"),
    }
}
