//! Pictures with annotations in the JSON form of COCO: what is common to the data sets that have it.

pub(crate) mod collection;
pub(crate) mod generate;
