//! Pictures with annotations in the JSON form of COCO: common code of these data sets.

pub(crate) mod collection;
pub(crate) mod generate;
