//! Reads a model from a safetensors file with PyTorch's names.
//!
//! | tensor | shape |
//! |---|---|
//! | `lstm.weight_ih_l{k}`, `gru.weight_ih_l{k}` | `[gates * hidden, input]` |
//! | `….weight_hh_l{k}` | `[gates * hidden, hidden]` |
//! | `….bias_ih_l{k}`, `….bias_hh_l{k}` | `[gates * hidden]` |
//! | the four again with `_reverse` | the same, for the other direction of the layer |
//! | `fc.weight`, `fc.bias` (optional) | `[output, directions * hidden]`, `[output]` |
//!
//! The prefix says which cell (4 gates or 3), the highest `k` how many layers; sizes follow from the shapes, which must
//! fit each other. A tensor that is not in this table is an error: to leave it out would be to compute another model.

use std::{collections::BTreeMap, fs, path::Path};

use safetensors::{Dtype, SafeTensorError, SafeTensors, tensor::TensorView};

use crate::{
    WeightsError,
    cell::{Cell, Gru, GruReset, Lstm},
    layer::{Direction, Layer},
    linear::Linear,
    matmul::Weight,
    model::Model,
};

/// Largest file that is read: a thousand times the size of the models that this plugin is for.
const FILE_BYTES_MAX: u64 = 16 << 30;

impl Model {
    /// Reads a model from a file. `reset` matters for a GRU only.
    ///
    /// # Errors
    /// A [`WeightsError`] that names the file and the tensor.
    pub fn load(path: &Path, reset: GruReset) -> Result<Self, WeightsError> {
        let read_error = |source| WeightsError::Read { path: path.to_owned(), source };
        let size_bytes = fs::metadata(path).map_err(read_error)?.len();
        if size_bytes > FILE_BYTES_MAX {
            let path = path.to_owned();
            return Err(WeightsError::FileTooLarge { path, size_bytes, limit_bytes: FILE_BYTES_MAX });
        }
        Self::from_bytes(path, &fs::read(path).map_err(read_error)?, reset)
    }

    /// Reads a model from the bytes of a file. `path` is for messages only.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn from_bytes(path: &Path, bytes: &[u8], reset: GruReset) -> Result<Self, WeightsError> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|source| match source {
            SafeTensorError::MetadataIncompleteBuffer => WeightsError::Truncated { path: path.to_owned() },
            source => WeightsError::NotSafetensors { path: path.to_owned(), source },
        })?;
        let mut file = WeightsFile { path, unread: tensors.tensors().into_iter().collect() };

        let kind = file.kind(reset)?;
        let mut layers: Vec<Layer> = Vec::new();
        while layers.is_empty() || file.has_layer(kind, layers.len()) {
            let input_count = layers.last().map(Layer::output_count);
            layers.push(file.layer(kind, layers.len(), input_count)?);
        }
        let last_count = layers[layers.len() - 1].output_count();
        let head = file.head(last_count)?;
        file.refuse_the_rest(kind, layers.len())?;
        Ok(Self::new(layers, head))
    }
}

/// The kind of the recurrent layers.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Lstm,
    Gru(GruReset),
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Gru(_) => "gru",
        }
    }

    fn gate_count(self) -> usize {
        match self {
            Self::Lstm => Lstm::GATE_COUNT,
            Self::Gru(_) => Gru::GATE_COUNT,
        }
    }
}

/// A file whose tensors are taken out one by one.
struct WeightsFile<'a> {
    path: &'a Path,
    unread: BTreeMap<String, TensorView<'a>>,
}

impl WeightsFile<'_> {
    /// Finds out what the recurrent layers are by the name of the first one.
    fn kind(&self, reset: GruReset) -> Result<Kind, WeightsError> {
        let kinds = [Kind::Lstm, Kind::Gru(reset)];
        kinds.into_iter().find(|kind| self.has_layer(*kind, 0)).ok_or_else(|| {
            let names: Vec<_> = self.unread.keys().take(4).map(|name| format!("\"{name}\"")).collect();
            let found = if names.is_empty() { "no tensor at all".to_owned() } else { names.join(", ") };
            WeightsError::NoRecurrentLayer { path: self.path.to_owned(), found }
        })
    }

    fn has_layer(&self, kind: Kind, index: usize) -> bool {
        self.unread.contains_key(&format!("{}.weight_ih_l{index}", kind.prefix()))
    }

    /// Reads layer `index`, whose input must be `input_count` wide if that is known.
    fn layer(&mut self, kind: Kind, index: usize, input_count: Option<usize>) -> Result<Layer, WeightsError> {
        let name = format!("{}.{{}}_l{index}", kind.prefix());
        let reverse_name = format!("{name}_reverse");
        let bidirectional = self.unread.contains_key(&reverse_name.replace("{}", "weight_ih"));
        let hidden = name.replace("{}", "weight_hh");
        let hidden_count = self.shape(&hidden)?.get(1).copied().unwrap_or(0);
        let gate_width =
            kind.gate_count().checked_mul(hidden_count).filter(|width| *width > 0).ok_or_else(|| {
                self.shape_error(
                    &hidden,
                    format!("[{} * hidden, hidden] with at least one unit", kind.gate_count()),
                )
            })?;

        let input = name.replace("{}", "weight_ih");
        let input_count = input_count.or(self.shape(&input)?.get(1).copied()).filter(|count| *count > 0);
        let input_count =
            input_count.ok_or_else(|| self.shape_error(&input, format!("[{gate_width}, at least 1]")))?;

        let sizes = DirectionSizes { gate_width, hidden_count, input_count };
        let forward = self.direction(kind, &name, sizes)?;
        let reverse = bidirectional.then(|| self.direction(kind, &reverse_name, sizes)).transpose()?;
        Ok(Layer::new(forward, reverse))
    }

    /// Reads the four tensors of one direction; `name` has `{}` in place of `weight_ih` and so on.
    fn direction(
        &mut self,
        kind: Kind,
        name: &str,
        sizes: DirectionSizes,
    ) -> Result<Direction, WeightsError> {
        let DirectionSizes { gate_width, hidden_count, input_count } = sizes;
        let input_weight = self.take(&name.replace("{}", "weight_ih"), &[gate_width, input_count])?;
        let hidden_weight = self.take(&name.replace("{}", "weight_hh"), &[gate_width, hidden_count])?;
        let mut bias = self.take(&name.replace("{}", "bias_ih"), &[gate_width])?;
        let hidden_bias = self.take(&name.replace("{}", "bias_hh"), &[gate_width])?;

        // The reset gate of a GRU may scale the hidden bias of n, so that one stays apart.
        let joined = match kind {
            Kind::Lstm => gate_width,
            Kind::Gru(_) => 2 * hidden_count,
        };
        bias[..joined].iter_mut().zip(&hidden_bias).for_each(|(sum, hidden)| *sum += hidden);
        let cell: Box<dyn Cell> = match kind {
            Kind::Lstm => Box::new(Lstm::new(&hidden_weight, hidden_count)),
            Kind::Gru(reset) => Box::new(Gru::new(&hidden_weight, hidden_bias[joined..].to_vec(), reset)),
        };
        let input_weight = Weight::from_pytorch(&input_weight, gate_width, input_count);
        Ok(Direction::new(Linear::new(input_weight, bias), cell))
    }

    /// Reads the final linear layer if there is one.
    fn head(&mut self, input_count: usize) -> Result<Option<Linear>, WeightsError> {
        if !self.unread.keys().any(|name| name.starts_with("fc.")) {
            return Ok(None);
        }
        let output_count = self.shape("fc.weight")?.first().copied().filter(|count| *count > 0);
        let output_count = output_count
            .ok_or_else(|| self.shape_error("fc.weight", format!("[at least 1, {input_count}]")))?;
        let weight = self.take("fc.weight", &[output_count, input_count])?;
        let bias = self.take("fc.bias", &[output_count])?;
        Ok(Some(Linear::new(Weight::from_pytorch(&weight, output_count, input_count), bias)))
    }

    /// Reports the first tensor that nothing asked for.
    fn refuse_the_rest(&self, kind: Kind, layer_count: usize) -> Result<(), WeightsError> {
        let Some(tensor) = self.unread.keys().next() else { return Ok(()) };
        Err(WeightsError::UnexpectedTensor {
            path: self.path.to_owned(),
            tensor: tensor.clone(),
            prefix: kind.prefix(),
            layer_count,
        })
    }

    /// Takes the values of a tensor, once it is seen to be there, of this shape, f32 and finite.
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        if self.shape(name)? != shape {
            return Err(self.shape_error(name, format!("{shape:?}")));
        }
        let tensor = self.unread.remove(name).expect("its shape was read above");
        let (path, name) = (self.path.to_owned(), name.to_owned());
        if tensor.dtype() != Dtype::F32 {
            return Err(WeightsError::ElementType { path, tensor: name, got: tensor.dtype() });
        }
        let (quads, _) = tensor.data().as_chunks();
        let values: Vec<f32> = quads.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(element) => {
                Err(WeightsError::NotFinite { path, tensor: name, element, value: values[element] })
            }
        }
    }

    fn shape(&self, name: &str) -> Result<&[usize], WeightsError> {
        let missing = || WeightsError::MissingTensor { path: self.path.to_owned(), tensor: name.to_owned() };
        Ok(self.unread.get(name).ok_or_else(missing)?.shape())
    }

    fn shape_error(&self, name: &str, expected: String) -> WeightsError {
        let got = self.unread.get(name).map(|tensor| tensor.shape().to_vec()).unwrap_or_default();
        WeightsError::Shape { path: self.path.to_owned(), tensor: name.to_owned(), expected, got }
    }
}

/// The sizes that the tensors of one direction must agree on.
#[derive(Debug, Clone, Copy)]
struct DirectionSizes {
    gate_width: usize,
    hidden_count: usize,
    input_count: usize,
}
