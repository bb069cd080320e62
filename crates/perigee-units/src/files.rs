// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Access to user-supplied files, with error messages for users: those of the operating system ("No
//! such file or directory (os error 2)") are meant for programmers.

use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Reads a text file.
///
/// # Errors
/// Name of the file, and why it cannot be read.
pub fn read(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = open(file)?.take(MOST_TEXT + 1).read_to_string(&mut text).map_err(|e| unreadable(file, &e))?;
    match read as u64 > MOST_TEXT {
        true => Err(format!("cannot read {}: it is larger than {} MB", file.display(), MOST_TEXT >> 20)),
        false => Ok(text),
    }
}

/// Maximum number of bytes read from a text file: far more than any has, and a size that fits in
/// memory.
const MOST_TEXT: u64 = 1 << 30;

/// Opens a regular file for reading. Other files are rejected: a device may be endless, a pipe may
/// block, and neither can be read a second time, as the hash in a record requires.
///
/// # Errors
/// Name of the file, and why it cannot be read.
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

/// Writes a file in a folder, completely or not at all. A link with that name is replaced; its
/// target is unchanged.
///
/// # Errors
/// Name of the file, and why it cannot be written.
pub fn write(file: &Path, content: &[u8]) -> Result<(), String> {
    put(file, content).map_err(|e| format!("cannot write {}: {}", file.display(), why(&e)))
}

fn put(file: &Path, content: &[u8]) -> Result<(), Error> {
    let (name, mut partial) = fresh(file.parent().unwrap_or(Path::new("")))?;
    let done = partial.write_all(content).and_then(|()| std::fs::rename(&name, file));
    if done.is_err() {
        let _ = std::fs::remove_file(&name);
    }
    done
}

/// Creates a new file, so that no link is followed, under an unpredictable name.
fn fresh(folder: &Path) -> Result<(PathBuf, File), Error> {
    loop {
        let name = folder.join(format!(".perigee-{:016x}.partial", unknown()));
        match File::create_new(&name) {
            Ok(file) => return Ok((name, file)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// An unpredictable number, from the random keys of hash maps.
fn unknown() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Creates a folder that only this user can read, with a random name of 16 digits after `prefix`.
///
/// # Errors
/// If the folder cannot be created in `base`.
pub fn private_folder(base: &Path, prefix: &str) -> Result<PathBuf, Error> {
    loop {
        let folder = base.join(format!("{prefix}{:016x}", unknown()));
        match private().create(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(unix)]
fn private() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
fn private() -> DirBuilder {
    DirBuilder::new()
}

/// Creates a file for writing.
///
/// # Errors
/// Name of the file, and why it cannot be written.
pub fn create(file: &Path) -> Result<File, String> {
    File::create(file).map_err(|e| format!("cannot write {}: {}", file.display(), why(&e)))
}

/// The operating system's reason for a failure, without error numbers.
pub fn why(e: &Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "no such file or folder".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "it is a folder".into(),
        ErrorKind::NotADirectory => "a part of its path is not a folder".into(),
        ErrorKind::InvalidData => "it is not UTF-8 text".into(),
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
        assert_eq!(why, "cannot read /nowhere/x.tle: no such file or folder");
        let why = read(Path::new("/")).unwrap_err();
        assert!(why.starts_with("cannot read /: ") && !why.contains("os error"), "{why}");
        assert!(create(Path::new("/nowhere/x")).unwrap_err().starts_with("cannot write /nowhere/x"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_and_files_without_end_are_not_read() {
        let folder = std::env::temp_dir().join(format!("perigee-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (victim, link) = (folder.join("victim"), folder.join("link"));
        std::fs::write(&victim, "mine").unwrap();
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!((read(&victim).unwrap().as_str(), read(&link).unwrap().as_str()), ("mine", "new"));
        assert!(!std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let names = || std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(names(), 2);
        assert!(write(&folder, b"").is_err());
        assert_eq!(names(), 2);
        File::create(&victim).unwrap().set_len(MOST_TEXT + 2).unwrap();
        let why = read(&victim).unwrap_err();
        assert!(why.ends_with("victim: it is larger than 1024 MB"), "{why}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_refused_instead_of_waited_for() {
        let why = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(why, "cannot read /dev/zero: it is a device, not a file");
        // A socket represents other files that block, as the standard library cannot create a named
        // pipe.
        let socket = std::env::temp_dir().join(format!("perigee-socket-{}", std::process::id()));
        let _kept = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(open(&socket).unwrap_err().ends_with("it is a pipe, not a file"));
        std::fs::remove_file(&socket).unwrap();
    }
}
