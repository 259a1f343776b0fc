//! The objects that a plugin makes: the opened plugin, its model and the model's instances.

pub(crate) mod backend;
pub(crate) mod demand;
pub(crate) mod devices;
mod explanation;
mod handle;
pub(crate) mod instance;
pub(crate) mod issuer;
pub(crate) mod lane;
pub(crate) mod memory;
pub(crate) mod model;
mod output;
mod query;
mod request;
pub(crate) mod samples;
mod work;
