"""Measures how many queries a second a callback in Python gets that completes them at once: ``proctor.mlperf_loadgen``
against the official package, in SingleStream and in Server at a rate that neither reaches.

Each measurement is a process of its own. The two take turns, and the figure is the median of the ratios of neighbours.
Times are those of the callbacks, from the first to the last, so that start and logs are outside.

Both modules are found by PYTHONPATH.

Usage: loadgen_rate.py [--pairs 15] [--queries 200000] [--trace]
"""

import argparse
import importlib
import statistics
import subprocess
import sys
import tempfile
import time


def measure(module, scenario, construct, queries, trace):
    """Prints the nanoseconds of a query."""
    lg = importlib.import_module(module)
    complete, response = lg.QuerySamplesComplete, lg.QuerySampleResponse
    count, begun, ended = 0, 0, 0

    def note(added):
        nonlocal count, begun, ended
        if count == 0:
            begun = time.perf_counter_ns()
        count += added
        if count >= queries and ended == 0:
            ended = time.perf_counter_ns()

    def issue(samples):
        note(len(samples))
        complete([response(sample.id, 0, 0) for sample in samples])

    def issue_fast(ids, _):
        note(len(ids))
        complete([response(id, 0, 0) for id in ids])

    settings = lg.TestSettings()
    settings.scenario = getattr(lg.TestScenario, scenario)
    settings.min_duration_ms = 0
    settings.min_query_count = queries
    settings.single_stream_expected_latency_ns = 1000
    settings.server_target_qps = 1e8
    log_settings = lg.LogSettings()
    log_settings.enable_trace = trace
    sut = getattr(lg, "ConstructFastSUT" if construct == "fast" else "ConstructSUT")(
        issue_fast if construct == "fast" else issue, lambda: None
    )
    qsl = lg.ConstructQSL(1024, 1024, lambda _: None, lambda _: None)
    with tempfile.TemporaryDirectory() as folder:
        log_settings.log_output.outdir = folder
        lg.StartTestWithLogSettings(sut, qsl, settings, log_settings)
    print((ended - begun) / count)


def process(module, scenario, construct, arguments):
    command = [sys.executable, __file__, "--measure", module, scenario, construct]
    command += ["--queries", str(arguments.queries)] + ["--trace"] * arguments.trace
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--queries", type=int, default=200_000)
    parser.add_argument("--trace", action="store_true", help="write traces, as by default")
    parser.add_argument("--measure", nargs=3)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(*arguments.measure, arguments.queries, arguments.trace)
    print("| scenario | system | package, ns a query | proctor, ns a query | rate, times the package's |")
    print("|---|---|---|---|---|")
    for construct in ("list", "fast"):
        for scenario in ("SingleStream", "Server"):
            pairs = []
            for _ in range(arguments.pairs):
                theirs = process("mlperf_loadgen", scenario, construct, arguments)
                ours = process("proctor.mlperf_loadgen", scenario, construct, arguments)
                pairs.append((theirs, ours))
            theirs, ours = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
            ratios = sorted(theirs / ours for theirs, ours in pairs)
            spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            system = "ConstructFastSUT" if construct == "fast" else "ConstructSUT"
            print(f"| {scenario} | {system} | {theirs:.0f} | {ours:.0f} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
