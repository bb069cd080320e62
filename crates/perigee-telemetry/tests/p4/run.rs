// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interpreter of the controls of a parsed program: words of fixed width, registers, calls by
//! copy-in and copy-out.

use crate::parse::{Control, Expr, Program, Statement, Type};
use std::collections::BTreeMap;

/// A word; without a width it has that of the other operand.
#[derive(Clone, Copy, Debug)]
struct Word {
    bits: u128,
    type_: Option<Type>,
}

/// The program with its state. Headers and metadata are shared by all controls, under their full
/// names.
pub struct Switch {
    program: Program,
    registers: BTreeMap<String, Vec<u128>>,
    pub packet: BTreeMap<String, u128>,
    types: BTreeMap<String, Type>,
    /// Operations since the counters were last cleared: operators and register accesses, by name.
    pub done: BTreeMap<String, u64>,
}

type Locals = BTreeMap<String, (Type, u128)>;

fn masked(bits: u128, type_: Type) -> u128 {
    bits & ((1 << type_.width) - 1)
}

/// The value as a signed number.
fn signed(bits: u128, type_: Option<Type>) -> i128 {
    match type_ {
        Some(t) if t.signed && bits >> (t.width - 1) & 1 == 1 => bits as i128 - (1i128 << t.width),
        _ => bits as i128,
    }
}

impl Switch {
    /// Switch with zeroed registers. `headers` and `metadata`: types of the packet's headers and
    /// metadata, by their full names.
    pub fn new(program: Program, headers: &[(&str, &str)], metadata: &[(&str, u32)]) -> Self {
        let registers =
            program.registers.iter().map(|(name, (_, cells))| (name.clone(), vec![0; *cells])).collect();
        let mut types = BTreeMap::new();
        for (place, header) in headers {
            let own = format!("{header}.");
            let fields = program.fields.iter().filter_map(|(k, t)| Some((k.strip_prefix(&own)?, *t)));
            types.extend(fields.map(|(field, t)| (format!("{place}.{field}"), t)));
        }
        for (place, width) in metadata {
            types.insert((*place).into(), Type { width: *width, signed: false });
        }
        let packet = types.keys().map(|k| (k.clone(), 0)).collect();
        Switch { program, registers, packet, types, done: BTreeMap::new() }
    }

    pub fn register(&self, name: &str) -> u128 {
        self.registers[name][0]
    }

    /// Writes registers as a control plane does.
    pub fn fill(&mut self, name: &str, values: impl IntoIterator<Item = u128>) {
        let cells = self.registers.get_mut(name).expect("a register of the program");
        cells.iter_mut().zip(values).for_each(|(cell, value)| *cell = value);
    }

    /// Applies a control; `arguments` are those of parameters with widths, in order.
    pub fn apply(&mut self, name: &str, arguments: &[u128]) {
        let control = self.program.controls[name].clone();
        let mut given = arguments.iter();
        let mut locals = Locals::new();
        for p in &control.parameters {
            if let Some(t) = p.width {
                locals.insert(p.name.clone(), (t, masked(*given.next().expect("an argument"), t)));
            }
        }
        self.block(&control, &control.apply, &mut locals);
    }

    fn count(&mut self, what: &str) {
        *self.done.entry(what.into()).or_default() += 1;
    }

    fn block(&mut self, of: &Control, statements: &[Statement], locals: &mut Locals) {
        for statement in statements {
            match statement {
                Statement::Declare(t, name, value) => {
                    let bits = value.as_ref().map_or(0, |v| self.value(v, locals).bits);
                    locals.insert(name.clone(), (*t, masked(bits, *t)));
                }
                Statement::Assign(place, value) => {
                    let word = self.value(value, locals);
                    self.store(place, word, locals);
                }
                Statement::If(condition, then, otherwise) => {
                    let branch = if self.value(condition, locals).bits != 0 { then } else { otherwise };
                    self.block(of, branch, locals);
                }
                Statement::Call(object, method, arguments) => {
                    self.call(of, object, method, arguments, locals)
                }
            }
        }
    }

    fn call(&mut self, of: &Control, object: &str, method: &str, arguments: &[Expr], locals: &mut Locals) {
        if let (Some((type_, _)), "read" | "write") = (self.program.registers.get(object).copied(), method) {
            self.count(&format!("{object}.{method}"));
            let cell = if method == "read" { 1 } else { 0 };
            let index = self.value(&arguments[cell], locals).bits as usize;
            if method == "read" {
                let bits = self.registers[object][index];
                let Expr::Place(place) = &arguments[0] else { panic!("{object}.read into an expression") };
                return self.store(place, Word { bits, type_: Some(type_) }, locals);
            }
            let bits = self.value(&arguments[1], locals).bits;
            self.registers.get_mut(object).expect("just found")[index] = masked(bits, type_);
            return;
        }
        assert_eq!(method, "apply", "{object}.{method}");
        let called = self.program.controls[&of.instances[object]].clone();
        let mut inner = Locals::new();
        for (p, argument) in called.parameters.iter().zip(arguments) {
            if let Some(t) = p.width {
                inner.insert(p.name.clone(), (t, masked(self.value(argument, locals).bits, t)));
            }
        }
        self.block(&called, &called.apply, &mut inner);
        for (p, argument) in called.parameters.iter().zip(arguments) {
            if let (Some(t), true) = (p.width, p.returns) {
                let Expr::Place(place) = argument else { panic!("{} returns into an expression", p.name) };
                self.store(place, Word { bits: inner[&p.name].1, type_: Some(t) }, locals);
            }
        }
    }

    fn store(&mut self, place: &str, word: Word, locals: &mut Locals) {
        let (type_, slot) = match locals.get_mut(place) {
            Some((t, slot)) => (*t, slot),
            None => {
                let t = *self.types.get(place).unwrap_or_else(|| panic!("{place} is not declared"));
                (t, self.packet.get_mut(place).expect("has a type"))
            }
        };
        // P4 has no implicit conversions.
        assert!(word.type_.is_none_or(|t| t == type_), "{place} is {type_:?}, not {:?}", word.type_);
        *slot = masked(word.bits, type_);
    }

    fn value(&mut self, e: &Expr, locals: &Locals) -> Word {
        match e {
            Expr::Number(n) => Word { bits: *n, type_: None },
            Expr::Place(place) => self.load(place, locals),
            Expr::Cast(t, inner) => {
                let word = self.value(inner, locals);
                Word { bits: masked(signed(word.bits, word.type_) as u128, *t), type_: Some(*t) }
            }
            Expr::Slice(inner, high, low) => {
                let type_ = Type { width: high - low + 1, signed: false };
                let word = self.value(inner, locals);
                assert!(word.type_.is_some_and(|t| t.width > *high), "a slice beyond its word");
                Word { bits: masked(word.bits >> low, type_), type_: Some(type_) }
            }
            Expr::Not(inner) => Word { bits: u128::from(self.value(inner, locals).bits == 0), type_: None },
            // The right operand of these is not evaluated if the left one determines the result.
            Expr::Op(o @ ("&&" | "||"), a, b) => {
                let left = self.value(a, locals).bits != 0;
                let decided = left == (*o == "||");
                let holds = if decided { left } else { self.value(b, locals).bits != 0 };
                Word { bits: u128::from(holds), type_: None }
            }
            Expr::Op(o, a, b) => {
                let (a, b) = (self.value(a, locals), self.value(b, locals));
                self.count(o);
                operate(o, a, b)
            }
        }
    }

    fn load(&self, place: &str, locals: &Locals) -> Word {
        if let Some((t, bits)) = locals.get(place).or_else(|| self.program.constants.get(place)) {
            return Word { bits: *bits, type_: Some(*t) };
        }
        let bits = *self.packet.get(place).unwrap_or_else(|| panic!("{place} is not declared"));
        Word { bits, type_: self.types.get(place).copied() }
    }
}

fn operate(o: &str, a: Word, b: Word) -> Word {
    let truth = |holds: bool| Word { bits: u128::from(holds), type_: None };
    if let "<<" | ">>" = o {
        let type_ = a.type_.expect("what is shifted has a width");
        let bits = match o {
            _ if b.bits >= u128::from(type_.width) => 0,
            "<<" => masked(a.bits << b.bits, type_),
            _ => a.bits >> b.bits,
        };
        assert!(!type_.signed, "a shift of a signed word");
        return Word { bits, type_: Some(type_) };
    }
    assert!(a.type_.is_none() || b.type_.is_none() || a.type_ == b.type_, "{o} of {a:?} and {b:?}");
    let type_ = a.type_.or(b.type_);
    let (x, y) = (signed(a.bits, type_), signed(b.bits, type_));
    let fit = |bits: i128| {
        let t = type_.expect("one side has a width");
        Word { bits: masked(bits as u128, t), type_: Some(t) }
    };
    match o {
        "+" => fit(x + y),
        "-" => fit(x - y),
        "|+|" => {
            let t = type_.expect("one side has a width");
            Word { bits: (a.bits + b.bits).min((1 << t.width) - 1), type_ }
        }
        "^" => fit(x ^ y),
        "&" => fit(x & y),
        "|" => fit(x | y),
        "==" => truth(x == y),
        "!=" => truth(x != y),
        "<" => truth(x < y),
        "<=" => truth(x <= y),
        ">" => truth(x > y),
        ">=" => truth(x >= y),
        other => panic!("what is {other}?"),
    }
}
