//! The weights of a model, whatever the format of their file: [`safetensors`] or [`gguf`].

mod gguf;
mod safetensors;

use std::{
    collections::HashSet,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use candle_core::{DType, Device, Shape, Tensor};
use candle_nn::{Init, VarBuilder, var_builder::SimpleBackend};
use parking_lot::Mutex;

use crate::{
    error::LoadError,
    ops::{blocks::Blocks, matrix::Matrix},
    precision::Precision,
};

/// Sizes of a network that a file may declare, by their names in GGUF files.
pub(crate) const NUMBERS: [&str; 7] = [
    "block_count",
    "embedding_length",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.layer_norm_rms_epsilon",
    "rope.freq_base",
];

/// Format of a file of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A header in JSON and the numbers of tensors behind it.
    Safetensors,
    /// The form of llama.cpp: values, among them the sizes of the network, and tensors, some in blocks.
    Gguf,
}

impl Format {
    /// Returns the name in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Safetensors => "safetensors",
            Self::Gguf => "gguf",
        }
    }
}

/// The tensors of an open file, by the names of PyTorch's checkpoints.
trait Checkpoint: Send + Sync {
    fn names(&self) -> Vec<String>;

    fn shape(&self, name: &str) -> Option<&[usize]>;

    /// Reads a tensor as f32; `None` if there is none of this name.
    fn read(&self, name: &str, device: &Device) -> Result<Option<Tensor>, LoadError>;

    /// Reads a matrix in its blocks, if it has any.
    fn blocks(&self, name: &str) -> Result<Option<Blocks>, LoadError> {
        let _ = name;
        Ok(None)
    }

    /// Returns a size that the file declares, one of [`NUMBERS`].
    fn number(&self, name: &str) -> Option<f64> {
        let _ = name;
        None
    }
}

/// An open file of weights. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Weights(Arc<OpenFile>);

struct OpenFile {
    path: PathBuf,
    checkpoint: Box<dyn Checkpoint>,
    precision: Precision,
    device: Device,
    /// Names of the tensors that were read.
    read: Mutex<HashSet<String>>,
    /// The first error that candle-nn got through [`Backend`] and passed on as text.
    refusal: Mutex<Option<LoadError>>,
}

impl Weights {
    /// Opens a file and checks its header and its length. Tensors will be rounded to `precision` and put on `device`.
    ///
    /// # Errors
    /// [`LoadError::Weights`].
    pub fn open(
        path: &Path,
        format: Format,
        precision: Precision,
        device: &Device,
    ) -> Result<Self, LoadError> {
        let checkpoint: Box<dyn Checkpoint> = match format {
            Format::Safetensors => Box::new(safetensors::SafetensorsFile::open(path)?),
            Format::Gguf => Box::new(gguf::Gguf::open(path)?),
        };
        let (path, device) = (path.to_owned(), device.clone());
        let (read, refusal) = Default::default();
        Ok(Self(Arc::new(OpenFile { path, checkpoint, precision, device, read, refusal })))
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the precision that weights are rounded to.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.0.precision
    }

    /// Returns where tensors are put.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Returns the type that tensors are kept in and values are computed in.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.0.precision.of_values(&self.0.device)
    }

    /// Returns the number of tensors.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.checkpoint.names().len()
    }

    /// Returns the names of the tensors that were not read, sorted.
    #[must_use]
    pub fn unread(&self) -> Vec<String> {
        let read = self.0.read.lock();
        let mut names = self.0.checkpoint.names();
        names.retain(|name| !read.contains(name));
        names.sort_unstable();
        names
    }

    /// Returns whether there is a tensor of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.checkpoint.shape(name).is_some()
    }

    /// Returns a size that the file declares, one of [`NUMBERS`].
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.0.checkpoint.number(name)
    }

    /// Returns the shape of a tensor.
    ///
    /// # Errors
    /// [`LoadError::Weights`] if the tensor does not exist.
    pub fn shape(&self, name: &str) -> Result<&[usize], LoadError> {
        self.0.shape(name)
    }

    /// Returns the shape of a tensor of `RANK` dimensions.
    ///
    /// # Errors
    /// [`LoadError::Weights`] if the tensor does not exist, has another number of dimensions, or an empty one.
    pub fn dims<const RANK: usize>(&self, name: &str) -> Result<[usize; RANK], LoadError> {
        let shape = self.shape(name)?;
        match <[usize; RANK]>::try_from(shape) {
            Ok(dims) if !dims.contains(&0) => Ok(dims),
            _ => Err(self.misshapen(name, &format!("{RANK} dimensions that are not empty"))),
        }
    }

    /// Returns a tensor of this shape, rounded to the precision.
    ///
    /// # Errors
    /// [`LoadError::Weights`] if the tensor does not exist, or reading it fails.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, LoadError> {
        self.round(&self.exact(name, shape)?)
    }

    /// Returns a matrix of this shape: in blocks where the file has them, the device is the CPU and the precision f32;
    /// else rounded to the precision.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor).
    pub(crate) fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<Matrix, LoadError> {
        let may_stay = self.0.precision == Precision::F32 && self.0.device.is_cpu();
        if may_stay
            && self.shape(name)? == shape
            && let Some(blocks) = self.0.checkpoint.blocks(name)?
        {
            self.0.read.lock().insert(name.to_owned());
            return Ok(Matrix::blocks(blocks));
        }
        Matrix::dense(self.tensor(name, &shape)?).map_err(|error| self.refused(error))
    }

    /// Returns a tensor of this shape in f32, for computations before rounding.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor).
    pub fn exact(&self, name: &str, shape: &[usize]) -> Result<Tensor, LoadError> {
        if self.shape(name)? != shape {
            return Err(self.misshapen(name, &format!("{shape:?}")));
        }
        self.0.read(name)
    }

    /// Rounds to the precision and converts to the type of the computation.
    ///
    /// # Errors
    /// If the engine cannot.
    pub fn round(&self, tensor: &Tensor) -> Result<Tensor, LoadError> {
        self.0.round(tensor)
    }

    /// Returns why the engine could not load this file: the fault of a tensor that it had requested from
    /// [`builder`](Self::builder), else its own error.
    #[must_use]
    pub fn refused(&self, source: candle_core::Error) -> LoadError {
        let refusal = self.0.refusal.lock().take();
        refusal.unwrap_or_else(|| refused(&self.0.path, &source))
    }

    /// Returns the error of a tensor whose shape is not as expected.
    #[must_use]
    pub fn misshapen(&self, name: &str, expected: &str) -> LoadError {
        let got = self.shape(name).unwrap_or_default();
        unfit(&self.0.path, name, &format!("the shape {got:?}, not {expected}"))
    }

    /// Returns the same weights for models of candle-transformers.
    #[must_use]
    pub fn builder(&self) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(Backend(Arc::clone(&self.0))), self.dtype(), self.0.device.clone())
    }
}

impl OpenFile {
    fn shape(&self, name: &str) -> Result<&[usize], LoadError> {
        self.checkpoint.shape(name).ok_or_else(|| self.absent(name))
    }

    fn absent(&self, name: &str) -> LoadError {
        let count = self.checkpoint.names().len();
        LoadError::Weights(format!("{} has no tensor \"{name}\" among its {count}", self.path.display()))
    }

    /// Reads a tensor as f32.
    fn read(&self, name: &str) -> Result<Tensor, LoadError> {
        let tensor = self.checkpoint.read(name, &self.device)?.ok_or_else(|| self.absent(name))?;
        self.read.lock().insert(name.to_owned());
        Ok(tensor)
    }

    fn round(&self, tensor: &Tensor) -> Result<Tensor, LoadError> {
        tensor
            .to_dtype(self.precision.of_weights())
            .and_then(|tensor| tensor.to_dtype(self.precision.of_values(&self.device)))
            // Folding goes through the engine's variables. The results would record every operation that they take part
            // in.
            .map(|tensor| tensor.detach())
            .map_err(|source| refused(&self.path, &source))
    }
}

fn unfit(path: &Path, tensor: &str, fault: &str) -> LoadError {
    LoadError::Weights(format!("tensor \"{tensor}\" of {} has {fault}", path.display()))
}

fn refused(path: &Path, error: &candle_core::Error) -> LoadError {
    LoadError::Weights(format!("{}: {error}", path.display()))
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weights({} in {})", self.path.display(), self.precision.name())
    }
}

/// The weights as candle-nn asks for them.
struct Backend(Arc<OpenFile>);

impl Backend {
    /// Keeps an error, since candle-nn passes on only its text.
    fn keep(&self, error: LoadError) -> candle_core::Error {
        let text = error.to_string();
        self.0.refusal.lock().get_or_insert(error);
        candle_core::Error::Msg(text)
    }
}

impl SimpleBackend for Backend {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _init: Init,
        dtype: DType,
        device: &Device,
    ) -> candle_core::Result<Tensor> {
        let tensor =
            Weights(Arc::clone(&self.0)).tensor(name, shape.dims()).map_err(|error| self.keep(error))?;
        tensor.to_device(device)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> candle_core::Result<Tensor> {
        let tensor = self.0.read(name).and_then(|tensor| self.0.round(&tensor));
        let tensor = tensor.map_err(|error| self.keep(error))?;
        tensor.to_device(device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.checkpoint.shape(name).is_some()
    }
}
