//! The small variants of the larger models give the outputs of their references.
