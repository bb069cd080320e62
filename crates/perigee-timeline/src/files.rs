// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that people name: read or refused in words. What the operating system says ("No such file or directory (os
//! error 2)") and what a JSON parser says ("missing field `title`") is meant for programmers.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// Reads a text file.
///
/// # Errors
/// With the name of the file and why it cannot be read.
pub fn read(file: &Path) -> Result<String, String> {
    let device = std::fs::metadata(file).is_ok_and(|m| is_device(&m));
    if device {
        return Err(format!("cannot read {}: it is a device, not a file", file.display()));
    }
    std::fs::read_to_string(file).map_err(|e| format!("cannot read {}: {}", file.display(), why(&e)))
}

/// A device may go on for ever. (A pipe is welcome: shells make them for `<(command)`.)
#[cfg(unix)]
fn is_device(m: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    m.file_type().is_char_device() || m.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &std::fs::Metadata) -> bool {
    false
}

/// Opens a file for reading.
///
/// # Errors
/// With the name of the file and why it cannot be read.
pub fn open(file: &Path) -> Result<std::fs::File, String> {
    std::fs::File::open(file).map_err(|e| format!("cannot read {}: {}", file.display(), why(&e)))
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
pub fn create(file: &Path) -> Result<std::fs::File, String> {
    std::fs::File::create(file).map_err(|e| format!("cannot write {}: {}", file.display(), why(&e)))
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

/// Why text is not the JSON that is expected, without the parser's position (which callers know in their own terms).
pub fn why_not_json(e: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let text = e.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text).replace('`', "\"");
    match e.classify() {
        Category::Eof => "it breaks off in the middle".into(),
        Category::Syntax => format!("it is not JSON ({text})"),
        Category::Io | Category::Data => text,
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

    #[test]
    fn what_is_not_json_is_said_in_words() {
        let why = |text: &str| why_not_json(&serde_json::from_str::<Vec<u8>>(text).unwrap_err());
        assert_eq!(why("[1"), "it breaks off in the middle");
        assert!(why("[1, x]").starts_with("it is not JSON"), "{}", why("[1, x]"));
        assert!(!why("{}").contains(" at line "), "{}", why("{}"));
    }
}
