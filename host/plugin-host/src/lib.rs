//! Finds, loads, negotiates, checks and guards a plugin: the host's only unsafe code.

mod activity;
mod backend;
mod call;
pub mod crash;
mod demand;
mod error;
mod foreign;
mod instance;
mod library;
mod manifest;
mod model;
mod output;
mod samples;
mod search;
mod services;
#[cfg(test)]
mod tests;

pub use activity::activities;
pub use backend::Backend;
pub use call::Call;
pub use crash::EXIT_PLUGIN_CRASHED;
pub use demand::ModelDemand;
pub use error::PluginHostError;
pub use instance::Instance;
pub use library::{PluginIdentity, PluginLibrary};
pub use model::Model;
pub use samples::SampleBuffers;
pub use search::{PluginLocation, SearchPath};
pub use services::HostServices;
