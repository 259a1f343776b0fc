//! Files of data sets in binary formats.

pub(crate) mod idx;
pub(crate) mod nifti;
