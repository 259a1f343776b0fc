//! The timeline of the program: the spans of a run, written to a file as a Chrome trace while they come.
//!
//! The file is complete after each span that begins or ends outside of the timed part of a test, so that it
//! can be read however the program ends. An orderly end also ends the spans that are still open.

use std::{
    fmt::Debug,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread::{self, ThreadId},
};

use parking_lot::Mutex;
use proctor_export::{LiveTrace, Track};
use proctor_loadgen::{Clock, RealClock};
use proctor_words::{
    HostError,
    spans::{BEGIN_NS, END_NS, INSTANCE, STAGE, TARGET},
};
use serde_json::{Map, Value};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer, Registry,
    filter::{LevelFilter, Targets},
    layer::{Context, Filter},
    reload,
};

/// Name of the process in a trace.
const PROCESS: &str = "host";

/// The timeline that is being written, if one is.
static TIMELINE: Mutex<Option<Timeline>> = Mutex::new(None);

/// Decides whether there are any spans.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// A file that takes the timeline of the program until it is ended.
#[derive(Debug)]
#[must_use = "a timeline that is not ended may lack its end"]
pub struct TimelineFile(());

/// A timeline, from its start.
struct Timeline {
    path: PathBuf,
    /// The first error of the file, after which nothing more is written.
    trace: Result<LiveTrace, io::Error>,
    clock: RealClock,
    /// Spans in progress, the latest last.
    open: Vec<OpenSpan>,
    /// Threads that have a track, the first one first.
    threads: Vec<ThreadId>,
    /// Instances that have a track.
    instances: Vec<u32>,
}

/// A span in progress.
struct OpenSpan {
    id: u64,
    track: Track,
    name: &'static str,
    /// Fields that were added after its beginning.
    later: Map<String, Value>,
}

#[derive(Default)]
struct Fields {
    begin_ns: Option<u64>,
    end_ns: Option<u64>,
    instance: Option<u32>,
    stage: Option<String>,
    others: Map<String, Value>,
}

impl TimelineFile {
    /// Starts a timeline in a new file, or replaces an old one.
    ///
    /// # Errors
    /// [`HostError::Timeline`] if the file cannot be written.
    pub fn start(path: &Path) -> Result<Self, HostError> {
        let started = File::create(path).and_then(|file| LiveTrace::start(file, PROCESS));
        let trace = started.map_err(|source| HostError::Timeline { path: path.to_owned(), source })?;
        *TIMELINE.lock() = Some(Timeline {
            path: path.to_owned(),
            trace: Ok(trace),
            clock: RealClock::new(),
            open: Vec::new(),
            threads: Vec::new(),
            instances: Vec::new(),
        });
        show_spans(Targets::new().with_target(TARGET, LevelFilter::ERROR));
        Ok(Self(()))
    }

    /// Ends the timeline.
    ///
    /// # Errors
    /// [`HostError::Timeline`] if not all of it could be written.
    pub fn end(self) -> Result<(), HostError> {
        show_spans(Targets::new());
        TIMELINE.lock().take().map_or(Ok(()), Timeline::end)
    }
}

/// Ends the timeline of a program that ends before its work is done, if there is one. Waits for nothing: a thread that
/// is about to write leaves the file whole.
pub(crate) fn end_early() {
    if let Some(mut timeline) = TIMELINE.try_lock()
        && let Some(timeline) = timeline.take()
    {
        // The program ends with another error, which is the one to report.
        let _ = timeline.end();
    }
}

/// Returns the layer that takes the spans, and its filter, which lets none through until a timeline is started.
pub(crate) fn layer() -> impl Layer<Registry> {
    let (filter, handle) = reload::Layer::new(Targets::new());
    // It exists already if the log is started twice, and then this one gets no spans.
    let _ = FILTER.set(handle);
    filtered(filter)
}

fn filtered(filter: impl Filter<Registry> + 'static) -> impl Layer<Registry> {
    SpanLayer.with_filter(filter)
}

fn show_spans(spans: Targets) {
    if let Some(filter) = FILTER.get() {
        // Only a dropped subscriber has no filter, and it has no spans either.
        let _ = filter.reload(spans);
    }
}

/// Writes spans to the timeline.
struct SpanLayer;

impl<S: Subscriber> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if let Some(timeline) = &mut *TIMELINE.lock() {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            timeline.new_span(id.into_u64(), attributes.metadata().name(), fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some(timeline) = &mut *TIMELINE.lock()
            && let Some(span) = timeline.open.iter_mut().find(|span| span.id == id.into_u64())
        {
            let mut fields = Fields::default();
            values.record(&mut fields);
            span.later.extend(fields.others);
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        if let Some(timeline) = &mut *TIMELINE.lock()
            && let Some(place) = timeline.open.iter().position(|span| span.id == id.into_u64())
        {
            let span = timeline.open.remove(place);
            timeline.close(span);
        }
    }
}

impl Timeline {
    /// Adds a span that begins now, or one that has been.
    fn new_span(&mut self, id: u64, name: &'static str, fields: Fields) {
        let track = self.track(fields.instance);
        let args = Value::Object(fields.others);
        let (Some(begin_ns), Some(end_ns)) = (fields.begin_ns, fields.end_ns) else {
            let now_ns = self.clock.now_ns();
            self.write(|trace| trace.begin(track, name, now_ns, &args));
            self.open.push(OpenSpan { id, track, name, later: Map::new() });
            return;
        };
        let own = |shared_ns: u64| shared_ns.saturating_sub(self.clock.origin_ns());
        let (begin_ns, end_ns) = (own(begin_ns), own(end_ns));
        let name = fields.stage.as_deref().unwrap_or(name);
        self.write(|trace| {
            trace.past(track, name, begin_ns, end_ns, &args);
            Ok(())
        });
    }

    fn close(&mut self, span: OpenSpan) {
        let OpenSpan { track, name, later, .. } = span;
        let (now_ns, args) = (self.clock.now_ns(), Value::Object(later));
        self.write(|trace| trace.end(track, name, now_ns, &args));
    }

    /// Ends all spans that are open, and writes everything that waits.
    fn end(mut self) -> Result<(), HostError> {
        while let Some(mut span) = self.open.pop() {
            span.later.insert("unfinished".to_owned(), true.into());
            self.close(span);
        }
        self.write(LiveTrace::flush);
        self.trace.map(drop).map_err(|source| HostError::Timeline { path: self.path, source })
    }

    /// Returns the track of an instance, or of this thread; a new one is given its name.
    fn track(&mut self, instance: Option<u32>) -> Track {
        if let Some(number) = instance {
            let track = Track::Instance(number);
            if !self.instances.contains(&number) {
                self.instances.push(number);
                self.name(track, &format!("instance {number}"));
            }
            return track;
        }
        let thread = thread::current();
        let known = self.threads.iter().position(|known| *known == thread.id());
        let place = known.unwrap_or(self.threads.len());
        let track = Track::Thread(u32::try_from(place).unwrap_or(u32::MAX));
        if known.is_none() {
            self.threads.push(thread.id());
            self.name(track, thread.name().unwrap_or("thread"));
        }
        track
    }

    fn name(&mut self, track: Track, name: &str) {
        self.write(|trace| {
            trace.name_track(track, name);
            Ok(())
        });
    }

    fn write(&mut self, write: impl FnOnce(&mut LiveTrace) -> io::Result<()>) {
        if let Ok(trace) = &mut self.trace
            && let Err(error) = write(trace)
        {
            self.trace = Err(error);
        }
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            BEGIN_NS => self.begin_ns = Some(value),
            END_NS => self.end_ns = Some(value),
            INSTANCE => self.instance = u32::try_from(value).ok(),
            name => _ = self.others.insert(name.to_owned(), value.into()),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.others.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            STAGE => self.stage = Some(value.to_owned()),
            name => _ = self.others.insert(name.to_owned(), value.into()),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.others.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use tracing::{error_span, field::Empty};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// The events of a file, without the names of process and tracks.
    fn events(path: &Path) -> Vec<Value> {
        let json: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let events = json["traceEvents"].as_array().unwrap().iter();
        events.filter(|event| event["ph"] != "M").cloned().collect()
    }

    // One test, as there is one timeline in a process.
    #[test]
    fn spans_come_and_go_within_each_other_and_what_has_been_is_told_at_its_own_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.json");
        let spans = Targets::new().with_target(TARGET, LevelFilter::ERROR);
        let subscriber = tracing_subscriber::registry().with(filtered(spans));
        tracing::subscriber::with_default(subscriber, || {
            // Before there is a file, and of another target.
            drop(error_span!(target: TARGET, "early").entered());
            let file = TimelineFile::start(&path).unwrap();
            drop(error_span!(target: "elsewhere", "foreign").entered());
            let begun_ns = RealClock::new().origin_ns();
            let run = error_span!(target: TARGET, "run", plugin = "mock", error = Empty).entered();
            let test = error_span!(target: TARGET, "test").entered();
            assert_eq!(events(&path).len(), 2, "the file is whole meanwhile");
            drop(error_span!(
                target: TARGET, "stage", instance = 3_u32, stage = "compute", begin_ns = begun_ns,
                end_ns = begun_ns + 2_000
            ));
            drop(test);
            run.record("error", "none");
            drop(run);
            let open = error_span!(target: TARGET, "left open");
            file.end().unwrap();
            drop(open);
        });
        let events = events(&path);
        let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
        let names: Vec<_> =
            events.iter().map(|event| format!("{} {}", text(event, "ph"), text(event, "name"))).collect();
        let expected = ["B run", "B test", "X compute", "E test", "E run", "B left open", "E left open"];
        assert_eq!(names, expected);
        assert_eq!(events[0]["args"], json!({"plugin": "mock"}));
        assert_eq!(events[4]["args"], json!({"error": "none"}));
        assert_eq!(events[6]["args"], json!({"unfinished": true}));
        assert_eq!((&events[2]["dur"], &events[2]["tid"]), (&json!(2.0), &json!(13)));
        let at = |place: usize| events[place]["ts"].as_f64().unwrap();
        assert!(at(0) >= 0.0 && at(2) <= at(0) && (0..=6).all(|place| place == 2 || at(place) >= at(0)));
        // Nothing is written after the end.
        end_early();
        assert_eq!(fs::read(&path).unwrap().last(), Some(&b'\n'));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_with_the_reason() {
        let path = Path::new("no-such-folder/host.json");
        let report = TimelineFile::start(path).unwrap_err().report();
        assert!(report.contains("no-such-folder/host.json") && report.contains("  because: "), "{report}");
        assert!(report.contains("--trace-host"), "{report}");
    }
}
