"""Measures what a batch costs a backend in Python above the same function called in a loop.

    PYTHONPATH=FOLDER python3 host/python/bench/backend.py

One input and one output of 1 KB, batches of one sample, Offline. Prints microseconds a batch, the median of some runs.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import proctor

#: Input and output of 256 f32.
BENCHMARK = "rnn-rnn-256-256-1-1"
CALLS = 200_000
REPEATS = 5


def copy(x, y):
    y[...] = x


@proctor.backend(name="copy", models="rnn-*", formats="*")
class Copy:
    """Copies its input."""

    def load(self, model):
        self.x, self.y = model.inputs[0].name, model.outputs[0].name

    def execute(self, batch):
        copy(batch.inputs[self.x], batch.outputs[self.y])


def in_a_loop():
    """Returns the time of a call in us."""
    x, y = np.zeros((1, 1, 256), np.float32), np.zeros((1, 1, 256), np.float32)
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        copy(x, y)
    return (time.perf_counter_ns() - begin) / CALLS / 1000


def in_a_run(folder):
    """Returns the time of a batch in us."""
    words = f"run --plugin {__file__}:Copy --benchmark {BENCHMARK} --scenario Offline --mode performance --duration 1s"
    settings = "--set offline_expected_qps=600000 --set floor=false --batch-size 1 --instances 1"
    subprocess.run(
        [sys.executable, "-m", "proctor", *words.split(), *settings.split(), "--output", folder],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    result = json.loads((Path(folder) / "result.json").read_text())
    return 1e6 / result["metric"]["value"]


if __name__ == "__main__":
    runs, loops = [], []
    for repeat in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(in_a_run(f"{folder}/run"))
        loops.append(in_a_loop())
    run, loop = statistics.median(runs), statistics.median(loops)
    print(f"a batch {run:.2f} us, a call in a loop {loop:.2f} us, above it {run - loop:.2f} us")
