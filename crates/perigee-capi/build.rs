// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Name of the shared library as programs that are linked to it refer to it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Structures grow compatibly (perigee_cc.h): the number changes with an incompatible change only.
    let argument = match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => "-Wl,-install_name,@rpath/libperigee_cc.0.dylib",
        Ok("linux" | "freebsd" | "netbsd" | "openbsd") => "-Wl,-soname,libperigee_cc.so.0",
        _ => return,
    };
    println!("cargo::rustc-cdylib-link-arg={argument}");
}
