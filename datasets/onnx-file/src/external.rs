//! Constants whose values are in other files.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom},
    path::{Component, Path, PathBuf},
};

use proctor_vocabulary::open_regular;

use crate::{elements, error::OnnxFileError, proto::TensorProto};

/// `TensorProto.DataLocation.EXTERNAL`.
const EXTERNAL: i32 = 1;

/// A constant whose values are in another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalData {
    /// Name of the constant.
    pub tensor: String,
    /// The file with the values.
    pub file: PathBuf,
    /// Begin of the values, in bytes.
    pub offset_bytes: u64,
    /// Number of bytes.
    pub length_bytes: u64,
}

impl ExternalData {
    /// Reads the values.
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut file = open_regular(&self.file)?;
        let behind = file.metadata()?.len().saturating_sub(self.offset_bytes);
        // A damaged length must not take memory that no file fills.
        if behind < self.length_bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let length = usize::try_from(self.length_bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(self.offset_bytes))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Returns whether the values of a constant are in another file.
pub(crate) fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location == Some(EXTERNAL)
}

/// Finds the constants with external values, and checks that their files exist and are long enough.
pub(crate) fn check(path: &Path, tensors: &[TensorProto]) -> Result<Vec<ExternalData>, OnnxFileError> {
    let mut sizes: BTreeMap<PathBuf, u64> = BTreeMap::new();
    let mut found = Vec::new();
    for tensor in tensors.iter().filter(|tensor| is_external(tensor)) {
        let data = read(tensor, path.parent().unwrap_or(Path::new(""))).map_err(|what| {
            let tensor = tensor.name.clone().unwrap_or_default();
            OnnxFileError::ExternalEntry { path: path.to_owned(), tensor, what }
        })?;
        let size_bytes = match sizes.get(&data.file) {
            Some(known) => *known,
            None => {
                let size_bytes = file_size(&data.file).map_err(|source| OnnxFileError::ExternalMissing {
                    path: path.to_owned(),
                    tensor: data.tensor.clone(),
                    file: data.file.clone(),
                    source,
                })?;
                sizes.insert(data.file.clone(), size_bytes);
                size_bytes
            }
        };
        let needed_bytes = data.offset_bytes.saturating_add(data.length_bytes);
        if needed_bytes > size_bytes {
            let ExternalData { tensor, file, .. } = data;
            let path = path.to_owned();
            return Err(OnnxFileError::ExternalCutShort { path, tensor, file, needed_bytes, size_bytes });
        }
        found.push(data);
    }
    Ok(found)
}

/// Opens the file, which says more than asking for its size: it fails where reading would.
fn file_size(path: &Path) -> io::Result<u64> {
    let metadata = open_regular(path)?.metadata()?;
    if metadata.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(metadata.len()) }
}

/// Returns where the values of a constant are that are in another file.
///
/// # Errors
/// Returns the fault of the entry, in words.
pub(crate) fn read(tensor: &TensorProto, folder: &Path) -> Result<ExternalData, String> {
    let value = |key: &str| {
        let entry = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some(key));
        entry.and_then(|entry| entry.value.as_deref())
    };
    let number = |key: &str| match value(key) {
        None => Ok(None),
        Some(text) => {
            let number = text.parse::<u64>().map(Some);
            number
                .map_err(|_| format!("has the {key} \"{text}\" in its external file, which is not a number"))
        }
    };
    let location = value("location").ok_or("is in another file, but the model does not say in which")?;
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if location.is_empty() || !Path::new(location).components().all(inside) {
        return Err(format!(
            "is in \"{location}\", but external data must lie beside the model or in a folder below it"
        ));
    }
    let extent = |extent: &i64| u64::try_from(*extent).ok();
    let elements = tensor.dims.iter().try_fold(1_u64, |count, dim| count.checked_mul(extent(dim)?));
    let data_type = tensor.data_type.unwrap_or(0);
    let needed = elements.and_then(|count| elements::size_bytes(data_type, count)).ok_or_else(|| {
        format!("has the shape {:?} of type {}: no such size", tensor.dims, elements::value_type(data_type))
    })?;
    let length_bytes = number("length")?.unwrap_or(needed);
    if length_bytes != needed {
        return Err(format!("has {length_bytes} bytes in \"{location}\", but its shape needs {needed}"));
    }
    Ok(ExternalData {
        tensor: tensor.name.clone().unwrap_or_default(),
        file: folder.join(location),
        offset_bytes: number("offset")?.unwrap_or(0),
        length_bytes,
    })
}
