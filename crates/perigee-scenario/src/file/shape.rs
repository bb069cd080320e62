// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Shapes of a key's content, for the check that a field's type can be read from it.

/// Forms of a key's content, one bit each: values, then sections and parameters.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // those of `Val`, and the contents of a key
pub enum Shape {
    Bool = 1,
    Int = 1 << 1,
    Number = 1 << 2,
    Time = 1 << 3,
    TimeDraw = 1 << 4,
    Rate = 1 << 5,
    RateDraw = 1 << 6,
    LossDraw = 1 << 7,
    Law = 1 << 8,
    Queue = 1 << 9,
    Bytes = 1 << 10,
    Degrees = 1 << 11,
    Metres = 1 << 12,
    Text = 1 << 13,
    Section = 1 << 14,
    Named = 1 << 15,
    Params = 1 << 16,
    ByScheme = 1 << 17,
    Tcp = 1 << 18,
    Sweep = 1 << 19,
}

impl Shape {
    /// Shift of a shape's bit that marks several values of the shape.
    pub const MANY: u32 = 20;
}
