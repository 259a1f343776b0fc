//! Pictures: scales, paths that are finite for any input, and the frame around them.
//!
//! `scale` has places and ticks, `path` finite numbers, `picture` the frame.

pub(crate) mod path;
pub(crate) mod picture;
pub(crate) mod scale;
