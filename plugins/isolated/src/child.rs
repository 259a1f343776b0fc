//! The other process: its start, its calls, its unrequested reports, and its end.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, PipeReader, Read as _, Seek as _},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::{self, Command, Stdio},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use proctor_plugin_api::{Host, PluginError, abi, log_code};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, memfd_create},
    io::retry_on_intr,
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal},
};
use tracing::level_filters::LevelFilter;

use crate::{
    asked,
    channels::reports::{Report, ReportReader},
    channels::ring::{Bell, Broken, RingReader},
    channels::socket::Socket,
    end,
    launch::{Hooks, Launch},
    protocol::{Answer, Event, Fence, Greeting, Notice, Reply, Request, Restrictions},
    status::{Status, leads_session},
};

/// Variables that name its home, and its place for short-lived files.
const HOMES: [&str; 3] = ["HOME", "XDG_CACHE_HOME", "TMPDIR"];

/// Time between two checks whether the host wants all work to end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Longest line of the process's own output that is kept, in bytes.
const LINE_MAX: u64 = 4096;

/// Wait for a process that may be ending on its own, or that was sent SIGKILL.
const ENDING: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Time after SIGKILL from which on a process is one that does not end.
const UNENDING: Duration = Duration::from_secs(5);

/// Wait for a report that was claimed and is missing.
const CLAIM: Duration = Duration::from_micros(5);

/// Maximum number of bytes read of its crash report.
const CRASH_REPORT_BYTES_MAX: u64 = 4096;

/// Longest wait for the rest of a message that has begun: it may never come, while another process holds the socket.
const MESSAGE: Duration = Duration::from_secs(10);

/// Longest wait for its notes before it is ended.
const NOTES: Duration = Duration::from_secs(1);

/// Maximum wait for the first message of the child.
const FIRST: Timespec = Timespec { tv_sec: MESSAGE.as_secs().cast_signed(), tv_nsec: 0 };

/// Maximum number of messages read after it has ended.
const LAST_EVENTS: usize = 100_000;

/// A process with a plugin.
pub(crate) struct Child {
    /// The process itself, never a later one with the same number.
    handle: OwnedFd,
    control: Mutex<Control>,
    /// The same socket, to end a wait for an answer there.
    control_end: Socket,
    events: Socket,
    /// The restrictions that hold for it, once it has said so.
    restrictions: OnceLock<Restrictions>,
    /// Socket for questions about calls of the system.
    asking: OnceLock<OwnedFd>,
    /// File with the report of a crash.
    crash_report: File,
    hooks: Arc<Hooks>,
    host: OnceLock<Host>,
    end: OnceLock<String>,
    has_ended: AtomicBool,
    /// Reason why the host has ended it.
    killed_for: OnceLock<String>,
    killed_at: OnceLock<Instant>,
    is_closing: AtomicBool,
    signs: Mutex<Vec<Weak<Sign>>>,
    reports: Mutex<ReportReader>,
    /// Number of reports of samples taken.
    report_count: AtomicU64,
    flush: Mutex<bool>,
    flushed: Condvar,
}

struct Control {
    socket: Socket,
    sign: Arc<Sign>,
}

/// A call that may be under way, for the words about the end of the process.
pub(crate) struct Sign {
    name: Mutex<String>,
    is_on: AtomicBool,
}

impl Sign {
    /// Runs `call` under this sign.
    pub(crate) fn during<R>(&self, call: impl FnOnce() -> R) -> R {
        self.is_on.store(true, Relaxed);
        let result = call();
        self.is_on.store(false, Relaxed);
        result
    }

    fn rename(&self, name: &str) {
        let mut place = self.name.lock();
        place.clear();
        place.push_str(name);
    }
}

impl Child {
    /// Starts the program, and waits until it has given up foreign resources.
    ///
    /// # Errors
    /// If it cannot be started, or does not say what it has given up.
    pub(crate) fn start(launch: &Launch, fence: Fence, hooks: Arc<Hooks>) -> io::Result<Arc<Self>> {
        let (control, theirs) = Socket::pair()?;
        let (events, their_events) = Socket::pair()?;
        let events = events.with_limit(MESSAGE)?;
        let crash_report = File::from(memfd_create("crash-report", MemfdFlags::CLOEXEC)?);
        let reports = ReportReader::new(RingReader::new()?);
        let bell = reports.bell();
        let (output, written) = io::pipe()?;
        let mut command = Command::new(&launch.program);
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        command.stdout(written.try_clone()?).stderr(written);
        command.env_clear().envs(launch.environment.iter().map(|(name, value)| (name, value)));
        command.envs(fence.home.iter().flat_map(|home| HOMES.map(|name| (name, home))));
        let process = command.spawn()?;
        // Its ends of pipe and sockets belong to it alone.
        drop(command);
        let number = Pid::from_child(&process);
        let handle = pidfd_open(number, PidfdFlags::empty())?;
        let control_end = Socket::from(control.as_fd().try_clone_to_owned()?);
        let sign = Arc::new(Sign { name: Mutex::default(), is_on: AtomicBool::new(false) });
        let greeting = Greeting { log_level: log_level(), memory_max_bytes: launch.memory_max_bytes, fence };
        control.send(&greeting, &[their_events.as_fd(), crash_report.as_fd(), reports.file()])?;
        let child = Arc::new(Self {
            handle,
            signs: Mutex::new(vec![Arc::downgrade(&sign)]),
            control: Mutex::new(Control { socket: control, sign }),
            control_end,
            events,
            restrictions: OnceLock::new(),
            asking: OnceLock::new(),
            crash_report,
            hooks,
            host: OnceLock::new(),
            end: OnceLock::new(),
            has_ended: AtomicBool::new(false),
            killed_for: OnceLock::new(),
            killed_at: OnceLock::new(),
            is_closing: AtomicBool::new(false),
            reports: Mutex::new(reports),
            report_count: AtomicU64::new(0),
            flush: Mutex::new(false),
            flushed: Condvar::new(),
        });
        let heard = Arc::clone(&child);
        let shown = Arc::clone(&child);
        let taken = Arc::clone(&child);
        let spin = launch.spin;
        thread::Builder::new().name("plugin-events".to_owned()).spawn(move || heard.hear(process))?;
        thread::Builder::new()
            .name("plugin-reports".to_owned())
            .spawn(move || taken.take_reports_to_the_end(&bell, spin))?;
        thread::Builder::new().name("plugin-output".to_owned()).spawn(move || shown.show(output))?;
        match child.hear_restrictions(number) {
            Ok(()) => Ok(child),
            Err(error) => {
                child.close();
                Err(error)
            }
        }
    }

    /// Waits for its first message, from before any code of a plugin, and checks it against the system's view.
    fn hear_restrictions(&self, number: Pid) -> io::Result<()> {
        let first = {
            let control = self.control.lock();
            let mut file = [PollFd::new(&control.socket, PollFlags::IN)];
            let said = retry_on_intr(|| poll(&mut file, Some(&FIRST)))? > 0;
            if said { control.socket.receive::<Restrictions>()? } else { None }
        };
        let Some((claimed, files)) = first else {
            return Err(io::Error::other(self.end_with_call_error().message));
        };
        if !leads_session(number) {
            return Err(io::Error::other("it has no session of its own, and could write to the terminal"));
        }
        let status = Status::of(number).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot see how the process of the plugin is restricted");
            Status::default()
        });
        let _ = self.restrictions.set(status.confirmed(claimed));
        for file in files {
            let _ = self.asking.set(file);
        }
        Ok(())
    }

    /// Returns the restrictions that hold for it.
    pub(crate) fn restrictions(&self) -> Restrictions {
        self.restrictions.get().copied().unwrap_or_default()
    }

    /// Says where its log, its completions and its progress go.
    pub(crate) fn serve(&self, host: Host) {
        let _ = self.host.set(host);
    }

    /// Returns whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Acquire)
    }

    /// Returns a sign for the calls of a mailbox.
    pub(crate) fn sign(&self, name: String) -> Arc<Sign> {
        let sign = Arc::new(Sign { name: Mutex::new(name), is_on: AtomicBool::new(false) });
        let mut signs = self.signs.lock();
        signs.retain(|sign| sign.strong_count() > 0);
        signs.push(Arc::downgrade(&sign));
        sign
    }

    /// Sends a request, and waits for the answer.
    ///
    /// # Errors
    /// Returns the plugin's own error, or how the process has ended.
    pub(crate) fn ask(&self, request: &Request, files: &[BorrowedFd<'_>]) -> Result<Answer, PluginError> {
        if self.has_ended() {
            return Err(self.end_with_call_error());
        }
        let control = self.control.lock();
        control.sign.rename(request.call());
        let reply = control.sign.during(|| {
            let sent = control.socket.send(request, files);
            let reply = sent.and_then(|()| control.socket.receive::<Reply>());
            if let Err(error) = &reply {
                self.end_for_message(error);
            }
            if !matches!(reply, Ok(Some(_))) {
                // While the call is still noted. No further requests are possible, if it has not ended yet.
                self.end_now();
            }
            reply
        });
        let Ok(Some((Reply { answer, notes, report_count }, _))) = reply else {
            return Err(self.end_with_call_error());
        };
        self.wait_for_reports(report_count);
        match self.hooks.notes.get() {
            _ if notes.is_empty() => {}
            Some(take) => take(&notes),
            None => self.hooks.early.lock().push(notes),
        }
        match answer {
            Answer::Failed(failure) => Err(failure.into()),
            answer => Ok(answer),
        }
    }

    /// Works as [`ask`](Self::ask), for a call that ends something: there is nothing to end if the process has ended.
    pub(crate) fn ask_to_end(&self, request: &Request) -> Result<(), PluginError> {
        if self.has_ended() { Ok(()) } else { self.ask(request, &[]).map(drop) }
    }

    /// Takes its notes about the plugin, unless they take too long.
    pub(crate) fn fetch_notes(self: &Arc<Self>) {
        let child = Arc::clone(self);
        let (tell, told) = mpsc::channel();
        let fetch = move || {
            // They are taken with the answer. Without one there are none.
            let _ = child.ask_to_end(&Request::Notes);
            let _ = tell.send(());
        };
        if thread::Builder::new().name("plugin-notes".to_owned()).spawn(fetch).is_ok() {
            let _ = told.recv_timeout(NOTES);
        }
    }

    /// Asks the model to complete waiting queries, and waits until it has.
    pub(crate) fn flush(&self) {
        let sign = self.sign("flush".to_owned());
        sign.during(|| {
            *self.flush.lock() = false;
            if self.events.send(&Notice::Flush, &[]).is_err() {
                return self.wait_for_end();
            }
            let mut is_flushed = self.flush.lock();
            while !*is_flushed && !self.has_ended() {
                self.flushed.wait(&mut is_flushed);
            }
        });
    }

    /// Waits until as many reports of samples were taken, or it has ended.
    pub(crate) fn wait_for_reports(&self, count: u64) {
        while self.report_count.load(Acquire) < count && !self.has_ended() {
            self.take_reports();
            if self.report_count.load(Acquire) < count {
                // It claims more than it has written.
                thread::sleep(CLAIM);
            }
        }
    }

    /// Takes the available reports of samples, on any thread, and returns how many there were.
    fn take_reports(&self) -> u64 {
        let mut reports = self.reports.lock();
        let read = reports.read(|report| {
            let Some(host) = self.host.get() else { return };
            match report {
                Report::Completed(responses) => host.complete(&responses),
                Report::FirstTokens(responses) => host.first_token(&responses),
                Report::Tokens(reports) => host.tokens(&reports),
            }
        });
        match read {
            Ok(count) => {
                self.report_count.fetch_add(count, Release);
                count
            }
            Err(Broken) => {
                self.kill("its process was ended by SIGKILL, as what it reports makes no sense");
                0
            }
        }
    }

    /// Takes the reports of samples as they come.
    fn take_reports_to_the_end(&self, bell: &Bell, spin: Duration) {
        while !self.has_ended() {
            let position = bell.position();
            // Awake only for what follows soon.
            let spin = if self.take_reports() > 0 { spin } else { Duration::ZERO };
            bell.wait(position, spin);
        }
    }

    /// Kills the child after a protocol error, unless it is already exiting, and waits for it.
    fn end_now(&self) {
        self.end_unless_ending();
        self.wait_for_end();
    }

    fn end_unless_ending(&self) {
        if !self.ends_within(ENDING) {
            self.kill("its process was ended by SIGKILL, as it does not say what it should");
        }
    }

    /// Kills it after a malformed message.
    fn end_for_message(&self, error: &io::Error) {
        if error.kind() == io::ErrorKind::InvalidData {
            self.kill(&format!("its process was ended by SIGKILL, as what it says is no message: {error}"));
        }
    }

    fn ends_within(&self, limit: Timespec) -> bool {
        let mut handle = [PollFd::new(&self.handle, PollFlags::IN)];
        poll(&mut handle, Some(&limit)).is_ok_and(|count| count > 0)
    }

    /// Ends it, and returns the error for a batch or a query that it does not answer. How it ended is its own fault,
    /// which is reported once.
    #[cold]
    pub(crate) fn end_with_batch_error(&self) -> PluginError {
        self.end_now();
        PluginError::device_lost("its process has ended")
    }

    /// Ends it, and returns how it has ended as the error of a call.
    #[cold]
    pub(crate) fn end_with_call_error(&self) -> PluginError {
        self.end_now();
        PluginError::device_lost(self.end.get().map_or("its process has ended", String::as_str))
    }

    /// Ends it, for this reason.
    pub(crate) fn kill(&self, why: &str) {
        let _ = self.killed_for.set(why.to_owned());
        let _ = self.killed_at.set(Instant::now());
        // An error means that it has ended.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }

    /// Ends it after it has closed its plugin, or for want of anything to do.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Release);
        self.kill("its process was ended");
        self.wait_for_end();
    }

    /// Ends it, for this reason, and waits until it has ended, or cannot be ended.
    pub(crate) fn end(&self, why: &str) {
        self.kill(why);
        self.wait_for_end();
    }

    fn wait_for_end(&self) {
        let mut guard = self.flush.lock();
        while !self.has_ended() {
            self.flushed.wait(&mut guard);
        }
    }

    /// Reads its unrequested reports, to its end.
    fn hear(&self, process: process::Child) {
        let mut last_events = LAST_EVENTS;
        let (mut is_cancelled, mut is_alone) = (false, false);
        loop {
            let asking = self.asking.get();
            let mut files = [&self.events as &dyn AsFd, &self.handle, asking.unwrap_or(&self.handle)]
                .map(|file| PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN));
            let _ = poll(&mut files, Some(&LOOK));
            let [said, ended, asks] = files.map(|file| file.revents());
            let (said, ended) = (!said.is_empty(), !ended.is_empty());
            if let Some(asking) = asking.filter(|_| asks.contains(PollFlags::IN)) {
                asked::answer(asking);
            }
            if ended && !is_alone {
                is_alone = true;
                end_group(&process);
            }
            if ended {
                last_events = last_events.saturating_sub(1);
            }
            if said && last_events > 0 {
                match self.events.receive() {
                    Ok(Some((event, _))) => self.take(event),
                    Ok(None) => break,
                    Err(error) => {
                        self.end_for_message(&error);
                        break;
                    }
                }
            } else if ended || self.killed_at.get().is_some_and(|at| at.elapsed() > UNENDING) {
                break;
            }
            if !is_cancelled && self.host.get().is_some_and(Host::is_cancelled) {
                is_cancelled = true;
                let _ = self.events.send(&Notice::Cancel, &[]);
            }
        }
        self.note_end(process);
    }

    fn take(&self, event: Event) {
        let Some(host) = self.host.get() else {
            if let Event::Log { source, message, .. } = event {
                tracing::info!(target: "plugin", source, "{message}");
            }
            return;
        };
        match event {
            Event::Log { level, source, message } => host.log(level, &source, &message),
            Event::Progress { done, total, task } => host.progress(done, total, &task),
            Event::Flushed => {
                *self.flush.lock() = true;
                self.flushed.notify_all();
            }
        }
    }

    /// Waits for the process itself, and says how it has ended.
    fn note_end(&self, mut process: process::Child) {
        // It may only have closed its socket.
        self.end_unless_ending();
        end_group(&process);
        let status = self.ends_within(ENDING).then(|| process.wait());
        self.take_reports();
        let calls: Vec<String> = self
            .signs
            .lock()
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|sign| sign.is_on.load(Relaxed))
            .map(|sign| sign.name.lock().clone())
            .collect();
        let mut report = String::new();
        let mut file = &self.crash_report;
        // Without a report the status says it.
        let _ = file.rewind().and_then(|()| file.take(CRASH_REPORT_BYTES_MAX).read_to_string(&mut report));
        let words = match (self.killed_for.get(), status) {
            (why, None) => {
                let why = why.map_or("its process does not say what it should", String::as_str);
                format!("{why}; it does not end for that, as while a driver is at work for it")
            }
            (Some(why), _) => why.clone(),
            (None, Some(Ok(status))) => end::describe(status, &calls, &report),
            (None, Some(Err(error))) => format!("its process has ended: {error}"),
        };
        // Before anybody sees it: who does may ask at once for what has been noticed.
        if !self.is_closing.load(Acquire)
            && let Some(tell) = self.hooks.end.get()
        {
            tell(&words);
        }
        let _ = self.end.set(words);
        let guard = self.flush.lock();
        self.has_ended.store(true, Release);
        drop(guard);
        self.flushed.notify_all();
        self.control_end.shut_down();
        if !self.is_closing.load(Acquire)
            && let Some(over) = self.hooks.over.get()
        {
            over();
        }
    }

    /// Shows the output of the process on its standard output and error, line by line.
    fn show(&self, output: PipeReader) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut output).take(LINE_MAX).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line);
            match self.host.get() {
                Some(host) => host.log(abi::PROCTOR_LOG_INFO, "output", text.trim_end()),
                None => tracing::info!(target: "plugin", source = "output", "{}", text.trim_end()),
            }
        }
    }
}

/// Kills the descendants of a process, before its number is reused.
fn end_group(process: &process::Child) {
    // An error means that there is nothing.
    let _ = kill_process_group(Pid::from_child(process), Signal::KILL);
}

/// Returns the most detailed `PROCTOR_LOG` level that is kept.
fn log_level() -> u32 {
    LevelFilter::current().into_level().map_or(0, log_code)
}

/// Returns the error of an answer to another question.
pub(crate) fn makes_no_sense() -> PluginError {
    PluginError::failed("its process answered something else than what was asked")
}
