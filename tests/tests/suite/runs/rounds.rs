//! Runs by the rules of a round.

mod older_rules;
mod suites;
