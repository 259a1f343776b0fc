//! Things that are wrong with a data set on disk.

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

/// A file or folder with what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Defect {
    /// The file or folder.
    pub path: PathBuf,
    /// The fault.
    pub problem: Problem,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Paths and excerpts come from files that may hold anything.
        f.write_str(&printable(format_args!("{}: {}", self.path.display(), self.problem)))
    }
}

impl From<Defect> for DatasetError {
    /// The defect of a file that a data set cannot be opened without.
    fn from(Defect { path, problem }: Defect) -> Self {
        match problem {
            Problem::Missing => Self::Read { path, source: io::ErrorKind::NotFound.into() },
            Problem::Unreadable(kind) => Self::Read { path, source: kind.into() },
            problem => Self::Malformed { path, reason: problem.to_string() },
        }
    }
}

/// Something that is wrong with a file; as text it says what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// It is not there.
    #[error("it is missing: restore it")]
    Missing,
    /// It is packed, or no text that can be read.
    #[error("{0}")]
    Text(#[from] TextFault),
    /// It is no regular file.
    #[error("{0}: restore it")]
    Irregular(Irregular),
    /// The system does not let it be read.
    #[error("it cannot be read ({0}): look at its permissions and at the disk")]
    Unreadable(io::ErrorKind),
    /// The list of the data set does not name it.
    #[error("{listed_in} does not name it: remove it, or restore the list")]
    NotListed {
        /// Name of the list.
        listed_in: &'static str,
    },
    /// It holds another number of things than the published or generated set.
    #[error("it holds {got} {things} instead of {expected}: restore it")]
    Count {
        /// The things, in the plural.
        things: &'static str,
        /// Their number in the whole set.
        expected: u64,
        /// Their number here.
        got: u64,
    },
    /// It is no picture that can be read.
    #[error("{0}")]
    Jpeg(#[from] JpegError),
    /// It is no volume that can be read.
    #[error("{0}")]
    Nifti(#[from] NiftiError),
    /// It is whole, and still not what a model's preprocessing takes.
    #[error("it cannot be prepared ({reason}): restore it")]
    Unprepared {
        /// The fault, from the preprocessing.
        reason: String,
    },
    /// Its extents differ from the other volume's of the same case.
    #[error("its extents are {got:?}, but those of its case are {expected:?}: restore both files")]
    Extents {
        /// Extents of the first volume of the case.
        expected: [usize; 3],
        /// Its extents.
        got: [usize; 3],
    },
    /// A voxel has a label that there is not.
    #[error("a voxel has the label {label}, and only {known:?} are known: restore it")]
    VoxelLabel {
        /// The label.
        label: u8,
        /// Labels that there are.
        known: &'static [u8],
    },
    /// It is no array that can be read.
    #[error("{0}")]
    Array(#[from] ArrayFault),
    /// It has so many faulty lines that the rest was not looked at.
    #[error(
        "{fault_count} of its first {line} lines are faulty, the rest was not looked at: is it another file?"
    )]
    GivenUp {
        /// Faulty lines.
        fault_count: usize,
        /// Number of lines looked at.
        line: u64,
    },
    /// The picture has another size than the list says.
    #[error(
        "it has {} x {} pixels, but {listed_in} says {} x {}: restore the picture or the list",
        got.0, got.1, expected.0, expected.1
    )]
    PictureSize {
        /// Name of the list.
        listed_in: &'static str,
        /// Columns and rows as listed.
        expected: (u32, u32),
        /// Columns and rows in the file.
        got: (u32, u32),
    },
    /// It is no sound that can be read.
    #[error("{0}")]
    Sound(#[from] SoundError),
    /// It is not the vocabulary that it should be.
    #[error("{0}")]
    Vocabulary(#[from] VocabularyError),
    /// Its bytes are not those that were published.
    #[error("its MD5 is {got} instead of {expected}: restore it")]
    Md5 {
        /// Sum of the published file.
        expected: &'static str,
        /// Sum of this one.
        got: String,
    },
    /// It is of another version.
    #[error("it is of version \"{got}\" instead of \"{expected}\": take the file of that version")]
    Version {
        /// Version that is needed.
        expected: &'static str,
        /// Version that it names.
        got: String,
    },
    /// It is not the JSON that it should be.
    #[error("it is not JSON of the form that it should have ({reason}): restore it")]
    Json {
        /// The fault with its place, from the parser.
        reason: String,
    },
    /// A line is not as it should be.
    #[error("line {number} {fault}: correct the line")]
    Line {
        /// Its number, from 1.
        number: usize,
        /// The fault.
        fault: LineFault,
    },
    /// An annotation is not as it should be.
    #[error("annotation {id} {fault}: correct or remove it")]
    Annotation {
        /// Its `id`.
        id: u64,
        /// The fault.
        fault: AnnotationFault,
    },
    /// An entry of a list is not as it should be.
    #[error("entry {number} {fault}: correct the entry")]
    Entry {
        /// Its number, from 1.
        number: usize,
        /// The fault.
        fault: EntryFault,
    },
    /// A question has no answer.
    #[error("question {id} has no answer: restore it")]
    NoAnswer {
        /// Its `id`.
        id: String,
    },
    /// An answer is not to be found in the context of its question.
    #[error("question {id} has the answer \"{text}\", which does not stand in its context: restore it")]
    AnswerElsewhere {
        /// The `id` of the question.
        id: String,
        /// The answer.
        text: String,
    },
    /// An answer says that it begins where its context has no room for it.
    #[error("question {id} has an answer with answer_start {start}, outside of its context: restore it")]
    AnswerStart {
        /// The `id` of the question.
        id: String,
        /// The place as it is given.
        start: String,
    },
    /// Two entries have the same `id` or name, which have to be unique.
    #[error("{key} {value} is there twice: remove one of the two entries")]
    Twice {
        /// The key, with the list that it is in.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// A name of a file leads out of the folder of the data set.
    #[error("it names \"{name}\", which lies outside of the data set: correct the name")]
    Outside {
        /// The name.
        name: String,
    },
}

impl Problem {
    /// A file that the system did not let be read.
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

/// Something that is wrong with an entry of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    /// It has no file of the recording as it was spoken.
    #[error("names no file of speed 1")]
    NoFile,
    /// It does not say what is spoken.
    #[error("has no transcript")]
    NoTranscript,
    /// The path leads out of the folder.
    #[error("names \"{name}\", which lies outside of the data set")]
    Outside {
        /// The path.
        name: String,
    },
    /// An earlier entry names the same file.
    #[error("names \"{name}\", as does entry {first}")]
    Twice {
        /// The path.
        name: String,
        /// Number of the earlier entry.
        first: usize,
    },
}

/// Something that is wrong with a line of a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// Nothing on it.
    #[error("is empty")]
    Empty,
    /// Another number of fields.
    #[error("has {got} fields instead of {expected}")]
    Fields {
        /// Expected number of fields.
        expected: usize,
        /// Actual number of fields.
        got: usize,
    },
    /// The label is not the number of a class.
    #[error("has the label \"{label}\", which is no number below {class_count}")]
    Label {
        /// The label.
        label: String,
        /// Number of classes.
        class_count: u64,
    },
    /// The path leads out of the folder.
    #[error("names \"{name}\", which lies outside of the data set")]
    Outside {
        /// The path.
        name: String,
    },
    /// An earlier line names the same file.
    #[error("names \"{name}\", as does line {first}")]
    Twice {
        /// The path.
        name: String,
        /// Number of the earlier line.
        first: usize,
    },
    /// A field of a row of clicks is not of its kind.
    #[error("has \"{text}\" for a {field}")]
    Field {
        /// The field.
        field: RowField,
        /// Its text.
        text: String,
    },
    /// It is not the name of a case.
    #[error("is \"{text}\" instead of a name such as HGG__BraTS19_2013_13_1")]
    Case {
        /// The line.
        text: String,
    },
}

/// Field of a row of clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowField {
    /// Whether it was a click.
    Click,
    /// A count of something.
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

/// Something that is wrong with an annotation.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AnnotationFault {
    /// There is no such image.
    #[error("belongs to image {0}, which is not there")]
    NoImage(u64),
    /// There is no such category.
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
