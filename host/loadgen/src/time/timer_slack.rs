//! Sets how exactly the system wakes a sleeping thread.

/// Timers of the calling thread fire as exactly as they can, for as long as this lives.
///
/// Linux may let a thread sleep 50 us longer than asked, to wake several at once. Elsewhere this does nothing.
#[derive(Debug)]
pub(crate) struct ExactTimers {
    #[cfg(target_os = "linux")]
    before_ns: Option<std::num::NonZeroU64>,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::num::NonZeroU64;

    use rustix::thread::{current_timer_slack, set_current_timer_slack};

    use super::ExactTimers;

    impl ExactTimers {
        /// Sets the slack of the calling thread to 1 ns. If that is not allowed, timers stay unchanged.
        pub(crate) fn set() -> Self {
            // 0 means that the thread has no slack, as for real-time threads.
            let before_ns = current_timer_slack().ok().and_then(NonZeroU64::new);
            if before_ns.is_some() {
                // On failure, precision is as before; the issue delay shows it.
                let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
            }
            Self { before_ns }
        }
    }

    impl Drop for ExactTimers {
        fn drop(&mut self) {
            if let Some(before_ns) = self.before_ns {
                // What could be set before can be set again.
                let _ = set_current_timer_slack(Some(before_ns));
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_slack_comes_back() {
            let before = current_timer_slack();
            {
                let _exact = ExactTimers::set();
                if before.is_ok_and(|slack| slack > 0) {
                    assert_eq!(current_timer_slack(), Ok(1));
                }
            }
            assert_eq!(current_timer_slack(), before);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl ExactTimers {
    pub(crate) fn set() -> Self {
        Self {}
    }
}
