//! Handles and descriptors.

use std::{collections::BTreeMap, ffi::c_int};

use super::convolution::{Tensor, Windows};
use crate::work::Id;

/// All handles and descriptors of the library. A descriptor is `None` until it was set.
#[derive(Default)]
pub(crate) struct Descriptors {
    pub handles: BTreeMap<Id, Handle>,
    pub tensors: BTreeMap<Id, Option<Tensor>>,
    pub filters: BTreeMap<Id, Option<Tensor>>,
    pub windows: BTreeMap<Id, Option<Windows>>,
    /// Mode, and what becomes of what is not a number.
    pub activations: BTreeMap<Id, Option<(c_int, c_int)>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Handle {
    pub device: usize,
    pub stream: Option<Id>,
}

impl Descriptors {
    /// Returns the names of the remaining objects, with their counts.
    pub fn left(&self) -> [(&'static str, usize); 4] {
        [
            ("descriptors of tensors", self.tensors.len()),
            ("descriptors of filters", self.filters.len()),
            ("descriptors of convolutions", self.windows.len()),
            ("descriptors of activations", self.activations.len()),
        ]
    }
}
