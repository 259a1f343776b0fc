//! Numbers of outputs of any type.

use proctor_onnx_file::Conversion;
use proctor_plugin_api::{PluginError, vocabulary::ElementType};

use crate::binding::Lent;

/// Returns the numbers of an output in f32.
///
/// # Errors
/// They are of a type that has no such numbers.
#[expect(clippy::cast_precision_loss, reason = "classes and counts are small")]
pub(super) fn reals(output: &Lent<'_>) -> Result<Vec<f32>, PluginError> {
    let Lent { element, bytes, .. } = output;
    if let Some(bytes) = converted(bytes, *element, ElementType::F32)? {
        return Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect());
    }
    let integers = integers(output)?;
    Ok(integers.into_iter().map(|integer| integer as f32).collect())
}

/// Returns the numbers of an output in i64.
///
/// # Errors
/// They are no integers.
pub(super) fn integers(output: &Lent<'_>) -> Result<Vec<i64>, PluginError> {
    let Lent { element, bytes, .. } = output;
    let found = converted(bytes, *element, ElementType::I64)?;
    let bytes = found.ok_or_else(|| PluginError::failed(format!("an output of {element} has no numbers")))?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect())
}

/// Returns the elements in another type; `None` if they have none there.
fn converted(bytes: &[u8], from: ElementType, to: ElementType) -> Result<Option<Vec<u8>>, PluginError> {
    if from == to {
        return Ok(Some(bytes.to_vec()));
    }
    let Some(conversion) = Conversion::between(from, to) else { return Ok(None) };
    let mut target = vec![0; to.bytes_of(bytes.len() / from.unit_bytes())];
    conversion.apply(bytes, &mut target).map_err(|error| PluginError::failed(error.to_string()))?;
    Ok(Some(target))
}
