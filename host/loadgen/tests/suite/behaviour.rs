//! The load generator as its callers see it: its reactions to systems that keep and break its rules, mostly
//! in virtual time.

mod audit;
mod find_peak;
mod findings;
mod intervals;
mod issued;
mod issuers;
mod loop_rules;
mod misbehaviour;
mod scenarios;
mod scripted;
mod settings;
mod stall;
mod threads;
mod tokens;
mod trace;
