"""Section sweeps: throughput and latency over batch sizes and instances, and the stages of a batch."""

from __future__ import annotations

import json
from functools import partial
from typing import Callable

from .context import Context, Failed, Step, remove

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
INSTANCES = (1, 2, 4)
MODELS = ("resnet50-generated", "bert-base-generated")
PRECISIONS = ("f32", "f16")
# Batch sizes of whole Offline runs, whose results have stages.
OFFLINE = (1, 8, 64)
# The goal for one sample of digits-lstm at a time.
LSTM_P99_GOAL_US = 100.0
STAGES = ("device_queue", "copy_in", "compute", "copy_out")
# A latency target beyond all latencies: nothing is turned, everything is measured.
NO_TARGET_MS = 60_000
NS_PER_MS = 1e6
NS_PER_US = 1e3


def steps() -> list:
    found = [Step("sweeps", "digits-lstm-latency", 60, lstm_latency, in_quick=True)]
    for model in MODELS:
        for precision in PRECISIONS:
            of = {"benchmark": model, "precision": precision}
            found.append(Step("sweeps", f"{model}-{precision}-latency", 120, partial(latency, **of)))
            found.append(Step("sweeps", f"{model}-{precision}-offline", 240, partial(offline, **of)))
            found.append(Step("sweeps", f"{model}-{precision}-grid", 300, partial(grid, **of)))
    of = {"benchmark": "resnet50-tiny", "precision": "f32"}
    found.append(
        Step("sweeps", "resnet50-tiny-f32-offline", 120, partial(offline, batch_sizes=(1, 8), **of), in_quick=True)
    )
    tiny = partial(grid, batch_sizes=(1, 4), instances=(1, 2), **of)
    found.append(Step("sweeps", "resnet50-tiny-f32-grid", 120, tiny, in_quick=True))
    return found


def stages(result: dict) -> dict:
    """Mean times of the stages of a batch in us, and what NVML saw."""
    plugin = result["plugin"]
    means = {name: plugin["stages"][name]["mean_ns"] / NS_PER_US for name in STAGES if name in plugin["stages"]}
    return {**{f"{name} us": mean for name, mean in means.items()}, **used(plugin)}


def used(plugin: dict) -> dict:
    """Means of power and utilisation of the first device, as far as they were read."""
    names = {"SM %": "gpu0_utilisation", "W": "gpu0_power", "SM MHz": "gpu0_sm_clock"}
    return {shown: plugin["metrics"][name]["mean"] for shown, name in names.items() if name in plugin["metrics"]}


def single_stream(context: Context, benchmark: str, precision: str) -> dict:
    """The row of a SingleStream run."""
    duration_s = 0.3 if context.quick else 5.0
    result = context.run_host(benchmark, "SingleStream", "PerformanceOnly", precision, duration_s=duration_s)
    latency = result["performance_run"]["figures"]["query_latency"]
    percentiles = {f"{name} us": latency[f"{name}_ns"] / NS_PER_US for name in ("p50", "p99")}
    return {"batch": 1, "instances": 1, "precision": precision, **percentiles, **stages(result)}


def latency(context: Context, benchmark: str, precision: str) -> list:
    """Latency of one sample at a time."""
    return [single_stream(context, benchmark, precision)]


def lstm_latency(context: Context) -> list:
    """Latency of the smallest recurrent model, which has a goal."""
    row = single_stream(context, "digits-lstm", "f32")
    reached = row["p99 us"] <= LSTM_P99_GOAL_US
    context.rows.append({**row, "goal": f"p99 {LSTM_P99_GOAL_US:.0f} us: {'reached' if reached else 'missed'}"})
    return context.rows


def offline(context: Context, benchmark: str, precision: str, batch_sizes: tuple = OFFLINE) -> list:
    """Offline runs, each long enough to count."""
    expected = 100.0
    for batch_size in batch_sizes:
        result, expected = offline_run(context, benchmark, precision, batch_size, expected)
        throughput = result["performance_run"]["figures"]["completed_samples_per_second"]
        context.rows.append(
            {"batch": batch_size, "instances": 1, "precision": precision, "samples/s": throughput, **stages(result)}
        )
    return context.rows


def offline_run(
    context: Context, benchmark: str, precision: str, batch_size: int, expected: float, plugin=None, more=()
) -> tuple:
    """An Offline run at a rate by which it lasts as long as it should, and the rate that was seen.

    Offline issues as many samples as the expected rate makes in the duration, so the rate has to be known first.
    """
    duration_s = 0.3 if context.quick else 4.0
    for _ in range(3):
        result = context.run_host(
            benchmark,
            "Offline",
            "PerformanceOnly",
            precision,
            batch_size,
            duration_s=duration_s,
            target_qps=expected,
            plugin=plugin,
            more=more,
        )
        run = result["performance_run"]
        expected = max(run["figures"]["completed_samples_per_second"], 1.0)
        if run["duration_ns"] >= 0.6e9 * duration_s:
            break
    return result, expected


def grid(
    context: Context, benchmark: str, precision: str, batch_sizes: tuple = BATCH_SIZES, instances: tuple = INSTANCES
) -> list:
    """Every batch size on every number of instances, in one process for each number: models are loaded once."""
    duration_s = 1 if context.quick else 3
    for count in instances:
        settings = [f"{size}x{count}" for size in batch_sizes]
        row_of = partial(setting_row, precision=precision)
        scale(context, benchmark, precision, settings, max(batch_sizes), count, duration_s, NO_TARGET_MS, row_of)
    return context.rows


def setting_row(course: dict, precision: str) -> dict:
    """The row of a setting that stays."""
    knobs = course["last"]
    return {"batch": knobs["batch_size"], "instances": knobs["instances"], "precision": precision, **seen(course)}


def seen(course: dict) -> dict:
    """Throughput, and latencies of a batch over the spans in which the setting was the last one."""
    spans = [span for span in course["spans"] if span["knobs"] == course["last"] and span["samples"]]
    samples = sum(span["samples"] for span in spans)
    if not samples:
        return {"samples/s": course["throughput_qps"]}
    mean_ns = sum(span["mean_ns"] * span["samples"] for span in spans) / samples
    tails = sorted(span["tail_ns"] for span in spans)
    rates = sorted(span["throughput_qps"] for span in spans)
    # Where it did not settle, the rate in the last setting is all that there is.
    rate = course["throughput_qps"] or rates[len(rates) // 2]
    figures = {"samples/s": rate, "batch mean us": mean_ns / NS_PER_US}
    return {**figures, "batch p95 us": tails[len(tails) // 2] / NS_PER_US}


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
    folder = context.output / "runs" / f"{context.step.path.replace('/', '-')}-{len(context.commands)}"
    for old in (folder, folder.with_name(folder.name + ".partial")):
        remove(old)
    folder.parent.mkdir(parents=True, exist_ok=True)
    words = [context.host, "scale", "--plugin", context.plugin, "--benchmark", context.benchmark(benchmark)]
    words += ["--precision", precision, "--batch-size", batch_size, "--instances", instances, "--slo-ms", slo_ms]
    words += ["--compare", ",".join(compared), "--duration", duration_s, "--output", folder, *context.options()]
    try:
        context.command(words, may_fail=True)
    finally:
        files = [place / "scale.json" for place in (folder, folder.with_name(folder.name + ".partial"))]
        scaled = next((json.loads(file.read_text()) for file in files if file.is_file()), None)
        context.rows += map(row_of, scaled["courses"] if scaled else [])
    if scaled is None:
        raise Failed(context.last_words())
    if scaled["faults"]:
        raise Failed("; ".join(map(str, scaled["faults"])))
    return scaled
