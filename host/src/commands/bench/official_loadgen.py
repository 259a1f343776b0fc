"""One test of the official LoadGen with a null system, for `host bench --against python`.

Reads the settings as JSON from the first argument, runs the test through the Python module mlperf_loadgen, and prints
what it measured as JSON. The system completes every query inside the callback that issues it. Tracing is off.
"""

import json
import os
import sys
import tempfile
import time

import mlperf_loadgen as loadgen

SAMPLE_COUNT = 1024


def run(spec, folder):
    """Runs the test, and returns how long queries were in the callback, in seconds, and how many samples there were."""
    settings = loadgen.TestSettings()
    settings.scenario = getattr(loadgen.TestScenario, spec["scenario"])
    settings.mode = loadgen.TestMode.PerformanceOnly
    for name, value in spec["settings"].items():
        setattr(settings, name, value)

    log_settings = loadgen.LogSettings()
    log_settings.enable_trace = False
    log_settings.log_output.outdir = folder
    log_settings.log_output.copy_summary_to_stdout = False
    log_settings.log_output.copy_detail_to_stdout = False

    span = {"first": None, "last": None, "sample_count": 0}
    clock, complete, response = time.perf_counter, loadgen.QuerySamplesComplete, loadgen.QuerySampleResponse

    def issue(response_ids, _sample_indices):
        if span["first"] is None:
            span["first"] = clock()
        complete([response(response_id, 0, 0) for response_id in response_ids])
        span["sample_count"] += len(response_ids)
        span["last"] = clock()

    def nothing(*_):
        pass

    sut = loadgen.ConstructFastSUT(issue, nothing)
    qsl = loadgen.ConstructQSL(SAMPLE_COUNT, SAMPLE_COUNT, nothing, nothing)
    try:
        loadgen.StartTestWithLogSettings(sut, qsl, settings, log_settings, os.path.join(folder, "no-audit"))
    finally:
        loadgen.DestroyQSL(qsl)
        loadgen.DestroyFastSUT(sut)
    return span["last"] - span["first"], span["sample_count"]


def logged(folder):
    """The values of the detail log by their keys; of a key that comes twice, the last."""
    values = {}
    with open(os.path.join(folder, "mlperf_log_detail.txt"), encoding="utf-8") as log:
        for line in log:
            if line.startswith(":::MLLOG"):
                entry = json.loads(line[len(":::MLLOG") :])
                values[entry["key"]] = entry["value"]
    return values


def main():
    spec = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="proctor-against-") as folder:
        seconds, sample_count = run(spec, folder)
        log = logged(folder)
    print(json.dumps({
        "version": log.get("loadgen_version"),
        "sample_count": sample_count,
        "seconds": seconds,
        "latency_p50_ns": log.get("result_50.00_percentile_latency_ns"),
        "latency_p99_ns": log.get("result_99.00_percentile_latency_ns"),
    }))


main()
