//! The process of an isolated plugin: a small host that loads the plugin and makes the calls that `host` requests.
//!
//! The program `host` starts it, with a message socket as its standard input, and is the only one to talk to it. It has
//! neither data sets nor answers.
//!
//! # Where things are
//! - `fence` restricts the process, with the filter of calls that `seccomp` makes of a table;
//! - `server` makes the calls of the main thread, `instances` those of the others, `flushes` those of a flush;
//! - `samples` lie in memory of the host; `reports` and `log` go back to it; `failure`: the errors.

#![forbid(unsafe_code)]

mod failure;
mod fence;
mod flushes;
mod instances;
mod log;
mod reports;
mod samples;
mod seccomp;
mod server;

use std::{
    fs::File,
    io::{self, Write as _},
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    thread,
};

use proctor_isolated::{
    ReportWriter, Socket, close_inherited_files,
    protocol::{Greeting, Notice},
};
use proctor_plugin_host::{crash, process};
// The default plugin is linked in here as in the program `host`, and the one that is measured in place of others to
// show the cost of the way to it. They register themselves; the linker keeps them only if they are referenced.
use cpu_rnn_sut as _;
use proctor_null as _;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit, setsid};

use crate::{flushes::Flushes, reports::Reports, server::Server};

/// Exit code of a program that was not started by the host.
const USAGE: i32 = 2;

fn main() {
    match begin() {
        Ok((control, mut server)) => {
            // Without the host there is nothing to do.
            while let Ok(Some((request, files))) = control.receive() {
                let reply = server.answer(request, files);
                let sent = control.send(&reply, &[]).or_else(|error| match error.kind() {
                    io::ErrorKind::InvalidInput => control.send(&server.too_long(&error), &[]),
                    _ => Err(error),
                });
                if sent.is_err() {
                    break;
                }
            }
            process::end(0)
        }
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "proctor-worker runs a plugin for the program `host`, which starts it: {error}; try `host run --isolate`"
            );
            process::end(USAGE)
        }
    }
}

/// Receives the host's sockets and prepares for a plugin that may terminate the process.
fn begin() -> io::Result<(Socket, Server)> {
    close_inherited_files()?;
    // Detach from the user's terminal, and from signals that the user sends to the host from there. The host
    // checks this.
    let _ = setsid();
    // It must not outlive the host, even if the plugin hangs.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let control = Socket::from(io::stdin().as_fd().try_clone_to_owned()?);
    // A plugin that reads its standard input finds nothing there.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    // Lines of a plugin in C go out as they come: nothing is flushed at the end.
    drop(process::take_stdout()?);
    let none = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (greeting, files) = control.receive::<Greeting>()?.ok_or_else(none)?;
    if let Some(most) = greeting.memory_max_bytes {
        setrlimit(Resource::As, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    let [events, crash_report, sample_reports]: [OwnedFd; 3] = files.try_into().map_err(|_| none())?;
    crash::install_with_file(File::from(crash_report)).map_err(io::Error::other)?;
    process::notice_ends()?;

    let events = Arc::new(Socket::from(events));
    let reports = Reports::new(Arc::clone(&events), ReportWriter::open(sample_reports)?);
    log::start(greeting.log_level, &reports);
    // Before there is another thread: new threads inherit the restrictions of this one.
    let (restrictions, asking) = fence::raise(&greeting.fence);
    control.send(&restrictions, &asking.iter().map(AsFd::as_fd).collect::<Vec<_>>())?;
    // Its holder could answer in place of the host.
    drop(asking);
    let flushes = Flushes::new(reports.clone());
    let server = Server::new(reports, flushes.clone());
    let host_side = server.host_side();
    thread::Builder::new().name("notices".to_owned()).spawn(move || {
        while let Ok(Some((notice, _))) = events.receive() {
            match notice {
                Notice::Cancel => _ = host_side.get().map(|host_side| host_side.cancel()),
                Notice::Flush => flushes.begin(),
            }
        }
        // The host is gone, or does not speak our language.
        process::end(0)
    })?;
    Ok((control, server))
}
