from typing import Any, Callable, ClassVar, Iterable, Sequence

class _Enumeration:
    __members__: ClassVar[dict[str, Any]]
    def __init__(self, value: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...

class TestScenario(_Enumeration):
    SingleStream: ClassVar[TestScenario]
    MultiStream: ClassVar[TestScenario]
    Server: ClassVar[TestScenario]
    Offline: ClassVar[TestScenario]

class TestMode(_Enumeration):
    SubmissionRun: ClassVar[TestMode]
    AccuracyOnly: ClassVar[TestMode]
    PerformanceOnly: ClassVar[TestMode]
    FindPeakPerformance: ClassVar[TestMode]

class LoggingMode(_Enumeration):
    AsyncPoll: ClassVar[LoggingMode]
    EndOfTestOnly: ClassVar[LoggingMode]
    Synchronous: ClassVar[LoggingMode]

class TestSettings:
    scenario: TestScenario
    mode: TestMode
    single_stream_expected_latency_ns: float
    single_stream_target_latency_percentile: float
    multi_stream_expected_latency_ns: float
    multi_stream_target_latency_percentile: float
    multi_stream_samples_per_query: int
    server_target_qps: float
    server_target_latency_ns: int
    server_target_latency_percentile: float
    server_coalesce_queries: bool
    server_find_peak_qps_decimals_of_precision: int
    server_find_peak_qps_boundary_step_size: float
    server_max_async_queries: int
    server_num_issue_query_threads: int
    offline_expected_qps: float
    sample_concatenate_permutation: bool
    min_duration_ms: int
    max_duration_ms: int
    min_query_count: int
    max_query_count: int
    qsl_rng_seed: int
    sample_index_rng_seed: int
    schedule_rng_seed: int
    accuracy_log_rng_seed: int
    accuracy_log_probability: float
    accuracy_log_sampling_target: int
    test05: bool
    test05_qsl_rng_seed: int
    test05_sample_index_rng_seed: int
    test05_schedule_rng_seed: int
    print_timestamps: bool
    performance_issue_unique: bool
    performance_issue_same: bool
    performance_issue_same_index: int
    performance_sample_count_override: int
    accuracy_sample_count_override: int
    use_token_latencies: bool
    ttft_latency: int
    tpot_latency: int
    infer_token_latencies: bool
    token_latency_scaling_factor: int
    watchdog_ms: int
    response_arena_bytes: int
    def __init__(self) -> None: ...
    def FromConfig(self, path: str, model: str, scenario: str, conf_type: int = 1) -> int: ...

class LogOutputSettings:
    outdir: str
    prefix: str
    suffix: str
    prefix_with_datetime: bool
    copy_detail_to_stdout: bool
    copy_summary_to_stdout: bool
    def __init__(self) -> None: ...

class LogSettings:
    log_output: LogOutputSettings
    log_mode: LoggingMode
    log_mode_async_poll_interval_ms: int
    enable_trace: bool
    def __init__(self) -> None: ...

class QuerySample:
    id: int
    index: int
    def __init__(self, id: int = ..., index: int = ..., /) -> None: ...

class QuerySampleResponse:
    id: int
    data: int
    size: int
    n_tokens: int
    def __init__(self, id: int = ..., data: int = ..., size: int = ..., n_tokens: int = ..., /) -> None: ...

class VectorQuerySample(list[QuerySample]):
    def __init__(self, items: Iterable[QuerySample] = ...) -> None: ...

class VectorQuerySampleResponse(list[QuerySampleResponse]):
    def __init__(self, items: Iterable[QuerySampleResponse] = ...) -> None: ...

def ConstructSUT(issue_cb: Callable[[list[QuerySample]], Any], flush_cb: Callable[[], Any], /) -> int: ...
def DestroySUT(sut: int, /) -> None: ...
def ConstructFastSUT(issue_cb: Callable[[list[int], list[int]], Any], flush_cb: Callable[[], Any], /) -> int: ...
def DestroyFastSUT(sut: int, /) -> None: ...
def ConstructQDL(
    issue_cb: Callable[[list[QuerySample]], Any], flush_cb: Callable[[], Any], name_cb: Callable[[], str], /
) -> int: ...
def DestroyQDL(qdl: int, /) -> None: ...
def ConstructQSL(
    total: int,
    performance: int,
    load_cb: Callable[[list[int]], Any],
    unload_cb: Callable[[list[int]], Any],
    /,
) -> int: ...
def DestroyQSL(qsl: int, /) -> None: ...
def StartTest(sut: int, qsl: int, test_settings: TestSettings, audit_config_filename: str = "audit.config") -> None: ...
def StartTestWithLogSettings(
    sut: int,
    qsl: int,
    test_settings: TestSettings,
    log_settings: LogSettings,
    audit_config_filename: str = "audit.config",
) -> None: ...
def QuerySamplesComplete(
    responses: Sequence[QuerySampleResponse], response_cb: Callable[[QuerySampleResponse], Any] | None = None
) -> None: ...
def FirstTokenComplete(
    responses: Sequence[QuerySampleResponse], response_cb: Callable[[QuerySampleResponse], Any] | None = None
) -> None: ...
