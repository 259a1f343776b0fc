//! A run in a process of its own, and its end.

use std::{
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use proctor_bed::Interrupt;
use proctor_plugin_host::EXIT_PLUGIN_CRASHED;
use proctor_words::{CommandError, Conclusion, HostError};
use rustix::{
    io::retry_on_intr,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};

/// Time between two looks for a signal.
const LOOK: Duration = Duration::from_millis(20);

/// End of a run, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// It came to a result, or the user stopped it.
    Concluded(Conclusion),
    /// A run came to no result, and ended with this exit code.
    Failed(i32),
}

impl RunEnd {
    /// Returns the end of a run, also of one that a signal ended.
    fn of(status: ExitStatus, is_interrupted: bool) -> Self {
        let ends = [Signal::INT, Signal::TERM, Signal::HUP].map(Signal::as_raw);
        let code = match (status.code(), status.signal()) {
            (Some(code), _) => code,
            // It came before the run had begun to listen.
            (None, Some(signal)) if is_interrupted && ends.contains(&signal) => {
                return Self::Concluded(Conclusion::Interrupted);
            }
            (None, _) => EXIT_PLUGIN_CRASHED,
        };
        Conclusion::of_exit_code(code).map_or(Self::Failed(code), Self::Concluded)
    }
}

/// Makes a run in a process of its own, by this command.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn run_process(mut command: Command, interrupt: &Interrupt) -> Result<RunEnd, HostError> {
    let status = finish(&mut command, interrupt)
        .map_err(|error| CommandError::NotStarted { program: command.get_program().into(), error })?;
    Ok(RunEnd::of(status, interrupt.has_come()))
}

/// Runs a command to its end. It is in its own process group, so that Ctrl-C reaches this program alone,
/// which passes it on once: a second one would make it give up its wait.
fn finish(command: &mut Command, interrupt: &Interrupt) -> io::Result<ExitStatus> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    let kill = |child: &Child| {
        let id = Pid::from_child(child);
        move || send(id, Signal::KILL)
    };
    let mut child = interrupt.start(|| command.spawn(), kill)?;
    let id = Pid::from_child(&child);
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Acquire) {
                if interrupt.has_come() {
                    return send(id, Signal::INT);
                }
                thread::sleep(LOOK);
            }
        });
        // Reaped only when nothing can signal it any longer, so that its number is not reused for another process.
        let ended = retry_on_intr(|| waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
        has_ended.store(true, Ordering::Release);
        ended
    })?;
    interrupt.on_exit(|| ());
    child.wait()
}

/// Signals a run and its children, such as a program that prepares its samples, as a terminal does.
fn send(run: Pid, signal: Signal) {
    // A group that is gone takes no signal, and needs none.
    let _ = kill_process_group(run, signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ends_before_it_listens_was_interrupted_too() {
        let by = |signal: Signal, is_interrupted| {
            RunEnd::of(ExitStatus::from_raw(signal.as_raw()), is_interrupted)
        };
        let interrupted = RunEnd::Concluded(Conclusion::Interrupted);
        assert_eq!([by(Signal::INT, true), by(Signal::TERM, true)], [interrupted; 2]);
        let crashed = RunEnd::Failed(EXIT_PLUGIN_CRASHED);
        assert_eq!([by(Signal::INT, false), by(Signal::KILL, true)], [crashed; 2]);
        // Codes of its own, in the form of wait(2).
        let own = |code: i32| RunEnd::of(ExitStatus::from_raw(code << 8), true);
        let concluded = [Conclusion::Good, Conclusion::Bad, Conclusion::Interrupted];
        assert_eq!([0, 1, 130].map(own), concluded.map(RunEnd::Concluded));
        assert_eq!(own(4), RunEnd::Failed(4));
    }
}
