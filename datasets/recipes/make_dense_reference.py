"""Computes what DLRM, DLRM-v2 and 3D-UNet answer: datasets/recipes/reference/<model>.json, in float64.

    python make_dense_reference.py                # all models
    python make_dense_reference.py dlrm-tiny

Needs numpy alone, and some seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dense_models import MODELS, Dlrm
from make_reference import describe, dump


def reference(name: str) -> dict:
    model = MODELS[name]
    recipe = model.recipe(name)
    weights = recipe.weights()
    # A volume has thousands of scores, and a row one.
    samples = 16 if isinstance(model, Dlrm) else 1
    made = describe(recipe, weights, [model.answer(name, weights, sample) for sample in range(samples)])
    return made | {"made_by": made["made_by"].replace("make_reference", "make_dense_reference")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "reference")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.models:
        (arguments.out / f"{name}.json").write_text(dump(reference(name)))
        print(name, flush=True)


if __name__ == "__main__":
    main()
