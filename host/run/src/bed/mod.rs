//! One test: the plugin behind the scheduler, the samples behind the query sample library, and the load generator over
//! both.

pub(crate) mod busy;
pub(crate) mod call_watchdog;
pub(crate) mod clock;
pub(crate) mod dispatch;
pub(crate) mod fault;
pub(crate) mod intent;
pub(crate) mod placement;
pub(crate) mod plugin;
pub(crate) mod plugin_instance;
pub(crate) mod sample_library;
pub(crate) mod scaling;
pub(crate) mod system;
pub(crate) mod test;
pub(crate) mod test_bed;
pub(crate) mod watch;
pub(crate) mod whole_queries;
