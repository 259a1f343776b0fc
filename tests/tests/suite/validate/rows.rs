//! Ways to go astray, and the case that is named for each.

use proctor_test_needs::skip_without_hardware;

/// A way in which the plugin goes astray, and what the suite makes of it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The call in which it does, as `wayward_call.h` has it.
    pub(super) call: String,
    pub(super) way: String,
    /// The case that finds it.
    pub(super) case: &'static str,
    /// `FAIL` or `CRASH`.
    pub(super) outcome: &'static str,
}

impl Row {
    /// Its call with its outcome, its way, and its case.
    pub(super) fn kinds(&self) -> Vec<String> {
        let Self { call, way, case, outcome } = self;
        let call = call.split(':').next().unwrap_or_default();
        vec![format!("{call} {outcome}"), format!("way {way}"), format!("case {case}")]
    }
}

fn row(call: &str, way: &str, case: &'static str, outcome: &'static str) -> Row {
    Row { call: call.to_owned(), way: way.to_owned(), case, outcome }
}

fn fails(call: &str, way: &str, case: &'static str) -> Row {
    row(call, way, case, "FAIL")
}

fn crashes(call: &str, way: &str, case: &'static str) -> Row {
    row(call, way, case, "CRASH")
}

/// Each call with the case that makes it.
const CALLS: [(&str, &str); 19] = [
    ("constructor", "load/library-opens"),
    ("proctor_plugin_entry", "load/entry-answers"),
    ("describe", "manifest/is-sound"),
    ("extension", "extensions/promised-are-there"),
    ("open", "options/defaults-open"),
    ("open", "lifecycle/open-and-close"),
    ("load_model", "lifecycle/load-and-unload"),
    ("create_instance", "lifecycle/create-and-destroy"),
    ("prepare_samples", "lifecycle/prepare-and-release"),
    ("warm_up", "lifecycle/warm-up"),
    ("start", "lifecycle/start-and-stop"),
    ("execute", "batches/one-sample"),
    ("issue", "queries/one-sample"),
    ("flush", "queries/flush"),
    ("stop", "lifecycle/start-and-stop"),
    ("release_samples", "lifecycle/prepare-and-release"),
    ("destroy_instance", "lifecycle/create-and-destroy"),
    ("unload_model", "lifecycle/load-and-unload"),
    ("close", "lifecycle/open-and-close"),
];

/// The process ends in a call.
pub(super) fn ends() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, case) in CALLS {
        rows.extend(["exit", "segv", "abort"].map(|way| crashes(call, way, case)));
        if call != "constructor" {
            rows.extend(["quick_exit", "throw"].map(|way| crashes(call, way, case)));
        }
    }
    for way in ["fpe", "ill", "bus", "alarm", "usr1", "prof", "exit_thread"] {
        rows.push(crashes("execute", way, "batches/one-sample"));
        rows.push(crashes("issue", way, "queries/one-sample"));
    }
    rows
}

/// A call does not return.
pub(super) fn hangs() -> Vec<Row> {
    CALLS.iter().map(|(call, case)| fails(call, "hang", case)).collect()
}

/// A call returns a status other than OK, with or without a message that can be.
pub(super) fn failures() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, case) in CALLS {
        if ["constructor", "proctor_plugin_entry", "describe", "extension"].contains(&call) {
            continue;
        }
        rows.extend(["status=1", "status=-1", "message-controls"].map(|way| fails(call, way, case)));
        if ["open", "load_model", "create_instance"].contains(&call) {
            rows.push(fails(call, "null-handle", case));
        }
    }
    for way in ["status=3", "status=8", "status=99", "message-beyond", "message-wild", "message-not-utf8"] {
        rows.push(fails("execute", way, "batches/one-sample"));
        rows.push(fails("issue", way, "queries/one-sample"));
    }
    rows.push(fails("issue:1+", "status=9", "queries/one-sample"));
    rows.push(fails("issue", "busy-when-answered", "queries/one-sample"));
    rows
}

/// Calls that go well at first.
pub(super) fn repeated() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, case) in [
        ("open:2", "lifecycle/opens-repeat"),
        ("close:2", "lifecycle/opens-repeat"),
        ("load_model:3", "lifecycle/models-repeat"),
        ("unload_model:3", "lifecycle/models-repeat"),
        ("create_instance:3", "lifecycle/tests-repeat"),
        ("destroy_instance:3", "lifecycle/tests-repeat"),
        ("prepare_samples:5", "lifecycle/phases-repeat"),
        ("start:3", "lifecycle/phases-repeat"),
        ("stop:3", "lifecycle/phases-repeat"),
        ("release_samples:5", "lifecycle/phases-repeat"),
        ("flush:2", "lifecycle/phases-repeat"),
        ("execute:50", "batches/many"),
        ("issue:50", "queries/exactly-once"),
    ] {
        rows.push(crashes(call, "exit", case));
        rows.push(crashes(call, "segv", case));
        rows.push(fails(call, "status=6", case));
    }
    rows
}

/// Tables and extensions that are wrong.
pub(super) fn tables() -> Vec<Row> {
    let entry = [
        "null",
        "refuse",
        "refuse-beyond",
        "unaligned",
        "size=0",
        "size=24",
        "size=1001",
        "size=0x10000000000",
        "major=0",
        "major=99",
    ];
    let mut rows: Vec<_> =
        entry.iter().map(|way| fails("proctor_plugin_entry", way, "load/entry-answers")).collect();
    for way in [
        "no-describe",
        "no-open",
        "no-load_model",
        "no-create_instance",
        "no-execute",
        "no-destroy_instance",
        "no-unload_model",
        "no-close",
    ] {
        rows.push(fails("proctor_plugin_entry", way, "load/functions-are-there"));
    }
    let promised = "extensions/promised-are-there";
    rows.push(fails("proctor_plugin_entry", "no-extension", promised));
    for way in ["null", "unaligned", "no-issue", "size=0", "size=9", "size=0x10000000000"] {
        rows.push(fails("extension", way, promised));
    }
    rows
}

/// Manifests that are wrong.
pub(super) fn manifests() -> Vec<Row> {
    [
        "null",
        "unaligned",
        "size=0",
        "size=8",
        "name-null",
        "name-empty",
        "name-null-with-length",
        "name-wild",
        "name-not-utf8",
        "name-controls",
        "name-upper-case",
        "name-long-name",
        "vendor-escape",
        "vendor-long",
        "version-empty",
        "license-controls",
        "description-wild",
        "capabilities=0",
        "model-empty",
        "model-long-name",
        "format-wild",
        "precision-null",
        "device-not-utf8",
        "scenarios=0",
        "scenarios=0x100",
        "flags=0x80000000",
        "model-stride=0",
        "models-null",
        "models-unaligned",
        "model-count=0",
        "model-count=-1",
        "option-null",
        "option-upper-case",
        "help-controls",
        "default-beyond",
        "kind=0",
        "kind=99",
        "option-stride=0",
        "options-null",
        "option-count=-1",
        "choices-null",
        "choice-count=0",
        "twice-declared",
        "range-inverted",
        "range-nan",
    ]
    .map(|way| fails("describe", way, "manifest/is-sound"))
    .to_vec()
}

/// The case that is skipped unless the plugin reports tokens.
pub(super) const TOKENS: &str = "extensions/tokens";

/// Samples that fail or have answers of a wrong size, in batches and queries alike.
const SAMPLES: [&str; 11] = [
    "sample-fails",
    "sample-message-null",
    "sample-message-controls",
    "sample-message-not-utf8",
    "sample-message-long",
    "sample-status=9",
    "sample-status=99",
    "short",
    "long",
    "wild",
    "nothing",
];

/// Answers to batches that are wrong.
pub(super) fn batches() -> Vec<Row> {
    const CASE: &str = "batches/one-sample";
    let mut rows: Vec<_> = SAMPLES.iter().map(|way| fails("execute", way, CASE)).collect();
    rows.extend(
        ["lent-short", "complete-own", "complete-unknown", "release-hangs"]
            .map(|way| fails("execute", way, CASE)),
    );
    rows.extend(
        ["lent-nowhere", "release-exits", "release-crashes"].map(|way| crashes("execute", way, CASE)),
    );
    // Later than the first.
    rows.extend(
        ["sample-fails", "short", "complete-own"].map(|way| fails("execute:100", way, "batches/many")),
    );
    rows.push(fails("execute", "keep", "services/responses"));
    rows.push(fails("execute:1+", "nan", "numerics/finite-answers"));
    rows.push(fails("execute", "report-more", TOKENS));
    rows.push(fails("execute:1+", "report-late", "batches/many"));
    rows
}

/// Answers to queries that are wrong.
pub(super) fn queries() -> Vec<Row> {
    const CASE: &str = "queries/one-sample";
    let mut rows: Vec<_> = SAMPLES.iter().map(|way| fails("issue", way, CASE)).collect();
    let further = [
        "data-null",
        "id-zero",
        "id-unknown",
        "id-next",
        "answer-twice",
        "never",
        "count=0",
        "context-null",
        "null",
        "unaligned",
        "size=0",
        "size=9",
        "array-null",
        "array-unaligned",
        "count=-1",
        "count=0x10000001",
        "stride=0",
        "stride=57",
        "token-unknown",
        "token-late",
        "report-next",
        "report-unknown",
        "report-late",
    ];
    rows.extend(further.map(|way| fails("issue", way, CASE)));
    rows.push(crashes("issue", "data-nowhere", CASE));
    rows.extend(["answer-twice", "never"].map(|way| fails("issue:500", way, "queries/exactly-once")));
    for way in [
        "token-long",
        "token-null",
        "report-none",
        "report-null",
        "report-size=0",
        "report-array-null",
        "report-count=0x10000001",
        "report-stride=8",
    ] {
        rows.push(fails("issue", way, "services/tokens"));
    }
    rows.push(fails("issue", "report-more", TOKENS));
    rows.push(fails("issue", "keep", "services/responses"));
    // It does not complete what it took before it is cancelled, and refuses the rest.
    rows.push(fails("issue:150+", "forget-when-cancelled", "cancel/in-flight"));
    rows
}

/// Services of the host that are misused.
pub(super) fn services() -> Vec<Row> {
    let mut rows = Vec::new();
    for way in [
        "40-metrics",
        "metric-no-name",
        "metric-two-words",
        "metric-not-ascii",
        "metric-not-utf8",
        "metric-controls",
        "metric-unit-controls",
        "metric-nan",
        "metric-infinite",
        "metric-other-unit",
        "metric-too-many",
        "metric-long",
        "metric-null",
        "metric-unaligned",
        "metric-size=0",
    ] {
        rows.push(fails("start", way, "services/metrics"));
    }
    rows.extend(
        ["progress-null", "progress-size=0"].map(|way| fails("load_model", way, "services/progress")),
    );
    for call in [
        "open",
        "load_model",
        "create_instance",
        "prepare_samples",
        "start",
        "stop",
        "release_samples",
        "close",
    ] {
        rows.push(fails(call, "complete-unknown", "services/responses"));
        rows.push(fails(call, "metric-nan", "services/metrics"));
    }
    rows.push(fails("close", "complete-later", "services/responses"));
    rows.push(fails("issue", "complete-null", "services/responses"));
    rows
}

/// Changes of the thread, the process and the memory that are the host's.
pub(super) fn changes() -> Vec<Row> {
    let mut rows = Vec::new();
    let parts = [
        ("pin", "process/processors"),
        ("round", "process/arithmetic"),
        ("block", "process/blocked-signals"),
        ("chdir", "process/working-folder"),
        ("umask", "process/umask"),
    ];
    for (way, case) in parts.into_iter().filter(|(way, _)| can_change(way)) {
        for call in
            ["open", "load_model", "create_instance", "prepare_samples", "start", "issue", "stop", "close"]
        {
            rows.push(fails(call, way, case));
        }
    }
    for (call, _) in CALLS.iter().filter(|(call, _)| *call != "constructor") {
        rows.push(fails(call, "print", "process/stdout"));
        rows.push(fails(call, "print-word", "process/stdout"));
        rows.push(fails(call, "fork", "process/forks"));
    }
    for call in ["constructor", "open", "load_model", "create_instance"] {
        rows.push(fails(call, "handlers", "process/signal-handlers"));
    }
    for call in ["prepare_samples", "execute", "stop", "issue", "flush"] {
        rows.push(fails(call, "overwrite", "batches/inputs-unchanged"));
    }
    rows
}

/// Calls that are not due, and crash.
pub(super) fn out_of_turn() -> Vec<Row> {
    [
        ("stop", "order/stop-before-start"),
        ("start", "order/start-before-prepare"),
        ("start:2", "order/start-twice"),
        ("stop:2", "order/stop-twice"),
        ("flush", "order/flush-before-start"),
        ("release_samples", "order/release-before-prepare"),
        ("release_samples:2", "order/release-twice"),
        ("stop", "order/stop-with-work-in-flight"),
        ("destroy_instance", "order/ends-early"),
    ]
    .map(|(call, case)| crashes(call, "segv", case))
    .to_vec()
}

/// Memory, threads, files and processes that each call leaves behind.
pub(super) fn leftovers() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, way, case) in [
        ("execute:1+", "leak=1024", "resources/memory-of-batches"),
        ("issue:1+", "leak=1024", "resources/memory-of-queries"),
        ("start:1+", "leak=32768", "resources/memory-of-phases"),
        ("load_model:1+", "leak=131072", "resources/memory-of-models"),
        ("open:1+", "leak=32768", "resources/memory-of-opens"),
    ] {
        rows.push(fails(call, way, case));
    }
    for call in ["open:1+", "close:1+"] {
        rows.push(fails(call, "leave-thread", "resources/threads"));
        rows.push(fails(call, "leave-descriptor", "resources/descriptors"));
        rows.push(fails(call, "leave-file", "resources/temporary-files"));
        rows.push(fails(call, "leave-process", "resources/processes"));
    }
    for call in ["constructor", "describe"] {
        rows.push(fails(call, "leave-thread", "manifest/readable-without-device"));
    }
    rows
}

/// Whether this machine has what the part is about.
fn can_change(way: &str) -> bool {
    let has_processors =
        way != "pin" || std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if !has_processors {
        skip_without_hardware("a second processor");
    }
    has_processors && (way != "round" || cfg!(target_arch = "x86_64"))
}
