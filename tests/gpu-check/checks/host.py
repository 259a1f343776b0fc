"""Runs of the host, and what their results say: shared by the sections that measure models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Callable, Optional

from .context import Context, Failed

# Queries of a run that is not Offline: the percentiles of their latencies mean little with fewer.
LEAST_QUERIES = 200
STAGES = ("device_queue", "copy_in", "compute", "copy_out")
NS_PER_US = 1e3


def run(
    context: Context,
    benchmark: str,
    scenario: str,
    mode: str,
    precision: str = "f32",
    batch_size: int = 1,
    instances: int = 1,
    duration_s: float = 2.0,
    target_qps: Optional[float] = None,
    plugin: Optional[str] = None,
    more: tuple = (),
) -> dict:
    """Makes one run and returns its `result.json`, also of a run that is INVALID."""
    folder = new_folder(context)
    words = command_line(context, "run", plugin or context.plugin, benchmark, precision, batch_size, instances, folder)
    words += ["--scenario", scenario, "--mode", mode, "--duration", f"{int(duration_s * 1000)}ms", *more]
    # The duration decides, not the number of queries, which would take minutes on a slow device.
    words += ["--set", f"min_query_count={1 if scenario == 'Offline' else LEAST_QUERIES}"]
    if target_qps is not None:
        words += ["--target-qps", f"{target_qps:.6g}"]
    context.command(words, may_fail=True)
    result = folder / "result.json"
    if not result.is_file():
        raise Failed(context.last_words())
    return json.loads(result.read_text())


def offline(
    context: Context, benchmark: str, precision: str, batch_size: int, expected: float, plugin=None, more=()
) -> tuple:
    """An Offline run at a rate by which it lasts as long as it should, and the rate that was seen.

    Offline issues as many samples as the expected rate makes in the duration, so the rate has to be known first.
    """
    duration_s = 0.3 if context.quick else 4.0
    # The first run is short: at a rate that is far too high it would take minutes.
    for run_s in (duration_s / 8, duration_s, duration_s, duration_s):
        result = run(
            context,
            benchmark,
            "Offline",
            "PerformanceOnly",
            precision,
            batch_size,
            duration_s=run_s,
            target_qps=expected,
            plugin=plugin,
            more=more,
        )
        performance = result["performance_run"]
        expected = max(performance["figures"]["completed_samples_per_second"], 1.0)
        if run_s == duration_s and performance["duration_ns"] >= 0.6e9 * duration_s:
            break
    return result, expected


def scale(
    context: Context,
    benchmark: str,
    precision: str,
    compared: list,
    batch_size: int,
    instances: int,
    duration_s: float,
    slo_ms: float,
    row_of: Callable[[dict], dict],
) -> dict:
    """Runs `host scale --compare`, adds a row for each policy, and returns `scale.json`.

    It is written after each policy: those that were done have their rows even if the time is up.
    """
    folder = new_folder(context)
    words = command_line(context, "scale", context.plugin, benchmark, precision, batch_size, instances, folder)
    words += ["--slo-ms", slo_ms, "--compare", ",".join(compared), "--duration", duration_s]
    try:
        context.command(words, may_fail=True)
    finally:
        files = [place / "scale.json" for place in (folder, partial_of(folder))]
        scaled = next((json.loads(file.read_text()) for file in files if file.is_file()), None)
        context.add(*map(row_of, scaled["courses"] if scaled else []))
    if scaled is None:
        raise Failed(context.last_words())
    if scaled["faults"]:
        raise Failed("; ".join(map(str, scaled["faults"])))
    return scaled


def command_line(
    context: Context,
    command: str,
    plugin: str,
    benchmark: str,
    precision: str,
    batch_size: int,
    instances: int,
    folder: Path,
) -> list:
    """The beginning of a command of the host, with the flags that all have."""
    words = [context.host, command, "--plugin", plugin, "--benchmark", context.benchmark(benchmark)]
    words += ["--precision", precision, "--batch-size", batch_size, "--instances", instances]
    return [*words, "--output", folder, *context.options(plugin)]


def new_folder(context: Context) -> Path:
    """A folder for the next command of the step, without that of an earlier check."""
    folder = context.output / "runs" / f"{context.step.path.replace('/', '-')}-{len(context.commands)}"
    for old in (folder, partial_of(folder)):
        shutil.rmtree(old, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def partial_of(folder: Path) -> Path:
    """The name of a folder until it is complete."""
    return folder.with_name(folder.name + ".partial")


def stages(result: dict) -> dict:
    """Mean times of the stages of a batch in us, and what NVML saw."""
    plugin = result["plugin"]
    means = {name: plugin["stages"][name]["mean_ns"] / NS_PER_US for name in STAGES if name in plugin["stages"]}
    return {**{f"{name} us": mean for name, mean in means.items()}, **device_use(plugin)}


def device_use(plugin: dict) -> dict:
    """Means of power and utilisation of the first device, as far as they were read."""
    names = {"SM %": "gpu0_utilisation", "W": "gpu0_power", "SM MHz": "gpu0_sm_clock"}
    return {shown: plugin["metrics"][name]["mean"] for shown, name in names.items() if name in plugin["metrics"]}


def last_setting(course: dict) -> dict:
    """Throughput, and latencies of a batch over the spans in which the setting was the last one."""
    spans = [span for span in course["spans"] if span["knobs"] == course["last"] and span["samples"]]
    samples = sum(span["samples"] for span in spans)
    if not samples:
        return {"samples/s": course["throughput_qps"]}
    mean_ns = sum(span["mean_ns"] * span["samples"] for span in spans) / samples
    tail_ns = median(span["tail_ns"] for span in spans)
    # Where it did not settle, the rate in the last setting is all that there is.
    rate = course["throughput_qps"] or median(span["throughput_qps"] for span in spans)
    figures = {"samples/s": rate, "batch mean us": mean_ns / NS_PER_US}
    return {**figures, "batch p95 us": tail_ns / NS_PER_US}
