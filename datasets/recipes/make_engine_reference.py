"""Computes what the models of general engines answer: datasets/recipes/reference/<model>.json, in float64.

    python make_engine_reference.py                              # all models
    python make_engine_reference.py resnet50-tiny --samples 100 --out folder

The models are the published programs of torchvision, transformers and PyTorch, which are given the generated weights; that every
tensor fits, and none is missing, is part of the check. bert-large needs some minutes and 12 GB.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
from pathlib import Path

import numpy as np
import torch
import torchvision
import transformers

from engine_models import MODELS, Bert, LstmStack, MobileNet, ResNet
from make_reference import dump, numbers
from recipes import Recipe

SAMPLES = {
    "resnet50": 4,
    "mobilenet-v1": 4,
    "bert-base": 4,
    "bert-large": 2,
    "bert-base-embedding": 4,
    "lstm-stack": 1,
}
TINY_SAMPLES = 16


def load(module: torch.nn.Module, recipe: Recipe, weights: dict, unused: tuple[str, ...] = ()) -> torch.nn.Module:
    """Puts the weights into a module, whose tensors have to be the same ones."""
    state = {t.name: torch.from_numpy(weights[t.name]) for t in recipe.tensors if not t.name.startswith(unused or "\0")}
    missing, surplus = module.load_state_dict(state, strict=False, assign=True)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    assert not missing and not surplus, (missing, surplus)
    return module.double().eval()


def resnet(model: ResNet, recipe: Recipe, weights: dict):
    net = torchvision.models.ResNet(torchvision.models.resnet.Bottleneck, list(model.blocks), num_classes=model.classes)
    if model.width != 64:
        net = narrow_resnet(model)
    net = load(net, recipe, weights)
    return lambda image: {"logits": net(image[None])[0]}


def narrow_resnet(model: ResNet) -> torch.nn.Module:
    """torchvision's class begins with 64 channels; its parts are put together again for fewer."""
    block = torchvision.models.resnet.Bottleneck
    net = torchvision.models.ResNet(block, [1, 1, 1, 1], num_classes=model.classes)
    net.conv1 = torch.nn.Conv2d(3, model.width, 7, stride=2, padding=3, bias=False)
    net.bn1 = torch.nn.BatchNorm2d(model.width)
    net.inplanes = model.width
    for stage, count in enumerate(model.blocks):
        layer = net._make_layer(block, model.width << stage, count, stride=1 if stage == 0 else 2)
        setattr(net, f"layer{stage + 1}", layer)
    net.fc = torch.nn.Linear(32 * model.width, model.classes)
    return net


def mobilenet(model: MobileNet, recipe: Recipe, weights: dict):
    config = transformers.MobileNetV1Config(
        image_size=model.image,
        depth_multiplier=model.width / 32,
        min_depth=8,
        tf_padding=True,
        hidden_act="relu6",
        layer_norm_eps=1e-3,
        num_labels=model.classes,
    )
    net = load(transformers.MobileNetV1ForImageClassification(config), recipe, weights)
    return lambda image: {"logits": net(image[None]).logits[0]}


def bert(model: Bert, recipe: Recipe, weights: dict):
    config = transformers.BertConfig(
        vocab_size=model.vocabulary,
        hidden_size=model.width,
        num_hidden_layers=model.layers,
        num_attention_heads=model.heads,
        intermediate_size=4 * model.width,
        max_position_embeddings=model.positions,
        hidden_act="gelu",
        layer_norm_eps=1e-12,
        attn_implementation="eager",
    )
    net = load(transformers.BertForQuestionAnswering(config), recipe, weights)

    def run(input_ids, input_mask, segment_ids):
        inputs = {"input_ids": input_ids[None], "attention_mask": input_mask[None], "token_type_ids": segment_ids[None]}
        if model.is_embedding:
            hidden = net.bert(**inputs).last_hidden_state[0]
            return {"embedding": hidden[input_mask == 1].mean(dim=0)}
        outputs = net(**inputs)
        return {"start_logits": outputs.start_logits[0], "end_logits": outputs.end_logits[0]}

    return run


def lstm_stack(model: LstmStack, recipe: Recipe, weights: dict):
    net = torch.nn.ModuleDict({"lstm": torch.nn.LSTM(model.input, model.hidden, model.layers, batch_first=True)})
    net = load(net, recipe, weights)
    return lambda x: {"y": net["lstm"](x[None])[0][0]}


RUNS = {ResNet: resnet, MobileNet: mobilenet, Bert: bert, LstmStack: lstm_stack}


def reference(name: str, samples: int) -> dict:
    model = MODELS[name]
    recipe = model.recipe(name)
    weights = recipe.weights()
    described = {
        t.name: {"shape": list(t.shape), "sum_of_first_16": float(weights[t.name].ravel()[:16].sum())}
        for t in recipe.tensors
    }
    with torch.no_grad():
        run = RUNS[type(model)](model, recipe, weights)
        answers = []
        for index in range(samples):
            inputs = {key: torch.from_numpy(value) for key, value in model.sample(name, index).items()}
            answers.append({key: numbers(value.numpy()) for key, value in run(**inputs).items()})
    return {
        "model": name,
        "made_by": f"datasets/recipes/make_engine_reference.py, torch {torch.__version__}, torchvision "
        f"{torchvision.__version__}, transformers {transformers.__version__}, numpy {np.__version__}, "
        f"Python {platform.python_version()}",
        "parameters": sum(math.prod(t.shape) for t in recipe.tensors),
        "tensors": described,
        "samples": answers,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--samples", type=int)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "reference")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.models:
        made = reference(name, arguments.samples or SAMPLES.get(name, TINY_SAMPLES))
        (arguments.out / f"{name}.json").write_text(dump(made))
        for key in made["samples"][0]:
            values = np.array([sample[key] for sample in made["samples"]])
            print(name, key, f"mean {values.mean():.3f}, deviation {values.std():.3f}", flush=True)


if __name__ == "__main__":
    main()
