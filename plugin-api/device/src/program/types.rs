//! Names of element types in kernels.

use proctor_vocabulary::ElementType;

use crate::tensor::is_real;

/// Returns the name of a type as its elements are stored.
///
/// # Errors
/// Returns the type, in words, if kernels do not load it.
pub(super) fn stored(element: ElementType) -> Result<&'static str, String> {
    match element {
        ElementType::F32 => Ok("float"),
        ElementType::F16 => Ok("half"),
        ElementType::Bf16 => Ok("bfloat"),
        ElementType::Bool => Ok("uchar"),
        ElementType::I64 => Ok("integer"),
        other => narrow(other).ok_or_else(|| format!("no kernel computes with {}", other.name())),
    }
}

/// Returns the name of an integer type of the same size, for elements that are only moved.
///
/// # Errors
/// Returns the type, in words, if kernels do not load it.
pub(super) fn moved(element: ElementType) -> Result<&'static str, String> {
    match (stored(element)?, element.bits()) {
        (_, 16) => Ok("ushort"),
        (_, 32) => Ok("uint"),
        (name, _) => Ok(name),
    }
}

/// Returns the element of a pointer at a place.
///
/// # Errors
/// Returns the type, in words, if kernels do not load it.
pub(super) fn read(element: ElementType, pointer: &str, at: &str) -> Result<String, String> {
    Ok(match element {
        ElementType::F16 | ElementType::Bf16 => format!("READ_{}({pointer}, {at})", stored(element)?),
        _ => format!("{pointer}[{at}]"),
    })
}

/// Returns the lines that define RESULT_TYPE and WRITE_RESULT(value, to, at).
///
/// # Errors
/// Returns the type, in words, if kernels do not store it.
pub(super) fn result(element: ElementType) -> Result<String, String> {
    let name = stored(element)?;
    let write = match element {
        ElementType::F16 | ElementType::Bf16 => format!("WRITE_{name}(value, to, at)"),
        _ => format!("(to)[at] = ({name})(value)"),
    };
    Ok(format!("#define RESULT_TYPE {name}\n#define WRITE_RESULT(value, to, at) {write}\n"))
}

/// Returns the line that defines STORED, a type of reals.
///
/// # Errors
/// Returns the type, in words, if kernels do not compute with it.
pub(super) fn stored_reals(element: ElementType) -> Result<String, String> {
    match element {
        ElementType::F32 | ElementType::F16 | ElementType::Bf16 => {
            Ok(format!("#define STORED {}\n", stored(element)?))
        }
        other => Err(format!("no kernel of this kind computes with {}", other.name())),
    }
}

/// Returns the lines that define A_STORED and B_STORED, types of the factors of a product: of one type of reals, or of
/// 8-bit integers.
///
/// # Errors
/// Returns both types, in words, if no kernel multiplies them.
pub(super) fn stored_factors(a: ElementType, b: ElementType) -> Result<String, String> {
    let is_narrow = |element| matches!(element, ElementType::I8 | ElementType::U8);
    if (a != b || is_real(a) != Ok(true)) && !(is_narrow(a) && is_narrow(b)) {
        return Err(format!("products of {} and {} are not supported", a.name(), b.name()));
    }
    Ok(format!("#define A_STORED {}\n#define B_STORED {}\n", stored(a)?, stored(b)?))
}

/// Returns the name of the type that elements are computed in.
pub(super) fn computed(element: ElementType) -> &'static str {
    if is_real(element) == Ok(true) { "real" } else { "integer" }
}

/// Returns a value that wraps as its own type does, if it is computed in a wider one.
pub(super) fn wrapped(element: ElementType, value: &str) -> String {
    narrow(element).map_or_else(|| value.to_owned(), |narrow| format!("({narrow})({value})"))
}

/// Returns the name of an integer type that is narrower than the one that integers are computed in.
fn narrow(element: ElementType) -> Option<&'static str> {
    match element {
        ElementType::I8 => Some("schar"),
        ElementType::U8 => Some("uchar"),
        ElementType::I16 => Some("short"),
        ElementType::U16 => Some("ushort"),
        ElementType::I32 => Some("int"),
        ElementType::U32 => Some("uint"),
        _ => None,
    }
}
