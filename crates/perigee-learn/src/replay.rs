// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replay buffer: streams of frames, one per flow and episode, in a ring. Observations are
//! assembled when they are drawn, so that a frame is stored once instead of in each of the five
//! observations that contain it.

use crate::draw::Draws;
use crate::env::GLOBALS;
use crate::LearnError;
use ndarray::Array2;
use perigee_cc::astraea::{FEATURES, HISTORY, INPUTS};

/// A flow at the time of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Features of the previous step.
    pub features: [f32; FEATURES],
    /// Global features.
    pub globals: [f32; GLOBALS],
    /// The decision.
    pub action: f32,
    /// The reward for it.
    pub reward: f32,
}

const WIDTH: usize = FEATURES + GLOBALS + 2;

/// The ring.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    capacity: usize,
    /// Rows of [`WIDTH`]: features, globals, action, reward.
    rows: Vec<f32>,
    /// Number of earlier frames of the same stream.
    ages: Vec<u32>,
    /// Whether the stream ends at the frame, so that the next step is unknown.
    last: Vec<bool>,
    /// Position of the next frame.
    head: usize,
}

/// Transitions, one per row.
pub struct Batch {
    /// Observations.
    pub local: Array2<f32>,
    /// Global features.
    pub globals: Array2<f32>,
    /// Decisions.
    pub actions: Vec<f32>,
    /// Rewards.
    pub rewards: Vec<f32>,
    /// Observations one step later.
    pub next_local: Array2<f32>,
    /// Global features one step later.
    pub next_globals: Array2<f32>,
}

impl Replay {
    /// An empty buffer for `capacity` frames.
    pub fn new(capacity: usize) -> Self {
        Replay { capacity: capacity.max(2 * HISTORY), ..Replay::default() }
    }

    /// Number of frames stored.
    pub fn len(&self) -> usize {
        self.ages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ages.is_empty()
    }

    /// Adds the stream of a flow; its last frame serves only as the successor state of the one
    /// before.
    pub fn push(&mut self, stream: &[Frame]) {
        for (age, frame) in stream.iter().enumerate() {
            let mut row = [0.0; WIDTH];
            row[..FEATURES].copy_from_slice(&frame.features);
            row[FEATURES..FEATURES + GLOBALS].copy_from_slice(&frame.globals);
            (row[WIDTH - 2], row[WIDTH - 1]) = (frame.action, frame.reward);
            let last = age + 1 == stream.len();
            if self.len() < self.capacity {
                self.rows.extend(row);
                self.ages.push(age as u32);
                self.last.push(last);
            } else {
                self.rows[self.head * WIDTH..(self.head + 1) * WIDTH].copy_from_slice(&row);
                (self.ages[self.head], self.last[self.head]) = (age as u32, last);
            }
            self.head = (self.head + 1) % self.capacity;
        }
    }

    /// Whether the history of `frame` is complete and a frame follows it.
    fn usable(&self, frame: usize) -> bool {
        let n = self.len();
        let oldest = if n < self.capacity { 0 } else { self.head };
        let back = (frame + n - oldest) % n;
        !self.last[frame] && back >= (self.ages[frame] as usize).min(HISTORY - 1) && back + 1 < n
    }

    fn row(&self, frame: usize) -> &[f32] {
        &self.rows[frame * WIDTH..(frame + 1) * WIDTH]
    }

    /// Writes the observation at a frame.
    fn observe(&self, frame: usize, to: &mut [f32]) {
        let n = self.len();
        let known = (self.ages[frame] as usize + 1).min(HISTORY);
        to[..(HISTORY - known) * FEATURES].fill(0.0);
        for k in 0..known {
            let at = &mut to[(HISTORY - 1 - k) * FEATURES..(HISTORY - k) * FEATURES];
            at.copy_from_slice(&self.row((frame + n - k) % n)[..FEATURES]);
        }
    }

    /// `size` random transitions; `None` if there are too few.
    pub fn batch(&self, size: usize, draws: &mut Draws) -> Option<Batch> {
        let n = self.len();
        if n < 2 * HISTORY {
            return None;
        }
        let mut b = Batch {
            local: Array2::zeros((size, INPUTS)),
            globals: Array2::zeros((size, GLOBALS)),
            actions: vec![0.0; size],
            rewards: vec![0.0; size],
            next_local: Array2::zeros((size, INPUTS)),
            next_globals: Array2::zeros((size, GLOBALS)),
        };
        for i in 0..size {
            let frame = (0..1000).map(|_| draws.below(n)).find(|&f| self.usable(f))?;
            let next = (frame + 1) % n;
            self.observe(frame, b.local.row_mut(i).as_slice_mut()?);
            self.observe(next, b.next_local.row_mut(i).as_slice_mut()?);
            let globals = FEATURES..FEATURES + GLOBALS;
            b.globals.row_mut(i).as_slice_mut()?.copy_from_slice(&self.row(frame)[globals.clone()]);
            b.next_globals.row_mut(i).as_slice_mut()?.copy_from_slice(&self.row(next)[globals]);
            (b.actions[i], b.rewards[i]) = (self.row(frame)[WIDTH - 2], self.row(frame)[WIDTH - 1]);
        }
        Some(b)
    }

    /// Serialises the buffer, for checkpoints.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24 + self.rows.len() * 4 + self.len() * 5);
        [self.capacity, self.len(), self.head].iter().for_each(|n| out.extend((*n as u64).to_le_bytes()));
        self.rows.iter().for_each(|x| out.extend(x.to_le_bytes()));
        self.ages.iter().for_each(|x| out.extend(x.to_le_bytes()));
        out.extend(self.last.iter().map(|l| u8::from(*l)));
        out
    }

    /// Deserialises the output of [`Replay::save`].
    ///
    /// # Errors
    /// If the bytes are damaged.
    pub fn load(bytes: &[u8]) -> Result<Self, LearnError> {
        let wrong = || LearnError::Input("the checkpoint's experience is damaged".into());
        let number = |i: usize| {
            let part = bytes.get(i * 8..i * 8 + 8).ok_or_else(wrong)?;
            Ok::<usize, LearnError>(u64::from_le_bytes(part.try_into().map_err(|_| wrong())?) as usize)
        };
        let (capacity, len, head) = (number(0)?, number(1)?, number(2)?);
        let expected = len.checked_mul(WIDTH * 4 + 5).and_then(|n| n.checked_add(24));
        let roomy = capacity >= 2 * HISTORY && len <= capacity;
        // Before it is full, the next frame follows the last one.
        if expected != Some(bytes.len()) || !roomy || head >= capacity || (len < capacity && head != len) {
            return Err(wrong());
        }
        let words =
            |range: std::ops::Range<usize>| bytes[range].chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]);
        let ages_at = 24 + len * WIDTH * 4;
        let last_at = ages_at + len * 4;
        Ok(Replay {
            capacity,
            rows: words(24..ages_at).map(f32::from_le_bytes).collect(),
            ages: words(ages_at..last_at).map(u32::from_le_bytes).collect(),
            last: bytes[last_at..].iter().map(|b| *b != 0).collect(),
            head,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: f32, length: usize) -> Vec<Frame> {
        let frame = |i: usize| Frame {
            features: [name + i as f32; FEATURES],
            globals: [name; GLOBALS],
            action: i as f32,
            reward: name,
        };
        (0..length).map(frame).collect()
    }

    #[test]
    fn observations_hold_the_frames_of_one_stream_in_their_order() {
        let mut replay = Replay::new(64);
        for k in 1..12 {
            replay.push(&stream(1000.0 * k as f32, 13));
        }
        let b = replay.batch(500, &mut Draws::new(1, 1)).unwrap();
        for i in 0..500 {
            let (age, name) = (b.actions[i], b.rewards[i]);
            assert!(age < 12.0, "the last frame of a stream leads nowhere");
            for k in 0..HISTORY {
                let back = (HISTORY - 1 - k) as f32;
                let expected = |age: f32| if back > age { 0.0 } else { name + age - back };
                assert_eq!(b.local[[i, k * FEATURES]], expected(age));
                assert_eq!(b.next_local[[i, k * FEATURES]], expected(age + 1.0));
            }
            assert_eq!(b.next_globals[[i, 0]], name);
        }
    }

    #[test]
    fn what_was_saved_is_what_is_loaded_and_damage_is_noticed() {
        let mut replay = Replay::new(32);
        replay.push(&stream(3.0, 50));
        let bytes = replay.save();
        assert_eq!(Replay::load(&bytes).unwrap(), replay);
        assert!(Replay::load(&bytes[..bytes.len() - 1]).is_err());
        assert!(Replay::load(&[255; 24]).is_err());
        assert!(Replay::load(&[0; 24]).is_err(), "a buffer without room for a frame");
        let mut elsewhere = Replay::new(64);
        elsewhere.push(&stream(3.0, 50));
        elsewhere.head = 3;
        assert!(Replay::load(&elsewhere.save()).is_err(), "a gap between the last frame and the next");
    }
}
