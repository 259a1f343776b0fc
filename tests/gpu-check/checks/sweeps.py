"""Section sweeps: throughput and latency over batch sizes and instances, and the stages of a batch."""

from __future__ import annotations

from functools import partial

from . import host
from .context import Context, Step
from .host import NS_PER_US, last_setting, stages

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
INSTANCES = (1, 2, 4)
MODELS = ("resnet50-generated", "bert-base-generated")
PRECISIONS = ("f32", "f16")
# Batch sizes of whole Offline runs, whose results have stages.
OFFLINE = (1, 8, 64)
# The goal for one sample of digits-lstm at a time.
LSTM_P99_GOAL_US = 100.0
# A latency target beyond all latencies: nothing is turned, everything is measured.
NO_TARGET_MS = 60_000


def steps() -> list:
    found = [Step("sweeps", "digits-lstm-latency", 60, lstm_latency, in_quick=True)]
    for model in MODELS:
        for precision in PRECISIONS:
            arguments = {"benchmark": model, "precision": precision}
            found.append(Step("sweeps", f"{model}-{precision}-latency", 120, partial(latency, **arguments)))
            found.append(Step("sweeps", f"{model}-{precision}-offline", 240, partial(offline, **arguments)))
            found.append(Step("sweeps", f"{model}-{precision}-grid", 300, partial(grid, **arguments)))
    arguments = {"benchmark": "resnet50-tiny", "precision": "f32"}
    tiny = partial(offline, batch_sizes=(1, 8), **arguments)
    found.append(Step("sweeps", "resnet50-tiny-f32-offline", 120, tiny, in_quick=True))
    tiny = partial(grid, batch_sizes=(1, 4), instances=(1, 2), **arguments)
    found.append(Step("sweeps", "resnet50-tiny-f32-grid", 120, tiny, in_quick=True))
    return found


def single_stream(context: Context, benchmark: str, precision: str) -> dict:
    """The row of a SingleStream run."""
    duration_s = 0.3 if context.quick else 5.0
    result = host.run(context, benchmark, "SingleStream", "PerformanceOnly", precision, duration_s=duration_s)
    latency = result["performance_run"]["figures"]["query_latency"]
    percentiles = {f"{name} us": latency[f"{name}_ns"] / NS_PER_US for name in ("p50", "p99")}
    return {"batch": 1, "instances": 1, "precision": precision, **percentiles, **stages(result)}


def latency(context: Context, benchmark: str, precision: str) -> None:
    """Latency of one sample at a time."""
    context.add(single_stream(context, benchmark, precision))


def lstm_latency(context: Context) -> None:
    """Latency of the smallest recurrent model, which has a goal."""
    row = single_stream(context, "digits-lstm", "f32")
    reached = row["p99 us"] <= LSTM_P99_GOAL_US
    context.add({**row, "goal": f"p99 {LSTM_P99_GOAL_US:.0f} us: {'reached' if reached else 'missed'}"})


def offline(context: Context, benchmark: str, precision: str, batch_sizes: tuple = OFFLINE) -> None:
    """Offline runs, each long enough to count."""
    expected = 100.0
    for batch_size in batch_sizes:
        result, expected = host.offline(context, benchmark, precision, batch_size, expected)
        throughput = result["performance_run"]["figures"]["completed_samples_per_second"]
        context.add(
            {"batch": batch_size, "instances": 1, "precision": precision, "samples/s": throughput, **stages(result)}
        )


def grid(
    context: Context, benchmark: str, precision: str, batch_sizes: tuple = BATCH_SIZES, instances: tuple = INSTANCES
) -> None:
    """Every batch size on every number of instances, in one process for each number: models are loaded once."""
    duration_s = 1 if context.quick else 3
    for count in instances:
        settings = [f"{size}x{count}" for size in batch_sizes]
        row_of = partial(setting_row, precision=precision)
        host.scale(context, benchmark, precision, settings, max(batch_sizes), count, duration_s, NO_TARGET_MS, row_of)


def setting_row(course: dict, precision: str) -> dict:
    """The row of a setting that stays."""
    shared = {"batch": course["last"]["batch_size"], "instances": course["last"]["instances"], "precision": precision}
    return {**shared, **last_setting(course)}
