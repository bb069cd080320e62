// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Notations of scenario values: how the text of a key is parsed, within which bounds, and its JSON
//! Schema.
//!
//! A notation is not a domain ([`perigee_units::params::Domain`]): a domain is a set of plain values
//! (truth values, numbers, words) with its default, which a scheme or discipline declares for a
//! parameter, whatever the file; a notation turns the text of a file into a value of a type, such as
//! a draw, a law, a queue or an angle, which only scenarios have.

use crate::file::error::{Place, Problem};
use crate::file::shape::Shape;
use crate::file::suggestions;
use crate::file::tree::{Item, Raw};
use perigee_timeline::Law;
use perigee_units::{parse_rate, parse_size, parse_time, BitRate, Nanos, ParseError, Size};
use serde_json::{json, Value as Json};

/// Notation of a key's value, with its bounds.
#[derive(Clone, Copy, Debug)]
pub enum Notation {
    /// true or false.
    Bool,
    /// An integer.
    Int(i64, i64),
    /// A finite number.
    Number(f64, f64),
    /// A share, 0.95 or "95 %".
    Share(f64, f64),
    /// A time, "50 ms".
    Time(Nanos, Nanos),
    /// A time, or "uniform(45 ms, 120 ms)".
    TimeDraw(Nanos, Nanos),
    /// A time, or a law of random times.
    TimeLaw,
    /// An amount of data, or a law of random amounts.
    DataLaw,
    /// A rate above zero, "100 Mbit".
    Rate,
    /// A rate, zero allowed (blocked), or "uniform(50 Mbit, 100 Mbit)".
    RateDraw,
    /// A probability, or "uniform(0, 0.01)".
    LossDraw,
    /// A queue: "1 bdp", "100 packets", "64 kB".
    Queue,
    /// An amount of data, "10 MB".
    Data,
    /// An angle, "25 deg".
    Angle(f64, f64),
    /// A length, "550 km".
    Length(f64, f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, or a Python function: "file.py:name", the file relative to the scenario.
    WordOrFunction(&'static [&'static str]),
    /// One of these words, or the path of a file, relative to the scenario.
    WordOrFile(&'static [&'static str]),
    /// The name of a scheme, or this word.
    Scheme(&'static str),
    /// Any text.
    Text,
    /// A date and time in UTC, "2022-09-14T12:00:00Z".
    Instant,
    /// The path of a file, relative to the scenario.
    File,
    /// One value of a notation, or a list of them.
    OneOrMany(&'static Notation),
}

/// A value drawn between two bounds; equal bounds mean a fixed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw<T> {
    /// Minimum.
    pub low: T,
    /// Maximum.
    pub high: T,
}

impl<T: Copy + PartialEq> Draw<T> {
    /// A fixed value.
    pub fn fixed(value: T) -> Self {
        Draw { low: value, high: value }
    }
    /// The value, if it is fixed.
    pub fn as_fixed(&self) -> Option<T> {
        (self.low == self.high).then_some(self.low)
    }
}

/// A parsed value within its bounds.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the notations above, with SI units
pub enum Val {
    Bool(bool),
    Int(i64),
    Number(f64),
    Time(Nanos),
    TimeDraw(Draw<Nanos>),
    Rate(BitRate),
    RateDraw(Draw<BitRate>),
    LossDraw(Draw<f64>),
    Law(Law),
    Queue(Size),
    Bytes(u64),
    Degrees(f64),
    Metres(f64),
    Text(String),
    Many(Vec<Val>),
}

/// Reason for rejecting a value.
#[derive(Debug)]
pub struct Refusal {
    message: String,
    hint: Option<String>,
}

impl Refusal {
    fn new(message: impl Into<String>) -> Self {
        Refusal { message: message.into(), hint: None }
    }
    /// A value of another type; errors list what is allowed (`allowed`) on their own.
    fn mistyped(raw: &Raw, allowed: &str) -> Self {
        Refusal::new(match raw {
            Raw::Int(_) | Raw::Float(_) if allowed.contains('"') => "a bare number has no unit",
            _ => "invalid type",
        })
    }
}

impl From<ParseError> for Refusal {
    fn from(e: ParseError) -> Self {
        Refusal::new(e.0)
    }
}

impl Notation {
    /// [`Shape`] of the values.
    pub(crate) const fn shape(&self) -> u64 {
        let shape = match self {
            Notation::Bool => Shape::Bool,
            Notation::Int(..) => Shape::Int,
            Notation::Number(..) | Notation::Share(..) => Shape::Number,
            Notation::Time(..) => Shape::Time,
            Notation::TimeDraw(..) => Shape::TimeDraw,
            Notation::TimeLaw | Notation::DataLaw => Shape::Law,
            Notation::Rate => Shape::Rate,
            Notation::RateDraw => Shape::RateDraw,
            Notation::LossDraw => Shape::LossDraw,
            Notation::Queue => Shape::Queue,
            Notation::Data => Shape::Bytes,
            Notation::Angle(..) => Shape::Degrees,
            Notation::Length(..) => Shape::Metres,
            Notation::Word(_)
            | Notation::WordOrFunction(_)
            | Notation::WordOrFile(_)
            | Notation::Scheme(_)
            | Notation::Text
            | Notation::Instant
            | Notation::File => Shape::Text,
            Notation::OneOrMany(notation) => return notation.shape() << Shape::MANY,
        };
        shape as u64
    }

    /// Parses `item`.
    ///
    /// # Errors
    /// With place, found value and allowed values.
    pub fn read(&self, item: &Item, key: &str) -> Result<Val, Problem> {
        self.value(&item.value).map_err(|r| {
            let mut p = Problem::new(key, r.message).at(&item.place).found(item.value.shown());
            p.allowed = Some(self.allowed());
            p.hint = r.hint;
            p
        })
    }

    /// Parses a default from the grammar's own tables.
    pub fn read_default(&self, text: &str) -> Val {
        let raw = match self {
            Notation::Bool => Raw::Bool(text == "true"),
            Notation::Int(..) => Raw::Int(text.parse().expect("the grammar's defaults are valid")),
            Notation::Number(..) => Raw::Float(text.parse().expect("the grammar's defaults are valid")),
            _ => Raw::Text(text.into()),
        };
        self.value(&raw).expect("the grammar's defaults are valid")
    }

    fn value(&self, raw: &Raw) -> Result<Val, Refusal> {
        match (self, raw) {
            (Notation::OneOrMany(notation), Raw::List(items)) => {
                if items.is_empty() {
                    return Err(Refusal::new("the list is empty"));
                }
                let values = items.iter().map(|i| notation.value(&i.value));
                Ok(Val::Many(values.collect::<Result<_, _>>()?))
            }
            (Notation::OneOrMany(notation), one) => Ok(Val::Many(vec![notation.value(one)?])),
            (Notation::Bool, Raw::Bool(b)) => Ok(Val::Bool(*b)),
            (Notation::Int(min, max), Raw::Int(i)) => within(*i, *min, *max).map(Val::Int),
            // 1e3 is accepted as an integer.
            (Notation::Int(min, max), Raw::Float(x)) if x.fract() == 0.0 && x.abs() < 1e15 => {
                within(*x as i64, *min, *max).map(Val::Int)
            }
            (Notation::Number(min, max), Raw::Int(i)) => within(*i as f64, *min, *max).map(Val::Number),
            (Notation::Number(min, max), Raw::Float(x)) => within(finite(*x)?, *min, *max).map(Val::Number),
            (Notation::Share(min, max), Raw::Int(_) | Raw::Float(_)) => {
                Notation::Number(*min, *max).value(raw)
            }
            (Notation::LossDraw, Raw::Int(_) | Raw::Float(_)) => {
                let p = if let Raw::Int(i) = raw { *i as f64 } else { number(raw)? };
                within(finite(p)?, 0.0, 1.0).map(|p| Val::LossDraw(Draw::fixed(p)))
            }
            (_, Raw::Text(text)) => self.text(text),
            _ => Err(Refusal::mistyped(raw, &self.allowed())),
        }
    }

    fn text(&self, text: &str) -> Result<Val, Refusal> {
        match self {
            Notation::Share(min, max) => share(text, *min, *max).map(Val::Number),
            Notation::Time(min, max) => within(parse_time(text)?, *min, *max).map(Val::Time),
            Notation::TimeDraw(min, max) => {
                draw(text, |t| within(parse_time(t)?, *min, *max)).map(Val::TimeDraw)
            }
            Notation::TimeLaw => {
                law(text, |t| Ok(within(parse_time(t)?, Nanos::ZERO, LONGEST_LAW)?.as_secs_f64()))
            }
            Notation::DataLaw => law(text, |t| match Notation::Data.text(t)? {
                Val::Bytes(b) => within(b, 1, LARGEST_LAW).map(|b| b as f64),
                _ => Err(Refusal::new("not an amount of data")),
            }),
            Notation::Rate => match parse_rate(text)? {
                BitRate(0) => Err(Refusal::new("the rate must not be zero").remedy(
                    "to block a port temporarily, use a change or schedule with rate 0, or an outage",
                )),
                rate => within(rate, BitRate(1), MAX_RATE).map(Val::Rate),
            },
            Notation::RateDraw => {
                draw(text, |t| within(parse_rate(t)?, BitRate(0), MAX_RATE)).map(Val::RateDraw)
            }
            Notation::LossDraw => draw(text, probability).map(Val::LossDraw),
            Notation::Queue => queue(text),
            Notation::Data => match parse_size(text)? {
                Size::Bytes(b) if b > 0 => Ok(Val::Bytes(b)),
                Size::Bytes(_) => Err(Refusal::new("the amount must not be zero")),
                _ => Err(Refusal::new("an amount of data must be given in bytes")),
            },
            Notation::Angle(min, max) => {
                let deg = scaled(text, "angle", &[("deg", 1.0), ("°", 1.0)])?;
                in_units(deg, (*min, *max), (1.0, "deg")).map(Val::Degrees)
            }
            Notation::Length(min, max) => {
                let metres = scaled(text, "length", &[("km", 1e3), ("m", 1.0)])?;
                in_units(metres, (*min, *max), (1e3, "km")).map(Val::Metres)
            }
            Notation::Word(words) => word(text, words),
            Notation::WordOrFunction(_) if function(text).is_some() => Ok(Val::Text(text.into())),
            Notation::WordOrFunction(words) => word(text, words),
            Notation::Scheme(word) => scheme(text, word),
            Notation::WordOrFile(_) => Notation::File.text(text),
            Notation::Text | Notation::File if text.is_empty() => Err(Refusal::new("must not be empty")),
            Notation::Text | Notation::File | Notation::Instant => Ok(Val::Text(text.into())),
            _ => Err(Refusal::mistyped(&Raw::Text(text.into()), &self.allowed())),
        }
    }

    /// Allowed values, as text.
    pub fn allowed(&self) -> String {
        match self {
            Notation::Bool => "true or false".into(),
            Notation::Int(min, max) => format!("an integer from {min} to {max}"),
            Notation::Number(min, max) => format!("a number from {min} to {max}"),
            Notation::Share(min, max) => format!("a fraction such as 0.02 or \"2 %\", from {min} to {max}"),
            Notation::Time(min, max) => format!("a time such as \"50 ms\", from {min} to {max}"),
            Notation::TimeDraw(min, max) => {
                format!("a time or \"uniform(45 ms, 120 ms)\", from {min} to {max}")
            }
            Notation::TimeLaw => format!("a time, {LAWS} with times such as \"2 s\""),
            Notation::DataLaw => format!("an amount, {LAWS} with amounts such as \"1 MB\""),
            Notation::Rate => format!("a rate such as \"100 Mbit\", above zero, at most {MAX_RATE}"),
            Notation::RateDraw => {
                "a rate such as \"100 Mbit\" or \"uniform(50 Mbit, 100 Mbit)\"; zero blocks".into()
            }
            Notation::LossDraw => "a probability such as 0.001 or \"0.1 %\", or \"uniform(0, 0.01)\"".into(),
            Notation::Queue => "a size such as \"1 bdp\", \"100 packets\" or \"64 kB\", above zero".into(),
            Notation::Data => "an amount such as \"10 MB\", above zero".into(),
            Notation::Angle(min, max) => format!("an angle such as \"25 deg\", from {min} deg to {max} deg"),
            Notation::Length(min, max) => {
                format!("a length such as \"550 km\", from {} km to {} km", min / 1e3, max / 1e3)
            }
            Notation::Word(words) => words.join(", "),
            Notation::WordOrFunction(words) => {
                format!("{}, or a function, \"file.py:name\"", words.join(", "))
            }
            Notation::Scheme(word) => {
                let ids: Vec<_> = perigee_cc::SCHEMES.iter().map(|s| s.id).collect();
                format!("\"{word}\", {}, or a Python class as \"file.py:Class\"", ids.join(", "))
            }
            Notation::Text => "text".into(),
            Notation::Instant => "a time in UTC such as \"2022-09-14T12:00:00Z\"".into(),
            Notation::WordOrFile(words) => format!("{}, or {}", words.join(", "), Notation::File.allowed()),
            Notation::File => "a file path, relative to this file".into(),
            Notation::OneOrMany(notation) => format!("{}, or a list of these", notation.allowed()),
        }
    }

    /// JSON Schema of such a value.
    pub fn json_schema(&self) -> Json {
        match self {
            Notation::Bool => json!({"type": "boolean"}),
            Notation::Int(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
            Notation::Number(min, max) => json!({"type": "number", "minimum": min, "maximum": max}),
            Notation::Share(min, max) => json!({"anyOf": [
                {"type": "number", "minimum": min, "maximum": max},
                {"type": "string", "pattern": "^ *[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)? *%? *$"},
            ]}),
            Notation::LossDraw => json!({"anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": "^ *([-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)? *%?|uniform\\(.*,.*\\)) *$"},
            ]}),
            Notation::Word(words) => json!({"enum": words}),
            Notation::WordOrFunction(words) => json!({"anyOf": [
                {"enum": words},
                {"type": "string", "pattern": "^.+:[A-Za-z_][A-Za-z0-9_.]*$"},
            ]}),
            Notation::Scheme(word) => {
                let ids: Vec<_> =
                    [*word].into_iter().chain(perigee_cc::SCHEMES.iter().map(|s| s.id)).collect();
                json!({"anyOf": [{"enum": ids}, {"type": "string", "pattern": "^.+:.+$"}]})
            }
            Notation::OneOrMany(notation) => {
                let one = notation.json_schema();
                json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
            }
            _ => json!({"type": "string", "minLength": 1}),
        }
    }
}

/// Whether the name is that of a plug-in: `file.py:Class`. The caller checks that it exists.
pub fn is_plugin(name: &str) -> bool {
    name.split_once(':').is_some_and(|(from, what)| !from.is_empty() && !what.is_empty())
}

/// File and name of a user-defined function.
pub fn function(text: &str) -> Option<(&str, &str)> {
    let (file, name) = text.rsplit_once(':')?;
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_name && !file.is_empty()).then_some((file, name))
}

impl Refusal {
    fn remedy(mut self, text: &str) -> Self {
        self.hint = Some(text.into());
        self
    }
}

/// Limits of the parameters of a law.
const LONGEST_LAW: Nanos = Nanos::from_secs(86_400);
const LARGEST_LAW: u64 = 1_000_000_000_000;
const LAWS: &str = "\"uniform(LOW, HIGH)\", \"exponential(MEAN)\" or \"pareto(MEAN, SHAPE)\"";

/// Parses a law of random values; `one` parses a quantity.
fn law(text: &str, one: impl Fn(&str) -> Result<f64, Refusal>) -> Result<Val, Refusal> {
    let inside = |name: &str| text.trim().strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let two = |t: &str| {
        let pair = t.split_once(',').map(|(a, b)| (a.trim().to_string(), b.trim().to_string()));
        pair.ok_or_else(|| Refusal::new("two values are required, separated by a comma"))
    };
    let law = if let Some(t) = inside("uniform") {
        let (low, high) = two(t)?;
        let (low, high) = (one(&low)?, one(&high)?);
        if low > high {
            return Err(Refusal::new(
                "the first value of uniform(low, high) must not be larger than the second",
            ));
        }
        Law::Uniform(low, high)
    } else if let Some(t) = inside("exponential") {
        Law::Exponential(one(t.trim())?)
    } else if let Some(t) = inside("pareto") {
        let (mean, shape) = two(t)?;
        let shape: f64 = shape.parse().map_err(|_| Refusal::new("the shape of pareto must be a number"))?;
        if !(shape > 1.0 && shape <= 100.0) {
            return Err(Refusal::new(
                "the shape of pareto must be above 1 (otherwise the mean is infinite) and at most 100",
            ));
        }
        Law::Pareto { mean: one(&mean)?, shape }
    } else {
        Law::Fixed(one(text)?)
    };
    Ok(Val::Law(law))
}

/// Maximum rate: faster than any existing link, so that anything above is a typing error.
pub const MAX_RATE: BitRate = BitRate(10_000_000_000_000);

fn finite(x: f64) -> Result<f64, Refusal> {
    if x.is_finite() {
        Ok(x)
    } else {
        Err(Refusal::new("not a finite number"))
    }
}

fn number(raw: &Raw) -> Result<f64, Refusal> {
    match raw {
        Raw::Float(x) => Ok(*x),
        other => Err(Refusal::mistyped(other, "a number")),
    }
}

fn within<T: PartialOrd + std::fmt::Display>(v: T, min: T, max: T) -> Result<T, Refusal> {
    if v < min {
        return Err(Refusal::new(format!("{v} is below the smallest allowed value, {min}")));
    }
    if v > max {
        return Err(Refusal::new(format!("{v} is above the largest allowed value, {max}")));
    }
    Ok(v)
}

/// [`within`] for a quantity that is displayed in other units than it is stored in.
fn in_units(v: f64, (min, max): (f64, f64), (size, unit): (f64, &str)) -> Result<f64, Refusal> {
    let shown = |x: f64| format!("{} {unit}", x / size);
    if v < min {
        return Err(Refusal::new(format!(
            "{} is below the smallest allowed value, {}",
            shown(v),
            shown(min)
        )));
    }
    if v > max {
        return Err(Refusal::new(format!("{} is above the largest allowed value, {}", shown(v), shown(max))));
    }
    Ok(v)
}

fn draw<T: Copy + PartialOrd>(
    text: &str,
    one: impl Fn(&str) -> Result<T, Refusal>,
) -> Result<Draw<T>, Refusal> {
    let inner = text.trim().strip_prefix("uniform(").and_then(|t| t.strip_suffix(')'));
    let Some(inner) = inner else {
        return one(text).map(|v| Draw { low: v, high: v });
    };
    let (low, high) =
        inner.split_once(',').ok_or_else(|| Refusal::new("uniform needs two values: uniform(low, high)"))?;
    let draw = Draw { low: one(low.trim())?, high: one(high.trim())? };
    if draw.low > draw.high {
        return Err(Refusal::new("the first value of uniform(low, high) must not be larger than the second"));
    }
    Ok(draw)
}

fn share(text: &str, min: f64, max: f64) -> Result<f64, Refusal> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let x: f64 = number.trim().parse().map_err(|_| Refusal::new("not a fraction such as 0.02 or \"2 %\""))?;
    within(finite(x)? / unit, min, max)
}

fn probability(text: &str) -> Result<f64, Refusal> {
    share(text, 0.0, 1.0).map_err(|refusal| {
        if refusal.message.starts_with("not a fraction") {
            return Refusal::new("not a probability such as 0.001 or \"0.1 %\"");
        }
        refusal
    })
}

fn queue(text: &str) -> Result<Val, Refusal> {
    let size = parse_size(text)?;
    let nothing = match size {
        Size::Bytes(b) => b == 0,
        Size::Packets(p) => p == 0,
        Size::Bdp(x) => x <= 0.0,
    };
    if nothing {
        return Err(Refusal::new("the queue has no capacity").remedy("the smallest queue is \"1 packets\""));
    }
    if matches!(size, Size::Bdp(x) if x > 1e6) {
        return Err(Refusal::new("more than a million bandwidth-delay products"));
    }
    Ok(Val::Queue(size))
}

fn scaled(text: &str, what: &str, units: &[(&str, f64)]) -> Result<f64, Refusal> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+eE".contains(c))).unwrap_or(text.len());
    let (digits, unit) = (&text[..end], text[end..].trim());
    let names = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let value: f64 = digits.parse().map_err(|_| Refusal::new(format!("not a {what}")))?;
    let (_, factor) = units
        .iter()
        .find(|u| u.0 == unit)
        .ok_or_else(|| Refusal::new(format!("the unit of a {what} must be one of {}", names())))?;
    finite(value * factor)
}

fn word(text: &str, words: &[&'static str]) -> Result<Val, Refusal> {
    if words.contains(&text) {
        return Ok(Val::Text(text.into()));
    }
    Err(Refusal {
        message: "not one of the allowed words".into(),
        hint: suggestions::hint(text, words.iter().copied()),
    })
}

fn scheme(text: &str, word: &str) -> Result<Val, Refusal> {
    if text == word || perigee_cc::info(text).is_some() || is_plugin(text) {
        return Ok(Val::Text(text.into()));
    }
    let ids = perigee_cc::SCHEMES.iter().map(|s| s.id);
    Err(Refusal { message: "no such congestion control".into(), hint: suggestions::hint(text, ids) })
}

/// Creates a problem at `place` with the value of `key`.
pub fn problem(key: impl Into<String>, place: &Place, message: impl Into<String>) -> Problem {
    Problem::new(key, message).at(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(notation: Notation, t: &str) -> Result<Val, String> {
        notation.value(&Raw::Text(t.into())).map_err(|r| r.message)
    }

    #[test]
    fn draws_are_fixed_or_uniform() {
        let notation = Notation::TimeDraw(Nanos::ZERO, Nanos::from_secs(10));
        let ms = Nanos::from_millis;
        assert_eq!(text(notation, "50 ms"), Ok(Val::TimeDraw(Draw::fixed(ms(50)))));
        let both = Val::TimeDraw(Draw { low: ms(45), high: ms(120) });
        assert_eq!(text(notation, "uniform(45 ms, 120 ms)"), Ok(both));
        assert!(text(notation, "uniform(120 ms, 45 ms)").unwrap_err().contains("larger"));
        assert!(text(notation, "uniform(45 ms)").unwrap_err().contains("two values"));
        assert!(text(notation, "60 s").unwrap_err().contains("largest"));
    }

    #[test]
    fn laws_are_read_with_their_units() {
        assert_eq!(text(Notation::TimeLaw, "2 s"), Ok(Val::Law(Law::Fixed(2.0))));
        assert_eq!(text(Notation::TimeLaw, "exponential(100 ms)"), Ok(Val::Law(Law::Exponential(0.1))));
        assert_eq!(text(Notation::DataLaw, "uniform(1 kB, 2 kB)"), Ok(Val::Law(Law::Uniform(1e3, 2e3))));
        let pareto = Law::Pareto { mean: 1e5, shape: 1.3 };
        assert_eq!(text(Notation::DataLaw, "pareto(100 kB, 1.3)"), Ok(Val::Law(pareto)));
        assert!(text(Notation::DataLaw, "pareto(100 kB, 1)").unwrap_err().contains("above 1"));
        assert!(text(Notation::DataLaw, "pareto(100 kB)").unwrap_err().contains("comma"));
        assert!(text(Notation::TimeLaw, "exponential(5)").is_err());
    }

    #[test]
    fn zero_rates_are_for_schedules_only() {
        assert!(text(Notation::Rate, "0 bit").unwrap_err().contains("zero"));
        assert_eq!(text(Notation::RateDraw, "0 bit"), Ok(Val::RateDraw(Draw::fixed(BitRate(0)))));
        assert!(text(Notation::Rate, "1e6 Tbit").is_err());
    }

    #[test]
    fn bare_numbers_are_told_about_units() {
        let e = Notation::Rate.value(&Raw::Int(100)).unwrap_err();
        assert!(e.message.contains("no unit"), "{}", e.message);
        assert!(Notation::Number(0.0, 1.0).value(&Raw::Float(f64::NAN)).is_err());
    }

    #[test]
    fn fractions_have_percent_or_no_unit() {
        let loss = Notation::Share(0.0, 1.0);
        assert!(matches!(loss.value(&Raw::Float(0.001)), Ok(Val::Number(p)) if p == 0.001));
        assert_eq!(text(loss, "0.1 %"), Ok(Val::Number(0.001)));
        assert_eq!(
            text(Notation::LossDraw, "uniform(0, 2%)"),
            Ok(Val::LossDraw(Draw { low: 0.0, high: 0.02 }))
        );
        assert_eq!(text(Notation::LossDraw, "0.1%"), Ok(Val::LossDraw(Draw::fixed(0.001))));
        assert!(text(loss, "101 %").is_err());
        assert!(text(loss, "1 Mbit").unwrap_err().contains("2 %"));
    }

    #[test]
    fn angles_and_lengths_have_units() {
        assert_eq!(text(Notation::Angle(0.0, 90.0), "25 deg"), Ok(Val::Degrees(25.0)));
        assert_eq!(text(Notation::Length(0.0, 1e9), "550 km"), Ok(Val::Metres(550e3)));
        let low = text(Notation::Length(160e3, 1e9), "100 km").unwrap_err();
        assert_eq!(low, "100 km is below the smallest allowed value, 160 km");
        let steep = text(Notation::Angle(0.0, 90.0), "95 deg").unwrap_err();
        assert_eq!(steep, "95 deg is above the largest allowed value, 90 deg");
        assert!(text(Notation::Angle(0.0, 90.0), "25").unwrap_err().contains("deg"));
        assert!(text(Notation::Queue, "0 packets").unwrap_err().contains("no capacity"));
    }
}
