//! Handwritten digits: 8x8 pixels of 0 to 16, from the UCI repository. See `datasets/digits/README.md`.

use std::borrow::Cow;

use proctor_vocabulary::{ElementType, SampleIndex};
use serde::Deserialize;

use crate::{
    checksum::VerifiedFolder,
    dataset::{Dataset, DatasetEntry, Open, RawSample},
    error::DatasetError,
    idx::IdxArray,
    root::DataRoot,
    text_file::text_of,
};

const IMAGES: &str = "images.idx3-ubyte";
const SPLIT: &str = "split.toml";

const FOLDER: &str = "digits";
const LAYOUT: &str = "images.idx3-ubyte    1797 images of 8x8 pixels, values 0 to 16
split.toml           which images are for training (1097), calibration (100) and validation (600)
checksums.sha256     SHA-256 of these, and of the labels, models and reference outputs beside them

The folder comes with the project. Images and labels are the test set of Optical Recognition of Handwritten Digits
(E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998, https://doi.org/10.24432/C50P49), under CC BY 4.0.
";

inventory::submit! {
    DatasetEntry {
        name: DigitsPart::Validation.dataset_name(),
        about: "one of 600 images of handwritten digits, unseen in training",
        open: Open::Bundled {
            folder: FOLDER,
            layout: LAYOUT,
            open: |folder| open(folder, DigitsPart::Validation),
        },
    }
}
inventory::submit! {
    DatasetEntry {
        name: DigitsPart::Calibration.dataset_name(),
        about: "one of 100 images of handwritten digits, for choosing a quantization",
        open: Open::Bundled {
            folder: FOLDER,
            layout: LAYOUT,
            open: |folder| open(folder, DigitsPart::Calibration),
        },
    }
}

/// A part of the images that is a data set of its own. The training part is not: no benchmark may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigitsPart {
    /// The samples that benchmarks run on: 600, unseen in training.
    Validation,
    /// The samples that a plugin may use to choose its quantization: 100.
    Calibration,
}

impl DigitsPart {
    /// Returns the folder below the data root, with its checksums.
    ///
    /// # Errors
    /// [`DatasetError::NotFound`], or what is wrong with the list of checksums.
    pub fn folder(root: &DataRoot) -> Result<VerifiedFolder, DatasetError> {
        VerifiedFolder::open(&root.find(FOLDER)?)
    }

    /// Returns the name that this part is registered by.
    #[must_use]
    pub const fn dataset_name(self) -> &'static str {
        match self {
            Self::Validation => "digits",
            Self::Calibration => "digits-calibration",
        }
    }

    /// Returns which images are the samples of this part: sample `i` is image `result[i]` of `image_count`.
    ///
    /// # Errors
    /// [`DatasetError::Malformed`] if the split names an image that is not there, or one twice.
    pub fn images(self, folder: &VerifiedFolder, image_count: usize) -> Result<Vec<usize>, DatasetError> {
        let malformed = |reason| DatasetError::Malformed { path: folder.path(SPLIT), reason };
        let text = text_of(folder.read(SPLIT)?).map_err(|fault| malformed(fault.to_string()))?;
        let split = Split::parse(&text, image_count).map_err(malformed)?;
        Ok(match self {
            Self::Validation => split.validation,
            Self::Calibration => split.calibration,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Split {
    training: Vec<usize>,
    calibration: Vec<usize>,
    validation: Vec<usize>,
}

impl Split {
    fn parse(text: &str, image_count: usize) -> Result<Self, String> {
        let split: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut seen = vec![false; image_count];
        for image in [&split.training, &split.calibration, &split.validation].into_iter().flatten() {
            match seen.get_mut(*image) {
                None => return Err(format!("it names image {image}, but there are {image_count}")),
                Some(true) => return Err(format!("it names image {image} twice")),
                Some(unseen) => *unseen = true,
            }
        }
        Ok(split)
    }
}

/// One part of the images, whole in memory.
struct Digits {
    part: DigitsPart,
    array: IdxArray,
    /// Image of each sample.
    images: Vec<usize>,
}

fn open(folder: &VerifiedFolder, part: DigitsPart) -> Result<Box<dyn Dataset>, DatasetError> {
    let array = IdxArray::parse_file(&folder.path(IMAGES), folder.read(IMAGES)?, 3)?;
    let images = part.images(folder, array.item_count())?;
    Ok(Box::new(Digits { part, array, images }))
}

impl Dataset for Digits {
    fn name(&self) -> &str {
        self.part.dataset_name()
    }

    fn sample_count(&self) -> u64 {
        self.images.len() as u64
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let image = usize::try_from(index.0).ok().and_then(|index| self.images.get(index));
        let pixels = image.and_then(|image| self.array.item(*image));
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

    #[test]
    fn the_validation_part_is_six_hundred_images_of_eight_by_eight() {
        let digits = open_dataset("digits", &DataRoot::search()).unwrap();
        assert_eq!((digits.name(), digits.sample_count()), ("digits", 600));
        for index in 0..600 {
            let sample = digits.read(SampleIndex(index)).unwrap();
            assert_eq!((sample.element_type, &*sample.shape), (ElementType::U8, [8, 8].as_slice()));
            assert!(sample.bytes.iter().all(|pixel| *pixel <= 16));
        }
    }

    #[test]
    fn calibration_shares_no_image_with_validation() {
        let folder = DigitsPart::folder(&DataRoot::search()).unwrap();
        let calibration = DigitsPart::Calibration.images(&folder, 1797).unwrap();
        let validation = DigitsPart::Validation.images(&folder, 1797).unwrap();
        assert_eq!(calibration.len(), 100);
        assert!(calibration.iter().all(|image| !validation.contains(image)));
    }

    #[test]
    fn an_index_past_the_end_is_an_error() {
        let digits = open_dataset("digits-calibration", &DataRoot::search()).unwrap();
        for index in [100, u64::MAX] {
            let error = digits.read(SampleIndex(index)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("data set \"digits-calibration\" has no sample {index}")));
        }
    }

    #[test]
    fn a_split_with_a_missing_or_doubled_image_is_refused() {
        let parse = |text: &str| Split::parse(text, 3).unwrap_err();
        assert_eq!(
            parse("training = [0]\ncalibration = [3]\nvalidation = []"),
            "it names image 3, but there are 3"
        );
        assert_eq!(parse("training = [0]\ncalibration = [1]\nvalidation = [0]"), "it names image 0 twice");
        assert!(parse("training = [0]").contains("calibration"));
    }

    #[test]
    fn damaged_images_are_refused_by_name() {
        let source = DataRoot::search().find("digits").unwrap();
        let root = tempfile::tempdir().unwrap();
        let copy = root.path().join("digits");
        fs::create_dir(&copy).unwrap();
        for file in [IMAGES, SPLIT, VerifiedFolder::LIST] {
            fs::copy(source.join(file), copy.join(file)).unwrap();
        }
        let whole = fs::read(copy.join(IMAGES)).unwrap();
        fs::write(copy.join(IMAGES), &whole[..whole.len() - 1]).unwrap();
        let root = DataRoot::new(Some(root.path()));
        let error = open_dataset("digits", &root).err().unwrap();
        assert!(matches!(&error, DatasetError::Checksum { path, .. } if path.ends_with(IMAGES)), "{error}");

        // The list approves the short file, so only the file's own header shows the fault.
        let sums: String = [IMAGES, SPLIT]
            .map(|file| format!("{}  {file}\n", sha256_hex(&fs::read(copy.join(file)).unwrap())))
            .concat();
        fs::write(copy.join(VerifiedFolder::LIST), sums).unwrap();
        let error = open_dataset("digits", &root).err().unwrap();
        assert!(matches!(&error, DatasetError::Idx { path, .. } if path.ends_with(IMAGES)), "{error}");
    }
}
