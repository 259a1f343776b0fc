//! Fashion-MNIST: clothes of ten kinds on 28x28 pixels of 0 to 255, in the files of MNIST.

use std::{borrow::Cow, ops::Range, path::PathBuf, slice};

use proctor_vocabulary::{ElementType, SampleIndex};

use crate::{
    checksum::VerifiedFolder,
    dataset::{Dataset, DatasetEntry, Open, RawSample},
    error::DatasetError,
    idx::IdxArray,
    root::DataRoot,
};

const FOLDER: &str = "fashion-mnist";
const LAYOUT: &str = "t10k-images-idx3-ubyte     10,000 images of 28x28 pixels, values 0 to 255
train-images-idx3-ubyte    60,000 more: the last 500 are for calibration, the others for training

Their labels lie beside them. `host data get fashion-mnist` fetches all four files, which Debian's package
dataset-fashion-mnist has, packed by gzip; unpack those that you get elsewhere. Fashion-MNIST (H. Xiao, K. Rasul and
R. Vollgraf, Zalando, 2017, https://arxiv.org/abs/1708.07747) is under the MIT licence.
";

/// Number of images at the end of the training file that no training has seen.
const CALIBRATION_COUNT: usize = 500;

inventory::submit! { FashionMnistPart::Test.entry("one of 10,000 images of clothes, unseen in training") }
inventory::submit! {
    FashionMnistPart::Calibration.entry("one of 500 images of clothes, for choosing a quantization")
}

/// A part of the images that is a data set of its own. The training part is not: no benchmark may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FashionMnistPart {
    /// The test images, on which benchmarks run: 10,000.
    Test,
    /// The samples that a plugin may use to choose its quantization: 500.
    Calibration,
}

impl FashionMnistPart {
    /// Returns the name that this part is registered by.
    #[must_use]
    pub const fn dataset_name(self) -> &'static str {
        match self {
            Self::Test => "fashion-mnist",
            Self::Calibration => "fashion-mnist-calibration",
        }
    }

    /// Returns the folder below the data root.
    ///
    /// # Errors
    /// [`DatasetError::NotFound`].
    pub fn folder(root: &DataRoot) -> Result<PathBuf, DatasetError> {
        root.find(FOLDER)
    }

    /// Returns which items of the part's files are its samples, in a file of `item_count`.
    #[must_use]
    pub fn items(self, item_count: usize) -> Range<usize> {
        match self {
            Self::Test => 0..item_count,
            Self::Calibration => item_count.saturating_sub(CALIBRATION_COUNT)..item_count,
        }
    }

    /// Returns the file of images, with its SHA-256.
    const fn file(self) -> &'static (&'static str, &'static str) {
        match self {
            Self::Test => &(
                "t10k-images-idx3-ubyte",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            ),
            Self::Calibration => &(
                "train-images-idx3-ubyte",
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            ),
        }
    }

    const fn entry(self, about: &'static str) -> DatasetEntry {
        let open: fn(&VerifiedFolder) -> _ = match self {
            Self::Test => |folder| open(folder, Self::Test),
            Self::Calibration => |folder| open(folder, Self::Calibration),
        };
        let files = slice::from_ref(self.file());
        let open = Open::Obtained { folder: FOLDER, files, layout: LAYOUT, open };
        DatasetEntry { name: self.dataset_name(), about, open }
    }
}

/// One part of the images, whole in memory.
struct FashionMnist {
    part: FashionMnistPart,
    array: IdxArray,
}

fn open(folder: &VerifiedFolder, part: FashionMnistPart) -> Result<Box<dyn Dataset>, DatasetError> {
    let (file, _) = part.file();
    let array = IdxArray::parse_file(&folder.path(file), folder.read(file)?, 3)?;
    Ok(Box::new(FashionMnist { part, array }))
}

impl Dataset for FashionMnist {
    fn name(&self) -> &str {
        self.part.dataset_name()
    }

    fn sample_count(&self) -> u64 {
        self.part.items(self.array.item_count()).len() as u64
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let mut items = self.part.items(self.array.item_count());
        let item = usize::try_from(index.0).ok().and_then(|index| items.nth(index));
        let pixels = item.and_then(|item| self.array.item(item));
        let pixels = pixels.ok_or_else(|| self.no_such_sample(index))?;
        Ok(RawSample {
            element_type: ElementType::U8,
            shape: Cow::Borrowed(self.array.item_shape()),
            bytes: Cow::Borrowed(pixels),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{checksum::sha256_hex, dataset::open_dataset};

    /// A file of `count` images of two by two pixels, whose first one is the number of the image.
    fn images(count: u8) -> Vec<u8> {
        let header = [0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 2];
        header.into_iter().chain((0..count).flat_map(|number| [number, 1, 2, 3])).collect()
    }

    #[test]
    fn samples_are_the_images_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let (file, _) = FashionMnistPart::Test.file();
        fs::write(folder.path().join(file), images(3)).unwrap();
        let sum = sha256_hex(&images(3));
        let listed = VerifiedFolder::listed(folder.path().to_owned(), &[(file, &sum)]);
        let opened = open(&listed, FashionMnistPart::Test).unwrap();
        assert_eq!((opened.name(), opened.sample_count()), ("fashion-mnist", 3));
        let sample = opened.read(SampleIndex(2)).unwrap();
        assert_eq!((&*sample.bytes, &*sample.shape), (&[2, 1, 2, 3][..], &[2, 2][..]));
        for index in [3, u64::MAX] {
            let error = opened.read(SampleIndex(index)).unwrap_err();
            assert!(matches!(error, DatasetError::NoSuchSample { .. }), "{error}");
        }
    }

    #[test]
    fn calibration_is_the_end_of_the_training_file() {
        assert_eq!(FashionMnistPart::Calibration.items(60_000), 59_500..60_000);
        assert_eq!(FashionMnistPart::Test.items(10_000), 0..10_000);
        assert_eq!(FashionMnistPart::Calibration.items(3), 0..3);
        let files = [FashionMnistPart::Test, FashionMnistPart::Calibration].map(|part| part.file().0);
        assert!(files.iter().all(|file| LAYOUT.contains(file)));
    }

    #[test]
    fn files_that_are_not_there_or_others_are_named() {
        let top = tempfile::tempdir().unwrap();
        let root = DataRoot::new(Some(top.path()));
        let error = || open_dataset("fashion-mnist", &root).err().unwrap();
        assert!(matches!(error(), DatasetError::NotFound { .. }));
        fs::create_dir(top.path().join(FOLDER)).unwrap();
        let (file, _) = FashionMnistPart::Test.file();
        assert!(matches!(error(), DatasetError::Read { path, .. } if path.ends_with(file)));
        fs::write(top.path().join(FOLDER).join(file), images(3)).unwrap();
        assert!(matches!(error(), DatasetError::Checksum { path, .. } if path.ends_with(file)));
    }
}
