//! Pictures: scales, paths that are finite whatever goes in, and the frame around them.
//!
//! `scale` has places and ticks, `path` finite numbers, `picture` the frame.

pub(crate) mod path;
pub(crate) mod picture;
pub(crate) mod scale;
