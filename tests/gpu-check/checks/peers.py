"""Section peers: other systems at the same work, where this machine's Python has them."""

from __future__ import annotations

import os
from functools import partial
from importlib import util
from pathlib import Path
from typing import Optional

from . import host
from .context import Context, Missing, Step
from .machine import library_folders

# Share of PyTorch's throughput with ResNet-50 in f16 that is the goal.
RESNET_GOAL = 0.6
RESNET_BATCH, BERT_BATCH = 64, 32
LSTM_BATCHES = (1, 64)
ORT_BATCHES = (1, 64)


def steps() -> list:
    return [
        Step("peers", "torch-resnet50-f16", 240, partial(resnet, precision="f16")),
        Step("peers", "torch-resnet50-f32", 240, partial(resnet, precision="f32")),
        Step("peers", "torch-bert-base-f16", 240, bert),
        Step("peers", "torch-lstm-stack", 240, lstm),
        Step("peers", "onnxruntime-resnet50", 240, onnxruntime, in_quick=True),
    ]


def torch(context: Context, *arguments: object) -> dict:
    if util.find_spec("torch") is None:
        raise Missing("this Python has no torch")
    return context.probe("torch_peers.py", *arguments)


def beside(
    context: Context, system: str, theirs: float, ours: Optional[float], goal: Optional[float] = None, **shared
) -> None:
    """Adds the row of a peer, and ours with its share of that."""
    context.add({"system": system, **shared, "samples/s": theirs})
    if ours is not None:
        share = ours / theirs
        row = {"system": context.plugin, **shared, "samples/s": ours, "share of peer": share}
        if goal is not None:
            row["goal"] = f"{goal:.0%}: {'reached' if share >= goal else 'missed'}"
        context.add(row)


def ours_offline(context: Context, benchmark: str, precision: str, batch_size: int, expected: float) -> float:
    result, _ = host.offline(context, benchmark, precision, batch_size, expected)
    return result["performance_run"]["figures"]["completed_samples_per_second"]


def resnet(context: Context, precision: str) -> None:
    """ResNet-50 in batches: PyTorch with channels last and a CUDA graph."""
    answer = torch(context, "resnet50", precision, RESNET_BATCH)
    shared = {"model": "resnet50", "precision": precision, "batch": RESNET_BATCH}
    ours = ours_offline(context, "resnet50-generated", precision, RESNET_BATCH, answer["samples_per_second"])
    beside(context, answer["system"], answer["samples_per_second"], ours, RESNET_GOAL, **shared)


def bert(context: Context) -> None:
    """Layers of BERT-base: PyTorch with its fused attention."""
    answer = torch(context, "bert-base", "f16", BERT_BATCH)
    ours = ours_offline(context, "bert-base-generated", "f16", BERT_BATCH, answer["samples_per_second"])
    shared = {"model": "bert-base", "precision": "f16", "batch": BERT_BATCH}
    beside(context, answer["system"], answer["samples_per_second"], ours, **shared)


def lstm(context: Context) -> None:
    """Three LSTM layers, which PyTorch has from cuDNN; its GRU stands alone, as no generated GRU comes as ONNX."""
    for batch_size in LSTM_BATCHES:
        answer = torch(context, "lstm-stack", "f32", batch_size)
        ours = ours_offline(context, "lstm-stack-generated", "f32", batch_size, answer["samples_per_second"])
        shared = {"model": "lstm-stack", "precision": "f32", "batch": batch_size}
        beside(context, answer["system"], answer["samples_per_second"], ours, **shared)
        answer = torch(context, "gru-stack", "f32", batch_size)
        beside(context, answer["system"], answer["samples_per_second"], None, **{**shared, "model": "gru-stack"})


def onnxruntime(context: Context) -> None:
    """ONNX Runtime's CUDA provider, by the plugin onnx behind the same host."""
    found = util.find_spec("onnxruntime")
    if found is None or not found.origin:
        raise Missing("this Python has no onnxruntime")
    folder = Path(found.origin).parent / "capi"
    if not list(folder.glob("libonnxruntime_providers_cuda.so")):
        raise Missing(f"the onnxruntime in {folder} has no CUDA provider")
    more = ("--set", f"onnx.library={folder}", "--set", "onnx.provider=cuda")
    own = context.environment
    # Its provider finds cuDNN and cuBLAS where the loader looks alone.
    places = [own.get("LD_LIBRARY_PATH"), *(str(place) for place in library_folders() if place.is_dir())]
    with_libraries = {**own, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, places))}
    for batch_size in ORT_BATCHES:
        context.environment = with_libraries
        try:
            result, rate = host.offline(
                context, "resnet50-generated", "f32", batch_size, 100.0, plugin="onnx", more=more
            )
        finally:
            context.environment = own
        theirs = result["performance_run"]["figures"]["completed_samples_per_second"]
        ours = ours_offline(context, "resnet50-generated", "f32", batch_size, rate)
        beside(context, "onnxruntime", theirs, ours, model="resnet50", precision="f32", batch=batch_size)
