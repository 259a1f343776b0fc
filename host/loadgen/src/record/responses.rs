//! Keeping the response data of the samples that go into the accuracy log.

use std::sync::{
    Mutex,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use crate::plan::phases::PhaseMode;

/// The response of one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptResponse {
    /// Sequence number of the sample in its phase.
    pub sequence: u64,
    /// The bytes as they came.
    pub data: Vec<u8>,
}

/// Where the responses of a phase are kept.
#[derive(Debug)]
pub(crate) enum ResponseStore {
    /// An accuracy phase is not timed: every response is allocated.
    Growing(Mutex<Vec<KeptResponse>>),
    /// A performance phase copies into memory that is there already.
    Arena(ResponseArena),
}

impl ResponseStore {
    /// The store that a phase of this kind needs.
    pub(crate) fn new(mode: PhaseMode, arena_bytes: u64) -> Self {
        match mode {
            PhaseMode::Accuracy => Self::Growing(Mutex::new(Vec::new())),
            PhaseMode::Performance => Self::Arena(ResponseArena::new(arena_bytes)),
        }
    }

    /// Keeps a copy of `data`. [any thread; wait-free in an arena]
    pub(crate) fn keep(&self, sequence: u64, data: &[u8]) {
        match self {
            Self::Growing(list) => {
                let response = KeptResponse { sequence, data: data.to_vec() };
                list.lock().expect("no holder of this lock can panic").push(response);
            }
            Self::Arena(arena) => arena.keep(sequence, data),
        }
    }

    /// Moves out what was kept, in the order of the sequence numbers.
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

    /// Number of responses that did not fit.
    pub(crate) fn overflow_count(&self) -> u64 {
        match self {
            Self::Growing(_) => 0,
            Self::Arena(arena) => arena.overflow_count.load(Relaxed),
        }
    }
}

/// A fixed block of words that any thread appends to by moving one index.
///
/// An entry is: sequence number + 1, length in bytes, then the bytes, eight to a word and padded with zeros. Its first
/// word is written last, so that a reader never takes a half-written entry for a whole one; reading ends there.
#[derive(Debug)]
pub(crate) struct ResponseArena {
    words: Box<[AtomicU64]>,
    next: AtomicU64,
    overflow_count: AtomicU64,
}

impl ResponseArena {
    const HEADER_WORDS: usize = 2;

    /// Room for `size_bytes`, of which each response takes 16 more than its data.
    pub(crate) fn new(size_bytes: u64) -> Self {
        let words = (0..size_bytes / 8).map(|_| AtomicU64::new(0)).collect();
        Self { words, next: AtomicU64::new(0), overflow_count: AtomicU64::new(0) }
    }

    fn keep(&self, sequence: u64, data: &[u8]) {
        let len = Self::HEADER_WORDS + data.len().div_ceil(8);
        let start = self.next.fetch_add(len as u64, Relaxed);
        let entry =
            usize::try_from(start).ok().and_then(|start| self.words.get(start..start.checked_add(len)?));
        let Some(entry) = entry else {
            self.overflow_count.fetch_add(1, Relaxed);
            return;
        };
        for (word, bytes) in entry[Self::HEADER_WORDS..].iter().zip(data.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(padded), Relaxed);
        }
        entry[1].store(data.len() as u64, Relaxed);
        // Release: a thread that sees this word sees the rest of the entry.
        entry[0].store(sequence + 1, Release);
    }

    fn read(&self) -> Vec<KeptResponse> {
        let mut responses = Vec::new();
        let mut rest = &self.words[..];
        while let [first, len, words @ ..] = rest {
            let Some(sequence) = first.load(Acquire).checked_sub(1) else { break };
            let len_bytes = usize::try_from(len.load(Relaxed)).expect("the length of a slice");
            let (words, after) = words.split_at(len_bytes.div_ceil(8));
            let mut data: Vec<u8> = words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
            data.truncate(len_bytes);
            responses.push(KeptResponse { sequence, data });
            rest = after;
        }
        responses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_stores_return_what_was_kept_in_order() {
        for store in [PhaseMode::Accuracy, PhaseMode::Performance].map(|mode| ResponseStore::new(mode, 1024))
        {
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
        let store = ResponseStore::new(PhaseMode::Performance, 24);
        store.keep(0, &[7]);
        store.keep(1, &[8]);
        assert_eq!(store.take(), [KeptResponse { sequence: 0, data: vec![7] }]);
        assert_eq!(store.overflow_count(), 1);
        // Not even the header fits.
        let store = ResponseStore::new(PhaseMode::Performance, 8);
        store.keep(0, &[]);
        assert_eq!((store.take().len(), store.overflow_count()), (0, 1));
    }

    #[test]
    fn threads_append_side_by_side() {
        let store = ResponseStore::new(PhaseMode::Performance, 1 << 16);
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
