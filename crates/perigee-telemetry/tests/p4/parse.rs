// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parser of the subset of P4₁₆ that `p4/meter.p4` uses: constants, types with their widths,
//! registers, and the apply blocks of controls. Parser states, tables and actions are skipped, as
//! they contain no arithmetic.

use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Name(String),
    Number(u128),
    Symbol(&'static str),
}

/// The longest symbols first. The parser combines `>>` and `>=` from two tokens where it expects
/// them, as `>` also ends a type.
const SYMBOLS: &[&str] = &[
    "|+|", "<<", "<=", "==", "!=", "&&", "||", "{", "}", "(", ")", "[", "]", "<", ">", ";", ":", ",", ".",
    "=", "+", "-", "^", "&", "|", "!", "~",
];

/// Tokens with their line numbers; comments and preprocessor directives are omitted.
pub fn tokens(source: &str) -> Vec<(Token, usize)> {
    let mut out = Vec::new();
    for (n, line) in source.lines().enumerate() {
        let mut rest = line.split("//").next().unwrap_or_default();
        if rest.starts_with('#') {
            continue;
        }
        loop {
            rest = rest.trim_start();
            let Some(c) = rest.chars().next() else { break };
            let word = rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
            let token = if c.is_ascii_digit() {
                let text = &rest[..word];
                let hex = text.strip_prefix("0x").map(|h| u128::from_str_radix(h, 16));
                Token::Number(
                    hex.unwrap_or_else(|| text.parse()).unwrap_or_else(|e| panic!("line {}: {e}", n + 1)),
                )
            } else if word > 0 {
                Token::Name(rest[..word].into())
            } else {
                let symbol = SYMBOLS.iter().find(|s| rest.starts_with(**s));
                Token::Symbol(symbol.unwrap_or_else(|| panic!("line {}: what is {rest:?}", n + 1)))
            };
            rest = match &token {
                Token::Symbol(s) => &rest[s.len()..],
                _ => &rest[word..],
            };
            out.push((token, n + 1));
        }
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Type {
    pub width: u32,
    pub signed: bool,
}

#[derive(Clone, Debug)]
pub enum Expr {
    Number(u128),
    /// `a.b.c`
    Place(String),
    Cast(Type, Box<Expr>),
    Slice(Box<Expr>, u32, u32),
    Not(Box<Expr>),
    Op(&'static str, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
pub enum Statement {
    Declare(Type, String, Option<Expr>),
    Assign(String, Expr),
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// `object.method(arguments)`
    Call(String, String, Vec<Expr>),
}

#[derive(Clone, Debug)]
pub struct Parameter {
    /// `out` or `inout`: its final value is returned to the caller.
    pub returns: bool,
    /// None for headers, metadata and other parameters shared by all controls.
    pub width: Option<Type>,
    pub name: String,
}

#[derive(Clone, Debug, Default)]
pub struct Control {
    pub parameters: Vec<Parameter>,
    /// Instances of other controls: name → control.
    pub instances: BTreeMap<String, String>,
    pub apply: Vec<Statement>,
}

#[derive(Debug, Default)]
pub struct Program {
    pub constants: BTreeMap<String, (Type, u128)>,
    /// Width of a cell and number of cells.
    pub registers: BTreeMap<String, (Type, usize)>,
    /// Fields of headers and structs: "block_t.hops" → width.
    pub fields: BTreeMap<String, Type>,
    pub controls: BTreeMap<String, Rc<Control>>,
}

pub fn parse(source: &str) -> Program {
    let mut p = Parser { tokens: tokens(source), at: 0 };
    let mut program = Program::default();
    while p.at < p.tokens.len() {
        p.declaration(&mut program);
    }
    program
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
}

impl Parser {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|(t, _)| t)
    }

    fn next(&mut self) -> Token {
        let (token, _) = self.tokens.get(self.at).expect("the file breaks off").clone();
        self.at += 1;
        token
    }

    fn fail(&self, why: &str) -> ! {
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |(_, line)| *line);
        panic!("meter.p4, line {line}: {why}")
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(0), Some(Token::Symbol(s)) if *s == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(0), Some(Token::Name(s)) if s == word)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) {
        if !self.eat(symbol) {
            let found = format!("{symbol} expected, not {:?}", self.peek(0));
            self.at += 1;
            self.fail(&found);
        }
    }

    fn name(&mut self) -> String {
        match self.next() {
            Token::Name(name) => name,
            other => self.fail(&format!("a name expected, not {other:?}")),
        }
    }

    fn number(&mut self) -> u128 {
        match self.next() {
            Token::Number(n) => n,
            other => self.fail(&format!("a number expected, not {other:?}")),
        }
    }

    /// Skips the contents of the brackets that start here.
    fn skip_block(&mut self) {
        self.expect("{");
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Token::Symbol("{") => depth += 1,
                Token::Symbol("}") => depth -= 1,
                _ => {}
            }
        }
    }

    fn skip_to(&mut self, symbol: &str) {
        while !self.eat(symbol) {
            self.at += 1;
        }
    }

    fn is_type(&self) -> bool {
        (self.is_word("bit") || self.is_word("int")) && self.peek(1) == Some(&Token::Symbol("<"))
    }

    fn type_(&mut self) -> Type {
        let signed = self.name() == "int";
        self.expect("<");
        let width = self.number() as u32;
        self.expect(">");
        Type { width, signed }
    }

    fn declaration(&mut self, program: &mut Program) {
        match self.name().as_str() {
            "const" => {
                let (type_, name) = (self.type_(), self.name());
                self.expect("=");
                let value = self.number();
                self.expect(";");
                program.constants.insert(name, (type_, value));
            }
            "register" => {
                self.expect("<");
                let type_ = self.type_();
                self.expect(">");
                self.expect("(");
                let cells = self.number() as usize;
                self.expect(")");
                let name = self.name();
                self.expect(";");
                program.registers.insert(name, (type_, cells));
            }
            "header" => self.header(program),
            "struct" | "parser" => {
                self.skip_to_brace();
                self.skip_block();
            }
            "control" => {
                let name = self.name();
                let control = self.control();
                program.controls.insert(name, Rc::new(control));
            }
            "V1Switch" => self.skip_to(";"),
            other => self.fail(&format!("what is {other:?}?")),
        }
    }

    fn skip_to_brace(&mut self) {
        while !self.is("{") {
            self.at += 1;
        }
    }

    fn header(&mut self, program: &mut Program) {
        let of = self.name();
        self.expect("{");
        while !self.eat("}") {
            let (type_, name) = (self.type_(), self.name());
            self.expect(";");
            program.fields.insert(format!("{of}.{name}"), type_);
        }
    }

    fn control(&mut self) -> Control {
        let mut control = Control::default();
        self.expect("(");
        while !self.eat(")") {
            let returns = match self.peek(0) {
                Some(Token::Name(word)) if ["in", "out", "inout"].contains(&word.as_str()) => {
                    self.name() != "in"
                }
                _ => false,
            };
            let width = if self.is_type() {
                Some(self.type_())
            } else {
                self.name();
                None
            };
            control.parameters.push(Parameter { returns, width, name: self.name() });
            self.eat(",");
        }
        self.expect("{");
        while !self.eat("}") {
            match self.name().as_str() {
                "apply" => control.apply = self.block(),
                "action" | "table" => {
                    self.skip_to_brace();
                    self.skip_block();
                }
                other => {
                    let of = other.to_owned();
                    self.expect("(");
                    self.expect(")");
                    control.instances.insert(self.name(), of);
                    self.expect(";");
                }
            }
        }
        control
    }

    fn block(&mut self) -> Vec<Statement> {
        self.expect("{");
        let mut out = Vec::new();
        while !self.eat("}") {
            out.push(self.statement());
        }
        out
    }

    fn statement(&mut self) -> Statement {
        if self.is_type() {
            let (type_, name) = (self.type_(), self.name());
            let value = self.eat("=").then(|| self.expression());
            self.expect(";");
            return Statement::Declare(type_, name, value);
        }
        if self.is_word("if") {
            self.at += 1;
            self.expect("(");
            let condition = self.expression();
            self.expect(")");
            let then = self.block();
            let mut otherwise = Vec::new();
            if self.is_word("else") {
                self.at += 1;
                otherwise = if self.is_word("if") { vec![self.statement()] } else { self.block() };
            }
            return Statement::If(condition, then, otherwise);
        }
        let place = self.place();
        if self.eat("(") {
            let mut arguments = Vec::new();
            while !self.eat(")") {
                // `hash` takes a list of fields; the caller supplies its result.
                if self.is("{") {
                    self.skip_block();
                } else {
                    arguments.push(self.expression());
                }
                self.eat(",");
            }
            self.expect(";");
            let (object, method) = place.rsplit_once('.').unwrap_or(("", &place));
            return Statement::Call(object.into(), method.into(), arguments);
        }
        self.expect("=");
        let value = self.expression();
        self.expect(";");
        Statement::Assign(place, value)
    }

    fn place(&mut self) -> String {
        let mut out = self.name();
        while self.eat(".") {
            out = format!("{out}.{}", self.name());
        }
        out
    }

    fn expression(&mut self) -> Expr {
        self.binary(0)
    }

    /// Operators by precedence, the weakest first.
    fn binary(&mut self, level: usize) -> Expr {
        const LEVELS: &[&[&str]] = &[
            &["||"],
            &["&&"],
            &["|"],
            &["^"],
            &["&"],
            &["==", "!="],
            &[">=", "<=", "<", ">"],
            &[">>", "<<"],
            &["|+|", "+", "-"],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1);
        while let Some(operator) = operators.iter().copied().find(|o| self.operator(o)) {
            let right = self.binary(level + 1);
            left = Expr::Op(operator, Box::new(left), Box::new(right));
        }
        left
    }

    fn operator(&mut self, wanted: &str) -> bool {
        let second = |s| self.peek(1) == Some(&Token::Symbol(s));
        let length = match wanted {
            ">>" => usize::from(self.is(">") && second(">")) * 2,
            ">=" => usize::from(self.is(">") && second("=")) * 2,
            ">" => usize::from(self.is(">") && !second(">") && !second("=")),
            other => usize::from(self.is(other)),
        };
        self.at += length;
        length > 0
    }

    fn unary(&mut self) -> Expr {
        if self.eat("!") {
            return Expr::Not(Box::new(self.unary()));
        }
        if self.is("(") && matches!(self.peek(1), Some(Token::Name(w)) if w == "bit" || w == "int") {
            self.at += 1;
            let type_ = self.type_();
            self.expect(")");
            return Expr::Cast(type_, Box::new(self.unary()));
        }
        let inner = if self.eat("(") {
            let inner = self.expression();
            self.expect(")");
            inner
        } else if let Some(Token::Number(n)) = self.peek(0) {
            let n = *n;
            self.at += 1;
            Expr::Number(n)
        } else {
            Expr::Place(self.place())
        };
        if !self.eat("[") {
            return inner;
        }
        let high = self.number() as u32;
        self.expect(":");
        let low = self.number() as u32;
        self.expect("]");
        Expr::Slice(Box::new(inner), high, low)
    }
}
