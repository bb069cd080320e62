// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reference files outside the repository, for tests that are ignored without them.

use std::path::PathBuf;

/// Text of a file of the reference data.
pub(crate) fn read(name: &str) -> String {
    let folder = std::env::var_os("PERIGEE_SHARED_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join(name);
    std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; PERIGEE_SHARED_DATA names another folder", path.display()))
}

/// Damaged versions of a text: truncated at any position, or with one byte replaced.
pub(crate) fn damaged(text: &str) -> impl Iterator<Item = String> + '_ {
    let cut = (0..text.len()).filter_map(|i| text.get(..i).map(str::to_string));
    let swap = move |i: usize| {
        "$,[]-.0n\n\u{e9}"
            .chars()
            .filter_map(move |c| Some(format!("{}{c}{}", text.get(..i)?, text.get(i + 1..)?)))
    };
    cut.chain((0..text.len()).flat_map(swap))
}
