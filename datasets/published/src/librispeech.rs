//! LibriSpeech dev-clean: 2513 recordings of at most 15 s, of people who read aloud.
//!
//! Source of the layout: MLPerf Inference, `speech_recognition/rnnt`.

pub(crate) mod generate;
mod manifest;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use proctor_datasets::{Dataset, DatasetError, RawSample, librispeech::MANIFEST, read_text};
use proctor_sound_file::{Format, Header, decode};
use proctor_vocabulary::{SampleIndex, read_regular};

pub use generate::generate;

use crate::{
    defect::{Defect, Problem},
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    files::{FileSamples, stays_inside},
    generate::Generate,
    librispeech::manifest::{Manifest, Recording},
    texts::look_at,
};

/// Number of recordings of the published set that are short enough.
const SAMPLE_COUNT: u64 = 2513;

pub(crate) const ENTRY: Published = Published {
    name: "librispeech",
    layout,
    open: OpenFolder::Samples(|folder| {
        let dataset = open(folder)?;
        let (names, missing_count) = (dataset.sample_names().to_vec(), dataset.missing().len());
        Ok(Opened::new(dataset, names, missing_count))
    }),
    verify,
    checksums: None,
    note: |_| None,
    calibration: CalibrationLists::of_samples(
        "calibration/LibriSpeech/calibration_files.txt: 500 recordings of train-clean-100, not of the data set",
    ),
    generate,
};

/// The recordings that are short enough. The bytes of a sample are its WAV or FLAC file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibriSpeech {
    files: FileSamples,
    /// Number of samples of each recording by its name, if the manifest says.
    sample_counts: HashMap<String, u64>,
    too_long_count: u64,
}

impl LibriSpeech {
    /// Returns the paths of the files as in the manifest, by which transcripts are joined, in the order of their
    /// indices.
    #[must_use]
    pub fn sample_names(&self) -> &[String] {
        self.files.sample_names()
    }

    /// Returns the files that the manifest names and that are missing, hence no samples.
    #[must_use]
    pub fn missing(&self) -> &[PathBuf] {
        self.files.missing()
    }

    /// Returns the number of recordings of more than 15 s, which are not samples.
    #[must_use]
    pub fn too_long_count(&self) -> u64 {
        self.too_long_count
    }
}

impl Dataset for LibriSpeech {
    fn name(&self) -> &str {
        self.files.name()
    }

    fn sample_count(&self) -> u64 {
        self.files.sample_count()
    }

    /// Returns a file, whose header is examined: 16 kHz, one channel, 16 bits a sample, and as many samples as the
    /// manifest says.
    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let sample = self.files.read(index)?;
        let name = usize::try_from(index.0).ok().and_then(|index| self.sample_names().get(index));
        let expected = name.and_then(|name| self.sample_counts.get(name)).copied();
        check_header(&sample.bytes, expected).map_err(|problem| DatasetError::Malformed {
            path: self.files.path(index).unwrap_or(Path::new("")).to_owned(),
            reason: problem.to_string(),
        })?;
        Ok(sample)
    }
}

/// Checks the header of a recording against the number of samples in the manifest, if it has one.
fn check_header(bytes: &[u8], expected: Option<u64>) -> Result<(), Problem> {
    let header = Header::read(bytes)?;
    header.check(Format::SPEECH)?;
    let Some(expected) = expected else { return Ok(()) };
    let got = match header.sample_count {
        Some(count) => count,
        // Of a file that does not say they are counted.
        None => decode(bytes, Format::SPEECH)?.len() as u64,
    };
    if got == expected { Ok(()) } else { Err(Problem::Count { things: "samples", expected, got }) }
}

/// Opens the data set.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the manifest: JSON of another form, an entry without a
/// file at the speed it was spoken, a path that leads elsewhere, or none of the recordings there.
pub fn open(folder: &Path) -> Result<LibriSpeech, DatasetError> {
    let path = folder.join(MANIFEST);
    let malformed = |reason| DatasetError::Malformed { path: path.clone(), reason };
    let manifest = Manifest::parse(&read_text(&path)?);
    let manifest = manifest.map_err(|error| malformed(format!("{error}; restore the file")))?;
    let (mut files, mut sample_counts) = (Vec::new(), HashMap::new());
    let mut too_long_count = 0;
    for (number, entry) in manifest.entries() {
        let Some(Recording { name, sample_count }) = entry.recording() else {
            return Err(malformed(format!("entry {number} names no file of speed 1; correct the entry")));
        };
        if !stays_inside(name) {
            let reason = format!(
                "entry {number} names \"{name}\", which lies outside of the data set; correct the name"
            );
            return Err(malformed(reason));
        }
        if entry.is_short_enough() {
            files.push((name.to_owned(), folder.join(name)));
            sample_counts.extend(sample_count.map(|count| (name.to_owned(), count)));
        } else {
            too_long_count += 1;
        }
    }
    let files = FileSamples::of_list("librispeech", &path, files)?;
    Ok(LibriSpeech { files, sample_counts, too_long_count })
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "dev-clean-wav.json                             a list with an entry for each recording
dev-clean-wav/84/121123/84-121123-0000.wav     the recordings, anywhere below the folder; WAV or FLAC

Each entry has `files`, of which the one with `speed` 1 counts and `fname` is its path, `original_duration` in seconds
and `transcript`. Recordings of more than 15 s are not used.

The recordings are the archive dev-clean.tar.gz of LibriSpeech, which openslr.org offers as SLR12. The manifest is what
the script convert_librispeech.py of MLPerf's RNN-T writes, which converts them to WAV. A manifest with the names of the
FLAC files serves as well.
"
}

/// Reads every file: the entries of the manifest, and each recording down to its samples and their number. `progress`
/// gets the recordings done and the total.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let expected = Generate::of_folder(folder)?.map_or(SAMPLE_COUNT, |request| request.sample_count);
    let mut defects = Vec::new();
    let path = folder.join(MANIFEST);
    let Some(text) = look_at(&path, None, &mut defects) else { return Ok(defects) };
    let manifest = match Manifest::parse(&text) {
        Ok(manifest) => manifest,
        Err(error) => {
            defects.push(Defect { path, problem: Problem::Json { reason: error.to_string() } });
            return Ok(defects);
        }
    };
    let got = manifest.entries().filter(|(_, entry)| entry.is_short_enough()).count() as u64;
    let mut add = |problem| defects.push(Defect { path: path.clone(), problem });
    if got != expected {
        add(Problem::Count { things: "recordings of at most 15 s", expected, got });
    }
    manifest.faults().into_iter().for_each(&mut add);
    let recordings: Vec<_> = manifest.entries().filter_map(|(_, entry)| entry.recording()).collect();
    for (done, recording) in recordings.iter().enumerate() {
        progress(done as u64, recordings.len() as u64);
        if stays_inside(recording.name) {
            let path = folder.join(recording.name);
            let problem = fault_of(&path, recording.sample_count);
            defects.extend(problem.map(|problem| Defect { path, problem }));
        }
    }
    progress(recordings.len() as u64, recordings.len() as u64);
    Ok(defects)
}

/// Returns the fault of a recording, if it has one.
fn fault_of(path: &Path, expected: Option<u64>) -> Option<Problem> {
    let bytes = match read_regular(path) {
        Ok(bytes) => bytes,
        Err(error) => return Some(Problem::of_reading(path, &error)),
    };
    let got = match decode(&bytes, Format::SPEECH) {
        Ok(samples) => samples.len() as u64,
        Err(error) => return Some(error.into()),
    };
    let expected = expected.filter(|expected| *expected != got)?;
    Some(Problem::Count { things: "samples", expected, got })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_sound_file::{Part, SoundError, wav};

    use super::*;
    use crate::{defect::EntryFault, generate::fixture::fixture};

    fixture!(7, by_path);

    fn edit(folder: &Path, change: impl FnOnce(&mut Vec<serde_json::Value>)) {
        let path = folder.join(MANIFEST);
        let mut list = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut list);
        fs::write(&path, serde_json::to_string(&list).unwrap()).unwrap();
    }

    #[test]
    fn samples_are_the_files_that_are_short_enough_in_the_order_of_the_manifest() {
        let folder = generated(3);
        assert_eq!(problems(folder.path()), []);
        let names = open(folder.path()).unwrap().sample_names().to_owned();
        edit(folder.path(), |list| {
            list.reverse();
            list[1]["original_duration"] = serde_json::json!(15.001);
        });
        let speech = open(folder.path()).unwrap();
        assert_eq!((speech.name(), speech.sample_count(), speech.too_long_count()), ("librispeech", 2, 1));
        assert_eq!(speech.sample_names(), [names[2].clone(), names[0].clone()]);
        let file = fs::read(folder.path().join(&names[2])).unwrap();
        assert_eq!(*speech.read(SampleIndex(0)).unwrap().bytes, *file);
        edit(folder.path(), |list| list[1]["original_duration"] = serde_json::json!(15.0));
        assert_eq!(open(folder.path()).unwrap().sample_count(), 3, "15 s are not too long");
        fs::remove_file(folder.path().join(&names[0])).unwrap();
        let speech = open(folder.path()).unwrap();
        assert_eq!((speech.sample_count(), speech.missing()), (2, &[folder.path().join(&names[0])][..]));
        assert_eq!(problems(folder.path()), [(names[0].clone(), Problem::Missing)]);
    }

    #[test]
    fn a_file_of_another_rate_or_with_channels_is_refused_by_name() {
        let folder = generated(3);
        let names = open(folder.path()).unwrap().sample_names().to_owned();
        let write = |name: &str, file: Vec<u8>| fs::write(folder.path().join(name), file).unwrap();
        let rate = Format { rate_hz: 8000, ..Format::SPEECH };
        let stereo = Format { channel_count: 2, ..Format::SPEECH };
        write(&names[0], wav(rate, &[0; 100]));
        write(&names[1], wav(stereo, &[0; 100]));
        write(&names[2], wav(Format::SPEECH, &[0; 100])[..90].to_vec());
        let speech = open(folder.path()).unwrap();
        for (index, got) in [(0, rate), (1, stereo)] {
            let error = speech.read(SampleIndex(index)).unwrap_err().to_string();
            let expected = SoundError::Format { expected: Format::SPEECH, got };
            assert!(error.ends_with(&format!("{}: {expected}", names[index as usize])), "{error}");
        }
        let of = |got| Problem::Sound(SoundError::Format { expected: Format::SPEECH, got });
        let cut = Problem::Sound(SoundError::Cut { size_bytes: 90, within: Part::Samples });
        let expected =
            [(names[0].clone(), of(rate)), (names[1].clone(), of(stereo)), (names[2].clone(), cut)];
        assert_eq!(problems(folder.path()), expected);
        write(&names[0], wav(Format::SPEECH, &[0; 100]));
        let listed = problems(folder.path());
        assert!(matches!(listed[0].1, Problem::Count { things: "samples", got: 100, .. }), "{listed:?}");
    }

    #[test]
    fn a_recording_of_another_length_than_the_manifest_says_is_refused() {
        let folder = generated(3);
        let names = open(folder.path()).unwrap().sample_names().to_owned();
        let path = folder.path().join(&names[0]);
        let whole = fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let speech = open(folder.path()).unwrap();
            speech.read(SampleIndex(0)).map(drop).map_err(|error| error.to_string())
        };
        // As a writer into a pipe leaves it.
        let streamed = [&whole[..40], &[0; 4], &whole[44..]].concat();
        read(&streamed).unwrap();
        let expected = (whole.len() - 44) / 2;
        let other = wav(Format::SPEECH, &[7; 3]);
        for (bytes, got) in [(&streamed[..44], 0), (&streamed[..64], 10), (&other[..], 3)] {
            let error = read(bytes).unwrap_err();
            let count = format!("{}: it holds {got} samples instead of {expected}: ", names[0]);
            assert!(error.contains(&count), "{error}");
        }
        edit(folder.path(), |list| drop(list[0].as_object_mut().unwrap().remove("original_num_samples")));
        read(&other).unwrap();
    }

    #[test]
    fn faults_of_the_manifest_are_listed() {
        let folder = generated(3);
        edit(folder.path(), |list| {
            list[0]["files"][0]["speed"] = serde_json::json!(0.9);
            list[1]["files"][0]["fname"] = serde_json::json!("../a.wav");
            list[2].as_object_mut().unwrap().remove("transcript");
        });
        let entry = |number, fault| (MANIFEST.to_owned(), Problem::Entry { number, fault });
        let outside = EntryFault::Outside { name: "../a.wav".to_owned() };
        assert_eq!(
            problems(folder.path()),
            [entry(1, EntryFault::NoFile), entry(2, outside), entry(3, EntryFault::NoTranscript)]
        );
        assert!(open(folder.path()).unwrap_err().to_string().contains("entry 1 names no file of speed 1"));
        edit(folder.path(), |list| drop(list.remove(0)));
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("entry 1 names \"../a.wav\", which lies outside of the data set"), "{error}");
        fs::write(folder.path().join(MANIFEST), "[{\"files\": []}]").unwrap();
        assert!(open(folder.path()).unwrap_err().to_string().contains("missing field `original_duration`"));
        assert!(matches!(&problems(folder.path())[..], [(_, Problem::Json { .. })]));
        fs::remove_file(folder.path().join(MANIFEST)).unwrap();
        assert_eq!(problems(folder.path()), [(MANIFEST.to_owned(), Problem::Missing)]);
    }

    #[test]
    fn the_published_set_has_another_number_of_recordings() {
        let folder = generated(3);
        fs::remove_file(folder.path().join(Generate::NOTE)).unwrap();
        let count = Problem::Count { things: "recordings of at most 15 s", expected: 2513, got: 3 };
        assert_eq!(problems(folder.path()), [(MANIFEST.to_owned(), count)]);
    }
}
