//! One operation of a graph.

use std::collections::BTreeMap;

use super::constant::Constant;

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Operator, such as `Conv2D`.
    pub operator: String,
    /// Values that it reads: `node` or `node:number` for an output, `^node` for one that only has to come before it.
    pub inputs: Vec<String>,
    /// Parameters by name.
    pub attributes: BTreeMap<String, Attribute>,
}

/// A parameter of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f32),
    /// A truth value.
    Flag(bool),
    /// A text.
    Text(String),
    /// Integers.
    Ints(Vec<i64>),
    /// A tensor.
    Constant(Constant),
    /// A type, a shape or something else that the converter does not need.
    Other,
}

impl Node {
    /// Returns an integer parameter, which others may not be.
    pub(crate) fn int(&self, name: &str, default: i64) -> Result<i64, String> {
        match self.attributes.get(name) {
            None => Ok(default),
            Some(Attribute::Int(value)) => Ok(*value),
            Some(_) => Err(format!("has a parameter {name} that is no integer")),
        }
    }

    /// Returns integer parameters, none where they are missing.
    pub(crate) fn ints(&self, name: &str) -> Result<&[i64], String> {
        match self.attributes.get(name) {
            None => Ok(&[]),
            Some(Attribute::Ints(values)) => Ok(values),
            Some(_) => Err(format!("has a parameter {name} that is no list of integers")),
        }
    }

    /// Returns a text parameter, empty where it is missing.
    pub(crate) fn text(&self, name: &str) -> Result<&str, String> {
        match self.attributes.get(name) {
            None => Ok(""),
            Some(Attribute::Text(text)) => Ok(text),
            Some(_) => Err(format!("has a parameter {name} that is no text")),
        }
    }

    /// Returns a real parameter.
    pub(crate) fn float(&self, name: &str, default: f32) -> Result<f32, String> {
        match self.attributes.get(name) {
            None => Ok(default),
            Some(Attribute::Float(value)) => Ok(*value),
            Some(_) => Err(format!("has a parameter {name} that is no real number")),
        }
    }

    /// Returns a truth value.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, String> {
        match self.attributes.get(name) {
            None => Ok(default),
            Some(Attribute::Flag(value)) => Ok(*value),
            Some(_) => Err(format!("has a parameter {name} that is no truth value")),
        }
    }
}
