//! The watchdog for calls into the plugin that the host itself waits for.
//!
//! The load generator watches for completions, and leaves a hung instance behind. That does not help while
//! the issuing thread, or the one that loads a model, waits inside the plugin. A thread cannot be taken back
//! from foreign code, so the only way out is to name the call, keep the files on disk, and end the program.
//!
//! The plugin host notes every call before it is made; the watchdog reads that record, and costs the callers nothing.

pub(crate) mod watched;

use std::{
    sync::{Arc, Barrier, Weak},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use proctor_loadgen::{Progress, StopHandle};
use proctor_plugin_host::{Call, CallUnderWay, calls_under_way, last_words_are_awaited, progress_count};

use crate::{fault::Fault, plugin::isolated::Isolated};

/// The watchdog's view of the test that is running. Clones share it; it watches until the last one is dropped.
#[derive(Clone, Default)]
pub struct Watchdog(Arc<Watched>);

#[derive(Default)]
struct Watched {
    test: Mutex<Option<(Progress, StopHandle)>>,
    /// The process of the plugin, which can be ended in place of the program.
    isolated: Mutex<Option<Isolated>>,
}

impl Watchdog {
    /// Starts a thread that hands a [`Fault::Hang`] to `hung` when a call into the plugin takes longer than `limit`.
    pub(crate) fn start(limit: Duration, plugin: &str, hung: impl FnOnce(Fault) + Send + 'static) -> Self {
        let watchdog = Self::default();
        let watched = Arc::downgrade(&watchdog.0);
        let plugin = plugin.to_owned();
        let is_there = Arc::new(Barrier::new(2));
        let begins = Arc::clone(&is_there);
        let watch = move || {
            begins.wait();
            if let Some(call) = wait_for_hang(&watched, limit) {
                hung(Fault::Hang { plugin, call, limit });
            }
        };
        match thread::Builder::new().name("watchdog".to_owned()).spawn(watch) {
            // A thread that begins needs the lock of the loader, which a constructor that hangs does not give back.
            Ok(_) => _ = is_there.wait(),
            // Without this thread a hang is not noticed, which is no reason not to run.
            Err(error) => tracing::warn!(%error, "cannot start the watchdog"),
        }
        watchdog
    }

    /// Follows a test from now on: a call during which samples complete does not hang, as a plugin may complete a long
    /// query inside the call that issues it.
    pub(crate) fn follow(&self, progress: Progress, stop: StopHandle) {
        *self.0.test.lock() = Some((progress, stop));
    }

    /// Ends this process from now on, in cases where the program would have to be ended.
    pub(crate) fn may_end(&self, isolated: Isolated) {
        *self.0.isolated.lock() = Some(isolated);
    }

    /// Ends the plugin's process, which the user does not wait for. Returns whether there is one.
    pub fn end_isolated(&self) -> bool {
        self.0.isolated().is_some_and(|isolated| isolated.end_unawaited())
    }
}

impl Watched {
    fn isolated(&self) -> Option<Isolated> {
        self.isolated.lock().clone()
    }

    /// Returns the samples of the test that were issued and that completed.
    fn sample_counts(&self) -> SampleCounts {
        let test = self.test.lock();
        let phase = test.as_ref().and_then(|(progress, _)| progress.current());
        phase.map_or_else(SampleCounts::default, |phase| SampleCounts {
            issued: phase.issued_count,
            completed: phase.completed_count,
        })
    }

    /// Ends the wait for samples of the test.
    fn give_up_test(&self) {
        if let Some((_, stop)) = &*self.test.lock() {
            stop.give_up();
        }
    }
}

/// Returns the call that has been seen for `limit` without any completion, and for which the program has to end; `None`
/// once there is nothing to watch.
fn wait_for_hang(watched: &Weak<Watched>, limit: Duration) -> Option<Call> {
    let pause = (limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(250));
    let mut seen = Seen::default();
    loop {
        thread::sleep(pause);
        let watched = watched.upgrade()?;
        let isolated = watched.isolated();
        let (samples, is_isolated) = (watched.sample_counts(), isolated.is_some());
        if last_words_are_awaited() && samples == seen.samples && samples.completed < samples.issued {
            // A flush crashed, so nothing more will complete; save what was measured.
            watched.give_up_test();
        }
        seen.look(Instant::now(), calls_under_way(), samples, progress_count(), is_isolated);
        let Some(call) = seen.call_since(limit) else { continue };
        if !isolated.is_some_and(|isolated| isolated.end_hung(call, limit)) {
            return Some(call);
        }
        // It returns now that its process has ended.
        seen = Seen::default();
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SampleCounts {
    issued: u64,
    completed: u64,
}

/// The calls of the latest look, and how long each has been seen.
#[derive(Debug, Default)]
struct Seen {
    calls: Vec<(CallUnderWay, Duration)>,
    samples: SampleCounts,
    /// Number of times that plugins had said that a long call makes progress.
    progress_count: u64,
    last: Option<Instant>,
}

impl Seen {
    fn look(
        &mut self,
        now: Instant,
        calls: impl Iterator<Item = CallUnderWay>,
        samples: SampleCounts,
        progress_count: u64,
        is_isolated: bool,
    ) {
        let pause = self.last.map_or(Duration::ZERO, |last| now - last);
        let no_completion = samples.completed == self.samples.completed;
        let no_progress = progress_count == self.progress_count;
        let watched = calls.filter(|it| is_watched(it.call, samples, is_isolated));
        let aged = watched.map(|it| {
            // In the timed part only completions count: a plugin that claims progress may be wrong.
            let is_timed = matches!(it.call, Call::Issue | Call::Flush | Call::Execute);
            let stands_still = no_completion && (is_timed || no_progress);
            let before = self.calls.iter().find(|(call, _)| *call == it && stands_still);
            (it, before.map_or(Duration::ZERO, |(_, age)| *age + pause))
        });
        self.calls = aged.collect();
        (self.samples, self.progress_count, self.last) = (samples, progress_count, Some(now));
    }

    /// Returns a call that has been running for `limit`.
    fn call_since(&self, limit: Duration) -> Option<Call> {
        self.calls.iter().find(|(_, age)| *age >= limit).map(|(it, _)| it.call)
    }
}

/// Returns whether the host itself waits for the call. The threads of instances are watched by the load
/// generator and the scheduler; a flush may last as long as samples are outstanding, which the load generator
/// watches. A process that an instance hangs in is ended first.
fn is_watched(call: Call, samples: SampleCounts, is_isolated: bool) -> bool {
    match call {
        Call::Execute | Call::EndThread => is_isolated,
        Call::ReleaseOutput => false,
        Call::Flush => samples.issued <= samples.completed,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(100);

    fn call(call: Call, number: u64) -> CallUnderWay {
        CallUnderWay { plugin: "p", call, instance: None, number }
    }

    /// The call that is found after looks at intervals of 60 ms.
    fn found(looks: &[(&[CallUnderWay], u64, u64)]) -> Option<Call> {
        let mut seen = Seen::default();
        let start = Instant::now();
        for (position, (calls, issued, completed)) in looks.iter().enumerate() {
            let now = start + Duration::from_millis(60) * u32::try_from(position).unwrap();
            let samples = SampleCounts { issued: *issued, completed: *completed };
            seen.look(now, calls.iter().copied(), samples, 0, false);
        }
        seen.call_since(LIMIT)
    }

    /// Does the same as [`found`], without samples, for a plugin that claims progress at each look.
    fn found_with_progress(looks: &[&[CallUnderWay]]) -> Option<Call> {
        let mut seen = Seen::default();
        let start = Instant::now();
        for (position, calls) in (0..).zip(looks) {
            let now = start + Duration::from_millis(60) * position;
            seen.look(now, calls.iter().copied(), SampleCounts::default(), u64::from(position), false);
        }
        seen.call_since(LIMIT)
    }

    #[test]
    fn a_long_load_that_is_getting_on_does_not_hang() {
        let (load, issue) = ([call(Call::LoadModel, 1)], [call(Call::Issue, 1)]);
        assert_eq!(found_with_progress(&[&load, &load, &load, &load]), None);
        assert_eq!(found_with_progress(&[&issue, &issue, &issue, &issue]), Some(Call::Issue));
    }

    #[test]
    fn a_call_that_does_not_return_is_named() {
        let (open, load) = (call(Call::Open, 1), call(Call::LoadModel, 1));
        assert_eq!(found(&[(&[open], 0, 0), (&[open], 0, 0)]), None);
        assert_eq!(
            found(&[(&[open], 0, 0), (&[load], 0, 0), (&[load], 0, 0), (&[load], 0, 0)]),
            Some(load.call)
        );
        assert_eq!(found(&[(&[load], 0, 0), (&[load], 0, 0), (&[], 0, 0)]), None);
    }

    #[test]
    fn many_short_calls_do_not_look_like_a_long_one() {
        let looks: Vec<_> = (0..9).map(|number| [call(Call::Issue, number)]).collect();
        let looks: Vec<_> = looks.iter().map(|calls| (&calls[..], 9, 0)).collect();
        assert_eq!(found(&looks), None);
    }

    #[test]
    fn a_call_during_which_samples_complete_does_not_hang() {
        let issue = [call(Call::Issue, 7)];
        assert_eq!(found(&[(&issue, 9, 0), (&issue, 9, 1), (&issue, 9, 2), (&issue, 9, 3)]), None);
        assert_eq!(
            found(&[(&issue, 9, 0), (&issue, 9, 3), (&issue, 9, 3), (&issue, 9, 3)]),
            Some(Call::Issue)
        );
    }

    #[test]
    fn instances_and_flushes_are_left_to_those_who_wait_for_them() {
        let (execute, flush) = ([call(Call::Execute, 1)], [call(Call::Flush, 1)]);
        assert_eq!(found(&[(&execute, 1, 0), (&execute, 1, 0), (&execute, 1, 0)]), None);
        assert_eq!(found(&[(&flush, 2, 1), (&flush, 2, 1), (&flush, 2, 1)]), None);
        assert_eq!(found(&[(&flush, 2, 2), (&flush, 2, 2), (&flush, 2, 2)]), Some(Call::Flush));
    }
}
