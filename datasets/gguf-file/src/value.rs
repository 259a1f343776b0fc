//! Values of a file.

use std::io::Read;

use crate::{
    error::Fault,
    source::{Failure, Source},
};

/// A value of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer of any type that a file may have, or a truth value as 0 or 1.
    Integer(i64),
    /// A number of floating point.
    Real(f64),
    /// A text.
    Text(String),
    /// Integers, or truth values.
    Integers(Vec<i64>),
    /// Numbers of floating point.
    Reals(Vec<f64>),
    /// Texts.
    Texts(Vec<String>),
}

/// Numbers of the types of values.
const TEXT: u32 = 8;
const LIST: u32 = 9;

/// A value of one number.
enum Number {
    Integer(i64),
    Real(f64),
}

/// Reads the value of this name: its type, and what follows.
pub(crate) fn read_value<R: Read>(source: &mut Source<R>, name: &str) -> Result<Value, Failure> {
    match source.u32()? {
        TEXT => source.text().map(Value::Text),
        LIST => read_list(source, name),
        kind => Ok(match number(source, kind, name)? {
            Number::Integer(value) => Value::Integer(value),
            Number::Real(value) => Value::Real(value),
        }),
    }
}

fn read_list<R: Read>(source: &mut Source<R>, name: &str) -> Result<Value, Failure> {
    let (kind, count) = (source.u32()?, source.u64()?);
    match kind {
        LIST => Err(Fault::Nested(name.to_owned()).into()),
        TEXT => {
            source.expect(count, size_of::<u64>() as u64)?;
            (0..count).map(|_| source.text()).collect::<Result<_, _>>().map(Value::Texts)
        }
        _ => {
            source.expect(count, size_bytes(kind)?)?;
            let (mut integers, mut reals) = (Vec::new(), Vec::new());
            for _ in 0..count {
                match number(source, kind, name)? {
                    Number::Integer(value) => integers.push(value),
                    Number::Real(value) => reals.push(value),
                }
            }
            Ok(if reals.is_empty() { Value::Integers(integers) } else { Value::Reals(reals) })
        }
    }
}

fn size_bytes(kind: u32) -> Result<u64, Fault> {
    match kind {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        _ => Err(Fault::Type(kind)),
    }
}

fn number<R: Read>(source: &mut Source<R>, kind: u32, name: &str) -> Result<Number, Failure> {
    Ok(Number::Integer(match kind {
        0 | 7 => source.bytes().map(u8::from_le_bytes)?.into(),
        1 => source.bytes().map(i8::from_le_bytes)?.into(),
        2 => source.bytes().map(u16::from_le_bytes)?.into(),
        3 => source.bytes().map(i16::from_le_bytes)?.into(),
        4 => source.u32()?.into(),
        5 => source.bytes().map(i32::from_le_bytes)?.into(),
        6 => return Ok(Number::Real(source.bytes().map(f32::from_le_bytes)?.into())),
        10 => i64::try_from(source.u64()?).map_err(|_| Fault::Number(name.to_owned()))?,
        11 => source.bytes().map(i64::from_le_bytes)?,
        12 => return Ok(Number::Real(source.bytes().map(f64::from_le_bytes)?)),
        _ => return Err(Fault::Type(kind).into()),
    }))
}
