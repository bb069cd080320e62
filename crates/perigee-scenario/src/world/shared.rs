// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One timeline for all schemes of a seed: generated once, in a separate thread, a few chunks ahead
//! of the fastest reader. The first reader starts the thread: inspecting a world's contents
//! generates nothing.
//!
//! A timeline of days does not fit in memory: beyond `KEPT_BYTES` the oldest chunks are dropped,
//! and immediately if only one reader is expected ([`SharedTimeline::expect_one_reader`]). A reader
//! that needs dropped chunks, because it is late or slow, regenerates the timeline for itself: the
//! same chunks, by construction.

use perigee_timeline::{Change, Chunk, ChunkSource};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Number of chunks by which the generator may be ahead of the fastest reader.
const AHEAD: usize = 4;
/// Memory for chunks that other readers may still need.
const KEPT_BYTES: usize = 64 << 20;

/// Creates a source, starting at its beginning.
pub type Maker = Arc<dyn Fn() -> Result<Box<dyn ChunkSource>, String> + Send + Sync>;

struct State {
    /// Memory limit for chunks that have been read.
    budget: usize,
    /// Chunks from number `first` on.
    chunks: VecDeque<Arc<Chunk>>,
    first: usize,
    bytes: usize,
    /// Set once the source has ended, or failed with this message.
    end: Option<Result<(), String>>,
    /// Number of chunks requested by the fastest reader.
    wanted: usize,
    closed: bool,
}

impl State {
    fn new(budget: usize) -> Self {
        State { budget, chunks: VecDeque::new(), first: 0, bytes: 0, end: None, wanted: 0, closed: false }
    }

    fn push(&mut self, chunk: Arc<Chunk>) {
        self.bytes += size(&chunk);
        self.chunks.push_back(chunk);
        // Never drop the chunk that a reader waits for.
        while self.bytes > self.budget && self.first + 1 < self.wanted {
            if let Some(old) = self.chunks.pop_front() {
                self.bytes -= size(&old);
                self.first += 1;
            }
        }
    }
}

/// Approximate memory of a chunk.
fn size(chunk: &Chunk) -> usize {
    let change = |c: &perigee_timeline::Timed| match &c.change {
        Change::Path(_, Some(links)) => 64 + 4 * links.len(),
        Change::Note(note) => 128 + note.text.len(),
        _ => 64,
    };
    chunk.changes.iter().map(change).sum::<usize>() + 64 * (chunk.tracks.len() + chunk.links.len()) + 1024
}

struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

impl Board {
    /// A poisoned lock means that the generator has panicked; the state is still consistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A timeline shared by several runs.
pub struct SharedTimeline {
    board: Arc<Board>,
    again: Maker,
    /// Source until the first reader takes it.
    source: Mutex<Option<Box<dyn ChunkSource>>>,
}

impl SharedTimeline {
    /// Timeline of the chunks of `source`; `again` rebuilds the same source.
    pub fn new(source: Box<dyn ChunkSource>, again: Maker) -> Self {
        Self::within(KEPT_BYTES, source, again)
    }

    fn within(budget: usize, source: Box<dyn ChunkSource>, again: Maker) -> Self {
        let board = Board { state: Mutex::new(State::new(budget)), changed: Condvar::new() };
        SharedTimeline { board: Arc::new(board), again, source: Mutex::new(Some(source)) }
    }

    /// Announces that no further reader is expected: chunks are dropped as soon as they are read.
    pub fn expect_one_reader(&self) {
        self.board.lock().budget = 0;
    }

    /// A reader from the beginning. The first one starts the thread that generates the chunks.
    pub fn reader(&self) -> Reader {
        if let Some(source) = self.source.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let board = self.board.clone();
            std::thread::spawn(move || make(source, &board));
        }
        Reader { board: self.board.clone(), again: self.again.clone(), own: None, next: 0 }
    }

    /// All chunks, after waiting for them.
    ///
    /// # Errors
    /// If the source fails.
    pub fn all(&self) -> Result<Vec<Arc<Chunk>>, String> {
        let mut reader = self.reader();
        let mut chunks = Vec::new();
        while let Some(chunk) = reader.next_chunk()? {
            chunks.push(chunk);
        }
        Ok(chunks)
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
        while !state.closed && state.first + state.chunks.len() >= state.wanted + AHEAD {
            state = board.wait(state);
        }
        if state.closed {
            return;
        }
        drop(state);
        let made = next_of(source.as_mut());
        let mut state = board.lock();
        match made {
            Ok(Some(chunk)) => state.push(chunk),
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

fn next_of(source: &mut dyn ChunkSource) -> Result<Option<Arc<Chunk>>, String> {
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| source.next_chunk()));
    made.unwrap_or_else(|_| {
        Err("internal error in the source of the timeline (a bug: please report it)".into())
    })
}

/// Reader of a [`SharedTimeline`] from its beginning.
pub struct Reader {
    board: Arc<Board>,
    again: Maker,
    /// Separate source, once the shared timeline has dropped the next chunk.
    own: Option<Box<dyn ChunkSource>>,
    next: usize,
}

impl Reader {
    fn shared(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let mut state = self.board.lock();
        if state.wanted <= self.next {
            state.wanted = self.next + 1;
            self.board.changed.notify_all();
        }
        loop {
            if self.next < state.first {
                drop(state);
                return self.alone();
            }
            if let Some(chunk) = state.chunks.get(self.next - state.first) {
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

    /// Continues with a separate source.
    fn alone(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        let mut source = (self.again)()?;
        for _ in 0..self.next {
            next_of(source.as_mut())?;
        }
        let chunk = next_of(source.as_mut());
        self.own = Some(source);
        chunk
    }
}

impl ChunkSource for Reader {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, String> {
        match &mut self.own {
            Some(source) => next_of(source.as_mut()),
            None => self.shared(),
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

    fn shared(budget: usize, limit: Option<u64>) -> SharedTimeline {
        let again: Maker = Arc::new(move || Ok(Box::new(Counting(0, limit))));
        SharedTimeline::within(budget, again().unwrap(), again)
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
        let t = shared(1 << 30, None);
        let readers = [t.reader(), t.reader(), t.reader()];
        let threads = readers.map(|r| std::thread::spawn(move || read_all(r)));
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Ok(40));
        }
        assert_eq!(read_all(t.reader()), Ok(40), "a late reader too");
    }

    #[test]
    fn a_source_that_fails_fails_every_reader() {
        let t = shared(1 << 30, Some(3));
        assert_eq!(read_all(t.reader()), Err("no more".into()));
        assert_eq!(read_all(t.reader()), Err("no more".into()));
    }

    #[test]
    fn a_reader_that_is_late_or_slow_gets_what_was_forgotten() {
        let t = shared(1, None);
        let mut slow = t.reader();
        assert_eq!(slow.next_chunk().unwrap().unwrap().start, Nanos(0));
        assert_eq!(read_all(t.reader()), Ok(40));
        assert!(t.board.lock().first > 30, "memory is bounded");
        assert_eq!(slow.next_chunk().unwrap().unwrap().start, Nanos(1));
        assert_eq!(slow.next_chunk().unwrap().unwrap().start, Nanos(2));
        assert_eq!(read_all(t.reader()), Ok(40), "a late reader too");
    }

    #[test]
    fn of_one_reader_nothing_is_kept_and_another_still_gets_it_all() {
        let t = shared(1 << 30, None);
        t.expect_one_reader();
        let mut reader = t.reader();
        for n in 0..40 {
            assert_eq!(reader.next_chunk().unwrap().unwrap().start, Nanos(n));
            assert!(t.board.lock().chunks.len() <= AHEAD + 1);
        }
        assert_eq!(read_all(t.reader()), Ok(40));
    }
}
