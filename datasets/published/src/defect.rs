//! Defects of a data set on disk.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use proctor_datasets::{DatasetError, TextFault};
use proctor_jpeg_file::JpegError;
use proctor_nifti_file::NiftiError;
use proctor_sound_file::SoundError;
use proctor_text::VocabularyError;
use proctor_vocabulary::{Irregular, printable};

use crate::criteo::fault::ArrayFault;

/// A file or folder with its fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Defect {
    /// The file or folder.
    pub path: PathBuf,
    /// Problem of the file or folder.
    pub problem: Problem,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Paths and excerpts come from files that may hold anything.
        f.write_str(&printable(format_args!("{}: {}", self.path.display(), self.problem)))
    }
}

impl From<Defect> for DatasetError {
    /// Creates the defect of a file that a data set needs to be opened.
    fn from(Defect { path, problem }: Defect) -> Self {
        match problem {
            Problem::Missing => Self::Read { path, source: io::ErrorKind::NotFound.into() },
            Problem::Unreadable(kind) => Self::Read { path, source: kind.into() },
            problem => Self::Malformed { path, reason: problem.to_string() },
        }
    }
}

/// Fault of a file; as text it says what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum Problem {
    #[error("it is missing: restore it")]
    Missing,
    /// The file is packed, or not readable text.
    #[error("{0}")]
    Text(#[from] TextFault),
    #[error("{0}: restore it")]
    Irregular(Irregular),
    #[error("it cannot be read ({0}): look at its permissions and at the disk")]
    Unreadable(io::ErrorKind),
    #[error("{listed_in} does not name it: remove it, or restore the list")]
    NotListed { listed_in: &'static str },
    #[error("it holds {got} {things} instead of {expected}: restore it")]
    Count { things: &'static str, expected: u64, got: u64 },
    /// It is no picture that can be read.
    #[error("{0}")]
    Jpeg(#[from] JpegError),
    /// The file is not a readable volume.
    #[error("{0}")]
    Nifti(#[from] NiftiError),
    #[error("it cannot be prepared ({reason}): restore it")]
    Unprepared {
        /// The fault, from the preprocessing.
        reason: String,
    },
    #[error("its extents are {got:?}, but those of its case are {expected:?}: restore both files")]
    Extents { expected: [usize; 3], got: [usize; 3] },
    #[error("a voxel has the label {label}, and only {known:?} are known: restore it")]
    VoxelLabel { label: u8, known: &'static [u8] },
    /// It is no array that can be read.
    #[error("{0}")]
    Array(#[from] ArrayFault),
    #[error(
        "{fault_count} of its first {line} lines are faulty, the rest was not looked at: is it another file?"
    )]
    GivenUp { fault_count: usize, line: u64 },
    #[error(
        "it has {} x {} pixels, but {listed_in} says {} x {}: restore the picture or the list",
        got.0, got.1, expected.0, expected.1
    )]
    PictureSize { listed_in: &'static str, expected: (u32, u32), got: (u32, u32) },
    /// It is no sound that can be read.
    #[error("{0}")]
    Sound(#[from] SoundError),
    /// The file is not the expected vocabulary.
    #[error("{0}")]
    Vocabulary(#[from] VocabularyError),
    #[error("its MD5 is {got} instead of {expected}: restore it")]
    Md5 { expected: &'static str, got: String },
    #[error("it is of version \"{got}\" instead of \"{expected}\": take the file of that version")]
    Version { expected: &'static str, got: String },
    #[error("it is not JSON of the form that it should have ({reason}): restore it")]
    Json {
        /// The fault with its place, from the parser.
        reason: String,
    },
    #[error("line {number} {fault}: correct the line")]
    Line {
        /// Number, from 1.
        number: usize,
        fault: LineFault,
    },
    #[error("annotation {id} {fault}: correct or remove it")]
    Annotation { id: u64, fault: AnnotationFault },
    #[error("entry {number} {fault}: correct the entry")]
    Entry {
        /// Number, from 1.
        number: usize,
        fault: EntryFault,
    },
    #[error("question {id} has no answer: restore it")]
    NoAnswer { id: String },
    #[error("question {id} has the answer \"{text}\", which does not stand in its context: restore it")]
    AnswerElsewhere { id: String, text: String },
    #[error("question {id} has an answer with answer_start {start}, outside of its context: restore it")]
    AnswerStart {
        id: String,
        /// The place as given.
        start: String,
    },
    #[error("{key} {value} is there twice: remove one of the two entries")]
    Twice { key: &'static str, value: String },
    #[error("it names \"{name}\", which lies outside of the data set: correct the name")]
    Outside { name: String },
    #[error("it has no line for the recording \"{name}\": restore it")]
    NoTranscript { name: String },
}

impl Problem {
    /// Creates a file that the system denied reading.
    pub(crate) fn of_reading(path: &Path, error: &io::Error) -> Self {
        if let Some(irregular) = Irregular::cause(error) {
            return Self::Irregular(irregular);
        }
        match error.kind() {
            io::ErrorKind::NotFound => TextFault::packed_beside(path).map_or(Self::Missing, Self::Text),
            kind => Self::Unreadable(kind),
        }
    }
}

/// Fault of an entry of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum EntryFault {
    #[error("names no file of speed 1")]
    NoFile,
    #[error("has no transcript")]
    NoTranscript,
    #[error("names \"{name}\", which lies outside of the data set")]
    Outside { name: String },
    #[error("names \"{name}\", as does entry {first}")]
    Twice { name: String, first: usize },
}

/// Fault of a line of a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum LineFault {
    #[error("is empty")]
    Empty,
    #[error("has {got} fields instead of {expected}")]
    Fields { expected: usize, got: usize },
    #[error("has the label \"{label}\", which is no number below {class_count}")]
    Label { label: String, class_count: u64 },
    #[error("names \"{name}\", which lies outside of the data set")]
    Outside { name: String },
    #[error("names \"{name}\", as does line {first}")]
    Twice { name: String, first: usize },
    #[error("has \"{text}\" for a {field}")]
    Field { field: RowField, text: String },
    #[error("is \"{text}\" instead of a name such as HGG__BraTS19_2013_13_1")]
    Case { text: String },
}

/// Field of a row of clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowField {
    /// Whether it was a click.
    Click,
    /// A number of things.
    Count,
    /// A category.
    Category,
}

impl fmt::Display for RowField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Click => "label, 0 or 1",
            Self::Count => "count, a whole number of 32 bits",
            Self::Category => "category, up to eight hexadecimal digits",
        })
    }
}

/// Fault of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AnnotationFault {
    /// The annotation names an image that does not exist.
    #[error("belongs to image {0}, which is not there")]
    NoImage(u64),
    /// The annotation names a category that does not exist.
    #[error("is of category {0}, which is not there")]
    NoCategory(u64),
    /// The box is malformed.
    #[error("has no box of four numbers with a width and a height of at least 0")]
    NoBox,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_is_shown_without_control_characters() {
        let fault = LineFault::Field { field: RowField::Count, text: "\x1b[2J1\r".to_owned() };
        let defect = Defect { path: PathBuf::from("day\n23"), problem: Problem::Line { number: 4, fault } };
        let expected = "day\\n23: line 4 has \"\\u001b[2J1\\r\" for a count, ";
        assert!(defect.to_string().starts_with(expected), "{defect}");
    }
}
