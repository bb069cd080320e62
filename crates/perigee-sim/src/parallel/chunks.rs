// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One source of a timeline, read by several partitions.

use perigee_timeline::{Chunk, ChunkSource};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

type Next = Result<Option<Arc<Chunk>>, String>;

/// The source, and the chunks that not all readers have read.
struct Shared<'s> {
    source: Box<dyn ChunkSource + 's>,
    /// Answers of the source from the `dropped`-th on.
    chunks: VecDeque<Next>,
    dropped: usize,
    /// Answers that each reader has read.
    read: Vec<usize>,
}

impl Shared<'_> {
    fn get(&mut self, n: usize) -> Next {
        while self.dropped + self.chunks.len() <= n {
            let next = self.source.next_chunk();
            self.chunks.push_back(next);
        }
        self.chunks[n - self.dropped].clone()
    }

    fn forget(&mut self) {
        let read_by_all = self.read.iter().copied().min().unwrap_or(0);
        while self.dropped < read_by_all && self.chunks.pop_front().is_some() {
            self.dropped += 1;
        }
    }
}

/// A reader of a shared source.
pub struct Reader<'s> {
    shared: Arc<Mutex<Shared<'s>>>,
    number: usize,
}

/// Readers of a source, and its first chunk.
pub fn readers<'s>(source: Box<dyn ChunkSource + 's>, count: usize) -> (Vec<Reader<'s>>, Next) {
    let mut shared = Shared { source, chunks: VecDeque::new(), dropped: 0, read: vec![0; count] };
    let first = shared.get(0);
    let shared = Arc::new(Mutex::new(shared));
    ((0..count).map(|number| Reader { shared: shared.clone(), number }).collect(), first)
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // After a panic there is nothing to forget.
        if let Ok(mut shared) = self.shared.lock() {
            shared.read[self.number] = usize::MAX;
            shared.forget();
        }
    }
}

impl ChunkSource for Reader<'_> {
    fn next_chunk(&mut self) -> Next {
        let mut shared = self.shared.lock().expect("no reader panics with it");
        let n = shared.read[self.number];
        let next = shared.get(n);
        shared.read[self.number] += 1;
        shared.forget();
        next
    }
}
