//! From queries to batches: a bounded queue, a batcher, and instances on their own threads.
