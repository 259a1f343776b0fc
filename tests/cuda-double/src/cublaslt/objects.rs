//! Handles, descriptions, layouts and preferences.

use std::{collections::BTreeMap, ffi::c_int};

use crate::work::Id;

/// Attributes that were set, by their numbers.
pub(crate) type Attributes = BTreeMap<c_int, u64>;

/// All objects of the library.
#[derive(Default)]
pub(crate) struct Objects {
    /// Devices of the handles.
    pub handles: BTreeMap<Id, usize>,
    pub descriptions: BTreeMap<Id, Description>,
    pub layouts: BTreeMap<Id, Layout>,
    pub preferences: BTreeMap<Id, Attributes>,
}

#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub compute: c_int,
    pub scale: c_int,
    pub attributes: Attributes,
}

#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub element: c_int,
    pub rows: u64,
    pub columns: u64,
    pub ld: i64,
    pub attributes: Attributes,
}

impl Objects {
    /// Returns the names of the remaining objects, with their counts.
    pub fn left(&self) -> [(&'static str, usize); 3] {
        [
            ("descriptions of products", self.descriptions.len()),
            ("layouts of matrices", self.layouts.len()),
            ("preferences", self.preferences.len()),
        ]
    }
}
