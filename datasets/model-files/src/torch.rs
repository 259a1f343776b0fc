//! Checkpoints of PyTorch: tables of tensors, as `torch.save` writes a `state_dict`.
//!
//! - `pickle`: the instructions that describe the table;
//! - `old_form`: a row of pickles and the values behind them, the form before PyTorch 1.6;
//! - `zip_form`: an archive with a pickle and a member for each storage.

pub(crate) mod error;
mod old_form;
mod pickle;
mod zip_form;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use proctor_onnx_file::Conversion;
use proctor_vocabulary::{ElementType, beginning::ZIP, misfetched};

use self::{
    error::TorchError,
    pickle::{Item, Pickle, StorageRef, View},
};

/// Values of each storage, by its key.
type Storages<'a> = HashMap<Arc<str>, &'a [u8]>;

/// A table of tensors by their names.
///
/// Nothing is copied until the values of a tensor are asked for.
#[derive(Debug)]
pub struct Checkpoint<'a> {
    tensors: Vec<(Arc<str>, View)>,
    storages: Storages<'a>,
}

impl<'a> Checkpoint<'a> {
    /// Reads a file in the old form or in the form of a zip archive.
    ///
    /// # Errors
    /// Returns a [`TorchError`] for a file that is damaged, or holds anything but a table of tensors.
    pub fn parse(data: &'a [u8]) -> Result<Self, TorchError> {
        let (pickle, storages) = if data.starts_with(&ZIP) {
            zip_form::read(data)?
        } else if data.starts_with(&[0x80]) {
            old_form::read(data)?
        } else {
            let unknown = || "it begins neither like a pickle nor like an archive".to_owned();
            return Err(TorchError::NotTorch(misfetched(data).map_or_else(unknown, str::to_owned)));
        };
        Ok(Self { tensors: table(&pickle)?, storages })
    }

    /// Returns the names of all tensors with their shapes, in the order of the file.
    pub fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.tensors.iter().map(|(name, view)| (&**name, view.shape.as_slice()))
    }

    /// Returns the values of a tensor of real numbers, row-major.
    ///
    /// # Errors
    /// Returns a [`TorchError`] if the tensor is not there, has another shape or holds integers.
    pub fn reals(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, TorchError> {
        let found = self.tensors.iter().find(|(known, _)| &**known == name);
        let (_, view) = found.ok_or_else(|| TorchError::Missing { name: name.to_owned() })?;
        if view.shape != shape {
            let (got, wanted) = (view.shape.clone(), shape.to_vec());
            return Err(TorchError::Shape { name: name.to_owned(), got, wanted });
        }
        let values = self.values(name, view)?;
        let at = view.elements(values.len());
        let outside = || TorchError::Tensor { name: name.to_owned(), what: "reaches beyond its storage" };
        Ok(at.ok_or_else(outside)?.into_iter().map(|index| values[index]).collect())
    }

    /// Returns the values of the storage in which a tensor lies.
    fn values(&self, name: &str, view: &View) -> Result<Vec<f32>, TorchError> {
        let StorageRef { key, element, .. } = &view.storage;
        let bytes = self.storages.get(key).copied().unwrap_or_default();
        let mut reals = bytes.to_vec();
        if *element != ElementType::F32 {
            let conversion = Conversion::between(*element, ElementType::F32)
                .ok_or_else(|| TorchError::Element { name: name.to_owned(), element: *element })?;
            reals = vec![0; bytes.len() / element.unit_bytes() * ElementType::F32.unit_bytes()];
            let storage = |what: String| TorchError::Storage { key: key.to_string(), what };
            conversion
                .apply(bytes, &mut reals)
                .map_err(|error| storage(format!("cannot be read: {error}")))?;
        }
        Ok(reals.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

impl View {
    /// Returns the places of the elements in a storage of `count`, row-major; `None` if one lies outside, or if there
    /// are more than places.
    fn elements(&self, count: usize) -> Option<Vec<usize>> {
        let product = self.shape.iter().try_fold(1_usize, |product, extent| product.checked_mul(*extent))?;
        if product == 0 {
            return Some(Vec::new());
        }
        let last = self.shape.iter().zip(&self.strides).try_fold(self.offset, |last, (extent, stride)| {
            last.checked_add((extent - 1).checked_mul(*stride)?)
        });
        if last? >= count || product > count {
            return None;
        }
        let mut places = vec![self.offset];
        for (extent, stride) in self.shape.iter().zip(&self.strides) {
            places =
                places.iter().flat_map(|place| (0..*extent).map(move |step| place + step * stride)).collect();
        }
        Some(places)
    }
}

/// Returns the tensors of the dict that a pickle stands for.
fn table(pickle: &Pickle) -> Result<Vec<(Arc<str>, View)>, TorchError> {
    let pairs = match pickle.result() {
        Item::Dict(pairs) => pairs,
        Item::Tensor(_) => return Err(TorchError::NoTable("a single tensor")),
        Item::List(_) | Item::Tuple(_) => return Err(TorchError::NoTable("a list")),
        _ => return Err(TorchError::NoTable("a single value")),
    };
    let mut names = HashSet::new();
    let tensor = |(key, value): &(usize, usize)| match (pickle.item(*key), pickle.item(*value)) {
        // Python would take the last one.
        (Item::Text(name), Item::Tensor(_)) if !names.insert(name.clone()) => {
            Err(TorchError::Tensor { name: name.to_string(), what: "is there twice" })
        }
        (Item::Text(name), Item::Tensor(view)) => Ok((name.clone(), view.clone())),
        (Item::Text(name), _) => Err(TorchError::Tensor { name: name.to_string(), what: "is no tensor" }),
        _ => Err(TorchError::NoTable("a dict whose keys are no names")),
    };
    pairs.iter().map(tensor).collect()
}

/// Returns the number of bytes of a storage.
fn size_bytes(storage: &StorageRef) -> Option<usize> {
    storage.count.checked_mul(storage.element.unit_bytes())
}
