//! Arguments and attributes as the official module takes them: anything of another type is a `TypeError`.

use std::{fmt, path::PathBuf};

use pyo3::{
    Borrowed,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBytes, PyString},
};

/// A whole number from 0 to 2^64 - 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, IntoPyObject, IntoPyObjectRef)]
#[pyo3(transparent)]
pub(super) struct Unsigned(pub u64);

/// A whole number of 32 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, IntoPyObject, IntoPyObjectRef)]
#[pyo3(transparent)]
pub(super) struct Signed(pub i32);

/// A whole number of 64 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, IntoPyObject, IntoPyObjectRef)]
#[pyo3(transparent)]
pub(super) struct Long(pub i64);

/// A number.
#[derive(Debug, Clone, Copy, Default, PartialEq, IntoPyObject, IntoPyObjectRef)]
#[pyo3(transparent)]
pub(super) struct Float(pub f64);

/// A switch: `True`, `False`, `None` for off, or whatever can be converted to one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, IntoPyObject, IntoPyObjectRef)]
#[pyo3(transparent)]
pub(super) struct Switch(pub bool);

/// A string, or bytes that are one.
#[derive(Debug, Clone, Default, PartialEq, Eq, IntoPyObject, IntoPyObjectRef)]
#[pyo3(transparent)]
pub(super) struct Text(pub String);

/// A function.
#[derive(Debug)]
pub(super) struct Callback(pub Py<PyAny>);

impl Text {
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(&self.0)
    }
}

/// Returns the error about a value that is not what is expected.
fn other_type(value: Borrowed<'_, '_, PyAny>, expected: impl fmt::Display) -> PyErr {
    let shown =
        value.repr().map_or_else(|_| "a value that cannot be shown".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!("expected {expected}, not {shown}"))
}

/// Takes what the number inside takes.
macro_rules! numbers {
    ($($name:ident: $expected:literal;)*) => {
        $(
            impl FromPyObject<'_, '_> for $name {
                type Error = PyErr;

                fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
                    value.extract().map(Self).map_err(|_: PyErr| other_type(value, $expected))
                }
            }
        )*
    };
}

numbers! {
    Unsigned: "a whole number from 0 to 2**64 - 1";
    Signed: "a whole number of 32 bits";
    Long: "a whole number of 64 bits";
    Float: "a number";
}

impl FromPyObject<'_, '_> for Switch {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        // Texts and lists are true or false as well, and are more likely a mistake.
        if value.is_none() || value.get_type().hasattr("__bool__")? {
            return value.is_truthy().map(Self);
        }
        Err(other_type(value, "True or False"))
    }
}

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self(text.to_str()?.to_owned()));
        }
        let bytes = value.cast::<PyBytes>().ok().map(|bytes| bytes.as_bytes().to_vec());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.map(Self).ok_or_else(|| other_type(value, "a string"))
    }
}

impl FromPyObject<'_, '_> for Callback {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if value.is_callable() {
            return Ok(Self(value.to_owned().unbind()));
        }
        Err(other_type(value, "a function"))
    }
}
