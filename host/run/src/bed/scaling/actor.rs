//! The thread of the host that acts for a scaler while a test goes on.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use crate::bed::scaling::scaler::Scaler;

/// A thread that acts for a scaler, in real time.
///
/// It runs code of the plugin where that makes or destroys an instance, so it is never joined; the end of its own code
/// is waited for.
pub(crate) struct Actor {
    stop: Sender<()>,
    /// Nothing is ever sent: the thread drops its end.
    ended: Receiver<()>,
}

impl Actor {
    /// Between two looks at what was done.
    pub(crate) const PAUSE: Duration = Duration::from_millis(5);

    /// Starts the thread. `show` gets each look.
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub(crate) fn start(
        scaler: Arc<Scaler>,
        now: Arc<dyn Fn() -> u64 + Send + Sync>,
        mut show: impl FnMut(&Scaler) + Send + 'static,
    ) -> io::Result<Self> {
        let ((stop, is_stopped), (ends, ended)) = (channel(), channel());
        let act = move || {
            let _ends: Sender<()> = ends;
            while is_stopped.recv_timeout(Self::PAUSE) == Err(RecvTimeoutError::Timeout) {
                scaler.act(now());
                show(&scaler);
            }
        };
        thread::Builder::new().name("scaler".to_owned()).spawn(act)?;
        Ok(Self { stop, ended })
    }

    /// Has the thread act no more, and waits until it does: for an instance that starts, if one does.
    pub(crate) fn stop(self) {
        drop(self.stop);
        let _ = self.ended.recv();
    }
}
