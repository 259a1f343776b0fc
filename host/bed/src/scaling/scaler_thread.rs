//! The thread that acts for a scaler while a test continues.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use crate::scaling::scaler::Scaler;

/// A thread that acts for a scaler, in real time.
///
/// It is no [`Ticker`](proctor_words::Ticker), which is joined: it makes and destroys instances, so at its end
/// destructors of the plugin run on it, which may never return. Only the end of its own code is waited for.
pub(crate) struct ScalerThread {
    stop: Sender<()>,
    /// Channel without messages: the thread drops its end.
    ended: Receiver<()>,
}

impl ScalerThread {
    /// Starts the thread. `show` receives each snapshot.
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub(crate) fn start(
        scaler: Arc<Scaler>,
        now: Arc<dyn Fn() -> u64 + Send + Sync>,
        mut show: impl FnMut(&Scaler) + Send + 'static,
    ) -> io::Result<Self> {
        let ((stop, is_stopped), (ends, ended)) = (channel(), channel());
        let pause = Duration::from_nanos(Scaler::PAUSE_NS);
        let act = move || {
            let _ends: Sender<()> = ends;
            while is_stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                scaler.act(now());
                show(&scaler);
            }
        };
        thread::Builder::new().name("scaler".to_owned()).spawn(act)?;
        Ok(Self { stop, ended })
    }

    /// Stops the thread and waits for it, including an instance that is starting.
    pub(crate) fn stop(self) {
        drop(self.stop);
        let _ = self.ended.recv();
    }
}
