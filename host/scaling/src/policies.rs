//! The policies, a file or a folder for each.

pub(crate) mod clipper;
pub(crate) mod dnnscaler;
pub(crate) mod fixed;
pub(crate) mod joint;
pub(crate) mod one_sample;
pub(crate) mod oracle;
