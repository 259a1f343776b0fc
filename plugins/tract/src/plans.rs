//! A model compiled for the batch sizes that can come.
//!
//! tract makes its best code for shapes that it knows: a plan is for one batch size, with the weights packed for its
//! kernels. One for every size up to the largest would cost memory and time at load for each. Compiling when a size
//! first comes would cost the batch that brings it. So plans are made for the powers of two and for the largest batch
//! itself, and any other batch is put together out of them: 7 samples run as 4, 2 and 1. Each plan is needed once at
//! most for that.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use proctor_onnx_file::{Batching, Fit, OnnxFile, Port};
use proctor_plugin_api::vocabulary::{ElementType, TensorSpec};
use tract_onnx::{
    prelude::{
        DatumType, Framework, InferenceFact, InferenceModel, InferenceModelExt, IntoRunnable, TractResult,
        TypedModel, TypedRunnableModel,
    },
    tract_core::ops::{gru_seq::GruSeq, logic::IfThenElse, scan::Scan, unimpl::UnimplementedOp},
};

use crate::error::LoadError;

/// The sets of operators that tract is tested with.
const OPSETS_TESTED: std::ops::RangeInclusive<i64> = 9..=18;

/// The domains that tract has operators of.
const DOMAINS: [&str; 3] = ["", "ai.onnx.ml", "com.microsoft"];

/// A model for one batch size.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Samples of a run; always as many.
    pub batch_size: usize,
    /// The compiled plan.
    pub runnable: Arc<TypedRunnableModel>,
}

/// Compiles a file for all batches of up to `batch_size_max` samples. The plan for the largest comes first.
pub(crate) fn compile(
    file: &OnnxFile,
    fit: &Fit,
    outputs: &[TensorSpec],
    batch_size_max: usize,
) -> Result<Vec<Plan>, LoadError> {
    let path = file.path.as_path();
    warn_of_opsets(file);
    let model = guarded(path, "read", || parse(path, fit))?;
    refuse_unknown_operators(file, &model)?;
    let plan = |batch_size: usize| {
        let typed = guarded(path, "compile", || typed(model.clone(), fit, batch_size))?;
        for (port, spec) in fit.outputs.iter().zip(outputs) {
            check_output(path, &typed, fit, port, spec, batch_size)?;
        }
        let runnable = guarded(path, "plan", || typed.into_runnable())?;
        Ok(Plan { batch_size, runnable })
    };
    fit.plan_sizes(batch_size_max).into_iter().map(plan).collect()
}

/// Type of tract for a type of ours.
pub(crate) fn datum_type(element_type: ElementType) -> Option<DatumType> {
    Some(match element_type {
        ElementType::F32 => DatumType::F32,
        ElementType::F64 => DatumType::F64,
        ElementType::F16 => DatumType::F16,
        ElementType::I8 => DatumType::I8,
        ElementType::U8 => DatumType::U8,
        ElementType::I16 => DatumType::I16,
        ElementType::I32 => DatumType::I32,
        ElementType::I64 => DatumType::I64,
        ElementType::Bool => DatumType::Bool,
        ElementType::U16 => DatumType::U16,
        ElementType::U32 => DatumType::U32,
        ElementType::U64 => DatumType::U64,
        ElementType::Bf16 | ElementType::F8E4M3 | ElementType::F8E5M2 | ElementType::I4 | ElementType::U4 => {
            return None;
        }
    })
}

fn warn_of_opsets(file: &OnnxFile) {
    let onnx = file.opsets.iter().find(|opset| opset.domain.is_empty());
    if let Some(opset) = onnx.filter(|opset| !OPSETS_TESTED.contains(&opset.version)) {
        let (path, version) = (file.path.display(), opset.version);
        tracing::warn!(%path, version, "tract is tested with the operator sets 9 to 18 only");
    }
}

/// Reads the graph, and keeps the outputs that the benchmark wants, in its order.
fn parse(path: &Path, fit: &Fit) -> TractResult<InferenceModel> {
    // What a file says of values within the graph may name the batch, which is a number in each plan.
    let framework = tract_onnx::onnx().with_ignore_value_info(true);
    let mut model = framework.model_for_path(path)?;
    let all = model.output_outlets()?.to_vec();
    let wanted: Vec<_> = fit.outputs.iter().map(|port| all[port.value]).collect();
    model.select_output_outlets(&wanted)?;
    Ok(model)
}

/// tract looks at the names of operators alone, so it would take another domain's `Conv` for ONNX's.
fn refuse_unknown_operators(file: &OnnxFile, model: &InferenceModel) -> Result<(), LoadError> {
    let foreign = file.op_types.iter().filter(|operator| !DOMAINS.contains(&operator.domain.as_str()));
    let foreign =
        foreign.map(|operator| format!("operator {} of domain \"{}\"", operator.name, operator.domain));
    let unknown = model.nodes().iter().filter(|node| node.op_is::<UnimplementedOp>());
    let unknown = unknown.map(|node| {
        let name = node.op().name();
        let operator = name.strip_prefix("Unimplemented(").and_then(|rest| rest.strip_suffix(')'));
        format!("operator {} of node \"{}\"", operator.unwrap_or(&name), node.name)
    });
    let operators: Vec<String> = foreign.chain(unknown).collect();
    if operators.is_empty() {
        return Ok(());
    }
    Err(LoadError::Operators { path: file.path.to_owned(), operators })
}

/// The model for one batch size, optimised.
fn typed(mut model: InferenceModel, fit: &Fit, batch_size: usize) -> TractResult<TypedModel> {
    for port in &fit.inputs {
        let shape = fit.shape(port, batch_size);
        // What has no type of tract was refused before.
        let fact = InferenceFact::shape(&*shape);
        let fact = datum_type(port.spec.element_type).into_iter().fold(fact, InferenceFact::with_datum_type);
        model.set_input_fact(port.value, fact)?;
    }
    let mut model = model.into_typed()?;
    forget_between_runs(&mut model);
    model.into_optimized()
}

/// Makes recurrent layers begin each run with the state that the file says. tract keeps the state of the run before,
/// which serves streams, but samples have nothing to do with each other.
fn forget_between_runs(model: &mut TypedModel) {
    for node in model.nodes_mut() {
        if let Some(scan) = node.op_as_mut::<Scan>() {
            scan.reset_every_turn = true;
            forget_between_runs(&mut scan.body);
        } else if let Some(layer) = node.op_as_mut::<GruSeq>() {
            layer.reset_every_turn = true;
        } else if let Some(branches) = node.op_as_mut::<IfThenElse>() {
            forget_between_runs(&mut branches.then_body);
            forget_between_runs(&mut branches.else_body);
        }
    }
}

/// Checks that the output's shape and type, as tract derived them, are those of the file and the benchmark.
fn check_output(
    path: &Path,
    model: &TypedModel,
    fit: &Fit,
    port: &Port,
    spec: &TensorSpec,
    batch_size: usize,
) -> Result<(), LoadError> {
    let fact = guarded(path, "compile", || model.output_fact(port.tensor).cloned())?;
    // Integers that came from shapes are symbols to tract, and numbers again when they are read.
    let is_type = Some(fact.datum_type.unquantized()) == datum_type(port.spec.element_type)
        || (fact.datum_type == DatumType::TDim && port.spec.element_type == ElementType::I64);
    let wanted = fit.shape(port, batch_size);
    let shape = fact.shape.as_concrete();
    let is_shape = shape.is_some_and(|shape| {
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        count(shape) == count(&wanted) && (fit.batching == Batching::None || shape.first() == wanted.first())
    });
    if is_type && is_shape {
        return Ok(());
    }
    Err(LoadError::Output {
        path: path.to_owned(),
        output: port.spec.name.clone(),
        got: format!("{fact:?}"),
        wanted: spec.to_string(),
        batch_size,
    })
}

/// Runs a piece of tract, which panics on some files where it should return an error.
fn guarded<T>(path: &Path, what: &'static str, run: impl FnOnce() -> TractResult<T>) -> Result<T, LoadError> {
    let refused = |reason: String| LoadError::Tract { path: path.to_owned(), what, reason };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(done)) => Ok(done),
        // The chain of causes on one line, from the outermost to what is really wrong.
        Ok(Err(error)) => Err(refused(format!("{error:#}").replace('\n', " "))),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(refused(format!("it panicked: {}", text.unwrap_or_else(|| "no message".into()))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_tract_is_an_error_that_names_the_file() {
        let error = guarded::<()>(Path::new("model.onnx"), "compile", || panic!("axis {}", 3)).unwrap_err();
        assert_eq!(error.to_string(), "tract cannot compile model.onnx: it panicked: axis 3");
    }
}
