"""A backend that does what its option says, so that tests see what comes of it."""

import os
import sys
import threading
import time

import numpy as np
import proctor
from faults import end_by

FAULTS = [
    "none", "returned", "list", "shape", "dtype", "nothing", "name", "raise", "raise_late", "interrupt", "exit", "end",
    "end_in_thread", "load_raise", "load_interrupt", "load_exit", "fail_one", "keep", "write", "print",
]


def end_soon():
    time.sleep(0.02)
    os._exit(5)


@proctor.backend(
    name="faulty",
    version="2.1",
    models="digits-*",
    formats="*",
    options={"fault": proctor.Option("none", "What it does.", choices=FAULTS)},
)
class Faulty:
    """Answers that every digit is a one, or fails."""

    def load(self, model):
        self.fault = model.options["fault"]
        self.calls = 0
        self.kept = []
        if self.fault == "load_raise":
            raise RuntimeError("no such accelerator")
        if self.fault == "load_interrupt":
            raise KeyboardInterrupt
        if self.fault == "load_exit":
            sys.exit("that is all")

    def execute(self, batch):
        self.calls += 1
        images, logits = batch.inputs["image"], batch.outputs["logits"]
        if self.fault == "keep":
            self.kept.append(images)
        if self.fault == "write":
            images[0] = 0
        if self.fault == "print":
            print("printed by the backend", flush=True)
        if self.fault == "returned":
            return {"logits": np.tile(np.eye(10, dtype=np.float32)[1], (len(batch), 1))}
        if self.fault == "list":
            return [[0.0] * 10] * len(batch)
        if self.fault == "shape":
            return np.zeros((len(batch), 7), np.float32)
        if self.fault == "dtype":
            return np.zeros((len(batch), 10))
        if self.fault == "name":
            return {"digit": np.zeros((len(batch), 10), np.float32)}
        if self.fault == "raise":
            return 1 / 0
        if self.fault == "raise_late" and self.calls > 20:
            return self.missing
        end_by(self.fault)
        if self.fault == "end":
            os._exit(5)
        if self.fault == "end_in_thread" and self.calls == 20:
            threading.Thread(target=end_soon).start()
        if self.fault == "fail_one":
            batch.fail(0, "the first one is unreadable")
        logits[:] = 0
        logits[:, 1] = images.max() > 0
