//! The process and the calling thread, which are the host's, after a whole life of the plugin.

use std::fs;

use proctor_plugin_host::{ProcessPart, process::fork_count, process_changes};

use super::lifecycle::{dispatches, shape, work};
use crate::{
    case::Case,
    messages::STDOUT,
    subject::Subject,
    verdict::{Ended, Verdict, ensure, failed, skipped},
};

const NEEDS: &str = "manifest/is-sound";
const RULE: &str = "the process and the threads that call the plugin are the host's; what a plugin changes of them for itself it \
                    puts back before it returns";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "process/processors",
        about: "the calling thread may use the same processors after each call as before",
        rule: RULE,
        fix: "bind threads of the plugin's own; set OMP_PROC_BIND=false, or save and restore the affinity around the library",
        needs: NEEDS,
        run: |subject| unchanged(subject, ProcessPart::Processors),
    },
    Case {
        name: "process/arithmetic",
        about: "rounding and flushing of floating-point numbers are the same after each call as before",
        rule: RULE,
        fix: "do not link with -ffast-math; save and restore MXCSR where denormals are flushed",
        needs: NEEDS,
        run: |subject| unchanged(subject, ProcessPart::Arithmetic),
    },
    Case {
        name: "process/blocked-signals",
        about: "the calling thread blocks the same signals after each call as before",
        rule: RULE,
        fix: "restore the mask with pthread_sigmask before the call returns",
        needs: NEEDS,
        run: |subject| unchanged(subject, ProcessPart::Signals),
    },
    Case {
        name: "process/working-folder",
        about: "the working folder is the same after each call as before",
        rule: RULE,
        fix: "use absolute paths instead of chdir",
        needs: NEEDS,
        run: |subject| unchanged(subject, ProcessPart::Folder),
    },
    Case {
        name: "process/umask",
        about: "new files get the same permissions after each call as before",
        rule: RULE,
        fix: "give files their mode as they are made, or by fchmod, instead of umask",
        needs: NEEDS,
        run: |subject| unchanged(subject, ProcessPart::Mask),
    },
    Case {
        name: "process/signal-handlers",
        about: "the handlers of crashes and interrupts are the host's still",
        rule: RULE,
        fix: "install no handlers, or have the runtime below install none; a crash goes unreported otherwise",
        needs: "load/library-opens",
        run: |subject| unchanged(subject, ProcessPart::Handlers),
    },
    Case {
        name: "process/stdout",
        about: "nothing is printed to standard output",
        rule: "standard output is for the answer of the program that loads the plugin",
        fix: "log by ProctorHost.log, or print to stderr",
        needs: NEEDS,
        run: stdout,
    },
    Case {
        name: "process/forks",
        about: "the process is not copied by fork",
        rule: "no copy of the host comes back from a call; its threads are not in the copy, and locks stay held there",
        fix: "start other programs by posix_spawn",
        needs: NEEDS,
        run: forks,
    },
];

/// Runs a whole life: opens the plugin, uses each way of work that it declares, and closes it.
pub(super) fn life(subject: &Subject) -> Verdict {
    if !subject.has_model {
        let library = subject.load()?;
        drop(subject.open(&library)?);
        return Ok(());
    }
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        work(&bed, dispatch)?;
        bed.end()?;
    }
    Ok(())
}

/// Skips if the plugin did not survive its life.
fn lived(life: Verdict) -> Verdict {
    match life {
        Ok(()) => Ok(()),
        Err(Ended::Failed(reason) | Ended::Skipped(reason)) => {
            skipped(format!("the plugin does not get through its work: {reason}"))
        }
    }
}

fn unchanged(subject: &Subject, part: ProcessPart) -> Verdict {
    let life = life(subject);
    let changes = process_changes();
    let calls: Vec<_> =
        changes.iter().filter(|change| change.part == part).map(|change| change.call.name()).collect();
    if !calls.is_empty() {
        return failed(format!("{part} is changed in {}", calls.join(", ")));
    }
    lived(life)
}

fn stdout(subject: &Subject) -> Verdict {
    let life = life(subject);
    let printed = fs::read(subject.folder.join(STDOUT)).unwrap_or_default();
    let first = String::from_utf8_lossy(&printed).lines().next().unwrap_or_default().to_owned();
    ensure(printed.is_empty(), || format!("it prints {} bytes, the first line {first:?}", printed.len()))?;
    lived(life)
}

fn forks(subject: &Subject) -> Verdict {
    let life = life(subject);
    ensure(fork_count() == 0, || format!("it forks the process, {} times", fork_count()))?;
    lived(life)
}
