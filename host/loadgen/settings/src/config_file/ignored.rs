//! Lines that LoadGen does not apply, or reads differently from how they look. It reports only a wrong mode.

use proctor_vocabulary::OddSpace;

/// A line that LoadGen does not apply, or reads differently from how it looks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {key} {reason}")]
pub struct Ignored {
    /// Line in the file, from 1.
    pub line: u64,
    /// The key, as written in the file.
    pub key: String,
    /// Reason why it has no effect, or not its apparent one.
    pub reason: IgnoredReason,
}

/// Reason why a line has no effect, or not its apparent one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum IgnoredReason {
    /// `key=value` is one word to LoadGen.
    #[error("is ignored: write it with spaces around the `=`")]
    NoSpaces,
    #[error("is ignored: it has no value")]
    NoValue,
    #[error("is ignored: {0}")]
    OddSpace(OddSpace),
    #[error("is ignored: a byte order mark stands before it; save the file without one")]
    ByteOrderMark,
    /// A comment without a space after its `#` is a key for LoadGen, of a model that begins with it.
    #[error(
        "is ignored, as a comment would be; LoadGen's comments begin with `# `: put a space after the `#`"
    )]
    Comment,
    /// A percentile of less than 1, which is intended as a fraction.
    #[error("is in percent: {word} counts as {word} %; write {percent} if that percentile is meant")]
    Percent {
        /// The value as written in the file.
        word: String,
        percent: String,
    },
    /// LoadGen does not read the key.
    #[error("is ignored: unknown key{hint}")]
    UnknownKey {
        /// A suggestion, or empty.
        hint: String,
    },
    #[error("is ignored: unknown scenario{hint}")]
    UnknownScenario {
        /// A suggestion, or empty.
        hint: String,
    },
    /// Some rounds have the scenario Interactive. LoadGen does not: its files have it as Server.
    #[error("is ignored: LoadGen has no scenario Interactive, which it runs as Server: write {instead}")]
    Interactive { instead: String },
    /// LoadGen reads the key, but not in this scenario.
    #[error("is ignored: this key is not read for that scenario")]
    NotForScenario,
    /// LoadGen reads a setting of this name from no file.
    #[error("is ignored: LoadGen reads it from no file; {remedy}")]
    OfNoFile { remedy: &'static str },
    #[error("is ignored: only mlperf.conf may set this key")]
    BuiltinOnly,
    #[error("is ignored: it needs {switch} = 1")]
    Needs { switch: &'static str },
    /// Not the number of a mode. LoadGen logs this one as an error.
    #[error(
        "is ignored: {word} is no mode; 0 is SubmissionRun, 1 AccuracyOnly, 2 PerformanceOnly, 3 FindPeakPerformance"
    )]
    InvalidMode {
        /// The value as written in the file.
        word: String,
    },
    /// The setting takes whole numbers, so LoadGen uses only the start of the value.
    #[error("takes a whole number: {word} counts as {used}")]
    CutToInteger {
        /// The value as written in the file.
        word: String,
        /// The integer that LoadGen reads from it, before any conversion of units.
        used: u64,
    },
    #[error("is octal with its leading 0: {word} counts as {used}")]
    Octal {
        /// The value as written in the file.
        word: String,
        /// The integer that LoadGen reads from it, before any conversion of units.
        used: u64,
    },
    #[error("does not fit: with {word}, {setting} is {used}")]
    Wrapped {
        /// The value as written in the file.
        word: String,
        setting: &'static str,
        used: u64,
    },
    #[error("is off: only 1 switches it on, not {word}")]
    NotOne {
        /// The value as written in the file.
        word: String,
    },
    #[error("has several values: only the last one, {word}, counts")]
    SeveralValues { word: String },
    #[error("is ignored: line {line} sets it again")]
    Repeated { line: u64 },
    #[error(
        "is ignored: line {line} goes before it with {key}, for a wildcard model wins over a wildcard scenario"
    )]
    Shadowed { key: String, line: u64 },
}
