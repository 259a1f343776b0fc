//! A plugin in a process of its own: the plugin that stands in for it, and the memory and messages between both.
//!
//! [`Isolation`] starts the process, the program `proctor-worker`, which is a small host: it loads the plugin and calls
//! it. In the program that measures, a plugin written with the traits of `proctor-plugin-api` stands in for it and
//! passes every call on, so that the host knows of nothing but another plugin. When the process ends, by itself or by a
//! signal, the calls that it was in fail, and so does every other until a fresh process takes its place.
//!
//! # What goes between the processes
//! | what | how |
//! |---|---|
//! | calls of the main thread ([`protocol::Request`]) | messages in turn, with open files beside them ([`Socket`]) |
//! | batches and queries | a [`Mailbox`] for each instance and each issuing thread: memory of both, and a signal |
//! | inputs | the memory that the host decodes into ([`SharedMemory`]); sealed, so that the plugin can only read it |
//! | outputs | in the mailbox, copied once by the host |
//! | completions, tokens ([`ReportWriter`]) | a ring in memory of both, in their order; the host takes the time |
//! | log, progress | messages |
//!
//! # Choices
//! - **The other process is not trusted.** Before it has any code of the plugin, it gives up what is not its own, and
//!   says so in its first message, which is held against what the system shows of it. A message has a limit of its
//!   kind, and takes some thirty times as much memory at most. Sizes, counts and positions that it writes are read once
//!   and held against the room that there is; the plugin host on this side checks what comes of them as it checks any
//!   plugin. No instant that it states counts.
//! - **A thread that waits sleeps soon.** It looks for an answer for [`Launch::spin`], and then sleeps.
//! - **One process for all instances of a plugin**, which share the contexts of devices.
//!
//! # Example
//! ```
//! use std::time::Duration;
//!
//! use proctor_isolated::{Mailbox, Room, Task};
//! use proctor_plugin_api::vocabulary::{QuerySample, ResponseId, SampleIndex, SampleStatus};
//!
//! let room = Room { sample_count_max: 1, output_bytes_max: 4 };
//! let mut host = Mailbox::new(room, Duration::ZERO)?;
//! let mut other = Mailbox::open(host.file().try_clone_to_owned()?, room, Duration::ZERO)?;
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
//! Linux 5.3 or later; since 5.5 the host is asked about calls of the system that name a thread or a process. Responses
//! that a plugin hands over in one call have one instant up to 64 of them, and then one for each 64; tokens have one
//! each. Not in virtual time. A plugin is given memory of the host for its samples, also where it has memory of its own
//! for them; one that takes several batches of an instance at a time is refused.

mod asked;
mod channels;
mod child;
mod end;
mod inherited;
mod isolation;
mod launch;
mod lock;
mod plugin;
pub mod protocol;
mod samples;
mod state;
mod status;

pub use asked::{ASKED, install_filter};
pub use channels::echo::echo;
pub use channels::mailbox::{Answer, Gone, Mailbox, Room, Task};
pub use channels::memory::{PAGE, SealedMemory, SharedMemory};
pub use channels::reports::{ReportKind, ReportWriter};
pub use channels::socket::{Message, Socket};
pub use inherited::close_inherited_files;
pub use isolation::Isolation;
pub use launch::Launch;
pub use plugin::monotonic_ns;
