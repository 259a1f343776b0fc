//! Weights in a safetensors file, read tensor by tensor.
//!
//! The file is read, not mapped: what a mapping shows changes with the file, and a file that is cut while it is mapped
//! ends the process. A tensor takes its own memory and, while it is read, its size once more; the whole file is never
//! in memory.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use candle_core::{DType, Device, Tensor};
use parking_lot::Mutex;
use proctor_plugin_api::vocabulary::misfetched;
use safetensors::{Dtype, tensor::Metadata};

use super::{Checkpoint, refused, unfit};
use crate::error::LoadError;

/// Maximum length of a header in bytes; a model of ten thousand tensors needs a hundredth of it.
const HEADER_BYTES_MAX: u64 = 100 << 20;

/// Number of leading bytes that identify other kinds of files.
const BEGINNING_BYTES: u64 = 512;

/// Number of bytes before the header, which hold its length.
const LENGTH_BYTES: u64 = 8;

/// An open file.
pub(super) struct SafetensorsFile {
    path: PathBuf,
    file: Mutex<File>,
    header: Metadata,
    /// Begin of the first tensor.
    data_start: u64,
}

impl SafetensorsFile {
    /// Opens a file and checks its header and its length.
    pub(super) fn open(path: &Path) -> Result<Self, LoadError> {
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
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), header, data_start })
    }
}

impl Checkpoint for SafetensorsFile {
    fn names(&self) -> Vec<String> {
        self.header.offset_keys()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        self.header.info(name).map(|info| info.shape.as_slice())
    }

    fn read(&self, name: &str, device: &Device) -> Result<Option<Tensor>, LoadError> {
        let Some(info) = self.header.info(name) else { return Ok(None) };
        let dtype = match info.dtype {
            Dtype::F32 => DType::F32,
            Dtype::F64 => DType::F64,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            other => {
                let fault = format!("elements of type {other}, not F32, F64, F16 or BF16");
                return Err(unfit(&self.path, name, &fault));
            }
        };
        let (start, end) = info.data_offsets;
        let mut bytes = vec![0; end - start];
        let mut file = self.file.lock();
        file.seek(SeekFrom::Start(self.data_start + start as u64))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|source| unreadable(&self.path, &source))?;
        drop(file);
        Tensor::from_raw_buffer(&bytes, dtype, &info.shape, device)
            .and_then(|tensor| tensor.to_dtype(DType::F32))
            .map(Some)
            .map_err(|source| refused(&self.path, &source))
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
