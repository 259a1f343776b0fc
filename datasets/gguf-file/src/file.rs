//! A file and its header.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use crate::{
    error::{Fault, GgufError},
    source::{Failure, Source},
    tensor::{TensorInfo, TensorKind, read_tensor},
    value::{Value, read_value},
};

/// Maximum length of a header: a vocabulary of 256,000 tokens with its merges takes a tenth.
pub const HEADER_BYTES_MAX: u64 = 100 << 20;

/// Values of [`Fault::Alignment`]'s limit, and the alignment of a file that names none.
const ALIGNMENT_MAX: u64 = 1 << 16;
const ALIGNMENT: u64 = 32;

/// Bytes of the shortest value, and of what the header says of a tensor, with empty names.
const VALUE_BYTES_MIN: u64 = 13;
const TENSOR_BYTES_MIN: u64 = 32;

/// A file whose header was read.
#[derive(Debug)]
pub struct GgufFile<R> {
    path: PathBuf,
    from: R,
    values: HashMap<String, Value>,
    tensors: HashMap<String, TensorInfo>,
    /// First byte of all tensors.
    start: u64,
}

impl GgufFile<BufReader<File>> {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// [`GgufError::Read`], or [`GgufError::Malformed`] with the first mistake.
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        let unreadable = |source| GgufError::Read { path: path.to_owned(), source };
        Self::read(path, BufReader::new(File::open(path).map_err(unreadable)?))
    }
}

impl<R: Read + Seek> GgufFile<R> {
    /// Reads the header of a file; `path` is its name in errors.
    ///
    /// # Errors
    /// As [`GgufFile::open`].
    pub fn read(path: &Path, mut from: R) -> Result<Self, GgufError> {
        let failed = |failure| match failure {
            Failure::Io(source) => GgufError::Read { path: path.to_owned(), source },
            Failure::Fault(fault) => GgufError::Malformed { path: path.to_owned(), fault },
        };
        let file_bytes = from.seek(SeekFrom::End(0)).map_err(|error| failed(Failure::Io(error)))?;
        from.rewind().map_err(|error| failed(Failure::Io(error)))?;
        let (values, tensors, start) = read_header(&mut from, file_bytes).map_err(failed)?;
        Ok(Self { path: path.to_owned(), from, values, tensors, start })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a value.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Returns a text.
    ///
    /// # Errors
    /// [`GgufError::Value`] if there is none of this name.
    pub fn text(&self, name: &str) -> Result<&str, GgufError> {
        match self.value(name) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(self.no_value(name, "a text")),
        }
    }

    /// Returns a list of texts.
    ///
    /// # Errors
    /// As [`GgufFile::text`].
    pub fn texts(&self, name: &str) -> Result<&[String], GgufError> {
        match self.value(name) {
            Some(Value::Texts(texts)) => Ok(texts),
            _ => Err(self.no_value(name, "a list of texts")),
        }
    }

    /// Returns a list of integers.
    ///
    /// # Errors
    /// As [`GgufFile::text`].
    pub fn integers(&self, name: &str) -> Result<&[i64], GgufError> {
        match self.value(name) {
            Some(Value::Integers(integers)) => Ok(integers),
            _ => Err(self.no_value(name, "a list of integers")),
        }
    }

    /// Returns a number, which may be an integer.
    ///
    /// # Errors
    /// As [`GgufFile::text`].
    pub fn number(&self, name: &str) -> Result<f64, GgufError> {
        match self.value(name) {
            // Sizes of networks are far below 2^53.
            Some(Value::Integer(value)) => Ok(*value as f64),
            Some(Value::Real(value)) => Ok(*value),
            _ => Err(self.no_value(name, "a number")),
        }
    }

    /// Returns the names and descriptions of all tensors, in any order.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = (&str, &TensorInfo)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Returns the description of a tensor.
    ///
    /// # Errors
    /// [`GgufError::NoTensor`].
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo, GgufError> {
        self.tensors.get(name).ok_or_else(|| {
            let (path, name, count) = (self.path.clone(), name.to_owned(), self.tensors.len());
            GgufError::NoTensor { path, name, count }
        })
    }

    /// Reads the bytes of a tensor, as its kind has them.
    ///
    /// # Errors
    /// [`GgufError::NoTensor`], [`GgufError::Kind`] or [`GgufError::Read`].
    pub fn read_tensor(&mut self, name: &str) -> Result<Vec<u8>, GgufError> {
        let &TensorInfo { kind, offset, size_bytes, .. } = self.tensor(name)?;
        if let TensorKind::Other(kind) = kind {
            return Err(GgufError::Kind { path: self.path.clone(), name: name.to_owned(), kind });
        }
        // It lies in the file, as was seen in the header, and its number of elements fits.
        let mut bytes = vec![0; usize::try_from(size_bytes).unwrap_or(usize::MAX)];
        let start = SeekFrom::Start(self.start + offset);
        self.from
            .seek(start)
            .and_then(|_| self.from.read_exact(&mut bytes))
            .map_err(|source| GgufError::Read { path: self.path.clone(), source })?;
        Ok(bytes)
    }

    fn no_value(&self, name: &str, wanted: &'static str) -> GgufError {
        GgufError::Value { path: self.path.clone(), name: name.to_owned(), wanted }
    }
}

/// Values, tensors, and the first byte of all tensors.
type Header = (HashMap<String, Value>, HashMap<String, TensorInfo>, u64);

fn read_header<R: Read>(from: &mut R, file_bytes: u64) -> Result<Header, Failure> {
    let mut source = Source::new(from, file_bytes.min(HEADER_BYTES_MAX));
    if source.bytes()? != *b"GGUF" {
        return Err(Fault::Magic.into());
    }
    match source.u32()? {
        2 | 3 => (),
        version => return Err(Fault::Version(version).into()),
    }
    let (tensor_count, value_count) = (source.u64()?, source.u64()?);
    source.expect(tensor_count, TENSOR_BYTES_MIN)?;
    source.expect(value_count, VALUE_BYTES_MIN)?;
    let mut values = HashMap::new();
    for _ in 0..value_count {
        let name = source.text()?;
        let value = read_value(&mut source, &name)?;
        insert(&mut values, name, value)?;
    }
    let mut tensors = HashMap::new();
    for _ in 0..tensor_count {
        let (name, tensor) = read_tensor(&mut source)?;
        insert(&mut tensors, name, tensor)?;
    }
    let alignment = match values.get("general.alignment") {
        None => ALIGNMENT,
        Some(Value::Integer(value)) => u64::try_from(*value).map_err(|_| Fault::Alignment)?,
        Some(_) => return Err(Fault::Alignment.into()),
    };
    if !alignment.is_power_of_two() || alignment > ALIGNMENT_MAX {
        return Err(Fault::Alignment.into());
    }
    let start = source.at.next_multiple_of(alignment);
    for (name, tensor) in &tensors {
        let end = tensor.offset.checked_add(tensor.size_bytes).and_then(|end| end.checked_add(start));
        if end.is_none_or(|end| end > file_bytes) || !tensor.offset.is_multiple_of(alignment) {
            return Err(Fault::Place(name.clone()).into());
        }
    }
    Ok((values, tensors, start))
}

fn insert<T>(into: &mut HashMap<String, T>, name: String, thing: T) -> Result<(), Fault> {
    match into.insert(name.clone(), thing) {
        None => Ok(()),
        Some(_) => Err(Fault::Twice(name)),
    }
}

#[cfg(test)]
mod tests;
