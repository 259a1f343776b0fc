//! Every setting of a run, with where its value came from.
