//! Files of data sets.

pub(crate) mod idx;
pub(crate) mod jpeg;
pub(crate) mod nifti;
pub(crate) mod sound;
pub(crate) mod tokenizer;
