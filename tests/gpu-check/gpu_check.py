#!/usr/bin/env python3
"""Checks and measures the plugin cuda on a machine with a GPU, out of the folder that `cargo xtask gpu-check` makes.

Needs Python 3.8 or later alone; with PyTorch and ONNX Runtime it compares with them. Each step has a time limit and a
log of its own, and one that fails leaves the others alone. After each of them gpu-check.json and gpu-check.md are
written; further calls with the same --output add to them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from pathlib import Path

from checks import ceilings, correctness, machine, peers, scaling, sweeps
from checks.context import Context, Failed, Missing, Step, TimedOut
from checks.report import SECTIONS, Report

PACKAGE = Path(__file__).resolve().parent
# Time under which no step is begun.
LEAST_S = 5.0

EXAMPLES = """examples:
  gpu_check.py --quick                              a minute: whether it works at all
  gpu_check.py --only machine --only correctness    two sections
  gpu_check.py --only sweeps/resnet50 --minutes 9   the steps that begin so, as far as they get in 9 minutes
  gpu_check.py --list                               the steps, with their time limits

Exit code 0 if no step failed; steps that lack something, or that no time was left for, do not count as failed.
"""


def all_steps() -> list:
    """All steps, the most important first: what is right, then what it costs."""
    return [step for module in (machine, correctness, sweeps, scaling, peers, ceilings) for step in module.steps()]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path("gpu-check-results"), metavar="FOLDER", help="for report, logs and runs"
    )
    parser.add_argument("--quick", action="store_true", help="a small step of each kind, with small models")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="SECTION, or the beginning of SECTION/STEP; may be repeated",
    )
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="begin no step that would be over later; its limit is what is left"
    )
    parser.add_argument("--plugin", default="cuda", choices=("cuda", "opencl"), help="the plugin to check (cuda)")
    parser.add_argument(
        "--nvrtc", type=Path, metavar="FOLDER", help="where the compiler of CUDA is (that of this Python's packages)"
    )
    parser.add_argument(
        "--double",
        type=Path,
        metavar="FOLDER",
        help="the libraries of a double of NVIDIA's driver; each line of the report says so",
    )
    parser.add_argument("--list", action="store_true", help="print the steps and run none")
    return parser.parse_args()


def chosen(steps: list, only: list, quick: bool) -> list:
    """The steps that were asked for."""
    for name in only:
        if not any(step.path.startswith(name) for step in steps):
            raise SystemExit(f"error: no step begins with {name!r}; the sections are {', '.join(SECTIONS)}")
    wanted = [step for step in steps if not only or any(step.path.startswith(name) for name in only)]
    return [step for step in wanted if step.in_quick or not quick]


def environment(double: Path | None) -> dict:
    """Variables of the commands: the double comes first, and what is kept lies in this folder."""
    variables = {"PROCTOR_CACHE_FOLDER": str(PACKAGE / "cache"), **os.environ}
    if double:
        earlier = variables.get("LD_LIBRARY_PATH")
        variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(double.resolve()), earlier]))
    return variables


def run(context: Context, step: Step, limit_s: float, device: str) -> dict:
    """Runs a step and returns its record, whatever happens."""
    begun = time.monotonic()
    context.begin(step, limit_s)
    status, reason = "ok", ""
    try:
        step.action(context)
    except Missing as error:
        status, reason = "missing", str(error)
    except Failed as error:
        status, reason = "failed", str(error)
    except TimedOut as error:
        status, reason = "timed out", str(error)
    except Exception as error:  # A mistake here must not cost the other steps.
        with open(context.log, "a") as log:
            traceback.print_exc(file=log)
        status, reason = "failed", f"{type(error).__name__}: {error}"
    return {
        "section": step.section,
        "name": step.name,
        "device": device,
        "status": status,
        "reason": reason,
        "seconds": round(time.monotonic() - begun, 2),
        "limit_s": round(limit_s, 1),
        "commands": context.commands,
        "log": str(context.log.relative_to(context.output)),
        "rows": context.rows,
    }


def look_at_driver(context: Context) -> dict:
    """The answer of the driver about its devices; nothing is in it where there is none."""
    context.begin(Step("machine", "driver", 60, lambda _: None), 60)
    try:
        return context.probe("driver.py")
    except (Missing, Failed, TimedOut):
        return {"cuda": "", "devices": []}


def main() -> int:
    options = arguments()
    steps = chosen(all_steps(), options.only, options.quick)
    if options.list:
        for step in steps:
            print(f"{step.path:50} {step.limit_s:4.0f} s at most")
        return 0
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    report = Report(output, {"double": bool(options.double), "plugin": options.plugin})
    context = Context(
        package=PACKAGE,
        output=output,
        plugin=options.plugin,
        quick=options.quick,
        double=options.double,
        nvrtc=options.nvrtc and options.nvrtc.resolve(),
        environment=environment(options.double),
        earlier=report.rows,
    )
    device = f"plugin {options.plugin}"
    if options.plugin == "cuda":
        driver = look_at_driver(context)
        device = driver["devices"][0]["name"] if driver["devices"] else "no device"
        device = f"DOUBLE ({device})" if options.double else device
        if not (options.double or options.nvrtc):
            context.nvrtc = machine.find_nvrtc(driver["cuda"].split(".")[0])
    ends = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    failed = 0
    for number, step in enumerate(steps, 1):
        left_s = ends - time.monotonic()
        if left_s < LEAST_S:
            print(f"no time left for {len(steps) - number + 1} steps, from {step.path} on", flush=True)
            break
        record = run(context, step, min(step.limit_s, left_s), device)
        report.add(record)
        failed += record["status"] in ("failed", "timed out")
        reason = f": {record['reason']}" if record["reason"] else ""
        print(
            f"[{number}/{len(steps)}] {step.path} {record['status']} in {record['seconds']:.1f} s{reason}", flush=True
        )
    print(f"report: {output / 'gpu-check.md'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
