"""Runs the same scripts with the official LoadGen and with ``proctor.mlperf_loadgen``, and compares what they are called and
what they write: everything but times has to be the same.

The driver of the load generator's own differential tests makes the runs, each in a process of its own. Cases end after a
number of queries, so that both issue the same ones however fast the machine is.

Both modules are found by PYTHONPATH.

Usage: same_logs.py DRIVER
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import mlperf_loadgen

FIELDS = [name for name in dir(mlperf_loadgen.TestSettings) if not name.startswith("_") and name != "FromConfig"]

SCRIPT = {
    "hold": 0,
    "newest_first": False,
    "reverse": False,
    "group": 0,
    "busy_us": [],
    "response_len": [8, 0, 3],
    "tokens": [],
    "first_tokens": [],
    "early_tokens": False,
    "again": [],
    "slow_phases": [],
}

# A case lasts as long as it takes, and no latency is over its bound.
SETTINGS = {
    "min_duration_ms": 0,
    "min_query_count": 70,
    "server_target_qps": 20000.0,
    "server_target_latency_ns": 10**11,
    "server_ttft_latency": 10**11,
    "server_tpot_latency": 10**11,
    "offline_expected_qps": 100.0,
}

# Entries of the detail log that are of the program, the machine or the day.
OF_THE_MACHINE = ("loadgen_", "test_datetime", "get_sut_name_duration_ns", "logger_", "power_begin", "power_end")
# Results that are no times.
NO_TIMES = (
    "result_validity",
    "result_perf_constraints_met",
    "result_min_duration_met",
    "result_min_queries_met",
    "result_invalid_reason",
    "result_query_count",
    "result_overlatency_query_count",
    "early_stopping_met",
)
# Entries of the official program about itself: listed differences.
ABOUT_ITSELF = ("PerfClock and system_clock differ", "Logging allocation detected", "CAS failed")
NUMBER = re.compile(r"\d[\d.]*(e[+-]?\d+)?")


def case(settings, script=None, **other):
    base = {
        "total_count": 100,
        "performance_count": 40,
        "settings": {**SETTINGS, **settings},
        "config_files": [],
        "settings_after": {},
        "audit_config": None,
        "script": {**SCRIPT, **(script or {})},
        "only_configure": False,
    }
    return {**base, **other}


def cases():
    for scenario in ("SingleStream", "MultiStream", "Server", "Offline"):
        for mode in ("PerformanceOnly", "AccuracyOnly", "SubmissionRun"):
            yield f"{scenario} {mode}", case({"scenario": scenario, "mode": mode})
    yield "FindPeakPerformance", case(
        {"scenario": "Server", "mode": "FindPeakPerformance", "server_target_latency_ns": 10**6},
        {"busy_us": [300]},
    )
    for scenario in ("SingleStream", "Server", "Offline"):
        for mode in ("PerformanceOnly", "AccuracyOnly"):
            yield f"{scenario} {mode} with tokens", case(
                {"scenario": scenario, "mode": mode, "use_token_latencies": True},
                {"tokens": [7, 2, 30], "first_tokens": [1], "early_tokens": True, "busy_us": [50]},
            )
    sampled = {"accuracy_log_probability": 0.3, "accuracy_log_rng_seed": 5}
    for construct in ("FastSUT", "QDL"):
        for scenario in ("MultiStream", "Server"):
            settings = {"scenario": scenario, **sampled}
            yield f"{construct} {scenario}", case(settings, construct=construct)
    for mode in ("PerformanceOnly", "AccuracyOnly"):
        settings = {"scenario": "Offline", "mode": mode, **sampled}
        yield f"a response callback, {mode}", case(settings, {"by_callback": True, "group": 4, "reverse": True})
    yield "a query in parts", case({"scenario": "Offline", "min_query_count": 70_000}, {"response_len": []})
    yield "queries that wait", case({"scenario": "Server", "mode": "SubmissionRun"}, {"hold": 3, "newest_first": True})
    # The built-in mlperf.conf asks for ten minutes.
    quick = {"min_duration_ms": 0}
    yield "a user.conf", case(
        {"scenario": "Server"},
        settings_after=quick,
        config_files=[conf("*.*.min_query_count = 30\nm.Server.target_qps = 9e3\n*.Server.target_latency = 100000\n")],
    )
    yield "a user.conf in error", case(
        {"scenario": "SingleStream"},
        config_files=[conf("*.*.min_query_count =30\n"), conf("*.*.mode = 9\n", kind=2)],
        settings_after=quick,
    )
    yield "no user.conf", case(
        {"scenario": "SingleStream"}, config_files=[conf(None), conf("*.*.min_query_count = 65\n")], settings_after=quick
    )
    yield "a scenario that does not exist", case(
        {"scenario": "Server"},
        config_files=[conf("*.*.min_query_count = 31\n*.Server.min_query_count = 32\n", scenario="Somewhere")],
        settings_after={**quick, "server_target_qps": 20000.0},
    )
    yield "an audit.config", case(
        {"scenario": "SingleStream"},
        audit_config="*.*.accuracy_log_sampling_target = 20\n*.SingleStream.min_query_count = 80\n",
    )
    yield "test05", case({"scenario": "Offline", "test05": True, "test05_qsl_rng_seed": 3, "schedule_rng_seed": 9})
    yield "other names of the logs", case(
        {"scenario": "SingleStream", "print_timestamps": True},
        log_output={"prefix": "a_", "suffix": "_z", "copy_summary_to_stdout": True, "copy_detail_to_stdout": True},
    )
    yield "a contradiction", case(
        {"scenario": "SingleStream", "performance_issue_same": True, "performance_issue_unique": True}
    )


def conf(text, scenario="Server", kind=1):
    return {"text": text, "model": "m", "scenario": scenario, "kind": kind}


class Driver:
    def __init__(self, module):
        folder = os.path.dirname(mlperf_loadgen.__file__)
        command = [sys.executable, sys.argv[1], folder, module]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, case, folder):
        case = {**case, "folder": folder, "fields": FIELDS, "limit_s": 60}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        outcome = json.loads(self.process.stdout.readline())
        if outcome["kind"] != "ran":
            with open(os.path.join(folder, "console.txt"), encoding="utf-8") as console:
                outcome["console"] = console.read()
        return outcome


def left(folder, is_search):
    """Returns the contents of the folder of a run, without times."""
    names = sorted(name for name in os.listdir(folder) if not name.endswith((".conf", ".config")))
    content = {"files": names}
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        if "detail" in name:
            content["detail"] = detail(text, is_search)
        elif "summary" in name and not is_search:
            content["summary"] = summary(text)
        elif "accuracy" in name and not is_search:
            content["accuracy"] = sorted(re.findall("{.*?}", text), key=lambda record: int(re.search(r"\d+", record)[0]))
        elif "trace" in name:
            content["has a trace"] = text.startswith('{"traceEvents":[')
        elif name == "console.txt":
            content["console"] = console(text)
    return content


def detail(text, is_search):
    entries = []
    # The official log does not escape a line break inside of a value.
    for line in text.split(":::MLLOG ")[1:]:
        key, value = re.match(r'{"key": "(.*?)", "value": (.*), "time_ms"', line, re.DOTALL).groups()
        marks = re.search(r'"is_error": (\w+), "is_warning": (\w+)', line).groups()
        if not any(about in value for about in ABOUT_ITSELF) and key != "num_errors":
            entries.append((key, timeless(key, value), *marks))
    keys = [entry[0] for entry in entries]
    # Errors of configuration files may be on stderr in the official one, if they are older than 10 ms.
    entries = entries[keys.index("loadgen_version") :]
    if is_search:
        # Where a search ends is up to the machine.
        is_start = [entry[1].startswith('"Starting FindPeak') for entry in entries]
        entries = entries[: is_start.index(True) + 1]
    return entries


def timeless(key, value):
    if key.startswith(OF_THE_MACHINE):
        return "-"
    if key.startswith(("result_", "early_stopping_")) and key not in NO_TIMES:
        return NUMBER.sub("N", value)
    return re.sub(r"duration_ns \d+", "duration_ns N", value)


def summary(text):
    # Counts of errors and warnings are those of the detail log.
    text = re.sub(r".*encountered.*\n", "", text)
    results, _, parameters = text.partition("Test Parameters Used")
    lines = []
    for line in results.splitlines():
        name, sign, value = line.partition(" : ")
        lines.append(name + sign + NUMBER.sub("N", value) if sign else NUMBER.sub("N", line))
    return lines + parameters.splitlines()


def console(text):
    """Returns the literal texts that were printed, without what follows them.

    A thread of LoadGen copies its logs to the same stdout, so a line may begin in the middle of another one, and other text
    may come before a number. Each literal is written by one call, and so in one piece.
    """
    return sorted(set(re.findall(r"Loadgen :: [^=\n]*=", text))), "MLPerf Results Summary\n" in text


def difference(official, ours, path=""):
    """The first difference between two values, as a text."""
    if isinstance(official, dict) and isinstance(ours, dict):
        for key in sorted(set(official) | set(ours)):
            found = difference(official.get(key), ours.get(key), f"{path}/{key}")
            if found:
                return found
    elif isinstance(official, (list, tuple)) and isinstance(ours, (list, tuple)):
        for number, (one, other) in enumerate(zip(official, ours)):
            found = difference(one, other, f"{path}/{number}")
            if found:
                return found
        if len(official) != len(ours):
            more = (official if len(official) > len(ours) else ours)[min(len(official), len(ours))]
            return f"{path}: {len(official)} and {len(ours)} elements, then {more!r:.300}"
    elif official != ours:
        return f"{path}: official {official!r:.300}, ours {ours!r:.300}"
    return None


def main():
    official, ours = Driver("mlperf_loadgen"), Driver("proctor.mlperf_loadgen")
    failures = []
    for name, case in cases():
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            both = official.run(case, one), ours.run(case, other)
            is_search = case["settings"].get("mode") == "FindPeakPerformance"
            if is_search:
                both = ({**outcome, "calls": []} for outcome in both)
            found = difference(*both) or difference(left(one, is_search), left(other, is_search))
        print(f"{name}: {found or 'same'}", flush=True)
        if found:
            failures.append(name)
    for driver in (official, ours):
        driver.process.stdin.close()
        driver.process.wait()
    sys.exit(f"{len(failures)} differ: {', '.join(failures)}" if failures else 0)


if __name__ == "__main__":
    main()
