//! The command line: what it prints, and what it says of mistakes. No test here measures time.

mod accuracy;
pub(crate) mod bad_input;
mod bad_plugins;
mod calibration;
mod compare;
mod data;
mod doctor;
mod foreign_text;
mod get;
mod list_describe_explain;
mod new_plugin;
mod pipes;
mod quantise;
mod repeat;
mod results;
mod shown;
