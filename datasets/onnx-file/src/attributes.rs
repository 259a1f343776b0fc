//! The attributes of a node, read by name.

use crate::proto::{AttributeProto, NodeProto, TensorProto};

/// The attributes of one node. Each is read as one type; one that has another is an error, in words.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a>(&'a [AttributeProto]);

// Values of `AttributeProto.type`.
const FLOAT: i32 = 1;
const INT: i32 = 2;
const STRING: i32 = 3;
const TENSOR: i32 = 4;
const FLOATS: i32 = 6;
const INTS: i32 = 7;
const STRINGS: i32 = 8;

impl<'a> Attributes<'a> {
    /// Returns the attributes of a node, which must all be among `known`: an unknown one could change the result.
    ///
    /// # Errors
    /// Returns the first one that is not known, in words.
    pub fn new(node: &'a NodeProto, known: &[&str]) -> Result<Self, String> {
        let name = |attribute: &'a AttributeProto| attribute.name.as_deref().unwrap_or("");
        match node.attribute.iter().map(name).find(|name| !known.contains(name)) {
            None => Ok(Self(&node.attribute)),
            Some(name) => Err(format!("attribute \"{name}\" is not known")),
        }
    }

    /// Returns the attributes of a node, known or not, for a program that passes the node on as it is.
    #[must_use]
    pub fn of(node: &'a NodeProto) -> Self {
        Self(&node.attribute)
    }

    fn get(self, name: &str, kind: i32) -> Result<Option<&'a AttributeProto>, String> {
        let found = self.0.iter().find(|attribute| attribute.name.as_deref() == Some(name));
        match found {
            // Files older than the field have 0, then only the value says what it is.
            Some(attribute) if ![0, kind].contains(&attribute.r#type.unwrap_or(0)) => {
                Err(format!("attribute \"{name}\" is of another type"))
            }
            found => Ok(found),
        }
    }

    /// Returns whether there is an attribute of this name.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.0.iter().any(|attribute| attribute.name.as_deref() == Some(name))
    }

    /// Returns an integer.
    ///
    /// # Errors
    /// If it has another type.
    pub fn int(self, name: &str, default: i64) -> Result<i64, String> {
        Ok(self.get(name, INT)?.map_or(default, |attribute| attribute.i.unwrap_or(0)))
    }

    /// Returns a truth value.
    ///
    /// # Errors
    /// If it has another type, or is not 0 or 1.
    pub fn flag(self, name: &str, default: bool) -> Result<bool, String> {
        match self.int(name, i64::from(default))? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("attribute \"{name}\" is {other}, not 0 or 1")),
        }
    }

    /// Returns a real number.
    ///
    /// # Errors
    /// If it has another type.
    pub fn float(self, name: &str) -> Result<Option<f32>, String> {
        Ok(self.get(name, FLOAT)?.map(|attribute| attribute.f.unwrap_or(0.0)))
    }

    /// Returns real numbers.
    ///
    /// # Errors
    /// If it has another type.
    pub fn floats(self, name: &str) -> Result<Option<&'a [f32]>, String> {
        Ok(self.get(name, FLOATS)?.map(|attribute| attribute.floats.as_slice()))
    }

    /// Returns integers.
    ///
    /// # Errors
    /// If it has another type.
    pub fn ints(self, name: &str) -> Result<Option<&'a [i64]>, String> {
        Ok(self.get(name, INTS)?.map(|attribute| attribute.ints.as_slice()))
    }

    /// Returns a text.
    ///
    /// # Errors
    /// If it has another type.
    pub fn text(self, name: &str) -> Result<Option<String>, String> {
        let text = self.get(name, STRING)?.map(|attribute| attribute.s.as_deref().unwrap_or(b""));
        Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
    }

    /// Returns texts.
    ///
    /// # Errors
    /// If it has another type.
    pub fn texts(self, name: &str) -> Result<Option<Vec<String>>, String> {
        let text = |text: &Vec<u8>| String::from_utf8_lossy(text).into_owned();
        Ok(self.get(name, STRINGS)?.map(|attribute| attribute.strings.iter().map(text).collect()))
    }

    /// Returns a tensor.
    ///
    /// # Errors
    /// If it has another type.
    pub fn tensor(self, name: &str) -> Result<Option<&'a TensorProto>, String> {
        Ok(self.get(name, TENSOR)?.and_then(|attribute| attribute.t.as_ref()))
    }
}
