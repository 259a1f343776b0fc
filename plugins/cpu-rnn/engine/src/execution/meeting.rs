//! How the threads of a call exchange hidden states.

use super::split::Split;
use crate::Member;

/// Where hidden states of a step lie: row `r` at `write[r] + offset(step)`.
pub(super) struct Hidden<'a> {
    pub(super) write: &'a [*mut f32],
    pub(super) read: &'a [*const f32],
    pub(super) stride: isize,
    /// After so many steps the same memory is used again.
    pub(super) period: usize,
}

impl Hidden<'_> {
    pub(super) fn offset(&self, step: usize) -> isize {
        (step % self.period) as isize * self.stride
    }
}

/// Where the threads of a call wait for each other; nowhere if they do not share a direction.
pub(super) struct Meeting<'a>(Option<(&'a Member<'a>, usize)>);

impl<'a> Meeting<'a> {
    pub(super) const ALONE: Meeting<'static> = Meeting(None);

    pub(super) fn new(split: &Split, member: &'a Member<'a>) -> Self {
        Self(split.meets().then_some((member, split.threads())))
    }

    #[inline]
    pub(super) fn arrive(&self) {
        if let Some((member, _)) = self.0 {
            member.arrive();
        }
    }

    #[inline]
    pub(super) fn wait(&self) {
        if let Some((member, threads)) = self.0 {
            member.wait_among(threads);
        }
    }
}
