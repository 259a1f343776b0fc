//! Matching of a benchmark's tensors with a model's inputs and outputs.

use std::{collections::BTreeMap, ops::Range};

use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    convert::{Conversion, ConvertError},
    elements::ValueType,
    signature::{Dim, Signature, ValueSpec},
};

/// How samples and the tensors of a model correspond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// The model's inputs, in its order, each with the tensor of a sample that it takes.
    pub inputs: Vec<Port>,
    /// The sample's outputs, in its order, each with its source among the model's outputs.
    pub outputs: Vec<Port>,
    /// The batches that the model takes.
    pub batching: Batching,
}

/// A tensor of a sample and the model's tensor that it corresponds to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Number of the tensor among the tensors of the sample.
    pub tensor: usize,
    /// Number of the value among the values of the [`Signature`].
    pub value: usize,
    /// The value itself, with the shape of one sample: without the dimension of the batch.
    pub spec: TensorSpec,
    /// Conversion from the sample's type to the model's (inputs) or back (outputs); `None` if both are the same.
    pub conversion: Option<Conversion>,
}

/// The batches that a model takes. Where it takes any, they are the first dimension of all its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batching {
    /// Any number of samples at a time.
    Free,
    /// Always this many samples at a time.
    Fixed(usize),
    /// One sample at a time, in tensors without a dimension for the batch.
    None,
}

/// Reason why a model does not fit a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum FitError {
    #[error("the model takes {takes}, but the benchmark has {has}: {why}")]
    Inputs { takes: String, has: String, why: String },
    #[error("the model gives {gives}, but the benchmark wants {wants}: {why}")]
    Outputs { gives: String, wants: String, why: String },
    #[error(
        "output \"{name}\" of the model holds {value_type}, which nothing can score; export the model so that it gives \
         {wanted}"
    )]
    OutputType { name: String, value_type: ValueType, wanted: ElementType },
    #[error(
        "the model takes batches of {fixed} and no others, but the run may form batches of {asked}; set batch_size = \
         {fixed}, or export the model with a free first dimension"
    )]
    FixedBatch { fixed: usize, asked: usize },
}

impl Fit {
    /// Returns the shape of a tensor of the model for `samples` samples, at most the number of [`Batching::Fixed`].
    #[must_use]
    pub fn shape(&self, port: &Port, batch_size: usize) -> Vec<usize> {
        let batch = match self.batching {
            Batching::Free => Some(batch_size),
            Batching::Fixed(fixed) => Some(fixed),
            Batching::None => None,
        };
        batch.into_iter().chain(port.spec.shape.iter().copied()).collect()
    }

    /// Returns the batch sizes, descending, for an engine that wants to know shapes beforehand: the powers of two and
    /// the largest. Any other batch is assembled out of them, 7 samples as 4, 2 and 1, for which each is needed once at
    /// most.
    #[must_use]
    pub fn plan_sizes(&self, batch_size_max: usize) -> Vec<usize> {
        let largest = match self.batching {
            Batching::Fixed(fixed) => return vec![fixed],
            Batching::None => 1,
            Batching::Free => batch_size_max.max(1),
        };
        let powers = (0..usize::BITS).map(|exponent| 1 << exponent).take_while(|power| *power < largest);
        let mut sizes: Vec<usize> = powers.chain([largest]).collect();
        sizes.reverse();
        sizes
    }
}

/// Divides a batch among plans, which are in the order of [`Fit::plan_sizes`]: each gets the range of its samples,
/// empty if it is not needed. A single plan takes everything.
///
/// # Errors
/// If there are more samples than the plans take, each once.
pub fn divide<'a>(
    sample_count: usize,
    plans: impl IntoIterator<Item = (usize, &'a mut Range<usize>)>,
) -> Result<(), TooManySamples> {
    let mut first = 0;
    let mut plans = plans.into_iter().peekable();
    while let Some((batch_size, samples)) = plans.next() {
        let left = sample_count - first;
        let takes = if left >= batch_size || plans.peek().is_none() { left.min(batch_size) } else { 0 };
        *samples = first..first + takes;
        first += takes;
    }
    if first == sample_count { Ok(()) } else { Err(TooManySamples { sample_count }) }
}

/// A batch that is larger than the plans of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a batch of {sample_count} samples is larger than the model was loaded for")]
pub struct TooManySamples {
    /// Number of samples of the batch.
    pub sample_count: usize,
}

impl Port {
    /// Returns whether the bytes of a sample can be passed to the model unchanged.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        // A bool of a model is 0 or 1; a data set may have other bytes for true.
        self.conversion.is_none() && self.spec.element_type != ElementType::Bool
    }

    /// Copies one sample's values from one side to the other, converted to the target's type.
    ///
    /// # Errors
    /// If the other side has another number of values, or a value does not fit its type.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) -> Result<(), ConvertError> {
        match self.conversion {
            Some(conversion) => conversion.apply(from, to),
            None if from.len() != to.len() => {
                let element = self.spec.element_type;
                let (source_bytes, target_bytes) = (from.len(), to.len());
                Err(ConvertError::Sizes { from: element, source_bytes, to: element, target_bytes })
            }
            None if self.is_plain() => {
                to.copy_from_slice(from);
                Ok(())
            }
            None => {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = u8::from(*from != 0));
                Ok(())
            }
        }
    }
}

/// Finds how a model takes samples with these tensors, up to `batch_size_max` at a time.
///
/// Tensors correspond by name if every name of the one side is known to the other, else by their order. A free
/// dimension takes any extent, the same wherever it has the same name; dimensions of extent 1 may be missing on either
/// side.
///
/// # Errors
/// Returns a [`FitError`] that says what the model has, what the benchmark has, and where they differ.
pub fn fit(
    signature: &Signature,
    inputs: &[TensorSpec],
    outputs: &[TensorSpec],
    batch_size_max: usize,
) -> Result<Fit, FitError> {
    let mut extents = Extents::new();
    let fit = fit_to_inputs(signature, inputs, batch_size_max, &mut extents)?;
    let outputs = fit_outputs(&signature.outputs, outputs, fit.batching, &extents)?;
    Ok(Fit { outputs, ..fit })
}

/// Works as [`fit`], for a program that computes a sample's outputs itself from the model's: the result has no outputs.
///
/// # Errors
/// As [`fit`], for the inputs.
pub fn fit_inputs(
    signature: &Signature,
    inputs: &[TensorSpec],
    batch_size_max: usize,
) -> Result<Fit, FitError> {
    fit_to_inputs(signature, inputs, batch_size_max, &mut Extents::new())
}

fn fit_to_inputs<'a>(
    signature: &'a Signature,
    inputs: &[TensorSpec],
    batch_size_max: usize,
    extents: &mut Extents<'a>,
) -> Result<Fit, FitError> {
    let (inputs, batching) = input_ports(&signature.inputs, inputs, extents)
        .map_err(|why| FitError::Inputs { takes: list(&signature.inputs), has: list(inputs), why })?;
    let fixed = match batching {
        Batching::Free => usize::MAX,
        Batching::Fixed(fixed) => fixed,
        Batching::None => 1,
    };
    if fixed < batch_size_max {
        return Err(FitError::FixedBatch { fixed, asked: batch_size_max });
    }
    Ok(Fit { inputs, outputs: Vec::new(), batching })
}

/// Extents of free dimensions by their names.
type Extents<'a> = BTreeMap<&'a str, usize>;

fn list(values: &[impl ToString]) -> String {
    match values {
        [] => "nothing".to_owned(),
        values => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn input_ports<'a>(
    values: &'a [ValueSpec],
    specs: &[TensorSpec],
    extents: &mut Extents<'a>,
) -> Result<(Vec<Port>, Batching), String> {
    if values.len() != specs.len() {
        return Err(format!("{} inputs for {} tensors", values.len(), specs.len()));
    }
    if values.is_empty() {
        return Err("a model without inputs cannot be asked anything".to_owned());
    }
    let by_name = values.iter().all(|value| specs.iter().any(|spec| spec.name == value.name));
    let mut ports = Vec::with_capacity(values.len());
    let mut batching: Option<Batching> = None;
    for (place, value) in values.iter().enumerate() {
        let named = specs.iter().position(|spec| by_name && spec.name == value.name);
        let tensor = named.unwrap_or(place);
        let spec = &specs[tensor];
        let element_type = element_type(value)?;
        let conversion = conversion(spec.element_type, element_type)
            .ok_or_else(|| format!("{} are not {} of \"{}\"", spec.element_type, element_type, value.name))?;
        let (shape, own) = input_shape(value, spec, extents)?;
        if batching.is_some_and(|others| others != own) {
            return Err(format!("\"{}\" has another batch dimension than the inputs before it", value.name));
        }
        batching = Some(own);
        let in_model = TensorSpec { name: value.name.clone(), element_type, shape };
        ports.push(Port { tensor, value: place, spec: in_model, conversion });
    }
    Ok((ports, batching.unwrap_or(Batching::None)))
}

fn element_type(value: &ValueSpec) -> Result<ElementType, String> {
    match value.value_type {
        ValueType::Tensor(element_type) => Ok(element_type),
        ValueType::Other(name) => Err(format!("\"{}\" takes {name}, which no benchmark has", value.name)),
    }
}

/// Returns the conversion: `None` if there is no way, `Some(None)` if none is needed.
fn conversion(from: ElementType, to: ElementType) -> Option<Option<Conversion>> {
    if from == to { Some(None) } else { Conversion::between(from, to).map(Some) }
}

fn input_shape<'a>(
    value: &'a ValueSpec,
    spec: &TensorSpec,
    extents: &mut Extents<'a>,
) -> Result<(Vec<usize>, Batching), String> {
    let dims = value.dims.as_deref();
    let dims = dims.ok_or_else(|| format!("the file does not say the shape of input \"{}\"", value.name))?;
    if let Some((first, rest)) = dims.split_first()
        && let Some(shape) = resolve(rest, &spec.shape, extents)
    {
        return Ok((
            shape,
            match first {
                Dim::Free(_) => Batching::Free,
                Dim::Fixed(fixed) => Batching::Fixed(*fixed),
            },
        ));
    }
    if let Some(shape) = resolve(dims, &spec.shape, extents) {
        return Ok((shape, Batching::None));
    }
    Err(format!(
        "a sample of shape {:?} does not fit \"{}\", whose first dimension is the batch",
        spec.shape, value
    ))
}

/// Returns the extents of these dimensions for a sample of this shape, if they fit; free dimensions get their extents.
/// If the numbers of dimensions differ, dimensions of extent 1 are skipped.
fn resolve<'a>(dims: &'a [Dim], shape: &[usize], extents: &mut Extents<'a>) -> Option<Vec<usize>> {
    let squeeze = dims.len() != shape.len();
    let mut left = shape.iter().copied().filter(|extent| !squeeze || *extent != 1);
    let mut resolved = Vec::with_capacity(dims.len());
    let mut found: Vec<(&'a str, usize)> = Vec::new();
    for dim in dims {
        resolved.push(match dim {
            Dim::Fixed(1) if squeeze => 1,
            Dim::Fixed(fixed) => left.next().filter(|extent| extent == fixed)?,
            Dim::Free(name) => {
                let extent = left.next()?;
                let known = found.iter().find(|(known, _)| known == name).map(|(_, extent)| *extent);
                let known = known.or_else(|| extents.get(name.as_str()).copied());
                if !name.is_empty() && known.is_some_and(|known| known != extent) {
                    return None;
                }
                found.push((name, extent));
                extent
            }
        });
    }
    if left.next().is_some() {
        return None;
    }
    extents.extend(found.into_iter().filter(|(name, _)| !name.is_empty()));
    Some(resolved)
}

fn fit_outputs<'a>(
    values: &'a [ValueSpec],
    specs: &[TensorSpec],
    batching: Batching,
    extents: &Extents<'a>,
) -> Result<Vec<Port>, FitError> {
    let refused = |why: String| FitError::Outputs { gives: list(values), wants: list(specs), why };
    let by_name = specs.iter().all(|spec| values.iter().any(|value| value.name == spec.name));
    if !by_name && values.len() != specs.len() {
        return Err(refused(format!(
            "{} outputs for {} tensors, and not all names are known",
            values.len(),
            specs.len()
        )));
    }
    let mut ports = Vec::with_capacity(specs.len());
    for (tensor, spec) in specs.iter().enumerate() {
        let place = values.iter().position(|value| by_name && value.name == spec.name).unwrap_or(tensor);
        let value = &values[place];
        let ValueType::Tensor(element_type) = value.value_type else {
            let (name, value_type) = (value.name.clone(), value.value_type);
            return Err(FitError::OutputType { name, value_type, wanted: spec.element_type });
        };
        let conversion = conversion(element_type, spec.element_type).ok_or_else(|| {
            let (name, value_type) = (value.name.clone(), value.value_type);
            FitError::OutputType { name, value_type, wanted: spec.element_type }
        })?;
        let shape = output_shape(value, spec, batching, extents).map_err(refused)?;
        let in_model = TensorSpec { name: value.name.clone(), element_type, shape };
        ports.push(Port { tensor, value: place, spec: in_model, conversion });
    }
    Ok(ports)
}

/// Returns the shape of one sample's output in the model. Extents that the file leaves open are assumed to be the
/// benchmark's; a mismatch shows when the model runs.
fn output_shape<'a>(
    value: &'a ValueSpec,
    spec: &TensorSpec,
    batching: Batching,
    extents: &Extents<'a>,
) -> Result<Vec<usize>, String> {
    let Some(dims) = value.dims.as_deref() else { return Ok(spec.shape.clone()) };
    let own = match (batching, dims.split_first()) {
        (Batching::None, _) => dims,
        (Batching::Free, Some((Dim::Free(_), rest))) => rest,
        (Batching::Fixed(_), Some((Dim::Free(_), rest))) => rest,
        (Batching::Fixed(batch), Some((Dim::Fixed(fixed), rest))) if *fixed == batch => rest,
        _ => return Err(format!("the first dimension of \"{value}\" is not the batch of the inputs")),
    };
    let fixed: Option<Vec<usize>> =
        own.iter().map(|dim| if let Dim::Fixed(fixed) = dim { Some(*fixed) } else { None }).collect();
    // Extents of a damaged file may be beyond all numbers.
    let count = |shape: &[usize]| shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
    let flat = fixed.filter(|shape| count(shape) == Some(spec.element_count()));
    // Which free dimension is bound to what is of no interest after the last one.
    let resolved = || resolve(own, &spec.shape, &mut extents.clone());
    flat.or_else(resolved)
        .ok_or_else(|| format!("\"{value}\" does not give a sample of shape {:?}", spec.shape))
}
