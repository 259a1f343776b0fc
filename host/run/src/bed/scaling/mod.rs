//! A system whose batch size and number of instances are turned while it serves.

pub(crate) mod course;
pub(crate) mod event;
mod inbox;
pub(crate) mod latency_from;
pub(crate) mod scaler;
pub(crate) mod scaler_thread;
pub(crate) mod settings;
pub(crate) mod supply;
pub(crate) mod system;
pub(crate) mod timeline;
