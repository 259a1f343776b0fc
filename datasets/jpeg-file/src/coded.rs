//! The coded pixels: bits, codes and the coefficients of blocks.

pub(crate) mod bits;
pub(crate) mod huffman;
pub(crate) mod scan;
