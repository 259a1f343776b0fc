//! Samples of rows, such as the pairs of DLRM: all inputs have as many rows, and the model answers each.
//!
//! The rows of a batch go through the model in one call, sample behind sample, in its first dimension.

use proctor_onnx_file::{Batching, OnnxFile, fit};
use proctor_plugin_api::{ModelRequest, vocabulary::TensorSpec};

use crate::{
    error::{LoadError, RowsError},
    way::ModelTensors,
};

/// Fits a model whose first dimension is rows of samples.
///
/// # Errors
/// [`LoadError::Rows`] if the request or the file do not have rows.
pub(super) fn find(
    file: &OnnxFile,
    request: &ModelRequest,
    batch_size_max: usize,
) -> Result<ModelTensors, LoadError> {
    let refused = |why| LoadError::Rows { path: file.path.clone(), why };
    let rows_max = rows_max(request).map_err(refused)?;
    let row = |spec: &TensorSpec| TensorSpec {
        name: spec.name.clone(),
        element_type: spec.element_type,
        shape: spec.shape[1..].to_vec(),
    };
    let inputs: Vec<_> = request.inputs.iter().map(row).collect();
    let outputs: Vec<_> = request.outputs.iter().map(row).collect();
    // A model of fixed batches fits batches of one, and is refused then.
    let fit = fit(&file.signature, &inputs, &outputs, 1).map_err(|why| refused(why.into()))?;
    if fit.batching != Batching::Free {
        return Err(refused(RowsError::NotFree));
    }
    let rows_max = Some(rows_max);
    Ok(ModelTensors { fit, made: None, inputs, outputs, is_interleaved: false, rows_max, batch_size_max })
}

/// Returns the maximum number of rows of a sample: the first extent of all inputs and of the output.
fn rows_max(request: &ModelRequest) -> Result<usize, RowsError> {
    let [output] = &request.outputs[..] else { return Err(RowsError::Outputs(request.outputs.len())) };
    if !request.last_output_varies {
        return Err(RowsError::OutputIsFixed(output.name.clone()));
    }
    let mut rows = None;
    for spec in request.inputs.iter().chain([output]) {
        let has = spec.shape.first().copied();
        let expected = rows.or(has);
        if has.is_none() || has != expected {
            let has = has.map_or("missing".to_owned(), |extent| extent.to_string());
            return Err(RowsError::Extent { name: spec.name.clone(), has, rows: expected.unwrap_or(0) });
        }
        rows = expected;
    }
    Ok(rows.unwrap_or(0))
}
