// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that people name: read or refused in words. What the operating system says ("No such file or directory (os
//! error 2)") is meant for programmers.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

/// Reads a text file.
///
/// # Errors
/// With the name of the file and why it cannot be read.
pub fn read(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    open(file)?.read_to_string(&mut text).map_err(|e| unreadable(file, &e))?;
    Ok(text)
}

/// Opens a regular file for reading. A device may go on for ever, a pipe may never begin, and neither can be read a
/// second time, which the hash in a record needs.
///
/// # Errors
/// With the name of the file and why it cannot be read.
pub fn open(file: &Path) -> Result<File, String> {
    let what = match std::fs::metadata(file) {
        Ok(m) if m.is_dir() => "a folder",
        Ok(m) if !m.is_file() => special(m.file_type()),
        _ => return File::open(file).map_err(|e| unreadable(file, &e)),
    };
    Err(format!("cannot read {}: it is {what}, not a file", file.display()))
}

#[cfg(unix)]
fn special(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind.is_fifo() || kind.is_socket() {
        true => "a pipe",
        false => "a device",
    }
}

#[cfg(not(unix))]
fn special(_: std::fs::FileType) -> &'static str {
    "a device"
}

fn unreadable(file: &Path, e: &Error) -> String {
    format!("cannot read {}: {}", file.display(), why(e))
}

/// Writes a file.
///
/// # Errors
/// With the name of the file and why it cannot be written.
pub fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("cannot write {}: {}", file.display(), why(&e)))
}

/// Makes a file for writing.
///
/// # Errors
/// With the name of the file and why it cannot be written.
pub fn create(file: &Path) -> Result<File, String> {
    File::create(file).map_err(|e| format!("cannot write {}: {}", file.display(), why(&e)))
}

/// Why the operating system refuses, without its numbers.
pub fn why(e: &Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "there is no such file or folder".into(),
        ErrorKind::PermissionDenied => "its permissions do not allow it".into(),
        ErrorKind::IsADirectory => "it is a folder".into(),
        ErrorKind::NotADirectory => "a part of its path is no folder".into(),
        ErrorKind::InvalidData => "it is not text in UTF-8".into(),
        ErrorKind::StorageFull => "the disk is full".into(),
        _ => {
            let text = e.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_file_and_no_number_of_the_operating_system() {
        let why = read(Path::new("/nowhere/x.tle")).unwrap_err();
        assert_eq!(why, "cannot read /nowhere/x.tle: there is no such file or folder");
        let why = read(Path::new("/")).unwrap_err();
        assert!(why.starts_with("cannot read /: ") && !why.contains("os error"), "{why}");
        assert!(create(Path::new("/nowhere/x")).unwrap_err().starts_with("cannot write /nowhere/x"));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_refused_instead_of_waited_for() {
        let why = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(why, "cannot read /dev/zero: it is a device, not a file");
        // A socket stands for whatever else would block: the standard library cannot make a named pipe.
        let socket = std::env::temp_dir().join(format!("perigee-socket-{}", std::process::id()));
        let _kept = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(open(&socket).unwrap_err().ends_with("it is a pipe, not a file"));
        std::fs::remove_file(&socket).unwrap();
    }
}
