//! Whether the cases of a data set can be prepared, found by the name of the data set.

use crate::error::VolumeError;

/// A check of cases, registered with `inventory::submit!` beside the steps that prepare them.
#[derive(Debug, Clone, Copy)]
pub struct CaseCheck {
    /// Name of the data set.
    pub dataset: &'static str,
    /// Finds out whether a case can be prepared: the bytes of its sample.
    pub check: fn(&[u8]) -> Result<(), VolumeError>,
}

inventory::collect!(CaseCheck);

/// Returns the check of the cases of this data set; `None` if it has no volumes.
#[must_use]
pub fn case_check(dataset: &str) -> Option<&'static CaseCheck> {
    inventory::iter::<CaseCheck>().find(|check| check.dataset == dataset)
}
