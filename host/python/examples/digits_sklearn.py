"""Digits by a support vector machine of scikit-learn.

    host run --plugin digits_sklearn.py --benchmark digits-mlp --scenario Offline --batch-size 32
"""

import re

import numpy as np
import proctor
from sklearn.datasets import load_digits
from sklearn.svm import SVC


@proctor.backend(name="sklearn-digits", version="1.0", license="Apache-2.0", models="digits-*", formats="safetensors")
class Digits:
    """Classifies digits by a support vector machine."""

    def load(self, model):
        # It learns from the training part of the data set alone. The part is described beside the models.
        text = (model.files["safetensors"].parent / "split.toml").read_text()
        training = [int(word) for word in re.search(r"training = \[(.*?)\]", text, re.DOTALL)[1].split(",") if word.strip()]
        images, digits = load_digits(return_X_y=True)
        self.machine = SVC(gamma=0.256, C=10.0).fit(images[training] / 16, digits[training])

    def execute(self, batch):
        # It refuses values that are not finite.
        images = np.nan_to_num(batch.inputs["image"].reshape(len(batch), 64))
        return self.machine.decision_function(images).astype("float32")


if __name__ == "__main__":
    print(proctor.run(benchmark="digits-mlp", scenario="Offline", plugin=Digits))
