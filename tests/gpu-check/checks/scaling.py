"""Section scaling: the policies of `host scale` beside each other."""

from __future__ import annotations

from functools import partial

from . import host
from .context import Context, Step
from .host import device_use, last_setting

POLICIES = ["clipper", "dnnscaler", "joint"]
# Targets in ms that a large GPU meets with batches of some tens.
TARGETS = {"resnet50-generated": 20, "mobilenet-v1-generated": 10}
BATCH_SIZE, INSTANCES = 128, 8


def steps() -> list:
    found = [
        Step("scaling", benchmark, 240, partial(compare, benchmark=benchmark, slo_ms=slo_ms, duration_s=20))
        for benchmark, slo_ms in TARGETS.items()
    ]
    tiny = partial(compare, benchmark="resnet50-tiny", slo_ms=50, duration_s=1, batch_size=4, instances=2)
    return found + [Step("scaling", "resnet50-tiny", 60, tiny, in_quick=True)]


def compare(
    context: Context,
    benchmark: str,
    slo_ms: float,
    duration_s: float,
    batch_size: int = BATCH_SIZE,
    instances: int = INSTANCES,
) -> None:
    """A row for each policy with the setting that it chose, and one with what the device used over all of them."""
    row_of = partial(policy_row, slo_ms=slo_ms)
    scaled = host.scale(context, benchmark, "f32", POLICIES, batch_size, instances, duration_s, slo_ms, row_of)
    context.add({"policy": "all", "target ms": slo_ms, **device_use(scaled["plugin"])})


def policy_row(course: dict, slo_ms: float) -> dict:
    """The setting that a policy chose, and how it did there."""
    setting = course["setting"] or course["last"]
    return {
        "policy": course["policy"],
        "target ms": slo_ms,
        "batch": setting["batch_size"],
        "instances": setting["instances"],
        **last_setting(course),
        "above target": course["violation_share"],
        "within target": course["within_target"],
        "decisions": len(course["decisions"]),
        "reason": "" if course["setting"] else "it did not settle, the last setting is shown",
    }
