//! Figures of pictures, computed from samples. Each takes at most two passes and one array of its own.

pub(crate) mod columns;
pub(crate) mod outstanding;
pub(crate) mod rate;
pub(crate) mod sorted;
