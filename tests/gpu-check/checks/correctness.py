"""Section correctness: accuracy runs in every precision, all scenarios, and the conformance suite."""

from __future__ import annotations

import json
from functools import partial

from . import host
from .context import Context, Failed, Step

SCENARIOS = ("SingleStream", "MultiStream", "Server", "Offline")
# Trained models, with the precisions for which there are files or to which f32 is rounded.
DIGITS = {
    "digits-cnn": ("f32", "f16", "bf16", "int8"),
    "digits-mlp": ("f32", "f16", "bf16"),
    "digits-lstm": ("f32", "f16", "bf16"),
}
TINY = ("resnet50-tiny", "mobilenet-v1-tiny", "bert-tiny", "bert-tiny-embedding", "lstm-stack-tiny", "llama-tiny")
FULL = (
    "resnet50-generated",
    "mobilenet-v1-generated",
    "bert-base-generated",
    "lstm-stack-generated",
    "bert-base-embedding-generated",
    "llama-small-generated",
    "bert-large-generated",
)
FLOATS = ("f32", "f16", "bf16")
IN_QUICK = ("digits-cnn-f32", "digits-mlp-f16", "lstm-stack-tiny-bf16")
# One case of each kind, for --quick.
QUICK_CASES = ("batches/one-sample", "lifecycle/open-and-close")
BATCH_SIZE = 8


def steps() -> list:
    found = []
    for benchmark, precisions in DIGITS.items():
        found += [accuracy_step(benchmark, precision, 90) for precision in precisions]
    found += [accuracy_step(benchmark, precision, 90) for benchmark in TINY for precision in FLOATS]
    for scenario in SCENARIOS:
        action = partial(scenario_run, scenario=scenario)
        found.append(Step("correctness", f"digits-cnn-{scenario}", 90, action, in_quick=scenario == "SingleStream"))
    found += [accuracy_step(benchmark, precision, 240) for benchmark in FULL for precision in FLOATS]
    found.append(Step("correctness", "validate", 420, validate, in_quick=True))
    return found


def accuracy_step(benchmark: str, precision: str, limit_s: float) -> Step:
    name = f"{benchmark}-{precision}"
    action = partial(accuracy, benchmark=benchmark, precision=precision)
    return Step("correctness", name, limit_s, action, in_quick=name in IN_QUICK)


def accuracy(context: Context, benchmark: str, precision: str) -> None:
    """The accuracy of a model in batches."""
    result = host.run(context, benchmark, "Offline", "AccuracyOnly", precision, batch_size=BATCH_SIZE)
    context.add(judged(result, precision))
    if not result["accuracy"]["passed"]:
        raise Failed("the accuracy is below its target")


def judged(result: dict, precision: str) -> dict:
    """The row of a judged accuracy."""
    accuracy = result["accuracy"]
    details = accuracy.get("details", {})
    return {
        "precision": precision,
        "metric": accuracy["metric"],
        "value": accuracy["value"],
        "target": accuracy["target"],
        "right": accuracy["correct_count"],
        "judged": accuracy["judged_count"],
        "largest difference": details.get("largest_difference"),
        "tolerance": details.get("tolerance"),
    }


def scenario_run(context: Context, scenario: str) -> None:
    """Accuracy, then a timed run with a verdict."""
    duration_s = 0.3 if context.quick else 2.0
    target_qps = {"Server": 200.0, "Offline": None}.get(scenario)
    result = host.run(context, "digits-cnn", scenario, "SubmissionRun", duration_s=duration_s, target_qps=target_qps)
    verdict = result["verdict"]
    row = {**judged(result, "f32"), "verdict": "VALID" if verdict["valid"] else "INVALID"}
    context.add({**row, "reason": "; ".join(verdict["reasons"])})
    if not result["accuracy"]["passed"]:
        raise Failed("the accuracy is below its target")
    # Too few queries say nothing about the plugin: nobody knows the rate of a device beforehand.
    broken = [it["rule"] for it in result["performance_run"]["findings"] if it["standing"] == "broken"]
    if set(broken) - {"min_duration", "min_query_count", "min_sample_count", "early_stopping"}:
        raise Failed("; ".join(verdict["reasons"]))


def validate(context: Context) -> None:
    """The conformance suite of the ABI on the library of the plugin."""
    library = context.package / "lib" / "proctor" / f"lib{context.plugin}_sut.so"
    words = [context.host, "validate", library, "--format", "json", *context.options()]
    for case in QUICK_CASES if context.quick else ():
        words += ["--case", case]
    stdout = context.command(words, may_fail=True)
    try:
        report = json.loads(stdout)
    except json.JSONDecodeError:
        raise Failed(context.last_words()) from None
    counts = report["counts"]
    context.add(
        {"precision": report["model"]["precision"], "right": counts["PASS"], "judged": len(report["cases"])}
    )
    bad = [case for case in report["cases"] if case["outcome"] in ("FAIL", "CRASH")]
    context.add(*({"metric": case["name"], "reason": case["reason"]} for case in bad))
    if not report["is_good"]:
        raise Failed(f"{len(bad)} cases of {len(report['cases'])} failed")
