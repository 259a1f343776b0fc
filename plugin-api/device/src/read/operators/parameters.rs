//! The parameters of a node of the file.

use std::path::Path;

use proctor_onnx_file::{Attributes, proto::NodeProto};

use crate::read::scope::Words;

/// A node of the file.
#[derive(Debug, Clone, Copy)]
pub(in crate::read) struct NodeText<'a> {
    /// Node to read.
    pub node: &'a NodeProto,
    /// Version of ONNX's operators.
    pub opset: i64,
    /// Folder of the model, where external data lie.
    pub folder: &'a Path,
}

impl<'a> NodeText<'a> {
    /// Returns the attributes, which must all be among `known`.
    pub fn attributes(&self, known: &[&str]) -> Words<Attributes<'a>> {
        Attributes::new(self.node, known)
    }

    /// Returns the attributes of every version, and of versions from `since` on.
    pub fn attributes_since(&self, known: &[&str], since: &[(i64, &str)]) -> Words<Attributes<'a>> {
        let later = since.iter().filter(|(version, _)| self.opset >= *version).map(|(_, name)| *name);
        let known: Vec<&str> = known.iter().copied().chain(later).collect();
        self.attributes(&known)
    }
}

/// Counts or distances, all from 0 up.
pub(super) fn sizes(attributes: Attributes<'_>, name: &str) -> Words<Option<Vec<usize>>> {
    let Some(listed) = attributes.ints(name)? else { return Ok(None) };
    let sizes: Option<Vec<usize>> = listed.iter().map(|size| usize::try_from(*size).ok()).collect();
    sizes.map(Some).ok_or_else(|| format!("attribute \"{name}\" is {listed:?}, which must not be negative"))
}

/// Returns a real number, as f64.
pub(super) fn real(attributes: Attributes<'_>, name: &str, default: f64) -> Words<f64> {
    Ok(attributes.float(name)?.map_or(default, f64::from))
}

/// Returns the epsilon of a norm: 1e-5 as f32 unless the file says otherwise.
pub(super) fn epsilon(attributes: Attributes<'_>) -> Words<f64> {
    real(attributes, "epsilon", f64::from(1e-5_f32))
}
