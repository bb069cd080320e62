// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Header and library as used from C: the examples run, and structures and constants agree.

use perigee_capi::boundary::Code;
use perigee_capi::types::{CONSTANTS, LAYOUTS};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{here, run};

mod support;

const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wpadded", "-Wconversion"];
/// Libraries on which a static Rust library depends; the dynamic one links them itself.
const SYSTEM: &[&str] = &["-lpthread", "-ldl", "-lm"];

/// The compiler, or `None` with a printed reason.
fn compiler(variable: &str, usual: &str) -> Option<String> {
    if !cfg!(unix) {
        println!("skipped: the command lines of this test are those of Unix compilers");
        return None;
    }
    let name = std::env::var(variable).unwrap_or_else(|_| usual.into());
    if Command::new(&name).arg("--version").output().is_ok_and(|o| o.status.success()) {
        return Some(name);
    }
    println!("skipped: no compiler {name:?} on this machine (set {variable} to name another)");
    None
}

/// A directory for one test, with the library under its installed name.
fn place(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&dir).unwrap();
    let built = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    for ending in [std::env::consts::DLL_SUFFIX, ".a"] {
        let from = built.join(format!("libperigee_capi{ending}"));
        std::fs::copy(&from, dir.join(format!("libperigee_cc{ending}"))).unwrap();
    }
    // The name by which programs load it (build.rs).
    let loaded = if cfg!(target_os = "macos") { "libperigee_cc.0.dylib" } else { "libperigee_cc.so.0" };
    let shared = format!("libperigee_cc{}", std::env::consts::DLL_SUFFIX);
    std::fs::copy(dir.join(shared), dir.join(loaded)).unwrap();
    dir
}

/// Compiles and runs `source`, linked dynamically or statically, and returns its output.
fn compile_and_run(cc: &str, dir: &Path, source: &Path, fixed: bool) -> String {
    let program =
        dir.join(source.file_stem().unwrap()).with_extension(if fixed { "static" } else { "dynamic" });
    let mut command = Command::new(cc);
    command.arg("-std=c99").args(WARNINGS).arg("-I").arg(here("include")).arg(source).arg("-o").arg(&program);
    if fixed {
        command.arg(dir.join("libperigee_cc.a")).args(SYSTEM);
    } else {
        command.arg("-L").arg(dir).arg("-lperigee_cc").arg(format!("-Wl,-rpath,{}", dir.display()));
    }
    run(&mut command);
    run(&mut Command::new(program))
}

#[test]
fn the_window_of_cubic_doubles_each_round_under_a_c_host() {
    let Some(cc) = compiler("CC", "cc") else { return };
    let dir = place("slow_start");
    let out = compile_and_run(&cc, &dir, &here("examples/slow_start.c"), false);
    assert!(out.contains("round 1: 10 -> 20 packets"), "{out}");
    assert!(out.contains("round 8: 1280 -> 2560 packets"), "{out}");
    assert_eq!(out, compile_and_run(&cc, &dir, &here("examples/slow_start.c"), true));
}

#[test]
fn misuse_is_refused_with_codes_and_changes_nothing() {
    let Some(cc) = compiler("CC", "cc") else { return };
    let dir = place("misuse");
    for fixed in [false, true] {
        let out = compile_and_run(&cc, &dir, &here("examples/misuse.c"), fixed);
        assert!(out.ends_with(" checks, 0 wrong\n"), "{out}");
    }
}

#[test]
fn the_header_and_the_library_agree_on_every_size_offset_and_constant() {
    let Some(cc) = compiler("CC", "cc") else { return };
    let dir = place("layout");
    let mut source = String::from("#include \"perigee_cc.h\"\n#include <stdio.h>\nint main(void) {\n");
    let mut expected = String::new();
    let mut ask = |what: String, value: i64| {
        writeln!(source, "    printf(\"{what} %lld\\n\", (long long)({what}));").unwrap();
        writeln!(expected, "{what} {value}").unwrap();
    };
    for s in LAYOUTS {
        ask(format!("sizeof({})", s.name), s.size as i64);
        for (member, offset) in s.members {
            ask(format!("offsetof({}, {member})", s.name), *offset as i64);
        }
    }
    for (name, value) in CONSTANTS {
        ask(format!("PERIGEE_{name}"), (*value).into());
    }
    for (code, name, _) in Code::ALL {
        ask(format!("PERIGEE_E_{name}"), (*code as i32).into());
    }
    ask("PERIGEE_INFINITE_SSTHRESH".into(), perigee_cc::INFINITE_SSTHRESH as i64);
    source.push_str("    return 0;\n}\n");
    let file = dir.join("layout.c");
    std::fs::write(&file, source).unwrap();
    assert_eq!(compile_and_run(&cc, &dir, &file, false), expected);
}

#[test]
fn the_header_declares_every_function_and_enumerated_name_of_the_library() {
    let header = std::fs::read_to_string(here("include/perigee_cc.h")).unwrap();
    let api = std::fs::read_to_string(here("src/api.rs")).unwrap();
    let functions: Vec<&str> =
        api.split("extern \"C\" fn ").skip(1).map(|rest| rest.split('(').next().unwrap()).collect();
    assert_eq!(functions.len(), 19);
    for name in functions {
        assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
    }
    let words = header.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    for word in words.filter_map(|w| w.strip_prefix("PERIGEE_")) {
        let known = CONSTANTS.iter().any(|(name, _)| *name == word || name.starts_with(word))
            || Code::ALL.iter().any(|(_, name, _)| word == format!("E_{name}"))
            || ["E_", "CC_H", "INFINITE_SSTHRESH", "ENTER_", "EXIT_"].contains(&word);
        assert!(known, "PERIGEE_{word} is not in the library");
    }
}

#[test]
fn the_header_is_valid_cpp() {
    let Some(cpp) = compiler("CXX", "c++") else { return };
    let mut command = Command::new(cpp);
    command.args(["-std=c++11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++"]);
    // Compiled alone, the include guard of the header looks unused.
    run(command.arg(here("include/perigee_cc.h")));
}
