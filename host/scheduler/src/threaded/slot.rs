//! Slot in which an instance shows its running batch, without a lock.
//!
//! # Protocol
//!
//! Only the thread of the instance writes. It makes `version` odd, writes, and makes it even again; no thread waits
//! for another. A reader reads `version` before and after, and looks again if it was odd or has changed: its values
//! were not from one batch then. The fences order the reads and writes between against `version`.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use proctor_vocabulary::{QuerySample, ResponseId, SampleIndex};

use super::InFlight;
use crate::sync::{AtomicBool, AtomicU64, fence, thread};

/// State that one thread publishes. When it has ended the next instance of this number has it.
#[repr(align(128))]
pub(super) struct Slot {
    version: AtomicU64,
    count: AtomicU64,
    since_ns: AtomicU64,
    /// Id and index of each sample of the batch, with room for the largest.
    samples: OnceLock<Box<[[AtomicU64; 2]]>>,
    pub(super) busy_ns: AtomicU64,
    /// The instance is dropped and the thread ends, or there is no instance.
    pub(super) left: AtomicBool,
}

impl Slot {
    /// Creates a slot without an owner.
    pub(super) fn new() -> Self {
        Self {
            version: AtomicU64::new(0),
            count: AtomicU64::new(0),
            since_ns: AtomicU64::new(0),
            samples: OnceLock::new(),
            busy_ns: AtomicU64::new(0),
            left: AtomicBool::new(true),
        }
    }

    /// Notes that an instance is about to use it.
    pub(super) fn take(&self, batch_size_max: usize) {
        let pair = |_| [AtomicU64::new(0), AtomicU64::new(0)];
        self.samples.get_or_init(|| (0..batch_size_max).map(pair).collect());
        self.left.store(false, Relaxed);
    }

    /// Shows the batch that runs from now on. [thread of the instance]
    pub(super) fn show(&self, samples: &[QuerySample], since_ns: u64) {
        let version = self.begin();
        let room = self.samples.get().map_or(&[][..], |room| room);
        for (place, sample) in room.iter().zip(samples) {
            place[0].store(sample.id.0, Relaxed);
            place[1].store(sample.index.0, Relaxed);
        }
        self.count.store(samples.len() as u64, Relaxed);
        self.since_ns.store(since_ns, Relaxed);
        self.end(version);
    }

    /// Shows that no batch runs, and counts the time of the previous one. [thread of the instance]
    pub(super) fn clear(&self, now_ns: u64) {
        let version = self.begin();
        let busy_ns = now_ns - self.since_ns.load(Relaxed);
        self.count.store(0, Relaxed);
        self.since_ns.store(now_ns, Relaxed);
        self.end(version);
        self.busy_ns.store(self.busy_ns.load(Relaxed) + busy_ns, Relaxed);
    }

    fn begin(&self) -> u64 {
        let version = self.version.load(Relaxed);
        self.version.store(version + 1, Relaxed);
        fence(Release);
        version
    }

    fn end(&self, version: u64) {
        self.version.store(version + 2, Release);
    }

    /// Returns the batch of the instance. [any thread]
    pub(super) fn in_flight(&self, instance: usize) -> InFlight {
        loop {
            if let Some(in_flight) = self.look(instance) {
                return in_flight;
            }
            thread::yield_now();
        }
    }

    /// Returns one snapshot, `None` if the batch changed meanwhile.
    fn look(&self, instance: usize) -> Option<InFlight> {
        let version = self.version.load(Acquire);
        let in_flight = self.read(instance);
        fence(Acquire);
        (version.is_multiple_of(2) && self.version.load(Relaxed) == version).then_some(in_flight)
    }

    fn read(&self, instance: usize) -> InFlight {
        let room = self.samples.get().map_or(&[][..], |room| room);
        let sample = |place: &[AtomicU64; 2]| QuerySample {
            id: ResponseId(place[0].load(Relaxed)),
            index: SampleIndex(place[1].load(Relaxed)),
        };
        let samples = room.iter().take(self.count.load(Relaxed) as usize).map(sample).collect();
        InFlight { instance, samples, since_ns: self.since_ns.load(Relaxed) }
    }
}

/// Run by `cargo xtask test`, or with `RUSTFLAGS="--cfg loom"`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    fn sample(id: u64) -> QuerySample {
        QuerySample { id: ResponseId(id), index: SampleIndex(id) }
    }

    /// An instance shows one batch, and then another, while somebody looks in the given way.
    fn shown_is_one_batch(look: fn(&Slot) -> Option<InFlight>) {
        let slot: &'static Slot = Box::leak(Box::new(Slot::new()));
        slot.take(1);
        slot.show(&[sample(1)], 1);
        let instance = loom::thread::spawn(move || {
            slot.clear(1);
            slot.show(&[sample(2)], 2);
        });
        if let Some(InFlight { samples, since_ns, .. }) = look(slot) {
            let is_whole = samples.first().is_none_or(|it| it.id.0 == it.index.0 && it.id.0 == since_ns);
            assert!(is_whole, "of two batches");
        }
        instance.join().unwrap();
    }

    #[test]
    fn loom_whoever_looks_at_an_instance_sees_one_batch() {
        loom::model(|| shown_is_one_batch(|slot| slot.look(0)));
    }

    /// The twin that does not look at the version. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "of two batches")]
    fn loom_finds_a_look_at_two_batches() {
        loom::model(|| shown_is_one_batch(|slot| Some(slot.read(0))));
    }
}
