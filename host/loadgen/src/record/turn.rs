//! The order in which the first token and the completion of a sample reach an engine, whatever threads they are on.
//!
//! # Protocol of a turn
//! | word | state |
//! |---|---|
//! | 0 | the engine has neither |
//! | 1 | a thread is passing on the first token |
//! | 2 | the engine has the first token |
//! | 3 | the completion goes to the engine; a first token that comes now is dropped |
//! | 4 | the completion is left to the thread that is passing on the first token |
//!
//! Nobody waits: a thread that completes samples may hold the interpreter's lock, which the other one needs.

use std::sync::atomic::Ordering::{AcqRel, Acquire};

use crate::time::sync::AtomicU64;

const NEITHER: u64 = 0;
const PASSING: u64 = 1;
const PASSED: u64 = 2;
const COMPLETE: u64 = 3;
const LEFT: u64 = 4;

/// Turn of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn<'a>(pub(crate) &'a AtomicU64);

/// Position of a completion beside the first token of its sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// The engine gets no other first token: the completion brings one.
    Alone,
    /// The engine has the first token.
    After,
    /// Another thread is passing on the first token.
    During,
}

impl Turn<'_> {
    /// Begins to pass on the first token; returns false if the completion came first. [any thread, wait-free]
    pub(crate) fn begin_first_token(self) -> bool {
        self.0.compare_exchange(NEITHER, PASSING, AcqRel, Acquire).is_ok()
    }

    /// Notes that the engine has the first token; returns false if a completion was left to this thread meanwhile.
    /// [the thread that passed it on, wait-free]
    pub(crate) fn end_first_token(self) -> bool {
        self.0.compare_exchange(PASSING, PASSED, AcqRel, Acquire).is_ok()
    }

    /// Finds the position of the completion; unless it is during the first token, it goes to the engine next. [the
    /// thread that completed the sample, wait-free]
    pub(crate) fn complete(self) -> Position {
        match self.0.compare_exchange(NEITHER, COMPLETE, AcqRel, Acquire) {
            Ok(_) => Position::Alone,
            Err(PASSING) => Position::During,
            Err(_) => Position::After,
        }
    }

    /// Leaves the completion to the thread that is passing on the first token; returns false if it has done so already.
    /// [the thread that completed the sample, wait-free]
    pub(crate) fn leave(self) -> bool {
        self.0.compare_exchange(PASSING, LEFT, AcqRel, Acquire).is_ok()
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-loadgen --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{
        sync::{Arc, Mutex},
        thread,
    };

    use super::*;

    const FIRST_TOKEN: &str = "first token";
    const COMPLETION: &str = "completion";

    #[derive(Default)]
    struct Sample {
        turn: AtomicU64,
        /// The events that the engine has seen the end of.
        seen: Mutex<Vec<&'static str>>,
        left: Mutex<bool>,
    }

    impl Sample {
        fn pass_on(&self, event: &'static str) {
            self.seen.lock().unwrap().push(event);
        }

        fn first_token(&self) {
            let turn = Turn(&self.turn);
            if turn.begin_first_token() {
                self.pass_on(FIRST_TOKEN);
                if !turn.end_first_token() {
                    assert!(*self.left.lock().unwrap(), "what was left is there");
                    self.pass_on(COMPLETION);
                }
            }
        }

        fn complete(&self) {
            let turn = Turn(&self.turn);
            match turn.complete() {
                Position::Alone => self.pass_on(FIRST_TOKEN),
                Position::After => {}
                Position::During => {
                    *self.left.lock().unwrap() = true;
                    if turn.leave() {
                        return;
                    }
                }
            }
            self.pass_on(COMPLETION);
        }
    }

    fn race(complete: fn(&Sample)) {
        loom::model(move || {
            let sample = Arc::new(Sample::default());
            let other = Arc::clone(&sample);
            let thread = thread::spawn(move || other.first_token());
            complete(&sample);
            thread.join().unwrap();
            assert_eq!(*sample.seen.lock().unwrap(), [FIRST_TOKEN, COMPLETION]);
        });
    }

    #[test]
    fn loom_the_engine_has_one_first_token_and_then_the_completion() {
        race(Sample::complete);
    }

    /// The twin that does not heed a first token on its way. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic]
    fn loom_finds_a_completion_that_overtakes() {
        race(|sample| {
            if Turn(&sample.turn).complete() == Position::Alone {
                sample.pass_on(FIRST_TOKEN);
            }
            sample.pass_on(COMPLETION);
        });
    }
}
