//! The threads that a layer runs on: weight-centric streamlining (section 5.2.4 of the paper).
//!
//! A [`Team`] is the caller and its persistent helpers, each pinned to a core. [`Team::run`] is one parallel region: it
//! spans the whole sequence, and within it thread `i` has the same weights at every step, so they stay in the cache of
//! its core. Between steps the threads meet at a [barrier](Member::barrier) that costs two threads some three times
//! as much as moving a cache line to the other core and back.
//!
//! Between regions helpers watch for the next one for a bounded time and then sleep. Threads that wait give their core
//! away after a while, so a team on fewer cores than threads is slow but makes progress.

mod barrier;
mod gate;

use std::{
    any::Any,
    cell::{Cell, UnsafeCell},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError},
    thread::{JoinHandle, ThreadId},
    time::{Duration, Instant},
};

use barrier::Barrier;
pub use barrier::BarrierForm;
use gate::Gate;
use proctor_rnn_layer::{allowed_cores, pin_to};

use crate::sync::spin;

/// Options for creating a [`Team`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamOptions {
    /// Number of threads, including the caller; at least 1.
    pub threads: usize,
    /// Cores to use, the caller's first, reused from the start if there are fewer than threads; empty for the last
    /// cores that the calling thread may run on (the first one serves most interrupts).
    pub cores: Vec<usize>,
    /// Whether each helper stays on its core.
    pub pin: bool,
    /// Whether the thread that calls [`Team::run`] is put on its core, from its first call until the team is dropped or
    /// another thread calls.
    pub pin_caller: bool,
    /// Time for which a helper watches for the next region before it sleeps.
    pub spin: Duration,
    /// How threads meet between steps.
    pub barrier: BarrierForm,
}

impl TeamOptions {
    /// Returns the defaults: pinned helpers, a free caller, 100 us of watching.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            cores: Vec::new(),
            pin: true,
            pin_caller: false,
            spin: Duration::from_micros(100),
            barrier: BarrierForm::Automatic,
        }
    }
}

/// Threads for layers to run on: the caller and its helpers; see the [module](self).
pub struct Team {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    cores: Vec<usize>,
    caller: CallerPin,
}

/// A thread of a team while a region runs.
#[derive(Debug)]
pub struct Member<'a> {
    barrier: &'a Barrier,
    index: usize,
    round: Cell<u64>,
}

type Work<'a> = dyn Fn(&Member<'_>) + Sync + 'a;

struct Shared {
    gate: Gate,
    barrier: Barrier,
    /// Work of the running region; `None` asks helpers to end. Written by the caller between regions only.
    work: UnsafeCell<Option<*const Work<'static>>>,
    /// Number from which all threads count the barriers of the region. Written with `work`.
    base: UnsafeCell<u64>,
    /// The first panic of a region.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: all but `work` is `Send`. That is a pointer that owns nothing, to work that is `Sync`: any thread may call
// it.
unsafe impl Send for Shared {}
// SAFETY: `work` and `base` are written by the caller only while no region runs: after every helper has come to the end
// of the last one, which the gate's `close` acquires, and before `open` releases them to the helpers. Only between the
// two do helpers read them. The work is `Sync`, and the other fields are.
unsafe impl Sync for Shared {}

/// Whether the calling thread is pinned, and the cores that it could run on before.
#[derive(Debug, Default)]
struct CallerPin {
    wanted: bool,
    pinned: Option<(ThreadId, Vec<usize>)>,
}

impl Team {
    /// Makes a team of this many threads, the caller counted; 0 counts as 1.
    ///
    /// # Panics
    /// If the operating system gives no thread.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self::with_options(&TeamOptions::new(threads)).expect("a thread for the team")
    }

    /// Makes a team.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn with_options(options: &TeamOptions) -> std::io::Result<Self> {
        let threads = options.threads.max(1);
        let cores = chosen_cores(options, threads);
        let shared = Arc::new(Shared {
            gate: Gate::new(threads - 1),
            barrier: Barrier::new(threads, options.barrier),
            work: UnsafeCell::new(None),
            base: UnsafeCell::new(0),
            panic: Mutex::new(None),
        });
        let caller = CallerPin { wanted: options.pin_caller && !cores.is_empty(), pinned: None };
        let mut team = Self { shared, helpers: Vec::with_capacity(threads - 1), cores, caller };
        for index in 1..threads {
            let shared = Arc::clone(&team.shared);
            let core = team.core_of(index).filter(|_| options.pin);
            let patience = options.spin;
            let builder = std::thread::Builder::new().name(format!("rnn-team-{index}"));
            team.helpers.push(builder.spawn(move || {
                if let Some(core) = core {
                    // A system that refuses leaves the helper where it is.
                    let _ = pin_to(&[core]);
                }
                help(&shared, index, patience);
            })?);
        }
        Ok(team)
    }

    /// Returns the number of threads, the caller counted.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.shared.barrier.threads()
    }

    /// Returns the core that was chosen for a thread; `None` where threads cannot be pinned.
    #[must_use]
    pub fn core_of(&self, thread: usize) -> Option<usize> {
        (!self.cores.is_empty()).then(|| self.cores[thread % self.cores.len()])
    }

    /// Runs one parallel region: `work` once on each thread, the caller as thread 0. Returns when all have ended.
    ///
    /// # Panics
    /// If `work` panics on any thread: then on all that wait for it at a barrier, and here once all have ended.
    pub fn run(&mut self, work: impl Fn(&Member<'_>) + Sync) {
        self.run_dyn(&work);
    }

    fn run_dyn(&mut self, work: &Work<'_>) {
        if let Some(core) = self.core_of(0).filter(|_| self.caller.wanted) {
            self.caller.pin(core);
        }
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. Helpers use the pointer within the region alone, and the function does not
        // return, also after a panic, before every helper has come to its end, so the work outlives their use of it.
        let erased = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        let base = shared.barrier.restart();
        // SAFETY: the team is borrowed mutably and its last region was closed, so no region runs. Helpers read neither
        // place before the region that is opened below, and no other thread writes them.
        unsafe {
            *shared.work.get() = Some(erased);
            *shared.base.get() = base;
        }
        let region = self.open();
        run_part(shared, 0, base, work);
        shared.gate.close(region);
        if shared.barrier.is_poisoned() {
            let payload = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            resume_unwind(payload.unwrap_or_else(|| Box::new("a thread of the team panicked")));
        }
    }

    /// Starts a region with the work that is laid ready and returns its number.
    fn open(&self) -> u64 {
        let region = self.shared.gate.open();
        if region.somebody_sleeps {
            self.helpers.iter().for_each(|helper| helper.thread().unpark());
        }
        region.number
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // SAFETY: the team is borrowed mutably and its last region was closed, so no region runs. Helpers do not read
        // the place before the region that is opened below, and no other thread writes it.
        unsafe { *self.shared.work.get() = None };
        self.open();
        for helper in self.helpers.drain(..) {
            // A helper catches the panics of its work; there is nothing else to report.
            let _ = helper.join();
        }
        self.caller.release();
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team").field("threads", &self.threads()).field("cores", &self.cores).finish()
    }
}

impl Member<'_> {
    /// Returns the index of the thread in the team; 0 is the caller.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the number of threads of the team.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.barrier.threads()
    }

    /// Waits until all threads have arrived; then everything that each wrote before is visible to all. Every thread of
    /// a region must reach the same number of barriers.
    ///
    /// # Panics
    /// If another thread has panicked.
    #[inline]
    pub fn barrier(&self) {
        self.barrier_among(self.threads());
    }

    /// Waits likewise for the first `threads` threads of the team only; the others reach no barrier in this region.
    ///
    /// # Panics
    /// If one of these threads has panicked.
    #[inline]
    pub fn barrier_among(&self, threads: usize) {
        self.arrive_among(threads);
        self.wait_among(threads);
    }

    /// Runs the first half of a barrier among the first `threads` threads: lets the others continue as soon as they
    /// arrive, too. They may not see later writes of this thread. It waits before it arrives again, and all barriers of
    /// a region are among as many threads.
    #[inline]
    pub fn arrive_among(&self, threads: usize) {
        debug_assert!((self.index + 1..=self.threads()).contains(&threads), "{threads} threads");
        let round = self.round.get() + 1;
        self.round.set(round);
        self.barrier.arrive(self.index, threads, round);
    }

    /// Runs the second half: waits for the others of the first `threads` threads.
    ///
    /// # Panics
    /// If one of these threads has panicked.
    #[inline]
    pub fn wait_among(&self, threads: usize) {
        if self.barrier.wait(self.index, threads, self.round.get()) {
            another_panicked();
        }
    }

    /// Does nothing unless another thread has panicked; for loops that wait for another thread without a barrier.
    ///
    /// # Panics
    /// If another thread has panicked.
    pub fn check(&self) {
        if self.barrier.is_poisoned() {
            another_panicked();
        }
    }
}

#[cold]
fn another_panicked() -> ! {
    panic!("another thread of the team panicked")
}

impl CallerPin {
    /// Moves the calling thread to a core unless it is there.
    fn pin(&mut self, core: usize) {
        let this = std::thread::current().id();
        if self.pinned.as_ref().is_some_and(|(pinned, _)| *pinned == this) {
            return;
        }
        let before = allowed_cores();
        let _ = pin_to(&[core]);
        self.pinned = Some((this, before));
    }

    /// Lets the thread run again where it could before, if it is the calling one.
    fn release(&mut self) {
        if let Some((thread, before)) = self.pinned.take()
            && thread == std::thread::current().id()
        {
            let _ = pin_to(&before);
        }
    }
}

/// Runs one thread's part of a region.
fn run_part(shared: &Shared, index: usize, base: u64, work: &Work<'_>) {
    let member = Member { barrier: &shared.barrier, index, round: Cell::new(base) };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(&member))) {
        let mut first = shared.panic.lock().unwrap_or_else(PoisonError::into_inner);
        match &*first {
            // Its drop might panic, and the region would end before its helpers.
            Some(_) => std::mem::forget(payload),
            None => *first = Some(payload),
        }
        shared.barrier.poison(index);
    }
}

/// Runs a helper's part of each region until the team ends.
fn help(shared: &Shared, index: usize, patience: Duration) {
    let mut region = 0;
    loop {
        let mut since = None;
        region = shared.gate.wait_open(region, |turn| {
            // The clock is read every 64 turns: a turn is a few cycles.
            spin(turn);
            turn % 64 > 0 || since.get_or_insert_with(Instant::now).elapsed() < patience
        });
        // SAFETY: `wait_open` has acquired what the caller wrote before it opened the region. The region lasts until
        // this helper ends it below, and the caller writes again only after that.
        let Some(work) = (unsafe { *shared.work.get() }) else {
            return;
        };
        // SAFETY: the caller borrows the work until every helper has ended the region, as this one does only below.
        let work = unsafe { &*work };
        // SAFETY: written together with the work, so acquired with it, and not again before this helper ends the
        // region.
        let base = unsafe { *shared.base.get() };
        run_part(shared, index, base, work);
        shared.gate.end(index - 1, region);
    }
}

/// Returns the cores of a team's threads, the caller's first; empty if the operating system reports none.
fn chosen_cores(options: &TeamOptions, threads: usize) -> Vec<usize> {
    if !options.cores.is_empty() {
        return options.cores.clone();
    }
    let allowed = allowed_cores();
    allowed[allowed.len().saturating_sub(threads)..].to_vec()
}

#[cfg(all(test, not(loom)))]
mod tests;
