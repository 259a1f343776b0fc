//! Files of data sets.

pub(crate) mod gguf;
pub(crate) mod idx;
pub(crate) mod jpeg;
pub(crate) mod nifti;
pub(crate) mod sound;
pub(crate) mod tar;
pub(crate) mod tokenizer;
