//! Keeping the response data of the samples that go into the accuracy log.

use std::{
    collections::TryReserveError,
    sync::{
        Mutex,
        atomic::Ordering::{Acquire, Relaxed, Release},
    },
};

use crate::{plan::phases::PhaseMode, time::sync::AtomicU64};

/// The response of one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptResponse {
    /// Sequence number of the sample in its phase.
    pub sequence: u64,
    /// The bytes as received.
    pub data: Vec<u8>,
}

/// Storage for the responses of a phase.
#[derive(Debug)]
pub(crate) enum ResponseStore {
    /// An accuracy phase is not timed: every response is allocated.
    Growing(Mutex<Vec<KeptResponse>>),
    /// A performance phase copies into preallocated memory.
    Arena(ResponseArena),
}

impl ResponseStore {
    /// Returns the store that a phase of this kind needs.
    ///
    /// # Errors
    /// If there is no memory for the arena.
    pub(crate) fn new(mode: PhaseMode, arena_bytes: u64) -> Result<Self, TryReserveError> {
        Ok(match mode {
            PhaseMode::Accuracy => Self::Growing(Mutex::new(Vec::new())),
            PhaseMode::Performance => Self::Arena(ResponseArena::new(arena_bytes)?),
        })
    }

    /// Keeps a copy of `data`. [any thread; in an arena without a lock]
    pub(crate) fn keep(&self, sequence: u64, data: &[u8]) {
        match self {
            Self::Growing(list) => {
                let response = KeptResponse { sequence, data: data.to_vec() };
                list.lock().expect("no holder of this lock can panic").push(response);
            }
            Self::Arena(arena) => arena.keep(sequence, data),
        }
    }

    /// Moves out the kept responses, in the order of the sequence numbers.
    pub(crate) fn take(&self) -> Vec<KeptResponse> {
        let mut responses = match self {
            Self::Growing(list) => {
                std::mem::take(&mut *list.lock().expect("no holder of this lock can panic"))
            }
            Self::Arena(arena) => arena.read(),
        };
        responses.sort_by_key(|response| response.sequence);
        responses
    }

    /// Returns the number of responses that did not fit.
    pub(crate) fn overflow_count(&self) -> u64 {
        match self {
            Self::Growing(_) => 0,
            Self::Arena(arena) => arena.overflow_count.load(Relaxed),
        }
    }
}

/// A fixed block of words; any thread claims the next free ones.
///
/// An entry is: length in bytes + 1, sequence number + 1, then the bytes, eight to a word and padded with zeros.
/// Writing its length claims it, by one compare-exchange: so the lengths lead from each entry to the next, whatever
/// happens to the threads that fill them. The sequence number is written last; an entry without one is skipped.
#[derive(Debug)]
pub(crate) struct ResponseArena {
    words: Box<[AtomicU64]>,
    /// Position from which the lengths lead to the free words.
    near_end: AtomicU64,
    overflow_count: AtomicU64,
}

impl ResponseArena {
    const HEADER_WORDS: usize = 2;

    /// Reserves `size_bytes`; each response takes 16 more than its data.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub(crate) fn new(size_bytes: u64) -> Result<Self, TryReserveError> {
        let len = usize::try_from(size_bytes / 8).unwrap_or(usize::MAX);
        let mut words = Vec::new();
        words.try_reserve_exact(len)?;
        // Each word is written here, so that no page fault is left for the timed part.
        words.resize_with(len, || AtomicU64::new(0));
        let words = words.into_boxed_slice();
        Ok(Self { words, near_end: AtomicU64::new(0), overflow_count: AtomicU64::new(0) })
    }

    fn keep(&self, sequence: u64, data: &[u8]) {
        let Some(entry) = self.claim(data.len()) else {
            self.overflow_count.fetch_add(1, Relaxed);
            return;
        };
        for (word, bytes) in entry[Self::HEADER_WORDS..].iter().zip(data.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(padded), Relaxed);
        }
        // Release: a thread that sees this word sees the rest of the entry.
        entry[1].store(sequence + 1, Release);
    }

    /// Returns the words of a new entry, unless there is no room for it.
    fn claim(&self, len_bytes: usize) -> Option<&[AtomicU64]> {
        let len = Self::entry_len(len_bytes);
        // Acquire: a thread that finds this entry also finds the lengths that lead to it, including skipped ones.
        let mut start = usize::try_from(self.near_end.load(Acquire)).ok()?;
        loop {
            let entry = self.words.get(start..start.checked_add(len)?)?;
            match entry[0].compare_exchange(0, len_bytes as u64 + 1, Relaxed, Relaxed) {
                Ok(_) => {
                    self.near_end.fetch_max((start + len) as u64, Release);
                    return Some(entry);
                }
                Err(other) => start += Self::entry_len(other as usize - 1),
            }
        }
    }

    /// Returns the number of words of an entry with `len_bytes` of data.
    fn entry_len(len_bytes: usize) -> usize {
        Self::HEADER_WORDS + len_bytes.div_ceil(8)
    }

    fn read(&self) -> Vec<KeptResponse> {
        let mut responses = Vec::new();
        let mut rest = &self.words[..];
        while let [len, sequence, words @ ..] = rest {
            let Some(len_bytes) = len.load(Relaxed).checked_sub(1) else { break };
            let len_bytes = usize::try_from(len_bytes).expect("the length of a slice");
            let (words, after) = words.split_at(len_bytes.div_ceil(8));
            if let Some(sequence) = sequence.load(Acquire).checked_sub(1) {
                let mut data: Vec<u8> =
                    words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
                data.truncate(len_bytes);
                responses.push(KeptResponse { sequence, data });
            }
            rest = after;
        }
        responses
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn both_stores_return_what_was_kept_in_order() {
        for mode in [PhaseMode::Accuracy, PhaseMode::Performance] {
            let store = ResponseStore::new(mode, 1024).unwrap();
            store.keep(2, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
            store.keep(0, &[]);
            store.keep(1, &[0; 8]);
            let data: Vec<_> = store.take().into_iter().map(|kept| (kept.sequence, kept.data)).collect();
            assert_eq!(data, [(0, vec![]), (1, vec![0; 8]), (2, vec![1, 2, 3, 4, 5, 6, 7, 8, 9])]);
            assert_eq!(store.overflow_count(), 0);
        }
    }

    #[test]
    fn an_arena_counts_what_does_not_fit_and_keeps_the_rest() {
        let store = ResponseStore::new(PhaseMode::Performance, 24).unwrap();
        store.keep(0, &[7]);
        store.keep(1, &[8]);
        assert_eq!(store.take(), [KeptResponse { sequence: 0, data: vec![7] }]);
        assert_eq!(store.overflow_count(), 1);
        // Not even the header fits.
        let store = ResponseStore::new(PhaseMode::Performance, 8).unwrap();
        store.keep(0, &[]);
        assert_eq!((store.take().len(), store.overflow_count()), (0, 1));
    }

    #[test]
    fn an_entry_that_nobody_finishes_does_not_hide_those_behind_it() {
        let arena = ResponseArena::new(1024).unwrap();
        arena.keep(0, &[7; 3]);
        arena.claim(9).unwrap();
        arena.keep(2, &[8; 11]);
        let kept: Vec<_> = arena.read().into_iter().map(|kept| (kept.sequence, kept.data)).collect();
        assert_eq!(kept, [(0, vec![7; 3]), (2, vec![8; 11])]);
    }

    #[test]
    fn what_is_too_large_leaves_its_room_to_others() {
        let arena = ResponseArena::new(48).unwrap();
        arena.keep(0, &[7; 40]);
        arena.keep(1, &[8; 8]);
        arena.keep(2, &[9; 8]);
        assert_eq!(arena.read().len(), 2);
        assert_eq!(arena.overflow_count.load(Relaxed), 1);
    }

    #[test]
    fn threads_append_side_by_side() {
        let store = ResponseStore::new(PhaseMode::Performance, 1 << 16).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let store = &store;
                scope.spawn(move || {
                    (0..100).for_each(|n| store.keep(thread * 100 + n, &n.to_le_bytes()[..5]))
                });
            }
        });
        let kept = store.take();
        assert_eq!(kept.len(), 400);
        for (sequence, response) in (0..).zip(kept) {
            let expected = (sequence % 100_u64).to_le_bytes()[..5].to_vec();
            assert_eq!((response.sequence, response.data), (sequence, expected));
        }
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-loadgen --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{sync::Arc, thread};

    use super::*;

    /// Two threads keep a response each in the given way, and the arena is read when the second of them has done so,
    /// wherever the first is. Every response that is there has to be whole; returns whether the second is there.
    fn is_found_beside_another(keep: fn(&ResponseArena, u64, &[u8])) -> bool {
        let arena = Arc::new(ResponseArena::new(64).expect("64 bytes are there"));
        let [first, second] = [(1, &[1; 8]), (2, &[2; 8])].map(|(sequence, data)| {
            let arena = Arc::clone(&arena);
            thread::spawn(move || keep(&arena, sequence, data))
        });
        second.join().unwrap();
        let responses = arena.read();
        for KeptResponse { sequence, data } in &responses {
            assert!(*data == [*sequence as u8; 8], "a response is read before it is whole");
        }
        first.join().unwrap();
        assert_eq!((arena.read().len(), arena.overflow_count.load(Relaxed)), (2, 0));
        responses.iter().any(|response| response.sequence == 2)
    }

    #[test]
    fn loom_a_kept_response_is_found_whatever_another_thread_is_at() {
        loom::model(|| assert!(is_found_beside_another(ResponseArena::keep)));
    }

    /// The twin that claims room first and writes the length of its entry afterwards. It must fail, or the model above
    /// proves nothing.
    #[test]
    #[should_panic(expected = "a kept response is lost")]
    fn loom_finds_a_response_lost_behind_an_entry_without_a_length() {
        loom::model(|| {
            let is_found = is_found_beside_another(|arena, sequence, data| {
                let len = ResponseArena::entry_len(data.len());
                let start = arena.near_end.fetch_add(len as u64, Relaxed) as usize;
                let entry = &arena.words[start..start + len];
                entry[0].store(data.len() as u64 + 1, Relaxed);
                entry[2].store(u64::from_le_bytes(data.try_into().unwrap()), Relaxed);
                entry[1].store(sequence + 1, Release);
            });
            assert!(is_found, "a kept response is lost");
        });
    }

    /// The twin that writes the sequence number without releasing. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "a response is read before it is whole")]
    fn loom_finds_a_response_that_is_not_released() {
        loom::model(|| {
            is_found_beside_another(|arena, sequence, data| {
                let entry = arena.claim(data.len()).unwrap();
                entry[2].store(u64::from_le_bytes(data.try_into().unwrap()), Relaxed);
                entry[1].store(sequence + 1, Relaxed);
            });
        });
    }
}
