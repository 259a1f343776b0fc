"""Decoders of the Llama family, as llama.md defines them: weights, and what they answer, in float64, without a cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recipes import Inputs, Recipe, root

Weights = dict[str, np.ndarray]

END = 2
EPSILON = 1e-5
THETA = 10000.0
LENGTH_PENALTY = 1.0


@dataclass
class Sizes:
    """Sizes of a decoder, of its prompts, and of its answers."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    prompt: int
    prompt_low: int
    end_weight: float
    tokens_max: int


SIZES = {
    "llama-small": Sizes(8192, 512, 8, 8, 2, 1408, 64, 8, 0.22, 32),
    "llama-tiny": Sizes(96, 32, 2, 4, 2, 48, 10, 2, 0.7, 12),
}


def recipe(name: str) -> Recipe:
    s, result = SIZES[name], Recipe(name)
    kv = s.kv_heads * (s.hidden // s.heads)

    def gains(part: str):
        result.add(f"{part}.weight", (s.hidden,), 0.5, center=1.0)

    def linear(part: str, outputs: int, inputs: int, scale: float):
        return result.add(f"{part}.weight", (outputs, inputs), float(np.float32(scale) * np.float32(root(inputs))))

    result.add("model.embed_tokens.weight", (s.vocabulary, s.hidden), 1.0)
    for layer in range(s.layers):
        p = f"model.layers.{layer}"
        gains(f"{p}.input_layernorm")
        linear(f"{p}.self_attn.q_proj", s.hidden, s.hidden, 2.5)
        linear(f"{p}.self_attn.k_proj", kv, s.hidden, 2.5)
        linear(f"{p}.self_attn.v_proj", kv, s.hidden, 2.0)
        linear(f"{p}.self_attn.o_proj", s.hidden, s.hidden, 2.0)
        gains(f"{p}.post_attention_layernorm")
        linear(f"{p}.mlp.gate_proj", s.intermediate, s.hidden, 2.5)
        linear(f"{p}.mlp.up_proj", s.intermediate, s.hidden, 2.0)
        linear(f"{p}.mlp.down_proj", s.hidden, s.intermediate, 2.0)
    gains("model.norm")
    linear("lm_head", s.vocabulary, s.hidden, 5.0).fills.append((END * s.hidden, s.hidden, s.end_weight))
    return result


def prompt(name: str, sample: int) -> list[int]:
    s, inputs = SIZES[name], Inputs(name, sample)
    length = inputs.lengths("input_length", 1, s.prompt_low, s.prompt)
    return inputs.words("input_ids", length, s.prompt, s.vocabulary, first=END + 1)[0, : length[0]].tolist()


def norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * weight


def rotate(x: np.ndarray) -> np.ndarray:
    """Turns each pair (i, i + width / 2) of each head by an angle that grows with the position. `[heads, time, width]`."""
    width, half = x.shape[-1], x.shape[-1] // 2
    angles = np.arange(x.shape[1])[:, None] * THETA ** (-np.arange(half) * 2.0 / width)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=-1)


def attention(w: Weights, p: str, s: Sizes, x: np.ndarray) -> np.ndarray:
    time, width = len(x), s.hidden // s.heads

    def heads(part: str, count: int) -> np.ndarray:
        return (x @ w[f"{p}.{part}_proj.weight"].T).reshape(time, count, width).swapaxes(0, 1)

    q, k, v = rotate(heads("q", s.heads)), rotate(heads("k", s.kv_heads)), heads("v", s.kv_heads)
    k, v = (np.repeat(y, s.heads // s.kv_heads, axis=0) for y in (k, v))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(width)
    scores = np.where(np.tril(np.ones((time, time), dtype=bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares @ v).swapaxes(0, 1).reshape(time, s.hidden) @ w[f"{p}.o_proj.weight"].T


def logits(w: Weights, s: Sizes, words: list[int]) -> np.ndarray:
    """Of the word after the last."""
    x = w["model.embed_tokens.weight"][words]
    for layer in range(s.layers):
        p = f"model.layers.{layer}"
        x = x + attention(w, f"{p}.self_attn", s, norm(x, w[f"{p}.input_layernorm.weight"]))
        y = norm(x, w[f"{p}.post_attention_layernorm.weight"])
        gate, up = (y @ w[f"{p}.mlp.{part}_proj.weight"].T for part in ("gate", "up"))
        x = x + (gate / (1.0 + np.exp(-gate)) * up) @ w[f"{p}.mlp.down_proj.weight"].T
    return norm(x[-1], w["model.norm.weight"]) @ w["lm_head.weight"].T


def scores(w: Weights, s: Sizes, prompt: list[int], tokens: list[int]) -> np.ndarray:
    """Log probabilities of the next token. A text does not end before it begins."""
    x = logits(w, s, prompt + tokens)
    x = x - x.max()
    x = x - np.log(np.exp(x).sum())
    if not tokens:
        x[END] = -np.inf
    return x


def greedy(w: Weights, s: Sizes, prompt: list[int], margins: list[float]) -> list[int]:
    tokens: list[int] = []
    while len(tokens) < s.tokens_max and END not in tokens:
        x = scores(w, s, prompt, tokens)
        margins.append(float(np.diff(np.sort(x)[-2:])[0]))
        tokens.append(int(np.argmax(x)))
    return tokens


def beam_search(w: Weights, s: Sizes, prompt: list[int], width: int, margins: list[float]) -> list[int]:
    """`margins` collects how far a choice was from another one."""
    beams: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[tuple[float, list[int]]] = []
    for step in range(1, s.tokens_max + 1):
        sums = np.concatenate([total + scores(w, s, prompt, tokens) for total, tokens in beams])
        order = np.argsort(-sums, kind="stable")[: 2 * width + 1]
        margins.append(float(np.min(-np.diff(sums[order]))))
        going_on = []
        for rank, candidate in enumerate(order[: 2 * width]):
            beam, token = divmod(int(candidate), s.vocabulary)
            text = (float(sums[candidate]), beams[beam][1] + [token])
            if token != END:
                going_on.append(text)
            elif rank < width:
                ended.append((text[0] / step**LENGTH_PENALTY, text[1]))
        beams = going_on[:width]
        if len(ended) >= width:
            break
    else:
        ended += [(total / s.tokens_max**LENGTH_PENALTY, tokens) for total, tokens in beams]
    ranked = sorted(ended, key=lambda text: -text[0])
    if len(ranked) > 1:
        margins.append(ranked[0][0] - ranked[1][0])
    return ranked[0][1]


def answer(name: str, w: Weights, sample: int) -> dict[str, np.ndarray]:
    """`<recipe>` answers with logits, `<recipe>-generate` with tokens, `<recipe>-generate-beam<width>` by beam search."""
    model, _, use = name.partition("-generate")
    s, words, margins = SIZES[model], prompt(model, sample), []
    if model == name:
        return {"logits": logits(w, s, words)}
    if use:
        tokens = beam_search(w, s, words, int(use.removeprefix("-beam")), margins)
    else:
        tokens = greedy(w, s, words, margins)
    return {"tokens": np.array(tokens, dtype=np.int64), "margin": np.array([min(margins)])}


# How many samples are answered: all logits of a large vocabulary are many numbers.
SAMPLES = {
    "llama-small": 4,
    "llama-small-generate": 8,
    "llama-tiny": 16,
    "llama-tiny-generate": 40,
    "llama-tiny-generate-beam4": 40,
}
