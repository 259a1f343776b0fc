"""A backend that answers four tokens, reports the first one, and returns the others or writes them in place.

With the option `late` it reports tokens of the batch before, too.
"""

import sys

import numpy as np
import proctor


@proctor.backend(name="tokens", models="llama-*", formats="*", options={"returns": True, "late": False})
class Tokens:
    """Answers four tokens."""

    def load(self, model):
        self.returns, self.late = model.options["returns"], model.options["late"]
        self.before = None
        (self.output,) = model.outputs

    def execute(self, batch):
        tokens = np.arange(4, dtype=self.output.dtype)
        if self.late and self.before:
            try:
                self.before.tokens(0, 9)
            except RuntimeError as error:
                print(error, file=sys.stderr)
        self.before = batch
        for position, _prompt in enumerate(batch.views("input_ids")):
            batch.first_token(position, tokens[:1])
            batch.set_token_count(position, 4)
        if self.returns:
            return [tokens] * len(batch)
        batch.outputs[self.output.name][:, :4] = tokens
        for position in range(len(batch)):
            batch.set_output_size(position, 4)
