//! Fourth stop, and optional: taking whole queries, on threads of the plugin's own.
//!
//! `issue` puts the samples of a query in a queue and returns. Each thread takes one sample at a time, serves it as a
//! batch of one, and completes it through the host. With no threads at all, `issue` itself completes the samples: the
//! least that any system can do, and so the floor of every measurement.

use std::{
    collections::VecDeque,
    iter, mem,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use proctor_plugin_api::{OptionSpec, Options, PluginError, Query, Response, vocabulary::QuerySample};
use rand::Rng;

use crate::{
    option_value::required,
    random::{Keyed, Use},
    service::Draw,
    shared::Shared,
};

/// The longest possible queue, and the default: one that nothing fills.
const QUEUE_CAPACITY_MAX: i64 = 1 << 24;

/// The options about issue, read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IssueSettings {
    pub(crate) threads: usize,
    order: Order,
    /// Maximum number of samples that wait at once. Further ones are refused, and the host issues them again.
    queue_capacity: usize,
}

/// Order in which waiting samples are taken.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// The oldest. With several threads it may still be overtaken before it is complete.
    Fifo,
    /// Any of the `window` oldest, so that one is seldom complete before the one issued after it.
    Shuffled { seed: u64, window: usize },
}

impl IssueSettings {
    pub(crate) fn options() -> Vec<OptionSpec> {
        vec![
            OptionSpec::integer(
                "threads",
                1,
                0..=1024,
                "Threads that serve issued queries; 0 completes inside issue, for the null service only.",
            ),
            OptionSpec::integer(
                "queue_capacity",
                QUEUE_CAPACITY_MAX,
                1..=QUEUE_CAPACITY_MAX,
                "Most issued samples that wait at once; a query that does not fit is refused as BUSY.",
            ),
            OptionSpec::choice(
                "order",
                &["fifo", "shuffled"],
                "Order in which issued samples are taken; with one thread, that of completion, too.",
            ),
            OptionSpec::integer(
                "shuffle_window",
                16,
                2..=65_536,
                "How many of the oldest waiting samples shuffled chooses from.",
            ),
        ]
    }

    pub(crate) fn open(seed: u64, options: &Options) -> Result<Self, PluginError> {
        let count = |name| {
            let value = required(name, options.integer(name))?;
            usize::try_from(value).map_err(|_| PluginError::invalid_argument(format!("{name} is {value}")))
        };
        let order = match required("order", options.text("order"))? {
            "shuffled" => Order::Shuffled { seed, window: count("shuffle_window")? },
            _ => Order::Fifo,
        };
        Ok(Self { threads: count("threads")?, order, queue_capacity: count("queue_capacity")? })
    }
}

/// The way of a query through a model.
#[derive(Debug)]
pub(crate) enum IssuePath {
    /// Completes inside `issue`. Several issuing threads take turns at the room for outputs.
    Inside(Mutex<Server>),
    /// Completes on threads, which run from start to stop.
    Threads { shared: Arc<Shared>, settings: IssueSettings, pool: Mutex<Option<Pool>> },
}

impl IssuePath {
    pub(crate) fn new(shared: Arc<Shared>, settings: IssueSettings) -> Self {
        if settings.threads == 0 {
            Self::Inside(Mutex::new(Server::new(shared)))
        } else {
            Self::Threads { shared, settings, pool: Mutex::new(None) }
        }
    }

    /// Starts the threads. They idle if the host chooses to execute batches.
    pub(crate) fn start(&self) -> Result<(), PluginError> {
        let Self::Threads { shared, settings, pool } = self else { return Ok(()) };
        let fresh = Pool::start(shared, *settings)?;
        // A pool that was never stopped ends here.
        drop(pool.lock().replace(fresh));
        Ok(())
    }

    pub(crate) fn issue(&self, query: Query<'_>) -> Result<(), PluginError> {
        match self {
            Self::Inside(server) => {
                let mut server = server.lock();
                query.iter().for_each(|sample| {
                    let begin_ns = server.shared.begin_ns();
                    server.shared.take(Duration::ZERO, Instant::now(), iter::once(sample.id));
                    server.complete(sample, begin_ns);
                });
                Ok(())
            }
            Self::Threads { pool, .. } => match &*pool.lock() {
                Some(pool) => pool.queue.push(query.iter()),
                None => Err(PluginError::wrong_state("a query was issued before start or after stop")),
            },
        }
    }

    /// Returns when everything that was issued is complete.
    pub(crate) fn flush(&self) {
        if let Self::Threads { pool, .. } = self
            && let Some(pool) = &*pool.lock()
        {
            pool.queue.wait_until_drained();
        }
    }

    /// Completes the waiting samples, and ends the threads.
    pub(crate) fn stop(&self) -> Result<(), PluginError> {
        let Self::Threads { pool, .. } = self else { return Ok(()) };
        let running = pool.lock().take();
        running.map_or(Ok(()), Pool::stop)
    }
}

/// The threads, and the queue that feeds them. They end, and are joined, when the pool is dropped.
#[derive(Debug)]
pub(crate) struct Pool {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    fn start(shared: &Arc<Shared>, settings: IssueSettings) -> Result<Self, PluginError> {
        let queue = Arc::new(Queue::new(settings.order, settings.queue_capacity));
        let mut pool = Self { queue, threads: Vec::new() };
        for number in 0..settings.threads {
            let (queue, mut server) = (Arc::clone(&pool.queue), Server::new(Arc::clone(shared)));
            let thread = thread::Builder::new().name(format!("mock-{number}")).spawn(move || {
                while let Some(taken) = queue.take() {
                    server.serve(taken.waiting);
                }
            });
            // If one cannot be had, dropping the pool ends those before it.
            pool.threads.push(thread?);
        }
        Ok(pool)
    }

    fn stop(mut self) -> Result<(), PluginError> {
        self.join()
    }

    fn join(&mut self) -> Result<(), PluginError> {
        self.queue.close();
        let ended = mem::take(&mut self.threads).into_iter().map(JoinHandle::join);
        let failed = ended.filter(Result::is_err).count();
        if failed == 0 {
            return Ok(());
        }
        Err(PluginError::failed(format!("{failed} of the threads that serve queries panicked")))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // After a stop there is nothing left to join. Otherwise there is no caller to report a panic to.
        let _ = self.join();
    }
}

/// Serves samples one at a time, with everything that takes memory made beforehand.
#[derive(Debug)]
pub(crate) struct Server {
    shared: Arc<Shared>,
    /// Room for all outputs of one sample.
    outputs: Vec<u8>,
}

impl Server {
    fn new(shared: Arc<Shared>) -> Self {
        let outputs = vec![0; shared.answers.size_bytes()];
        Self { shared, outputs }
    }

    /// Takes the service time, then completes the sample.
    fn serve(&mut self, waiting: Waiting) {
        let (begin_ns, begin) = (self.shared.begin_ns(), Instant::now());
        let busy = self.shared.serve();
        let service_time = self.shared.service.time(waiting.draw, 1, busy.count);
        self.shared.take(service_time, begin, iter::once(waiting.sample.id));
        // Before the completion, which may bring the next query at once: it should not find this thread busy.
        drop(busy);
        self.complete(waiting.sample, begin_ns);
    }

    /// Completes the sample, on which the work began at this instant.
    fn complete(&mut self, sample: QuerySample, begin_ns: u64) {
        let stages = self.shared.stages_since(begin_ns);
        if let Err(error) = self.shared.answers.check(sample.index) {
            return self
                .shared
                .host
                .complete_in_stages(&[Response::failed(sample.id, &error)], stages.as_slice());
        }
        let size = self.shared.write_outputs(sample.index, &mut self.outputs);
        let response = Response::new(sample.id, &self.outputs[..size]).with_token_count(self.shared.tokens);
        self.shared.host.complete_in_stages(&[response], stages.as_slice());
    }
}

/// Samples on their way from `issue` to the threads.
#[derive(Debug)]
struct Queue {
    order: Order,
    /// Maximum number of samples that wait at once.
    capacity: usize,
    state: Mutex<State>,
    /// Signalled when samples come and when the queue is closed.
    came: Condvar,
    /// Signalled when no sample waits or is being served.
    drained: Condvar,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<Waiting>,
    in_service: usize,
    next_draw: Draw,
    taken_count: u64,
    is_closed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    sample: QuerySample,
    /// Given when the sample is issued, so that its service time does not depend on which thread takes it when.
    draw: Draw,
}

/// A sample that is being served until this is dropped.
struct Taken<'a> {
    waiting: Waiting,
    queue: &'a Queue,
}

impl Queue {
    fn new(order: Order, capacity: usize) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            in_service: 0,
            next_draw: Draw::of_issue(),
            taken_count: 0,
            is_closed: false,
        };
        Self { order, capacity, state: Mutex::new(state), came: Condvar::new(), drained: Condvar::new() }
    }

    fn push(&self, samples: impl ExactSizeIterator<Item = QuerySample>) -> Result<(), PluginError> {
        let sample_count = samples.len();
        let mut state = self.state.lock();
        if sample_count > self.capacity - state.waiting.len() {
            return Err(PluginError::busy(format!(
                "more than queue_capacity = {} samples would wait",
                self.capacity
            )));
        }
        let State { waiting, next_draw, .. } = &mut *state;
        waiting.extend(samples.map(|sample| Waiting { sample, draw: next_draw.advance() }));
        drop(state);
        match sample_count {
            1 => _ = self.came.notify_one(),
            _ => _ = self.came.notify_all(),
        }
        Ok(())
    }

    /// Returns the next sample; waits for one. None once the queue is closed and empty.
    fn take(&self) -> Option<Taken<'_>> {
        let mut state = self.state.lock();
        self.came.wait_while(&mut state, |state| state.waiting.is_empty() && !state.is_closed);
        let position = self.order.choose(state.taken_count, state.waiting.len());
        let waiting = state.waiting.remove(position)?;
        state.taken_count += 1;
        state.in_service += 1;
        Some(Taken { waiting, queue: self })
    }

    fn wait_until_drained(&self) {
        let mut state = self.state.lock();
        self.drained.wait_while(&mut state, |state| !state.waiting.is_empty() || state.in_service > 0);
    }

    /// Lets the threads end once the queue is empty.
    fn close(&self) {
        self.state.lock().is_closed = true;
        self.came.notify_all();
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.in_service -= 1;
        if state.in_service == 0 && state.waiting.is_empty() {
            self.queue.drained.notify_all();
        }
    }
}

impl Order {
    /// Returns the position of the sample to take as number `taken_count`, among `waiting_count`; 0 if none waits.
    fn choose(self, taken_count: u64, waiting_count: usize) -> usize {
        match self {
            Self::Shuffled { seed, window } if waiting_count > 1 => {
                Keyed::new(seed, Use::Order, 0, taken_count).random_range(0..waiting_count.min(window))
            }
            Self::Shuffled { .. } | Self::Fifo => 0,
        }
    }
}

#[cfg(test)]
#[path = "issue_tests.rs"]
mod tests;
