//! How the threads of a call exchange hidden states.

use std::ops::Range;

use proctor_rnn_kernels::RowsMut;

use super::split::Split;
use crate::team::Member;

/// Places of the hidden states of a step: row `r` at `rows[r] + offset(step)`.
pub(super) struct Hidden<'a> {
    pub(super) rows: &'a [*mut f32],
    pub(super) stride: isize,
    /// Number of steps after which memory is reused.
    pub(super) period: usize,
}

impl Hidden<'_> {
    /// Returns the hidden states of some rows after a step.
    pub(super) fn at(&self, step: usize, rows: &Range<usize>) -> RowsMut {
        RowsMut { bases: self.rows[rows.clone()].as_ptr(), offset: self.offset(step) }
    }

    pub(super) fn offset(&self, step: usize) -> isize {
        (step % self.period) as isize * self.stride
    }
}

/// How a thread of a call meets the others: not at all if they do not share a direction.
pub(super) struct Meeting<'a> {
    /// The thread, unless it is alone.
    member: Option<&'a Member<'a>>,
    /// Number of threads that meet, if they do.
    among: Option<usize>,
}

impl<'a> Meeting<'a> {
    pub(super) const ALONE: Meeting<'static> = Meeting { member: None, among: None };

    pub(super) fn new(split: &Split, member: &'a Member<'a>) -> Self {
        Self { member: Some(member), among: split.meets().then_some(split.threads()) }
    }

    #[inline]
    pub(super) fn arrive(&self) {
        if let (Some(member), Some(threads)) = (self.member, self.among) {
            member.arrive_among(threads);
        }
    }

    #[inline]
    pub(super) fn wait(&self) {
        if let (Some(member), Some(threads)) = (self.member, self.among) {
            member.wait_among(threads);
        }
    }

    /// Panics if another thread has panicked, for a thread that waits for its work otherwise than here.
    pub(super) fn check(&self) {
        if let Some(member) = self.member {
            member.check();
        }
    }
}
