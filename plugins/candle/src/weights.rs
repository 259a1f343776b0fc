//! The weights of a model: a safetensors file, read tensor by tensor.
//!
//! The file is read, not mapped: what a mapping shows changes with the file, and a file that is cut while it is mapped
//! ends the process. A tensor takes its own memory and, while it is read, its size once more; the whole file is never
//! in memory.

use std::{
    collections::HashSet,
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use candle_core::{DType, Device, Shape, Tensor};
use candle_nn::{Init, VarBuilder, var_builder::SimpleBackend};
use parking_lot::Mutex;
use proctor_plugin_api::vocabulary::misfetched;
use safetensors::{
    Dtype,
    tensor::{Metadata, TensorInfo},
};

use crate::{error::LoadError, precision::Precision};

/// Maximum length of a header in bytes; a model of ten thousand tensors needs a hundredth of it.
const HEADER_BYTES_MAX: u64 = 100 << 20;

/// Number of leading bytes that identify other kinds of files.
const BEGINNING_BYTES: u64 = 512;

/// Number of bytes before the header, which hold its length.
const LENGTH_BYTES: u64 = 8;

/// An open file of weights. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Weights(Arc<OpenFile>);

struct OpenFile {
    path: PathBuf,
    file: Mutex<File>,
    header: Metadata,
    /// Begin of the first tensor.
    data_start: u64,
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
    pub fn open(path: &Path, precision: Precision, device: &Device) -> Result<Self, LoadError> {
        let unreadable = |error| unreadable(path, &error);
        let malformed = |reason: String| {
            let reason = beginning(path).as_deref().and_then(misfetched).map_or(reason, str::to_owned);
            LoadError::Weights(format!("{} is not a safetensors file: {reason}", path.display()))
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let file_bytes = file.metadata().map_err(unreadable)?.len();
        if file_bytes < LENGTH_BYTES {
            return Err(malformed(format!("it has {file_bytes} bytes, fewer than the length of a header")));
        }
        let mut length = [0; LENGTH_BYTES as usize];
        file.read_exact(&mut length).map_err(unreadable)?;
        let header_bytes = u64::from_le_bytes(length);
        if header_bytes > HEADER_BYTES_MAX {
            return Err(malformed(format!("it begins with a header of {header_bytes} bytes")));
        }
        let data_start = LENGTH_BYTES + header_bytes;
        let wrong_length = |expected_bytes: u64| {
            LoadError::Weights(format!(
                "{} has {file_bytes} bytes, but its header speaks of {expected_bytes}: it is truncated or was written \
                 over; get it again",
                path.display()
            ))
        };
        if data_start > file_bytes {
            return Err(wrong_length(data_start));
        }
        // Not more than the file has, which was just seen.
        let mut header = vec![0; usize::try_from(header_bytes).expect("a header is far below 2^32 bytes")];
        file.read_exact(&mut header).map_err(unreadable)?;
        let header: Metadata =
            serde_json::from_slice(&header).map_err(|error| malformed(format!("its header: {error}")))?;
        let data_bytes = header.data_len() as u64;
        if data_start + data_bytes != file_bytes {
            return Err(wrong_length(data_start + data_bytes));
        }
        let (path, file, device) = (path.to_owned(), Mutex::new(file), device.clone());
        let (read, refusal) = Default::default();
        Ok(Self(Arc::new(OpenFile { path, file, header, data_start, precision, device, read, refusal })))
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
        self.0.header.offset_keys().len()
    }

    /// Returns the names of the tensors that were not read, sorted.
    #[must_use]
    pub fn unread(&self) -> Vec<String> {
        let read = self.0.read.lock();
        let mut names = self.0.header.offset_keys();
        names.retain(|name| !read.contains(name));
        names.sort_unstable();
        names
    }

    /// Returns whether there is a tensor of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.header.info(name).is_some()
    }

    /// Returns the shape of a tensor.
    ///
    /// # Errors
    /// [`LoadError::Weights`] if the tensor does not exist.
    pub fn shape(&self, name: &str) -> Result<&[usize], LoadError> {
        self.0.info(name).map(|info| info.shape.as_slice())
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
        refusal.unwrap_or_else(|| self.0.refused(&source))
    }

    /// Returns the error of a tensor whose shape is not as expected.
    #[must_use]
    pub fn misshapen(&self, name: &str, expected: &str) -> LoadError {
        let got = self.shape(name).unwrap_or_default();
        self.0.unfit(name, &format!("the shape {got:?}, not {expected}"))
    }

    /// Returns the same weights for models of candle-transformers.
    #[must_use]
    pub fn builder(&self) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(Backend(Arc::clone(&self.0))), self.dtype(), self.0.device.clone())
    }
}

impl OpenFile {
    fn info(&self, name: &str) -> Result<&TensorInfo, LoadError> {
        self.header.info(name).ok_or_else(|| {
            let count = self.header.offset_keys().len();
            let path = self.path.display();
            LoadError::Weights(format!("{path} has no tensor \"{name}\" among its {count}"))
        })
    }

    fn unfit(&self, tensor: &str, fault: &str) -> LoadError {
        LoadError::Weights(format!("tensor \"{tensor}\" of {} has {fault}", self.path.display()))
    }

    fn refused(&self, error: &candle_core::Error) -> LoadError {
        LoadError::Weights(format!("{}: {error}", self.path.display()))
    }

    /// Reads a tensor as f32.
    fn read(&self, name: &str) -> Result<Tensor, LoadError> {
        let info = self.info(name)?;
        let dtype = match info.dtype {
            Dtype::F32 => DType::F32,
            Dtype::F64 => DType::F64,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            other => {
                return Err(self.unfit(name, &format!("elements of type {other}, not F32, F64, F16 or BF16")));
            }
        };
        let (start, end) = info.data_offsets;
        let mut bytes = vec![0; end - start];
        let mut file = self.file.lock();
        file.seek(SeekFrom::Start(self.data_start + start as u64))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|source| unreadable(&self.path, &source))?;
        drop(file);
        self.read.lock().insert(name.to_owned());
        Tensor::from_raw_buffer(&bytes, dtype, &info.shape, &self.device)
            .and_then(|tensor| tensor.to_dtype(DType::F32))
            .map_err(|source| self.refused(&source))
    }

    fn round(&self, tensor: &Tensor) -> Result<Tensor, LoadError> {
        tensor
            .to_dtype(self.precision.of_weights())
            .and_then(|tensor| tensor.to_dtype(self.precision.of_values(&self.device)))
            // Folding goes through the engine's variables. The results would record every operation that they take part
            // in.
            .map(|tensor| tensor.detach())
            .map_err(|source| self.refused(&source))
    }
}

/// Returns the first bytes of a file.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BEGINNING_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> LoadError {
    LoadError::Weights(format!("cannot read weights {}: {error}", path.display()))
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
        self.0.header.info(name).is_some()
    }
}
