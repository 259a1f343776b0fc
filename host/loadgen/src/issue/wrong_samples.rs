//! Samples that an engine issued against the order that the settings give.

use std::fmt;

use proctor_vocabulary::SampleIndex;

/// Samples of a phase that an engine chose otherwise than LoadGen's rules do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WrongSamples {
    /// Number of these samples.
    pub count: u64,
    /// The first of them: its number in the logs (`seq_id`), the library index that was issued, and the one that should
    /// have been; `None` if no sample was to follow.
    pub first: Option<(u64, SampleIndex, Option<SampleIndex>)>,
    /// True if another set was loaded.
    pub is_other_set: bool,
}

impl WrongSamples {
    /// Counts one.
    #[cold]
    pub(crate) fn note(&mut self, sample_id: u64, issued: SampleIndex, expected: Option<SampleIndex>) {
        self.count += 1;
        self.first.get_or_insert((sample_id, issued, expected));
    }

    /// Returns whether anything was chosen otherwise.
    pub(crate) fn has_any(&self) -> bool {
        self.count > 0 || self.is_other_set
    }
}

impl fmt::Display for WrongSamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = if self.is_other_set { "another set was loaded than these settings give" } else { "" };
        f.write_str(set)?;
        let Some((sample_id, issued, expected)) = self.first else { return Ok(()) };
        let separator = if self.is_other_set { ", and " } else { "" };
        let noun = if self.count == 1 { "sample was" } else { "samples were" };
        let (count, instead) = (self.count, expected.map_or("none".to_owned(), |index| index.to_string()));
        write!(
            f,
            "{separator}{count} {noun} issued against the order of these settings: the first is sample {sample_id} \
             (library index {issued} instead of {instead})"
        )
    }
}
