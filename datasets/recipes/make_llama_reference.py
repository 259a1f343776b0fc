"""Computes what the generated decoders answer: datasets/recipes/reference/llama-*.json, in float64.

    python make_llama_reference.py                       # all; some minutes
    python make_llama_reference.py llama-tiny-generate --out folder

Needs numpy alone. Ids are those of llama.md; other widths of a beam can be asked for, too.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import numpy as np

import llama
import make_reference

# Seven digits of logits whose tolerance is a hundred times as coarse: a large vocabulary is many numbers.
DIGITS = 7


def numbers(values: np.ndarray) -> list:
    return [int(v) for v in values] if values.dtype.kind == "i" else [float(f"{v:.{DIGITS}g}") for v in values]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", default=[*llama.SAMPLES])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "reference")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.ids:
        recipe = llama.recipe(name.partition("-generate")[0])
        weights = recipe.weights()
        answers = [llama.answer(name, weights, sample) for sample in range(llama.SAMPLES.get(name, 16))]
        reference = make_reference.describe(recipe, weights, [])
        reference["model"] = name
        reference["made_by"] = (
            f"datasets/recipes/make_llama_reference.py, numpy {np.__version__}, Python {platform.python_version()}"
        )
        reference["samples"] = [{key: numbers(value) for key, value in answer.items()} for answer in answers]
        (arguments.out / f"{name}.json").write_text(make_reference.dump(reference))
        print(name, flush=True)


if __name__ == "__main__":
    main()
