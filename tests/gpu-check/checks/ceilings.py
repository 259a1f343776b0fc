"""Section ceilings: what the device can do at most, and how near each call of a model comes to it."""

from __future__ import annotations

import json
from functools import partial
from importlib import util
from pathlib import Path

from .context import Context, Missing, Step
from .host import NS_PER_US

EXTENTS = (512, 1024, 2048, 4096)
LARGEST_EXTENT = 8192
# Models with the batch sizes in which their calls are measured.
MODELS = {"resnet50": 64, "bert-base": 16}
PRECISIONS = ("f32", "f16")


def steps() -> list:
    found = [
        Step("ceilings", "torch", 120, torch),
        Step("ceilings", "device", 180, partial(device, extents=EXTENTS)),
        Step("ceilings", "largest-product", 180, partial(device, extents=(LARGEST_EXTENT,))),
    ]
    for model, batch_size in MODELS.items():
        for precision in PRECISIONS:
            arguments = {"model": model, "batch_size": batch_size, "precision": precision}
            found.append(Step("ceilings", f"{model}-{precision}-calls", 180, partial(calls, **arguments)))
    found.append(Step("ceilings", "small", 60, partial(device, extents=(128,), nbytes=1 << 20), in_quick=True))
    tiny = partial(calls, model="resnet50-tiny", batch_size=4, precision="f32")
    return found + [Step("ceilings", "resnet50-tiny-f32-calls", 60, tiny, in_quick=True)]


def torch(context: Context) -> None:
    """Copies within the device, and products by cuBLAS: what others get out of it."""
    if util.find_spec("torch") is None:
        raise Missing("this Python has no torch")
    context.add(*context.probe("torch_ceilings.py", LARGEST_EXTENT)["rows"])


def measure(context: Context, *arguments: object) -> list:
    """Runs `gpu-profile` with the driver of the plugin and returns its rows."""
    words = [context.package / "bin" / f"gpu-profile-{context.plugin}"]
    if context.plugin == "cuda":
        words += ["--cache", context.package / "cache" / "kernels"]
        words += ["--nvrtc", context.nvrtc] if context.nvrtc else []
    stdout = context.command([*words, *arguments, "--rounds", 3 if context.quick else 9])
    return json.loads(stdout.strip().splitlines()[-1])["rows"]


def rates(it: dict) -> dict:
    """Time and rates of a kernel; a multiplication and an addition are two operations."""
    rates = {"us": it["ns"] / NS_PER_US}
    if it.get("bytes"):
        rates["GB/s"] = it["bytes"] / it["ns"]
    if it.get("operations"):
        rates["GFLOP/s"] = it["operations"] / it["ns"]
    return rates


def device(context: Context, extents: tuple, nbytes: int = 256 << 20) -> None:
    """Bandwidth, and products by our own kernel."""
    for it in measure(context, "ceilings", "--bytes", nbytes, "--extents", ",".join(map(str, extents))):
        shared = {"what": it["what"], "precision": it.get("precision"), "extent": it.get("extent")}
        context.add({**shared, **rates(it)})


def highest(context: Context, precision: str) -> tuple:
    """The highest bandwidth in GB/s of a kernel, and the highest GFLOP/s of a product, of all that was measured."""
    rows = [
        row for name in ("torch", "device", "largest-product", "small") for row in context.earlier("ceilings", name)
    ]
    bandwidths = [row["GB/s"] for row in rows if row.get("GB/s") and not row["what"].startswith("copy ")]
    products = [row["GFLOP/s"] for row in rows if row.get("GFLOP/s") and row.get("precision") == precision]
    return max(bandwidths, default=None), max(products, default=None)


def calls(context: Context, model: str, batch_size: int, precision: str) -> None:
    """Each call of a model, the longest first.

    The share of the ceiling is the least time that bytes or operations need at the highest rates, by the time taken.
    """
    file = model_file(context, model)
    measured = measure(context, "model", file, "--batch-size", batch_size, "--precision", precision)
    bandwidth, flops = highest(context, precision)
    total_us = sum(it["ns"] for it in measured) / NS_PER_US
    shared = {"precision": precision, "batch": batch_size}
    context.add({"what": f"all {len(measured)} calls", **shared, "us": total_us, "share of model": 1.0})
    for it in sorted(measured, key=lambda it: -it["ns"]):
        least_ns = max(it["bytes"] / bandwidth if bandwidth else 0, it["operations"] / flops if flops else 0)
        context.add(
            {
                "what": it["label"],
                "kernel": it["kernel"],
                **shared,
                **rates(it),
                "share of model": it["share"],
                "share of ceiling": least_ns / it["ns"] if least_ns and it["ns"] else None,
            }
        )


def model_file(context: Context, model: str) -> Path:
    """The ONNX file of a generated model, made where it is not there."""
    folder = context.package / "cache" / "models"
    file = folder / f"{model}.onnx"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        context.command([context.host, "data", "make-model", model, "--out", folder])
    return file
