//! The conformance suite of plugins: cases, each in a process of its own, and a report.
//!
//! A [`Suite`] makes the [`cases()`] for the plugin of a [`Request`], one after the other, and gives a [`Report`] as
//! text, JSON or JUnit XML. Each case starts the running program again, has it load the plugin, and takes its reply: so
//! a plugin that crashes, hangs or ends the process is the [`Outcome`] of one case. `host validate` is this on the
//! command line; a vendor runs it from a test of their own.
//!
//! # Choices
//! - **The header is the law.** Each [`Case`] quotes the rule of `proctor_plugin.h` that it holds a plugin to, and says
//!   what usually mends it. What the header leaves open no case asks for.
//! - **The host is the real one.** Cases drive the plugin through `proctor-plugin-host`, which checks all that comes
//!   back, and run scenarios on the test bed of `proctor-run`.
//! - **A case needs another.** Where a plugin does not even load, one case fails and says so, and the rest is skipped.
//! - **Speed is not judged**, but for the manifest, which has to be there within 100 ms without a device.
//!
//! # Example
//! A test without a harness (`harness = false`), so that it has a `main` of its own:
//! ```no_run
//! use proctor_validator::{Request, Suite};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // The processes of the cases end in here.
//!     proctor_validator::serve();
//!     let request = Request { plugin: "target/release/libmine_sut.so".into(), ..Request::default() };
//!     let report = Suite::new(request)?.run(&mut |case, number, count| println!("[{number}/{count}] {}", case.name))?;
//!     std::fs::write("junit.xml", report.junit())?;
//!     print!("{}", report.text());
//!     std::process::exit(if report.is_good() { 0 } else { 1 })
//! }
//! ```
//!
//! # Limits
//! A plugin is tested with the model of a benchmark that this program has the data of. A process that a plugin starts
//! in a session of its own is not ended with the case.

#![forbid(unsafe_code)]

mod answers;
mod bed;
mod case;
mod cases;
mod child;
mod compare;
mod messages;
mod process;
mod report;
mod request;
mod resources;
mod samples;
mod subject;
mod suite;
mod verdict;

pub use case::Case;
pub use cases::cases;
pub use child::serve;
pub use messages::{FoundModel, PluginFacts};
pub use process::Program;
pub use report::{CaseResult, Outcome, Report};
pub use request::Request;
pub use suite::{Suite, SuiteError};
