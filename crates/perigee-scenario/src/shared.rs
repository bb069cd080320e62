// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One timeline for all schemes of a seed: made once, on its own thread, a few chunks ahead of the fastest reader.

use perigee_timeline::{Chunk, ChunkSource};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Chunks that the maker may be ahead of the fastest reader.
const AHEAD: usize = 4;

#[derive(Default)]
struct State {
    chunks: Vec<Arc<Chunk>>,
    /// The source has ended, or failed with these words.
    end: Option<Result<(), String>>,
    /// Chunks that the fastest reader has asked for.
    wanted: usize,
    closed: bool,
}

#[derive(Default)]
struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

impl Board {
    /// A poisoned lock means that the maker panicked; what it left behind is still consistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A timeline that several runs read.
pub struct SharedTimeline {
    board: Arc<Board>,
}

impl SharedTimeline {
    /// Starts the thread that makes the chunks.
    pub fn new(source: Box<dyn ChunkSource>) -> Self {
        let board = Arc::new(Board::default());
        let maker = board.clone();
        std::thread::spawn(move || make(source, &maker));
        SharedTimeline { board }
    }

    /// A reader from the beginning.
    pub fn reader(&self) -> Reader {
        Reader { board: self.board.clone(), next: 0 }
    }

    /// All chunks, once they are made.
    ///
    /// # Errors
    /// When the source cannot go on.
    pub fn all(&self) -> Result<Vec<Arc<Chunk>>, String> {
        let mut reader = self.reader();
        let mut chunks = Vec::new();
        while let Some(chunk) = reader.next_chunk()? {
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    /// The chunks made so far.
    pub fn made(&self) -> Vec<Arc<Chunk>> {
        self.board.lock().chunks.clone()
    }
}

impl Drop for SharedTimeline {
    fn drop(&mut self) {
        self.board.lock().closed = true;
        self.board.changed.notify_all();
    }
}

fn make(mut source: Box<dyn ChunkSource>, board: &Board) {
    loop {
        let mut state = board.lock();
        while !state.closed && state.chunks.len() >= state.wanted + AHEAD {
            state = board.wait(state);
        }
        if state.closed {
            return;
        }
        drop(state);
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| source.next_chunk()))
            .unwrap_or_else(
                |_| Err("the source of the timeline broke down (a bug: please report it)".into()),
            );
        let mut state = board.lock();
        match made {
            Ok(Some(chunk)) => state.chunks.push(chunk),
            Ok(None) => state.end = Some(Ok(())),
            Err(why) => state.end = Some(Err(why)),
        }
        let over = state.end.is_some();
        drop(state);
        board.changed.notify_all();
        if over {
            return;
        }
    }
}

/// Reads a [`SharedTimeline`] from its beginning.
pub struct Reader {
    board: Arc<Board>,
    next: usize,
}

impl ChunkSource for Reader {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let mut state = self.board.lock();
        if state.wanted <= self.next {
            state.wanted = self.next + 1;
            self.board.changed.notify_all();
        }
        loop {
            if let Some(chunk) = state.chunks.get(self.next) {
                self.next += 1;
                return Ok(Some(chunk.clone()));
            }
            match &state.end {
                Some(Ok(())) => return Ok(None),
                Some(Err(why)) => return Err(why.clone()),
                None if state.closed => return Err("the timeline was closed".into()),
                None => state = self.board.wait(state),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perigee_units::Nanos;

    struct Counting(u64, Option<u64>);
    impl ChunkSource for Counting {
        fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
            self.0 += 1;
            match self.1 {
                Some(limit) if self.0 > limit => Err("no more".into()),
                _ if self.0 > 40 => Ok(None),
                _ => Ok(Some(Arc::new(Chunk {
                    start: Nanos(self.0 - 1),
                    end: Nanos(self.0),
                    ..Chunk::default()
                }))),
            }
        }
    }

    fn read_all(mut r: Reader) -> Result<usize, String> {
        let mut n = 0;
        while let Some(c) = r.next_chunk()? {
            assert_eq!(c.start, Nanos(n as u64));
            n += 1;
        }
        Ok(n)
    }

    #[test]
    fn every_reader_sees_every_chunk_once() {
        let t = SharedTimeline::new(Box::new(Counting(0, None)));
        let readers = [t.reader(), t.reader(), t.reader()];
        let threads = readers.map(|r| std::thread::spawn(move || read_all(r)));
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Ok(40));
        }
        assert_eq!(read_all(t.reader()), Ok(40), "a late reader too");
    }

    #[test]
    fn a_source_that_fails_fails_every_reader() {
        let t = SharedTimeline::new(Box::new(Counting(0, Some(3))));
        assert_eq!(read_all(t.reader()), Err("no more".into()));
        assert_eq!(read_all(t.reader()), Err("no more".into()));
    }
}
