//! Runs a plugin in its own process: its stand-in, and the memory and messages between the two.
//!
//! [`Isolation`] starts the process, the program `proctor-worker`: a small host that loads the plugin and calls it. In
//! the measuring program, a plugin written with the traits of `proctor-plugin-api` stands in for it and forwards every
//! call, so the host sees just another plugin. When the process ends, by itself or by a signal, the calls in progress
//! fail, and so does every other call until a fresh process takes its place.
//!
//! # Where things are
//! - `plugin` forwards each call; `isolation` starts processes one after the other, `child` is one of them until its
//!   `end`, with its `status` as the system shows it; `asked` answers system calls that name a thread;
//! - `state`: the process, and those that take its place; `launch`: what one is started with, and `inherited` what it
//!   closes; `samples`: the memory that both read;
//! - `protocol`: the messages; `channels`: the `socket` for them, the `mailbox` of batches and queries, the `reports`
//!   in a `ring`, the `signal` to wait for, and `echo`, a bare round trip to measure against.
//!
//! # What goes between the processes
//! | what | how |
//! |---|---|
//! | calls of the main thread ([`protocol::Request`]) | messages in turn, with file descriptors attached ([`Socket`]) |
//! | batches and queries | a [`Mailbox`] for each instance and each issuing thread: memory of both, and a signal |
//! | inputs | the memory that the host decodes into ([`SharedMemory`]); sealed, so that the plugin can only read it |
//! | outputs | in the mailbox, copied once by the host |
//! | completions, tokens ([`ReportWriter`]) | a ring in memory of both, in their order; the host takes the time |
//! | log, progress | messages |
//!
//! # Choices
//! - **The other process is not trusted.** Before it runs any plugin code, it gives up access to everything that is not
//!   its own, and says so in its first message, which is checked against what the system shows of it. Each kind of
//!   message has a size limit, and takes at most some thirty times as much memory. Sizes, counts and positions that it
//!   writes are read once and checked against the available room; the plugin host on this side checks the results as
//!   for any plugin. No instant that it states counts.
//! - **A waiting thread sleeps soon.** It spins for [`Launch::spin`], and then sleeps.
//! - **One process for all instances of a plugin**, which share device contexts.
//!
//! # Example
//! ```
//! use std::time::Duration;
//!
//! use proctor_isolated::{Capacity, Mailbox, Task};
//! use proctor_plugin_api::vocabulary::{QuerySample, ResponseId, SampleIndex, SampleStatus};
//!
//! let capacity = Capacity { sample_count_max: 1, output_bytes_max: 4 };
//! let mut host = Mailbox::new(capacity, Duration::ZERO)?;
//! let mut other = Mailbox::open(host.file().try_clone_to_owned()?, capacity, Duration::ZERO)?;
//! let sample = QuerySample { id: ResponseId(7), index: SampleIndex(0) };
//! host.ask(Task::Execute, [sample].into_iter(), 0, 1);
//! let mut batch = Vec::new();
//! assert_eq!(other.next(&mut batch).0, Task::Execute);
//! other.set_answer(0, SampleStatus::OK, 0, &[1, 2, 3, 4]);
//! other.reply::<()>(None, 0);
//! assert_eq!(host.wait::<()>(|| true), Ok(None));
//! assert_eq!(host.answer(0).size_bytes, 4);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Limits
//! Linux 5.3 or later; since 5.5 the host is asked about system calls that name a thread or a process. Up to 64
//! responses that a plugin hands over in one call have one instant, and then one for each 64; tokens have one each. It
//! does not work in virtual time. A plugin receives samples in the host's memory even if it has its own memory for
//! them. A plugin that takes several batches of an instance at a time is refused.

mod asked;
mod channels;
mod child;
mod end;
mod inherited;
mod isolation;
mod launch;
mod plugin;
pub mod protocol;
mod samples;
mod state;
mod status;

pub use asked::{ASKED, install_filter};
pub use channels::echo::echo;
pub use channels::mailbox::{Answer, Capacity, Mailbox, PeerGone, Task};
pub use channels::memory::{PAGE, SealedMemory, SharedMemory};
pub use channels::reports::{ReportKind, ReportWriter};
pub use channels::socket::{Message, Socket};
pub use inherited::close_inherited_files;
pub use isolation::Isolation;
pub use launch::Launch;
pub use plugin::monotonic_ns;
