// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets `cfg(reference_data)` if the reference data is present: tests that need the data are
//! otherwise ignored, and test runners list them as such.

use std::path::PathBuf;

fn main() {
    println!("cargo:rustc-check-cfg=cfg(reference_data)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=PERIGEE_SHARED_DATA");
    let folder = std::env::var_os("PERIGEE_SHARED_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if folder.is_dir() {
        println!("cargo:rustc-cfg=reference_data");
    }
}
