//! `host validate`: plugins of ours keep all rules, and one that goes astray fails the case that is named for it.

mod astray;
mod rows;
mod suite;
