//! Five recordings of LibriVox with their transcripts: a volunteer reads from "Sense and Sensibility".
//!
//! Source of the layout: the tests of PocketSphinx.

use std::path::Path;

use proctor_datasets::{DatasetError, read_text};
use proctor_recipes::Stream;
use proctor_sound_file::{Format, decode, wav};
use proctor_vocabulary::read_regular;

use crate::{
    defect::{Defect, Problem},
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    files::{FileSamples, stays_inside},
    generate::{Generate, write_file},
    librispeech::generate::{samples, transcript},
    texts::look_at,
};

const NAME: &str = "librivox";
/// Names of the recordings, a line for each.
const LIST: &str = "fileids";
/// Transcripts of the recordings, which accuracy checking alone reads.
const TRANSCRIPTS: &str = "transcription";
/// Number of recordings of the published set.
const SAMPLE_COUNT: u64 = 5;

pub(crate) const ENTRY: Published = Published {
    name: NAME,
    layout,
    open: OpenFolder::Samples(|folder| open(folder).map(Opened::files)),
    verify,
    checksums: None,
    note: |_| None,
    calibration: CalibrationLists::of_samples("nothing: it is no data set of the suites"),
    generate,
};

/// Opens the data set. The bytes of a sample are its WAV file.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the list: a name that leads elsewhere, or none of the
/// recordings there.
pub fn open(folder: &Path) -> Result<FileSamples, DatasetError> {
    let path = folder.join(LIST);
    let text = read_text(&path)?;
    let mut files = Vec::new();
    for (number, name) in names(&text) {
        if !stays_inside(name) {
            let reason = format!(
                "line {number} names \"{name}\", which lies outside of the data set; correct the line"
            );
            return Err(DatasetError::Malformed { path, reason });
        }
        let file = format!("{name}.wav");
        files.push((file.clone(), folder.join(file)));
    }
    FileSamples::of_list(NAME, &path, files)
}

/// Returns the names of the list with the numbers of their lines, from 1.
fn names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, name)| !name.is_empty())
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "fileids          the names of the recordings, one in each line
NAME.wav         the recordings: 16 kHz, one channel, 16 bits
transcription    a line for each: <s> the words </s> (NAME)

The five recordings are part of Debian's package pocketsphinx-testdata; `host data get librivox` gets them. A volunteer
of LibriVox reads from \"Sense and Sensibility\", which is in the public domain as the reading is; the package is under
the BSD licence of two clauses.
"
}

/// Reads every file: the list, each recording down to its samples, and whether it has a line in the transcripts.
/// `progress` gets the recordings done and the total.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let expected = Generate::of_folder(folder)?.map_or(SAMPLE_COUNT, |request| request.sample_count);
    let mut defects = Vec::new();
    let path = folder.join(LIST);
    let Some(text) = look_at(&path, None, &mut defects) else { return Ok(defects) };
    let transcripts_path = folder.join(TRANSCRIPTS);
    let transcripts = look_at(&transcripts_path, None, &mut defects);
    let names: Vec<_> = names(&text).collect();
    let got = names.len() as u64;
    if got != expected {
        defects.push(Defect {
            path: path.clone(),
            problem: Problem::Count { things: "recordings", expected, got },
        });
    }
    for (done, (_, name)) in (0..).zip(&names) {
        progress(done, got);
        if !stays_inside(name) {
            let problem = Problem::Outside { name: (*name).to_owned() };
            defects.push(Defect { path: path.clone(), problem });
            continue;
        }
        let path = folder.join(format!("{name}.wav"));
        let fault = match read_regular(&path) {
            Ok(bytes) => decode(&bytes, Format::SPEECH).err().map(Problem::from),
            Err(error) => Some(Problem::of_reading(&path, &error)),
        };
        defects.extend(fault.map(|problem| Defect { path, problem }));
        let end = format!("({name})");
        if transcripts.as_ref().is_some_and(|text| !text.lines().any(|line| line.trim_end().ends_with(&end)))
        {
            let problem = Problem::NoTranscript { name: (*name).to_owned() };
            defects.push(Defect { path: transcripts_path.clone(), problem });
        }
    }
    progress(got, got);
    Ok(defects)
}

/// Makes a small set in the layout of the published one. Equal requests make equal bytes.
///
/// The known answer: as for LibriSpeech, each character of a transcript is a tone of its own.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let stream = Stream::new(request.seed, NAME);
    let (mut list, mut transcripts) = (String::new(), String::new());
    for number in 0..request.sample_count {
        let words = transcript(stream.of_sample(number));
        let name = format!("recording-{number:04}");
        write_file(&folder.join(format!("{name}.wav")), &wav(Format::SPEECH, &samples(&words)))?;
        list.push_str(&format!("{name}\n"));
        transcripts.push_str(&format!("<s> {words} </s> ({name})\n"));
    }
    write_file(&folder.join(TRANSCRIPTS), transcripts.as_bytes())?;
    write_file(&folder.join(LIST), list.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::Dataset;
    use proctor_vocabulary::SampleIndex;

    use super::*;
    use crate::generate::fixture::fixture;

    fixture!(11, by_name);

    #[test]
    fn samples_are_the_recordings_in_the_order_of_the_list() {
        let folder = generated(3);
        assert_eq!(problems(folder.path()), []);
        fs::write(folder.path().join(LIST), "recording-0002\n\n recording-0000 \n").unwrap();
        let recordings = open(folder.path()).unwrap();
        assert_eq!((recordings.name(), recordings.sample_count()), ("librivox", 2));
        assert_eq!(recordings.sample_names(), ["recording-0002.wav", "recording-0000.wav"]);
        let file = fs::read(folder.path().join("recording-0002.wav")).unwrap();
        assert_eq!(*recordings.read(SampleIndex(0)).unwrap().bytes, *file);
        let listed = problems(folder.path());
        assert_eq!(listed, [(LIST.to_owned(), Problem::Count { things: "recordings", expected: 3, got: 2 })]);
    }

    #[test]
    fn equal_requests_make_equal_bytes() {
        let bytes = |folder: &Path| fs::read(folder.join("recording-0001.wav")).unwrap();
        assert!(bytes(generated(2).path()) == bytes(generated(2).path()));
    }

    #[test]
    fn faults_are_listed_by_file() {
        let folder = generated(3);
        let file = |name: &str| folder.path().join(name);
        fs::remove_file(file("recording-0000.wav")).unwrap();
        fs::write(file("recording-0001.wav"), "no sound").unwrap();
        fs::write(file(TRANSCRIPTS), "<s> a </s> (recording-0000)\n<s> b </s> (recording-0001)\n").unwrap();
        let listed = problems(folder.path());
        let names: Vec<_> = listed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["recording-0000.wav", "recording-0001.wav", TRANSCRIPTS]);
        assert_eq!(listed[0].1, Problem::Missing);
        assert!(matches!(listed[1].1, Problem::Sound(_)), "{listed:?}");
        assert_eq!(listed[2].1, Problem::NoTranscript { name: "recording-0002".to_owned() });
        fs::write(file(LIST), "../elsewhere\n").unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("fileids: line 1 names \"../elsewhere\", which lies outside of the data set"),
            "{error}"
        );
        assert!(
            problems(folder.path()).iter().any(|(_, problem)| matches!(problem, Problem::Outside { .. }))
        );
        fs::remove_file(file(LIST)).unwrap();
        assert_eq!(problems(folder.path()), [(LIST.to_owned(), Problem::Missing)]);
        assert!(matches!(open(folder.path()), Err(DatasetError::Read { .. })));
    }
}
