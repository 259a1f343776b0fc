//! The stand-in plugin: forwards each call to the plugin in the other process.

use std::{
    cell::RefCell,
    sync::{Arc, atomic::Ordering::AcqRel},
    thread::available_parallelism,
};

use parking_lot::{Condvar, Mutex};
use proctor_plugin_api::{
    Batch, Device, Host, Instance, Manifest, Model, ModelRequest, ModelSupport, OptionValue, Options,
    Placement, Plugin, PluginError, PluginMemory, PreparedSample, Query,
    vocabulary::{InputForm, QuerySample},
};

use crate::{
    channels::mailbox::{Capacity, Mailbox, PeerGone, Task},
    channels::memory::SharedMemory,
    child::{Child, Sign, makes_no_sense},
    protocol::{Answer, Failure, Opening, Request},
    samples::Ranges,
    state::State,
};

/// Maximum number of samples issued in one piece.
const ISSUE_MAX: usize = 1 << 16;

/// Maximum number of threads that issue at the same time.
const ISSUERS_MAX: usize = 64;

thread_local! {
    /// The process behind the next stand-in plugin opened on this thread: the table of a plugin has no field for it.
    static NEXT: RefCell<Option<Arc<State>>> = const { RefCell::new(None) };
}

/// Runs `open`, which opens a plugin of this kind that represents this process.
pub(crate) fn standing_in_for<R>(state: &Arc<State>, open: impl FnOnce() -> R) -> R {
    NEXT.set(Some(Arc::clone(state)));
    let result = open();
    NEXT.set(None);
    result
}

/// The stand-in for another plugin.
pub(crate) struct StandIn {
    state: Arc<State>,
}

/// Model of the stand-in.
pub(crate) struct StandInModel {
    state: Arc<State>,
    request: ModelRequest,
    ranges: Ranges,
    issuers: Issuers,
}

/// One of its instances, which belongs to the process that it was made in.
pub(crate) struct StandInInstance {
    state: Arc<State>,
    child: Arc<Child>,
    index: u32,
    mailbox: Mailbox,
    sign: Arc<Sign>,
}

impl Plugin for StandIn {
    type Model = StandInModel;

    /// Declares every capability that a plugin can have. The host uses what the other process declares.
    fn manifest() -> Manifest {
        Manifest::new("isolated", env!("CARGO_PKG_VERSION"), "Stands in for a plugin of another process.")
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .model(ModelSupport { dynamic_shapes: true, ..ModelSupport::new("*", "*") })
            .with_concurrent_issue()
            .with_virtual_time()
            .with_live_instances()
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let state =
            NEXT.take().ok_or_else(|| PluginError::wrong_state("there is no process to stand in for"))?;
        let options: Vec<(String, OptionValue)> =
            options.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let opening = Opening {
            options,
            cache_folder: host.cache_folder(),
            clock_origin_ns: clock_origin_ns(&host),
            spin: state.spin(),
        };
        state.open(host, opening)?;
        Ok(Self { state })
    }

    fn devices(&self) -> Result<Vec<Device>, PluginError> {
        match self.state.child().ask(&Request::Devices, &[])? {
            Answer::Devices(devices) => Ok(devices),
            _ => Err(makes_no_sense()),
        }
    }

    fn input_form(&self, request: &ModelRequest, input: usize) -> Result<InputForm, PluginError> {
        match self.state.child().ask(&Request::InputForm(request.clone(), input), &[])? {
            Answer::InputForm(form) => Ok(form),
            _ => Err(makes_no_sense()),
        }
    }

    fn load_model(&self, request: &ModelRequest) -> Result<StandInModel, PluginError> {
        self.state.load_model(request)?;
        Ok(StandInModel {
            state: Arc::clone(&self.state),
            request: request.clone(),
            ranges: Ranges::default(),
            issuers: Issuers::default(),
        })
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.state.close();
    }
}

impl Drop for StandInModel {
    fn drop(&mut self) {
        self.issuers.free.lock().iter_mut().for_each(|issuer| end(&mut issuer.mailbox, &issuer.child));
        self.state.unload_model();
    }
}

impl Model for StandInModel {
    type Instance = StandInInstance;

    fn create_instance(&self, placement: &Placement) -> Result<StandInInstance, PluginError> {
        let child = self.state.fresh_child()?;
        let capacity = Capacity {
            sample_count_max: usize::try_from(self.request.batch_size_max).unwrap_or(usize::MAX),
            output_bytes_max: self.request.outputs.iter().map(|output| output.size_bytes()).sum(),
        };
        let index = placement.instance_index;
        let mailbox = Mailbox::new(capacity, self.state.spin())?;
        child.ask(&Request::CreateInstance { index, capacity }, &[mailbox.file()])?;
        let sign = child.sign(format!("execute, instance {index}"));
        self.state.instance_count.fetch_add(1, AcqRel);
        Ok(StandInInstance { state: Arc::clone(&self.state), child, index, mailbox, sign })
    }

    fn energy_joules(&self) -> Result<Option<f64>, PluginError> {
        let child = self.state.child();
        // The energy of a test whose process has ended is not known.
        if child.has_ended() {
            return Ok(None);
        }
        match child.ask(&Request::ReadEnergy, &[])? {
            Answer::Energy(joules) => Ok(joules),
            _ => Err(makes_no_sense()),
        }
    }

    fn memory(&self) -> Option<&dyn PluginMemory> {
        Some(&self.ranges)
    }

    fn prepare_samples(&self, samples: &[PreparedSample]) -> Result<(), PluginError> {
        let child = self.state.fresh_child()?;
        let (ranges, placed) = self.ranges.place(samples)?;
        let send = |range: &Arc<SharedMemory>| child.ask(&Request::Range, &[range.file()]).map(drop);
        ranges.iter().try_for_each(send)?;
        child.ask(&Request::Prepare(placed), &[])?;
        if self.request.instance_count == 0 {
            self.issuers.make(&child, &self.state)?;
        }
        Ok(())
    }

    fn release_samples(&self) {
        // The notes report the plugin's errors.
        let _ = self.state.child().ask_to_end(&Request::Release);
    }

    fn warm_up(&self, query: Query<'_>) -> Result<(), PluginError> {
        let samples = query.iter().map(|sample| sample.index.0).collect();
        self.state.child().ask(&Request::WarmUp { instance: None, samples }, &[]).map(drop)
    }

    fn start(&self) -> Result<(), PluginError> {
        self.state.child().ask(&Request::Start, &[]).map(drop)
    }

    fn issue(&self, query: Query<'_>) -> Result<(), PluginError> {
        self.issuers.issue(query)
    }

    fn flush(&self) {
        let child = self.state.child();
        if !child.has_ended() {
            child.flush();
        }
    }

    fn explain(&self) -> Option<String> {
        match self.state.child().ask(&Request::Explain, &[]) {
            Ok(Answer::Explanation(text)) => text,
            _ => None,
        }
    }

    fn stop(&self) -> Result<(), PluginError> {
        self.state.child().ask_to_end(&Request::Stop)
    }
}

impl Instance for StandInInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let count = batch.sample_count() as u64;
        let Self { child, mailbox, sign, .. } = self;
        if child.has_ended() {
            return Err(child.end_with_batch_error());
        }
        let samples = batch.samples().map(|sample| QuerySample { id: sample.id(), index: sample.index() });
        sign.during(|| {
            mailbox.ask(Task::Execute, samples, 0, count);
            answered(mailbox, child)
        })?;
        for (position, mut sample) in batch.samples().enumerate() {
            let answer = mailbox.answer(position);
            if !answer.status.is_ok() {
                let status = answer.status.0;
                sample.fail(&PluginError { status, message: String::new(), vendor_code: 0 });
                continue;
            }
            sample.set_token_count(answer.token_count);
            let mut begin = 0;
            for output in 0..sample.output_count() {
                let place = sample.output_mut(output);
                // The last one may be shorter. A size that cannot be is found by the host.
                let size = place.len().min(answer.size_bytes - begin);
                mailbox.read_output(position, begin, &mut place[..size]);
                sample.set_output_size(output, size);
                begin += size;
            }
        }
        Ok(())
    }

    fn warm_up(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let samples = batch.samples().map(|sample| sample.index().0).collect();
        self.child.ask(&Request::WarmUp { instance: Some(self.index), samples }, &[]).map(drop)
    }

    fn begin_thread(&mut self) -> Result<(), PluginError> {
        self.tell(Task::BeginThread)
    }

    fn end_thread(&mut self) -> Result<(), PluginError> {
        if self.child.has_ended() { Ok(()) } else { self.tell(Task::EndThread) }
    }
}

impl StandInInstance {
    fn tell(&mut self, task: Task) -> Result<(), PluginError> {
        if self.child.has_ended() {
            return Err(self.child.end_with_batch_error());
        }
        let call = if task == Task::BeginThread { "instance_thread.begin" } else { "instance_thread.end" };
        let sign = self.child.sign(format!("{call}, instance {}", self.index));
        sign.during(|| {
            self.mailbox.ask(task, [].into_iter(), 0, 0);
            answered(&mut self.mailbox, &self.child)
        })
    }
}

impl Drop for StandInInstance {
    fn drop(&mut self) {
        end(&mut self.mailbox, &self.child);
        // The notes report the plugin's errors.
        let _ = self.child.ask_to_end(&Request::DestroyInstance(self.index));
        self.state.instance_count.fetch_sub(1, AcqRel);
    }
}

/// Releases the thread that checks a mailbox.
fn end(mailbox: &mut Mailbox, child: &Child) {
    if child.has_ended() {
        return;
    }
    mailbox.ask(Task::End, [].into_iter(), 0, 0);
    let _ = mailbox.wait::<Failure>(|| !child.has_ended());
}

/// Waits for the answer to the latest call of a mailbox, and for earlier reports.
fn answered(mailbox: &mut Mailbox, child: &Child) -> Result<(), PluginError> {
    match mailbox.wait::<Failure>(|| !child.has_ended()) {
        Ok(failure) => {
            child.wait_for_reports(mailbox.report_count());
            failure.map_or(Ok(()), |failure| Err(failure.into()))
        }
        Err(PeerGone) => Err(child.end_with_batch_error()),
    }
}

/// Mailboxes for issued queries, as many as threads may issue at the same time.
#[derive(Default)]
struct Issuers {
    free: Mutex<Vec<Issuer>>,
    returned: Condvar,
}

struct Issuer {
    mailbox: Mailbox,
    child: Arc<Child>,
    sign: Arc<Sign>,
}

impl Issuers {
    /// Makes them, if this process has none yet.
    fn make(&self, child: &Arc<Child>, state: &State) -> Result<(), PluginError> {
        let mut free = self.free.lock();
        if free.first().is_some_and(|issuer| Arc::ptr_eq(&issuer.child, child)) {
            return Ok(());
        }
        free.clear();
        let capacity = Capacity { sample_count_max: ISSUE_MAX, output_bytes_max: 0 };
        let count = match state.takes_several_queries() {
            true => available_parallelism().map_or(1, usize::from).min(ISSUERS_MAX),
            false => 1,
        };
        for _ in 0..count {
            let mailbox = Mailbox::new(capacity, state.spin())?;
            child.ask(&Request::CreateIssuer(capacity), &[mailbox.file()])?;
            free.push(Issuer { mailbox, child: Arc::clone(child), sign: child.sign("issue".to_owned()) });
        }
        Ok(())
    }

    fn issue(&self, query: Query<'_>) -> Result<(), PluginError> {
        let mut issuer = self.take();
        let issued = issuer.issue(query);
        self.free.lock().push(issuer);
        self.returned.notify_one();
        issued
    }

    fn take(&self) -> Issuer {
        let mut free = self.free.lock();
        loop {
            match free.pop() {
                Some(issuer) => return issuer,
                None => self.returned.wait(&mut free),
            }
        }
    }
}

impl Issuer {
    fn issue(&mut self, query: Query<'_>) -> Result<(), PluginError> {
        let Self { mailbox, child, sign } = self;
        let mut samples = query.iter();
        let mut offset = query.offset();
        while samples.len() > 0 {
            if child.has_ended() {
                return Err(child.end_with_batch_error());
            }
            let count = samples.len().min(ISSUE_MAX);
            sign.during(|| {
                mailbox.ask(Task::Issue, samples.by_ref().take(count), offset, query.total());
                answered(mailbox, child)
            })?;
            offset += count as u64;
        }
        Ok(())
    }
}

/// Returns the time of CLOCK_MONOTONIC at which the host's clock is 0, in ns.
fn clock_origin_ns(host: &Host) -> u64 {
    // Of several, the reading that took the least time is the nearest.
    let read = |_| {
        let before = monotonic_ns();
        let now_ns = host.now_ns();
        let after = monotonic_ns();
        (after - before, (before + (after - before) / 2).saturating_sub(now_ns))
    };
    (0..32).map(read).min().map_or(0, |(_, origin_ns)| origin_ns)
}

/// Returns CLOCK_MONOTONIC in ns, which is the same in all processes.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
