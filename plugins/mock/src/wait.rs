//! Waiting more precisely than a sleep.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

use proctor_plugin_api::Host;

/// Time before the end to stop sleeping: a sleep commonly ends 50 us late, which is the kernel's timer slack.
const SPIN: Duration = Duration::from_micros(100);

/// Longest sleep before looking again whether the host wants the work to end.
const NAP: Duration = Duration::from_millis(10);

/// Returns `time` after `begin`, or soon once the host cancels.
pub(crate) fn until(begin: Instant, time: Duration, host: &Host) {
    if time.is_zero() {
        return;
    }
    loop {
        let left = time.saturating_sub(begin.elapsed());
        if left <= SPIN || host.is_cancelled() {
            break;
        }
        thread::sleep((left - SPIN).min(NAP));
    }
    while begin.elapsed() < time && !host.is_cancelled() {
        hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_returns_early() {
        for time_us in [0, 1, 90, 250, 12_000] {
            let (begin, time) = (Instant::now(), Duration::from_micros(time_us));
            until(begin, time, &Host::detached());
            assert!(begin.elapsed() >= time);
        }
    }
}
