//! Names of element types in kernels.

use proctor_vocabulary::ElementType;

use crate::tensor::is_real;

/// Name of a type as its elements are stored.
///
/// # Errors
/// The type, in words, if kernels do not load it.
pub(super) fn stored(element: ElementType) -> Result<&'static str, String> {
    match element {
        ElementType::F32 => Ok("float"),
        ElementType::Bool => Ok("uchar"),
        ElementType::I64 => Ok("integer"),
        other => narrow(other).ok_or_else(|| format!("no kernel computes with {}", other.name())),
    }
}

/// Name of the type that elements are computed in.
pub(super) fn computed(element: ElementType) -> &'static str {
    if is_real(element) == Ok(true) { "real" } else { "integer" }
}

/// A value that wraps as its own type does, where it is computed in a wider one.
pub(super) fn wrapped(element: ElementType, value: &str) -> String {
    narrow(element).map_or_else(|| value.to_owned(), |narrow| format!("({narrow})({value})"))
}

/// Name of an integer type that is narrower than the one that integers are computed in.
fn narrow(element: ElementType) -> Option<&'static str> {
    match element {
        ElementType::I8 => Some("char"),
        ElementType::U8 => Some("uchar"),
        ElementType::I16 => Some("short"),
        ElementType::U16 => Some("ushort"),
        ElementType::I32 => Some("int"),
        ElementType::U32 => Some("uint"),
        _ => None,
    }
}
