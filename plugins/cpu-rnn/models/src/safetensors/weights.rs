//! Reads tensors from a safetensors file, each one checked.

use std::{collections::BTreeMap, fs, path::Path};

use proctor_rnn_engine::{DirectionWeights, Layer, LayerSpec};
use proctor_rnn_layer::{Cell, Directions, Precision};
use proctor_vocabulary::misfetched;
use safetensors::{Dtype, SafeTensorError, SafeTensors, tensor::TensorView};

use crate::dense::Dense;
use crate::safetensors::error::WeightsError;

/// Largest file that is read: some ten times the size of the largest model here.
const FILE_BYTES_MAX: u64 = 16 << 30;

/// Reads a whole file of weights.
///
/// # Errors
/// [`WeightsError::Read`] and [`WeightsError::FileTooLarge`].
pub fn read_file(path: &Path) -> Result<Vec<u8>, WeightsError> {
    let read_error = |source| WeightsError::Read(path.to_owned(), source);
    let size_bytes = fs::metadata(path).map_err(read_error)?.len();
    if size_bytes > FILE_BYTES_MAX {
        return Err(WeightsError::FileTooLarge(path.to_owned(), size_bytes, FILE_BYTES_MAX));
    }
    fs::read(path).map_err(read_error)
}

/// The tensors of a file that were not yet taken.
#[derive(Debug)]
pub struct Weights<'a> {
    path: &'a Path,
    unread: BTreeMap<String, TensorView<'a>>,
}

impl<'a> Weights<'a> {
    /// Reads the header of a file. `path` is for messages only.
    ///
    /// # Errors
    /// [`WeightsError::Truncated`], [`WeightsError::Misfetched`] and [`WeightsError::NotSafetensors`].
    pub fn new(path: &'a Path, bytes: &'a [u8]) -> Result<Self, WeightsError> {
        let tensors =
            SafeTensors::deserialize(bytes).map_err(|source| match (source, misfetched(bytes)) {
                (SafeTensorError::MetadataIncompleteBuffer, _) => WeightsError::Truncated(path.to_owned()),
                (_, Some(what)) => WeightsError::Misfetched(path.to_owned(), what),
                (source, None) => WeightsError::NotSafetensors(path.to_owned(), source),
            })?;
        Ok(Self { path, unread: tensors.tensors().into_iter().collect() })
    }

    /// Returns the names of the tensors that were not yet taken, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.unread.keys().map(String::as_str)
    }

    /// Returns whether the tensor exists and was not yet read.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.unread.contains_key(name)
    }

    /// Returns the shape of a tensor.
    ///
    /// # Errors
    /// [`WeightsError::Tensor`] if it is not there.
    pub fn shape(&self, name: &str) -> Result<&[usize], WeightsError> {
        let tensor = self.unread.get(name).ok_or_else(|| self.error(name, "is missing".to_owned()))?;
        Ok(tensor.shape())
    }

    /// Takes the values of a tensor after checking that it exists, has this shape, and is f32 and finite.
    ///
    /// # Errors
    /// [`WeightsError::Tensor`] if a check fails.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        if self.shape(name)? != shape {
            return Err(self.shape_error(name, &format!("{shape:?}")));
        }
        let tensor = self.unread.remove(name).expect("its shape was read above");
        if tensor.dtype() != Dtype::F32 {
            let fault = format!("holds {:?}, but only F32 can be read; convert the file", tensor.dtype());
            return Err(self.error(name, fault));
        }
        let (quads, _) = tensor.data().as_chunks();
        let values: Vec<f32> = quads.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(element) => Err(self.error(name, format!("holds {} at element {element}", values[element]))),
        }
    }

    /// Returns an error about the shape of a tensor, for cases that [`Self::take`] cannot name.
    #[must_use]
    pub fn shape_error(&self, name: &str, expected: &str) -> WeightsError {
        let got = self.unread.get(name).map(TensorView::shape).unwrap_or_default();
        self.error(name, format!("has shape {got:?}, expected {expected}"))
    }

    /// Returns the error of a tensor that no part of the model reads.
    pub(crate) fn unexpected(&self, name: &str, model: &str) -> WeightsError {
        self.error(name, format!("has no place in {model}"))
    }

    fn error(&self, tensor: &str, fault: String) -> WeightsError {
        WeightsError::Tensor { path: self.path.to_owned(), tensor: tensor.to_owned(), fault }
    }

    /// Reads one recurrent layer: `{prefix}.weight_ih_l{index}`, `.weight_hh_l`, `.bias_ih_l`, `.bias_hh_l`, and the
    /// four with `_reverse` if they exist. Its input must be `input` wide if that is given.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn recurrent(
        &mut self,
        prefix: &str,
        index: usize,
        cell: Cell,
        precision: Precision,
        input: Option<usize>,
    ) -> Result<Layer, WeightsError> {
        let name = |part: &str, suffix: &str| format!("{prefix}.{part}_l{index}{suffix}");
        let bidirectional = self.contains(&name("weight_ih", "_reverse"));
        let weight = name("weight_hh", "");
        let units = self.shape(&weight)?.get(1).copied().unwrap_or(0);
        let gates = cell.gate_count();
        let rows = gates.checked_mul(units).filter(|rows| *rows > 0).ok_or_else(|| {
            self.shape_error(&weight, &format!("[{gates} * hidden, hidden] with at least one unit"))
        })?;
        let weight = name("weight_ih", "");
        let input = input.or(self.shape(&weight)?.get(1).copied()).filter(|count| *count > 0);
        let input = input.ok_or_else(|| self.shape_error(&weight, &format!("[{rows}, at least 1]")))?;

        let mut sets = Vec::new();
        for suffix in ["", "_reverse"].into_iter().take(1 + usize::from(bidirectional)) {
            sets.push([
                self.take(&name("weight_ih", suffix), &[rows, input])?,
                self.take(&name("weight_hh", suffix), &[rows, units])?,
                self.take(&name("bias_ih", suffix), &[rows])?,
                self.take(&name("bias_hh", suffix), &[rows])?,
            ]);
        }
        let directions = if bidirectional { Directions::Bidirectional } else { Directions::Forward };
        let spec = LayerSpec { cell, directions, input, hidden: units, clip: None, precision };
        let borrowed = sets.iter().map(|[input, hidden, input_bias, hidden_bias]| DirectionWeights {
            input,
            hidden,
            input_bias,
            hidden_bias,
            peepholes: &[],
        });
        let sets: Vec<DirectionWeights<'_>> = borrowed.collect();
        Layer::new(spec, &sets)
            .map_err(|source| WeightsError::Layer(self.path.to_owned(), name("weight", ""), source))
    }

    /// Takes a linear layer: `{prefix}.weight` `[output, input]` and `{prefix}.bias` `[output]`.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn linear(&mut self, prefix: &str, input: usize) -> Result<Dense, WeightsError> {
        let (weight, bias) = (format!("{prefix}.weight"), format!("{prefix}.bias"));
        let output = self.shape(&weight)?.first().copied().filter(|count| *count > 0);
        let output = output.ok_or_else(|| self.shape_error(&weight, &format!("[at least 1, {input}]")))?;
        let weight = self.take(&weight, &[output, input])?;
        let bias = self.take(&bias, &[output])?;
        Ok(Dense::new(&weight, &bias, input))
    }

    /// Ends the reading. A tensor that was not read has no place in the model, and ignoring it would mean computing
    /// another one; `model` names in words how the file was read.
    ///
    /// # Errors
    /// [`WeightsError::Tensor`] with the first such tensor.
    pub fn finish(self, model: impl FnOnce() -> String) -> Result<(), WeightsError> {
        self.unread.keys().next().map_or(Ok(()), |tensor| Err(self.unexpected(tensor, &model())))
    }
}
