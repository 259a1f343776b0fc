//! Untimed preprocessing: from a raw sample to the tensors that a model takes.
