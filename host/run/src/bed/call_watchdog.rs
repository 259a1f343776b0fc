//! Watches the calls into the plugin that happen on the main thread, and ends the program when one does not return.
//!
//! The load generator watches for completions, and leaves a hung instance behind. That does not help while the main
//! thread itself waits inside the plugin: to open it, to load a model, to prepare samples, to issue. A thread cannot be
//! taken back from foreign code, so the only way out is to say what was asked, keep what is on disk, and end.

use std::{
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use proctor_loadgen::Progress;

use crate::error::EXIT_PLUGIN;

/// What the plugin may be asked to do on the main thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Load,
    Open,
    LoadModel,
    CreateInstance,
    Explain,
    Prepare,
    WarmUp,
    Start,
    Issue,
    ExecuteVirtual,
    Flush,
    Stop,
    Release,
    Close,
}

const CALLS: [(Call, &str); 14] = [
    (Call::Load, "be loaded"),
    (Call::Open, "open"),
    (Call::LoadModel, "load the model"),
    (Call::CreateInstance, "create an instance"),
    (Call::Explain, "explain the model"),
    (Call::Prepare, "prepare the samples"),
    (Call::WarmUp, "warm up"),
    (Call::Start, "start"),
    (Call::Issue, "take a query (issue)"),
    (Call::ExecuteVirtual, "execute a batch in virtual time"),
    (Call::Flush, "flush"),
    (Call::Stop, "stop"),
    (Call::Release, "release the samples"),
    (Call::Close, "close"),
];

/// What grows as long as the plugin gets on.
type Pulse = Box<dyn Fn() -> u64 + Send>;

/// Marks when the plugin has the main thread. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Watchdog {
    /// Number of the call times 16, plus its position in [`CALLS`] and 1; 0 outside of the plugin.
    current: Arc<AtomicU64>,
    count: Arc<AtomicU64>,
    pulse: Arc<Mutex<Option<Pulse>>>,
}

impl Watchdog {
    /// Starts a thread that ends the process if a call takes longer than `limit`. It hands the message to `last_words`
    /// first, to be kept.
    pub(crate) fn start(limit: Duration, plugin: &str, last_words: impl Fn(&str) + Send + 'static) -> Self {
        let watchdog = Self::default();
        let watched = watchdog.clone();
        let plugin = plugin.to_owned();
        let watch = move || {
            let call = watched.wait_for_hang(limit);
            let limit_ms = limit.as_millis();
            let message = format!(
                "error: plugin {plugin} hangs: it was asked to {call}, and did not return within watchdog_ms = \
                 {limit_ms}; if it only needs longer, raise it with --set watchdog_ms=N"
            );
            eprintln!("{message}");
            last_words(&message);
            process::exit(EXIT_PLUGIN);
        };
        // Without this thread a hang is not noticed, which is no reason not to run.
        if let Err(error) = thread::Builder::new().name("watchdog".to_owned()).spawn(watch) {
            tracing::warn!(%error, "cannot start the watchdog");
        }
        watchdog
    }

    /// From now on a call during which samples complete does not hang: a plugin may complete a long query inside the
    /// call that issues it.
    pub(crate) fn follow(&self, progress: Progress) {
        self.set_pulse(move || progress.current().map_or(0, |phase| phase.completed_count));
    }

    fn set_pulse(&self, pulse: impl Fn() -> u64 + Send + 'static) {
        *self.pulse.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(pulse));
    }

    fn pulse(&self) -> u64 {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |pulse| pulse())
    }

    /// Makes a call under watch. Three stores beside the call itself. [one thread at a time]
    pub(crate) fn during<T>(&self, call: Call, ask: impl FnOnce() -> T) -> T {
        let number = self.count.load(Relaxed) + 1;
        self.count.store(number, Relaxed);
        self.current.store(number * 16 + call as u64 + 1, Relaxed);
        let answer = ask();
        self.current.store(0, Relaxed);
        answer
    }

    /// Returns when one call has been seen for `limit` without any progress, with its description.
    fn wait_for_hang(&self, limit: Duration) -> &'static str {
        let pause = (limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(250));
        let mut seen = ((0, 0), Instant::now());
        loop {
            thread::sleep(pause);
            let current = self.current.load(Relaxed);
            let now = (current, self.pulse());
            if now != seen.0 {
                seen = (now, Instant::now());
            } else if current != 0 && seen.1.elapsed() >= limit {
                let position = usize::try_from(current % 16 - 1).expect("it has four bits");
                return CALLS[position].1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_stands_at_its_own_place() {
        for (position, (call, _)) in CALLS.iter().enumerate() {
            assert_eq!(*call as usize, position);
        }
        const { assert!(CALLS.len() < 16) };
    }

    #[test]
    fn a_call_that_does_not_return_is_named() {
        let watchdog = Watchdog::default();
        watchdog.during(Call::Open, || ());
        watchdog.during(Call::LoadModel, || {
            assert_eq!(watchdog.wait_for_hang(Duration::from_millis(5)), "load the model");
        });
        assert_eq!(watchdog.current.load(Relaxed), 0);
    }

    #[test]
    fn a_call_during_which_samples_complete_does_not_hang() {
        let watchdog = Watchdog::default();
        // Another sample at each of the first hundred looks.
        let looks = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&looks);
        watchdog.set_pulse(move || seen.fetch_add(1, Relaxed).min(100));
        watchdog.during(Call::Issue, || {
            assert_eq!(watchdog.wait_for_hang(Duration::from_millis(5)), "take a query (issue)");
        });
        assert!(looks.load(Relaxed) > 100);
    }
}
