//! Translations of WMT16, a sentence in each line.

use std::path::{Path, PathBuf};

use proctor_datasets::{DatasetError, read_text};

use crate::{
    error::AccuracyError,
    labels::{AnswersOf, PublishedSamples, SampleList, read_answers},
};

const FILE: &str = "newstest2014.tok.bpe.32000.de";

/// The translations of all samples, in their order: sentences have no names but their lines.
struct Translations(Vec<String>);

inventory::collect!(AnswersOf<Translations>);
inventory::submit! { SampleList { dataset: "wmt", read: listed } }
inventory::submit! {
    AnswersOf::<Translations> {
        dataset: "wmt",
        read: |samples| Ok(Translations(sentences(&samples.folder)?.1)),
    }
}

/// Reads the translations of samples of a data set.
pub(crate) fn read(dataset: &str, samples: &PublishedSamples) -> Result<Vec<String>, AccuracyError> {
    read_answers::<Translations>("translations", dataset, samples).map(|translations| translations.0)
}

/// The file of translations, and their numbers, from 1.
fn listed(folder: &Path) -> Result<(PathBuf, Vec<String>), AccuracyError> {
    let (path, sentences) = sentences(folder)?;
    Ok((path, (1..=sentences.len()).map(|number| number.to_string()).collect()))
}

fn sentences(folder: &Path) -> Result<(PathBuf, Vec<String>), DatasetError> {
    let path = folder.join(FILE);
    let text = read_text(&path)?;
    let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n');
    Ok((path, lines.map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_line_is_a_translation() {
        let folder = tempfile::tempdir().unwrap();
        let samples = PublishedSamples { folder: folder.path().to_owned(), names: Vec::new() };
        assert!(read("wmt", &samples).is_err());
        fs::write(folder.path().join(FILE), "ein Ha@@ us\n\u{2028}zwei\n").unwrap();
        assert_eq!(read("wmt", &samples).unwrap(), ["ein Ha@@ us", "\u{2028}zwei"]);
        fs::write(folder.path().join(FILE), [0xff]).unwrap();
        assert!(read("wmt", &samples).is_err());
        assert!(read("coco", &samples).unwrap_err().to_string().starts_with("no translations of data set"));
    }
}
