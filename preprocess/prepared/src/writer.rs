//! Appends prepared samples to a folder.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crc32fast::Hasher;
use proctor_vocabulary::{Irregular, SampleIndex, open_regular};

use crate::{
    LISTING, RECIPE, SAMPLES,
    error::PreparedError,
    index::{Entry, Index},
    listing::Listing,
    recipe::Recipe,
    record::Head,
};

/// The one process that appends to a folder.
#[derive(Debug)]
pub struct Writer {
    index: Index,
    /// Locked during the lifetime of this value.
    samples: File,
    path: PathBuf,
    /// Begin of the next record.
    end: u64,
}

impl Writer {
    /// Opens the folder of a recipe, or creates it. Waits while another process writes to it.
    ///
    /// # Errors
    /// [`PreparedError::File`]; [`PreparedError::Foreign`] or [`PreparedError::OtherRecipe`] if something else is
    /// there.
    pub fn open(folder: &Path, recipe: &Recipe, listing: &Listing) -> Result<Self, PreparedError> {
        fs::create_dir_all(folder).map_err(PreparedError::file("make", folder.to_owned()))?;
        let path = folder.join(SAMPLES);
        let samples = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let samples = samples.map_err(PreparedError::file("open", path.clone()))?;
        samples.lock().map_err(PreparedError::file("lock", path.clone()))?;
        let list = serde_json::to_string(listing).expect("all keys are text");
        write(&folder.join(RECIPE), &recipe.text())?;
        write(&folder.join(LISTING), &list)?;
        let index = Index::open_to_write(folder, listing.sample_count)?;
        let end = samples.metadata().map_err(PreparedError::file("look at", path.clone()))?.len();
        Ok(Self { index, samples, path, end })
    }

    /// Returns whether a sample exists.
    ///
    /// # Errors
    /// [`PreparedError::NoSuchSample`], or the index cannot be read.
    pub fn has(&self, index: SampleIndex) -> Result<bool, PreparedError> {
        Ok(self.index.get(index)?.is_some())
    }

    /// Appends the tensors of a sample, each with its shape. Replaces an earlier record of the sample, if there is one.
    ///
    /// # Errors
    /// [`PreparedError::NoSuchSample`], or a file cannot be written: then the sample is as it was.
    ///
    /// # Panics
    /// If there are not as many shapes as tensors: a mistake of the caller.
    pub fn append(
        &mut self,
        index: SampleIndex,
        shapes: &[&[usize]],
        tensors: &[&[u8]],
    ) -> Result<(), PreparedError> {
        assert_eq!(shapes.len(), tensors.len(), "number of tensors");
        self.has(index)?;
        let head = Head {
            shapes: shapes.iter().map(|shape| shape.to_vec()).collect(),
            sizes: tensors.iter().map(|tensor| tensor.len()).collect(),
        };
        let head = head.to_bytes();
        let mut sum = Hasher::new();
        let mut end = self.end;
        for part in [head.as_slice()].iter().chain(tensors) {
            sum.update(part);
            if let Err(source) = self.samples.write_all_at(part, end) {
                // The remains of a partial record would only waste the space that is missing.
                let _ = self.samples.set_len(self.end);
                return Err(PreparedError::file("write", self.path.clone())(source));
            }
            end += part.len() as u64;
        }
        let entry = Entry { offset: self.end, length: end - self.end, sum: sum.finalize() };
        self.end = end;
        self.index.set(index, entry)
    }
}

/// Writes a text, or checks that the file has it already.
fn write(path: &Path, text: &str) -> Result<(), PreparedError> {
    match open_regular(path).and_then(io::read_to_string) {
        Ok(there) if there == text => return Ok(()),
        // A crash may have cut it.
        Ok(there) if !text.starts_with(&there) => {
            return Err(PreparedError::OtherRecipe { path: path.to_owned() });
        }
        Err(error) if Irregular::cause(&error).is_some() => {
            return Err(PreparedError::file("read", path.to_owned())(error));
        }
        Ok(_) | Err(_) => {}
    }
    fs::write(path, text).map_err(PreparedError::file("write", path.to_owned()))
}
