//! Runs threads that serve the calls of a mailbox: an instance's threads, and issuing threads.

use std::{io, sync::Arc, thread};

use parking_lot::Mutex;
use proctor_isolated::{Mailbox, Task, protocol::Failure};
use proctor_plugin_host::{Instance, Issuer};
use proctor_vocabulary::{CompletionSink, QueryPart, QuerySampleResponse};

use crate::{
    failure::{failure_of, wrong_state},
    reports::Reports,
};

/// An instance, which its own thread has while it works and the main thread to warm it up and to end it; `None` once it
/// has ended.
pub(crate) type Place = Arc<Mutex<Option<Instance>>>;

/// Starts the thread of an instance.
///
/// # Errors
/// If there is no room for another thread.
pub(crate) fn serve_instance(
    index: u32,
    place: Place,
    mailbox: Mailbox,
    reports: Reports,
    cpus: Vec<u32>,
) -> io::Result<()> {
    let name = format!("instance-{index}");
    let work = move || {
        keep_to(&cpus);
        serve(mailbox, &reports, move |task, part, mailbox| {
            let mut place = place.lock();
            let instance = place.as_mut().ok_or_else(|| wrong_state("the instance has ended"))?;
            match task {
                Task::Execute => {
                    instance.execute(part.samples).map_err(failure_of)?;
                    instance.complete(part.samples, &Answers(mailbox));
                }
                Task::BeginThread => instance.begin_thread(),
                Task::EndThread => instance.end_thread(),
                Task::Issue | Task::End => return Err(wrong_state("an instance takes no queries")),
            }
            Ok(())
        });
    };
    thread::Builder::new().name(name).spawn(work).map(drop)
}

/// Starts a thread that issues.
///
/// # Errors
/// If there is no room for another thread.
pub(crate) fn serve_issuer(issuer: Issuer, mailbox: Mailbox, reports: Reports) -> io::Result<()> {
    let work = move || {
        serve(mailbox, &reports, move |task, part, _| match task {
            Task::Issue => issuer.issue(part).map_err(failure_of),
            _ => Err(wrong_state("a thread that issues has no instance")),
        });
    };
    thread::Builder::new().name("issue".to_owned()).spawn(work).map(drop)
}

/// Serves calls from a mailbox until it is closed. `call` owns what it uses: an issuer keeps its model open.
fn serve(
    mut mailbox: Mailbox,
    reports: &Reports,
    call: impl Fn(Task, QueryPart<'_>, &Mailbox) -> Result<(), Failure>,
) {
    let mut samples = Vec::with_capacity(mailbox.capacity().sample_count_max.min(1 << 16));
    loop {
        let (task, offset, total) = mailbox.next(&mut samples);
        if task == Task::End {
            // The call's resources are returned before the host goes on.
            drop(call);
            return mailbox.reply::<Failure>(None, reports.count());
        }
        let failure = call(task, QueryPart { samples: &samples, issuer: 0, offset, total }, &mailbox).err();
        mailbox.reply(failure.as_ref(), reports.count());
    }
}

/// Keeps this thread to these processors, if there are any.
fn keep_to(cpus: &[u32]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).for_each(|cpu| set.set(cpu));
    if let Err(error) = rustix::thread::sched_setaffinity(None, &set) {
        tracing::warn!(%error, "cannot keep an instance to its processors");
    }
}

/// Puts the answers of a batch into a mailbox.
struct Answers<'a>(&'a Mailbox);

impl CompletionSink for Answers<'_> {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        for (position, response) in responses.iter().enumerate() {
            self.0.set_answer(position, response.status, response.token_count, response.data);
        }
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}
