// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Boot folder of a guest: the agent, its job and modules, sockets and console.

use crate::job::Job;
use perigee_units::files::private_folder;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A guest's root folder, removed on drop.
#[derive(Debug)]
pub struct Root(PathBuf);

/// Maximum length of the path, as paths of sockets have at most 107 bytes (unix(7)).
const LONGEST_ROOT: usize = 95;

/// Number of digits of the random number in its name.
const DIGITS: usize = 16;

impl Root {
    /// Creates a root with the job of the hosts `here`, and the agent and modules from a kernel's
    /// folder.
    ///
    /// # Errors
    /// If the folder for temporary files is not writable.
    pub fn make(kernel: &Path, job: &Job, here: &Range<usize>) -> io::Result<Root> {
        remove_stale(&std::env::temp_dir());
        let root = Root(own_folder(&std::env::temp_dir())?);
        // Mount points used by the agent.
        for folder in ["proc", "machine", "layer", "world"] {
            fs::create_dir(root.0.join(folder))?;
        }
        copy(&kernel.join("agent"), &root.0.join("agent"))?;
        let modules = root.0.join("modules");
        fs::create_dir(&modules)?;
        for module in fs::read_dir(kernel.join("modules")).into_iter().flatten() {
            let module = module?;
            copy(&module.path(), &modules.join(module.file_name()))?;
        }
        fs::write(root.0.join("job"), job.text(here))?;
        Ok(root)
    }

    /// Removes the folder from disk: a booted guest no longer needs it, and nothing is left behind
    /// even if this process is killed.
    pub fn unlink(&self) {
        let _ = fs::remove_dir_all(&self.0);
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Creates a folder with an unpredictable name, accessible only to this user, as it contains
/// environments and inputs of programs. The process id in the name is for `remove_stale`.
fn own_folder(base: &Path) -> io::Result<PathBuf> {
    let prefix = format!("perigee-{}-", std::process::id());
    let unusable = |e: io::Error| {
        let folder = base.join(&prefix);
        let why =
            format!("a guest's folder cannot be made: {}...: {e}; TMPDIR names its place", folder.display());
        io::Error::new(e.kind(), why)
    };
    if base.as_os_str().len() + 1 + prefix.len() + DIGITS > LONGEST_ROOT {
        return Err(unusable(io::Error::other("the path is too long for sockets")));
    }
    private_folder(base, &prefix).map_err(unusable)
}

/// Removes roots left by processes of this user that were killed while their guests booted.
fn remove_stale(folder: &Path) {
    let Ok(own) = fs::metadata("/proc/self").map(|m| m.uid()) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|n| n.strip_prefix("perigee-")?.split_once('-'));
        let Some((process, number)) = process else { continue };
        let ours = process.parse::<u32>().is_ok() && u64::from_str_radix(number, 16).is_ok();
        // For a symbolic link this is the metadata of the link itself, which is not a folder.
        let mine = entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == own);
        if ours && mine && !Path::new("/proc").join(process).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let copied = fs::copy(from, to);
    copied.map_err(|e| io::Error::new(e.kind(), format!("{} to {}: {e}", from.display(), to.display())))
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_for_its_user_alone_and_has_a_name_that_cannot_be_guessed() {
        let base = own_folder(&std::env::temp_dir()).expect("there is room");
        let kernel = base.join("kernel");
        fs::create_dir(&kernel).expect("it is new");
        fs::write(kernel.join("agent"), "").expect("there is room");
        let made: Vec<PathBuf> = (0..2).map(|_| own_folder(&base).expect("there is room")).collect();
        for folder in &made {
            let found = fs::metadata(folder).expect("it is there");
            assert_eq!((found.mode() & 0o7777, fs::read_dir(folder).expect("ours").count()), (0o700, 0));
            let name = folder.file_name().and_then(|n| n.to_str()).expect("it is ASCII");
            let number = name.rsplit_once('-').expect("a number comes last").1;
            assert_eq!(number.len(), 16, "{name}");
        }
        assert_ne!(made[0], made[1]);
        let root = Root::make(&kernel, &Job::default(), &(0..0)).expect("there is room");
        assert_eq!(fs::metadata(root.path()).expect("it is there").mode() & 0o7777, 0o700);
        drop(root);
        // A process id that cannot exist: the folder is removed, whereas links and folders of
        // running processes are kept.
        let dead = base.join("perigee-4294967295-00000000000000aa");
        let alive = base.join(format!("perigee-{}-00000000000000aa", std::process::id()));
        fs::create_dir(&dead).expect("it is new");
        fs::create_dir(&alive).expect("it is new");
        let link = base.join("perigee-4294967295-00000000000000ab");
        std::os::unix::fs::symlink(&alive, &link).expect("it is new");
        remove_stale(&base);
        assert!(!dead.exists() && alive.exists() && link.exists());
        fs::remove_dir_all(&base).expect("ours");
    }
}
