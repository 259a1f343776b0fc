//! Pictures: scales, paths that are finite whatever goes in, and the frame around them.

pub(crate) mod path;
pub(crate) mod picture;
pub(crate) mod scale;
