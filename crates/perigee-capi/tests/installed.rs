// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The installed library: found by pkg-config, compiled against and run.

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{here, run};

mod support;

/// Whether all tools exist; prints the first one that does not.
fn has(tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| {
        let tried = Command::new(tool).arg("--version").output();
        !tried.is_ok_and(|o| o.status.success())
    });
    if let Some(tool) = missing {
        println!("skipped: no {tool} on this machine");
    }
    missing.is_none() && cfg!(unix)
}

/// An empty directory for one test.
fn place(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn script(name: &str) -> Command {
    let mut command = Command::new(here(name));
    command.env("BUILT", std::env::current_exe().unwrap().parent().unwrap());
    for variable in ["PREFIX", "LIBDIR", "DESTDIR", "OUT"] {
        command.env_remove(variable);
    }
    command
}

/// Words that pkg-config prints for a library in `libdir`, below `root` if that is not empty.
fn flags(libdir: &Path, root: &Path, words: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_LIBDIR", libdir.join("pkgconfig")).env("PKG_CONFIG_SYSROOT_DIR", root);
    // Otherwise flags for folders that every compiler searches are left out, below a root as well.
    command.env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1").env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1");
    let out = run(command.args(words).arg("perigee-cc"));
    out.split_whitespace().map(String::from).collect()
}

/// Compiles the example with these flags and returns its output.
fn example(dir: &Path, flags: &[String], libdir: &Path) -> String {
    let program = dir.join("quic_stack");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion"]);
    run(cc.arg(here("examples/quic_stack.c")).args(flags).arg("-o").arg(&program));
    let paths = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
    let all = ["cubic", "bbr"].map(|scheme| run(Command::new(&program).arg(scheme).env(paths, libdir)));
    all.concat()
}

/// The goodput of each line, in Mbit/s.
fn goodputs(out: &str) -> Vec<f64> {
    let words = out.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap());
    words.collect()
}

#[test]
fn a_quic_stack_is_compiled_against_the_installed_library() {
    if !has(&["cc", "pkg-config"]) {
        return;
    }
    let dir = place("installed");
    let prefix = dir.join("prefix");
    run(script("install.sh").env("PREFIX", &prefix));
    let libdir = prefix.join("lib");
    let none = Path::new("");
    assert_eq!(flags(&libdir, none, &["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    let shared = example(&dir, &flags(&libdir, none, &["--cflags", "--libs"]), &libdir);
    let goodputs = goodputs(&shared);
    assert!(goodputs.iter().all(|g| (15.0..20.0).contains(g)), "{shared}");
    assert!(shared.contains("cubic: ") && shared.contains("1 times persistent congestion"), "{shared}");
    assert!(shared.contains(concat!("version ", env!("CARGO_PKG_VERSION"))), "{shared}");
    // Without the shared library the linker takes the static one.
    for entry in std::fs::read_dir(&libdir).unwrap().map(|e| e.unwrap().path()) {
        if entry.file_name().unwrap().to_str().unwrap().contains(std::env::consts::DLL_SUFFIX)
            || entry.extension().is_some_and(|e| e == "dylib")
        {
            std::fs::remove_file(entry).unwrap();
        }
    }
    let fixed = example(&dir, &flags(&libdir, none, &["--cflags", "--libs", "--static"]), none);
    assert_eq!(fixed, shared);
}

#[test]
fn relative_prefixes_and_missing_builds_are_rejected() {
    if !has(&["cc"]) {
        return;
    }
    let dir = place("rejected");
    let output = |command: &mut Command| {
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (code, text) = output(script("install.sh").env("PREFIX", "relative"));
    assert!(code == Some(2) && text.contains("not relative"), "{text}");
    for strange in ["with space", "d$(touch pwned)", "two\nlines"] {
        let (code, text) = output(script("install.sh").env("PREFIX", dir.join(strange)));
        assert!(code == Some(2) && text.contains("as pkg-config wants"), "{text}");
    }
    let (code, text) = output(script("install.sh").env("PREFIX", &dir).env("BUILT", &dir));
    assert!(code == Some(2) && text.contains("cargo build --release -p perigee-capi"), "{text}");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn debian_packages_have_a_library_and_what_compilers_need() {
    if !has(&["cc", "pkg-config", "dpkg-deb", "strip", "objdump"]) {
        return;
    }
    let dir = place("deb");
    run(script("deb.sh").env("OUT", &dir));
    let root = dir.join("root");
    let mut packages: Vec<PathBuf> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    packages.sort();
    assert_eq!(packages.len(), 2, "{packages:?}");
    let field = |package: &Path, name: &str| {
        run(Command::new("dpkg-deb").arg("--field").arg(package).arg(name)).trim().to_string()
    };
    assert_eq!(field(&packages[0], "Package"), "libperigee-cc-dev");
    assert_eq!(field(&packages[0], "Depends"), concat!("libperigee-cc0 (= ", env!("CARGO_PKG_VERSION"), ")"));
    assert_eq!(field(&packages[1], "Package"), "libperigee-cc0");
    assert!(field(&packages[1], "Depends").starts_with("libc6 (>= 2."));
    for package in &packages {
        run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root));
    }
    let multiarch = run(Command::new("cc").arg("-print-multiarch"));
    let libdir = root.join("usr/lib").join(multiarch.trim());
    let found = flags(&libdir, &root, &["--cflags", "--libs"]);
    assert!(goodputs(&example(&dir, &found, &libdir)).iter().all(|g| *g > 15.0), "{found:?}");
}
