//! The conformance suite for plugins: cases, each in its own process, and a report.
//!
//! A [`Suite`] runs the [`cases()`] for the plugin of a [`Request`], one after another, and returns a [`Report`] as
//! text, JSON or JUnit XML. Each case restarts the running program, which loads the plugin and replies: a plugin that
//! crashes, hangs or ends the process is the [`Outcome`] of one case. `host validate` is the command line for it;
//! vendors run it from their own tests.
//!
//! # Where things are
//! - `cases`: a file for each group, its table and a function for each case;
//! - `suite` runs them; `process` is the process of a case from outside, `child` from inside, `messages` pass between
//!   them;
//! - `subject` and `bed`: the plugin as a case handles it; `answers` and `samples`: inputs and outputs;
//! - `report`: text, JSON, JUnit.
//!
//! # Choices
//! - **The header is the law.** Each [`Case`] quotes the rule of `proctor_plugin.h` that it checks, and the usual fix.
//!   No case tests what the header leaves open.
//! - **The host is the real one.** Cases drive the plugin through `proctor-plugin-host`, which checks everything that
//!   comes back, and run scenarios on the test bed of `proctor-bed`.
//! - **Cases depend on each other.** If a plugin does not even load, one case fails and says so, and the rest are
//!   skipped.
//! - **Speed is not judged**, except for the manifest, which must be available within 100 ms without a device.
//!
//! # Example
//! A test without a harness (`harness = false`), with its own `main`:
//! ```no_run
//! use proctor_conformance::{Request, Suite};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // The processes of the cases end in here.
//!     proctor_conformance::serve();
//!     let request = Request { plugin: "target/release/libmine_sut.so".into(), ..Request::default() };
//!     let report = Suite::new(request)?.run(&mut |case, number, count| println!("[{number}/{count}] {}", case.name))?;
//!     std::fs::write("junit.xml", report.junit())?;
//!     print!("{}", report.text());
//!     std::process::exit(if report.is_good() { 0 } else { 1 })
//! }
//! ```
//!
//! # Limits
//! A plugin is tested with the model of a benchmark whose data this program has. A process that a plugin starts in its
//! own session is not ended with the case.

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
