//! Arrays as files of NumPy.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use proctor_datasets::npy;
use proctor_vocabulary::{ElementType, TensorSpec};
use proctor_words::{CommandError, HostError, output};

/// Returns the file name of an array; characters with a special meaning to file systems are replaced.
pub(crate) fn file_name(array: &str) -> String {
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    format!("{}.npy", array.chars().map(plain).collect::<String>())
}

/// File of an array. Until it is complete, it has another name; it is removed unless it is kept.
pub(crate) struct ArrayFile {
    file: File,
    /// Path while it is written.
    partial: PathBuf,
    path: PathBuf,
    header_bytes: u64,
}

impl ArrayFile {
    /// Creates the file of this name for an array of these extents, row-major, of elements of the input's type.
    pub(crate) fn make(
        folder: &Path,
        name: &str,
        input: &TensorSpec,
        extents: &[usize],
    ) -> Result<Self, HostError> {
        let path = folder.join(name);
        let partial = path.with_added_extension("partial");
        let written = |source: io::Error| output(&path, source);
        let descr = numpy_word(input.element_type).ok_or_else(|| {
            let (element_type, input) = (input.element_type, input.name.clone());
            CommandError::NoNumpyType { element_type, input }
        })?;
        let extents: Vec<_> = extents.iter().map(|extent| *extent as u64).collect();
        let header = npy::header(descr, &extents);
        let file = File::create_new(&partial).map_err(written)?;
        let array = Self { file, partial, path, header_bytes: header.len() as u64 };
        array.file.write_all_at(&header, 0).map_err(|source| output(&array.path, source))?;
        Ok(array)
    }

    /// Writes the elements, whose place among all is given in bytes.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> Result<(), HostError> {
        let written = self.file.write_all_at(bytes, self.header_bytes + at as u64);
        written.map_err(|source| output(&self.path, source))
    }

    /// Gives the file, which is whole, its name.
    pub(crate) fn keep(self) -> Result<(), HostError> {
        fs::rename(&self.partial, &self.path).map_err(|source| output(&self.path, source))
    }
}

impl Drop for ArrayFile {
    fn drop(&mut self) {
        // It is no longer in the place where it was kept.
        let _ = fs::remove_file(&self.partial);
    }
}

/// Returns NumPy's word for a type; tensors are little-endian, as on every machine that this runs on.
fn numpy_word(element_type: ElementType) -> Option<&'static str> {
    Some(match element_type {
        ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
        ElementType::F16 => "<f2",
        ElementType::I8 => "|i1",
        ElementType::U8 => "|u1",
        ElementType::I16 => "<i2",
        ElementType::I32 => "<i4",
        ElementType::I64 => "<i8",
        ElementType::Bool => "|b1",
        ElementType::U16 => "<u2",
        ElementType::U32 => "<u4",
        ElementType::U64 => "<u8",
        _ => return None,
    })
}

const _: () = assert!(cfg!(target_endian = "little"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_a_file_of_its_name() {
        assert_eq!(file_name("image"), "image.npy");
        assert_eq!(file_name("../a b:0"), ".._a_b_0.npy");
    }
}
