"""A backend that takes whole queries, and does what its option says."""

import queue
import sys
import threading

import numpy as np
import proctor
from faults import end_by

FAULTS = [
    "none", "inline", "raise", "interrupt", "exit", "twice", "drop", "never", "never_late", "callback", "fail", "tokens", "shape",
]


@proctor.backend(
    name="queries",
    models="digits-*",
    formats="*",
    options={"fault": proctor.Option("none", "What it does.", choices=FAULTS)},
)
class Queries:
    """Answers that every digit is a one, from a thread of its own."""

    def load(self, model):
        self.fault = model.options["fault"]
        self.held = []
        self.count = 0
        self.queries = queue.SimpleQueue()
        threading.Thread(target=self.work, daemon=True).start()

    def issue(self, query):
        if self.fault == "raise":
            raise RuntimeError("the device is gone")
        end_by(self.fault)
        self.count += 1
        if self.fault == "never" or self.fault == "never_late" and self.count > 50:
            self.held.append(query)
        elif self.fault == "inline":
            self.answer(query)
        elif self.fault != "drop":
            self.queries.put(query)

    def unload(self):
        self.queries.put(None)

    def work(self):
        while (query := self.queries.get()) is not None:
            if self.fault == "callback":
                # Ends this thread, and with it what it was to answer.
                query.inputs["no such input"]
            self.answer(query)
            del query

    def answer(self, query):
        if self.fault == "fail":
            query.fail("the device is busy")
            return
        if self.fault == "tokens":
            for position in range(len(query)):
                query.first_token(position, np.float32(0))
        images = query.inputs["image"]
        logits = np.zeros((len(query), 7 if self.fault == "shape" else 10), np.float32)
        logits[:, 1] = images.reshape(len(query), -1).max(axis=1)
        try:
            query.complete(logits)
        except proctor.BackendError as error:
            query.fail(str(error))
            return
        if self.fault == "twice":
            try:
                query.complete(logits)
            except proctor.BackendError as error:
                print(error, file=sys.stderr)
