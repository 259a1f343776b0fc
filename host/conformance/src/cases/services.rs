//! The services of the host, as the plugin uses them in its life.

use proctor_plugin_host::PluginFault;

use super::lifecycle::{dispatches, shape, work};
use crate::{
    case::Case,
    subject::{Noticed, Subject},
    verdict::{Ended, Verdict, failed, skipped},
};

const NEEDS: &str = "manifest/is-sound";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "services/metrics",
        about: "every figure that the plugin reports is taken",
        rule: "a metric has a name and a unit in printable ASCII without spaces, a finite value, and always the same unit; \
               there are at most 4096",
        fix: "correct the metric that is named, and fill in its size",
        needs: NEEDS,
        run: metrics,
    },
    Case {
        name: "services/progress",
        about: "progress that is reported is in a structure that can be read",
        rule: "ProctorProgress says its size, and is valid for the call",
        fix: "pass a ProctorProgress with size = sizeof(ProctorProgress)",
        needs: NEEDS,
        run: progress,
    },
    Case {
        name: "services/stages",
        about: "the stages that are told of batches and completions follow each other within the work",
        rule: "stages are in order, none begins before the one before it ended, all lie within the call or since the issue",
        fix: "take the instants from ProctorHost.now_ns on the thread that works, and name stages in printable ASCII",
        needs: NEEDS,
        run: stages,
    },
    Case {
        name: "services/tokens",
        about: "tokens and first tokens are reported of samples that are outstanding, in structures that can be read",
        rule: "a report has at least 1 token, of a sample that was issued and not completed; first tokens have no more data \
               than a response",
        fix: "report tokens before the completion of their sample, with its id, and with sizes filled in",
        needs: NEEDS,
        run: tokens,
    },
    Case {
        name: "services/responses",
        about: "responses are in structures that can be, with the size of the outputs, while samples are outstanding",
        rule: "ProctorResponses says its size, count and stride; complete only samples that came by issue, within the phase",
        fix: "fill in size, responses, response_count and response_stride; complete nothing outside of a phase",
        needs: NEEDS,
        run: responses,
    },
];

/// Returns everything that the host notices in a whole life: opened, worked by each way that is declared, and closed.
/// Also returns the reason of a bad end, if any.
fn life(subject: &Subject) -> Verdict<(Noticed, Verdict)> {
    if !subject.has_model {
        let library = subject.load()?;
        let backend = subject.open(&library)?;
        let host = backend.host_side();
        drop(backend);
        return Ok((host.take_faults(), Ok(())));
    }
    let (mut noticed, mut ended) = (Vec::new(), Ok(()));
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        let worked = work(&bed, dispatch);
        let (closed, of_bed) = bed.end_with_noticed();
        noticed.extend(of_bed);
        ended = ended.and(worked).and(closed);
    }
    Ok((noticed, ended))
}

/// Fails on faults of the given kinds. Without such faults, skips if the plugin's life did not end well.
fn judge(subject: &Subject, is_of: fn(&PluginFault) -> bool) -> Verdict {
    let (noticed, ended) = life(subject)?;
    let wrong = noticed.iter().filter(|fault| is_of(&fault.first)).map(ToString::to_string);
    let wrong: Vec<_> = wrong.collect();
    match ended {
        _ if !wrong.is_empty() => failed(wrong.join("; ")),
        Err(Ended::Failed(reason) | Ended::Skipped(reason)) => {
            skipped(format!("the plugin does not get through its work: {reason}"))
        }
        Ok(()) => Ok(()),
    }
}

fn metrics(subject: &Subject) -> Verdict {
    judge(subject, |fault| matches!(fault, PluginFault::Metric { .. }))
}

fn progress(subject: &Subject) -> Verdict {
    judge(subject, |fault| matches!(fault, PluginFault::Progress { .. }))
}

fn stages(subject: &Subject) -> Verdict {
    judge(subject, |fault| matches!(fault, PluginFault::Stages { .. }))
}

fn tokens(subject: &Subject) -> Verdict {
    judge(subject, |fault| {
        matches!(
            fault,
            PluginFault::Tokens { .. } | PluginFault::NoTokens { .. } | PluginFault::FirstTokenSize { .. }
        )
    })
}

fn responses(subject: &Subject) -> Verdict {
    judge(subject, |fault| {
        matches!(
            fault,
            PluginFault::Responses { .. }
                | PluginFault::ResponseSize { .. }
                | PluginFault::NoTest { .. }
                | PluginFault::WarmUp { .. }
        )
    })
}
