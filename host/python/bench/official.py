"""Compares `host run --engine official` with the official package driven by an empty callback: the time of a query.

Both run SingleStream with the null plugin or a callback that does nothing but complete, in turn, each in a process of
its own. The figures are those that LoadGen logs itself. A query is completed within the call that issues it, or by
another thread.

Usage: official.py HOST [--queries N] [--repetitions N]
The Python that runs this has the packages mlcommons-loadgen and proctor, or finds them by PYTHONPATH.
"""

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading

SAMPLE_COUNT = 1024
EXPECTED_LATENCY_NS = 1000


def empty_callback(folder, query_count, is_threaded):
    """Runs the package with a callback that completes each sample with nothing."""
    import mlperf_loadgen as loadgen  # pylint: disable=import-outside-toplevel

    complete, response = loadgen.QuerySamplesComplete, loadgen.QuerySampleResponse

    def answer(ids):
        complete([response(identity, 0, 0) for identity in ids])

    waiting = queue.SimpleQueue()

    def serve():
        while (ids := waiting.get()) is not None:
            answer(ids)

    def issue(ids, _indices):
        if is_threaded:
            waiting.put(ids)
        else:
            answer(ids)

    def nothing(*_):
        pass

    server = threading.Thread(target=serve)
    server.start()
    settings = loadgen.TestSettings()
    settings.token_latency_scaling_factor = 0
    settings.min_duration_ms = 0
    settings.min_query_count = query_count
    settings.single_stream_expected_latency_ns = EXPECTED_LATENCY_NS
    log_settings = loadgen.LogSettings()
    log_settings.enable_trace = False
    log_settings.log_output.outdir = folder
    system = loadgen.ConstructFastSUT(issue, nothing)
    library = loadgen.ConstructQSL(SAMPLE_COUNT, SAMPLE_COUNT, nothing, nothing)
    loadgen.StartTestWithLogSettings(system, library, settings, log_settings, os.path.join(folder, "none"))
    waiting.put(None)
    server.join()
    loadgen.DestroyQSL(library)
    loadgen.DestroyFastSUT(system)


def query_us(folder):
    """Returns the time of a query, from LoadGen's detail log."""
    values = {}
    with open(os.path.join(folder, "mlperf_log_detail.txt"), encoding="utf-8") as log:
        for line in log:
            if line.startswith(":::MLLOG "):
                entry = json.loads(line.removeprefix(":::MLLOG "))
                values[entry["key"]] = entry["value"]
    return 1e6 / values["result_qps_with_loadgen_overhead"]


def of_package(folder, query_count, is_threaded):
    """Measures the package alone."""
    os.mkdir(folder)
    words = [sys.executable, __file__, "--callback", folder, "--queries", str(query_count)]
    subprocess.run(words + ["--threaded"] * is_threaded, check=True, stdout=subprocess.DEVNULL)
    return query_us(folder)


def of_host(host, folder, query_count, is_threaded):
    """Measures a run of the null plugin by the official engine."""
    settings = {
        "null.complete": "thread" if is_threaded else "inline",
        "min_query_count": query_count,
        "min_duration_ms": 0,
        "single_stream_expected_latency_ns": EXPECTED_LATENCY_NS,
        "enable_trace": "false",
        "floor": "false",
        "issue": "true",
    }
    words = [host, "run", "--engine", "official", "--python", sys.executable, "--plugin", "null", "--output", folder]
    words += ["--scenario", "SingleStream", "--mode", "performance"]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return query_us(folder)


def compare(host, query_count, repetitions, is_threaded):
    """Measures both in turn, and returns a row of the table."""
    package, ours = [], []
    for repetition in range(repetitions):
        with tempfile.TemporaryDirectory() as folder:
            measures = [
                lambda: package.append(of_package(os.path.join(folder, "package"), query_count, is_threaded)),
                lambda: ours.append(of_host(host, os.path.join(folder, "host"), query_count, is_threaded)),
            ]
            for measure in measures if repetition % 2 else measures[::-1]:
                measure()
    ratios = [mine / theirs for mine, theirs in zip(ours, package)]
    median = statistics.median
    figures = f"{median(package):.2f} us | {median(ours):.2f} us | {median(ratios):.2f}"
    where = "another thread" if is_threaded else "the call that issues it"
    return f"| {where} | {figures} | {min(ratios):.2f} .. {max(ratios):.2f} |"


def main():
    """Does what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("host", nargs="?", help="the program")
    parser.add_argument("--queries", type=int, default=200_000, help="queries of a test")
    parser.add_argument("--repetitions", type=int, default=7, help="pairs of tests")
    parser.add_argument("--callback", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--threaded", action="store_true", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.callback:
        empty_callback(flags.callback, flags.queries, flags.threaded)
        return
    if not flags.host:
        parser.error("name the program: HOST")
    print("| completed by | package, empty callback | --engine official, null plugin | ratio | least .. greatest |")
    print("|---|---|---|---|---|")
    for is_threaded in (False, True):
        print(compare(flags.host, flags.queries, flags.repetitions, is_threaded), flush=True)


if __name__ == "__main__":
    main()
