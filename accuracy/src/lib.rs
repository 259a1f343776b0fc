//! From an accuracy log and the labels to a metric and its verdict.
